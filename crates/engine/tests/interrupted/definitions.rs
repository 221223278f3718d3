//! Tables, indexes, streams and the removal of what is dropped.

use keyloom_engine::Database;
use keyloom_store::{Direction, KeyRange, Store};
use serde_json::{Value, json};

use crate::{
    ITEMS, Recorder, START_MS, Scenario, described, everything, filled, filled_without_recovery,
    indexed, ok, open, table,
};

#[test]
fn a_table_is_created_whole_or_not_at_all() {
    Scenario {
        before: filled(&json!({})),
        buckets: None,
        act: |db: &Database| ok(db, "CreateTable", table("new", indexed())),
        check: |db: &Database, acknowledged: Option<Value>| {
            let new = described(db, "new");
            assert!(acknowledged.is_none() || new.is_some());
            if let Some(new) = new {
                assert_eq!(new["GlobalSecondaryIndexes"][0]["IndexName"], "by-g");
                let arn = &new["LatestStreamArn"];
                let body = json!({"StreamArn": arn}).to_string();
                let stream = db.call("DynamoDBStreams_20120810.DescribeStream", body.as_bytes());
                assert_eq!(stream.status, 200);
                crate::put(db, "new", 1);
                assert_eq!(everything(db, "new", Some("by-g")).len(), 1);
            }
        },
    }
    .run();
}

#[test]
fn a_deleted_table_leaves_no_entry_behind() {
    let scenario = Scenario {
        before: filled_without_recovery(&indexed()),
        buckets: None,
        act: |db: &Database| ok(db, "DeleteTable", json!({"TableName": "music"})),
        check: |db: &Database, acknowledged: Option<Value>| {
            assert!(acknowledged.is_none() || described(db, "music").is_none());
        },
    };
    scenario.run();
    // The same, seen from below: the removal is taken up where a kill has left it.
    let (kills, acknowledged) = scenario.record();
    for (number, left) in kills.iter().enumerate() {
        let store = std::sync::Arc::new(left.fork());
        open(&store, None).run_maintenance().unwrap();
        let snapshot = store.snapshot().unwrap();
        let entries = snapshot.scan(KeyRange::prefix(&[0x10]), Direction::Forward).count();
        if number + 1 >= acknowledged.as_ref().unwrap().0 {
            assert_eq!(entries, 0, "after commit {number}");
        }
        assert_eq!(snapshot.scan(KeyRange::prefix(&[3]), Direction::Forward).count(), 0);
    }
}

#[test]
fn an_index_is_filled_or_not_there() {
    let create = json!({
        "TableName": "music",
        "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }}],
    });
    Scenario {
        before: filled(&json!({})),
        buckets: None,
        act: |db: &Database| {
            let answer = ok(db, "UpdateTable", create.clone());
            crate::remove(db, "music", 3);
            crate::put(db, "music", ITEMS);
            answer
        },
        check: |db: &Database, acknowledged: Option<Value>| {
            let music = described(db, "music").unwrap();
            let has_index = music.get("GlobalSecondaryIndexes").is_some();
            assert!(has_index || acknowledged.is_none());
            if has_index {
                let items = everything(db, "music", None);
                assert_eq!(everything(db, "music", Some("by-g")), items);
                assert_eq!(music["GlobalSecondaryIndexes"][0]["ItemCount"], items.len());
            }
        },
    }
    .run();
}

#[test]
fn a_vector_index_is_filled_or_not_there() {
    let create = json!({
        "TableName": "music",
        "VectorIndexUpdates": [{"Create": {
            "IndexName": "near",
            "VectorAttribute": {"AttributeName": "v"},
            "Dimensions": 2,
            "DistanceFunction": "EUCLIDEAN",
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }}],
    });
    Scenario {
        before: filled(&json!({})),
        buckets: None,
        act: |db: &Database| ok(db, "UpdateTable", create.clone()),
        check: |db: &Database, acknowledged: Option<Value>| {
            let music = described(db, "music").unwrap();
            let index = music.get("VectorIndexes").map(|indexes| indexes[0].clone());
            assert!(index.is_some() || acknowledged.is_none());
            if let Some(index) = index {
                assert_eq!(index["ItemCount"], ITEMS);
            }
        },
    }
    .run();
}

#[test]
fn a_deleted_index_leaves_no_entry_behind() {
    let delete = json!({
        "TableName": "music",
        "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-g"}}],
    });
    let scenario = Scenario {
        before: filled(&indexed()),
        buckets: None,
        act: |db: &Database| ok(db, "UpdateTable", delete.clone()),
        check: |db: &Database, acknowledged: Option<Value>| {
            let music = described(db, "music").unwrap();
            let is_gone = music.get("GlobalSecondaryIndexes").is_none();
            assert!(is_gone || acknowledged.is_none());
            assert_eq!(everything(db, "music", None).len(), ITEMS as usize);
        },
    };
    scenario.run();
    let (kills, _) = scenario.record();
    let store = std::sync::Arc::new(kills.last().unwrap().fork());
    open(&store, None).run_maintenance().unwrap();
    let snapshot = store.snapshot().unwrap();
    let entries = snapshot.scan(KeyRange::prefix(&[0x10]), Direction::Forward).count();
    assert_eq!(entries, ITEMS as usize);
}

#[test]
fn the_removal_of_expired_items_goes_on() {
    let ttl = json!({
        "TableName": "music",
        "TimeToLiveSpecification": {"AttributeName": "dies", "Enabled": true},
    });
    Scenario {
        before: filled(&indexed()),
        buckets: None,
        act: |db: &Database| ok(db, "UpdateTimeToLive", ttl.clone()),
        check: |db: &Database, acknowledged: Option<Value>| {
            let left = everything(db, "music", None);
            assert_eq!(everything(db, "music", Some("by-g")), left);
            assert_eq!(described(db, "music").unwrap()["ItemCount"], left.len());
            assert!(left.is_empty() || acknowledged.is_none());
        },
    }
    .run();
}

#[test]
fn expired_items_are_removed_many_at_a_time() {
    let recorder = std::sync::Arc::new(Recorder::new(filled(&indexed())));
    let db = open(&recorder, None);
    // One was given more time, one is held by nobody and gone already.
    let late = (START_MS / 1000 + 1000).to_string();
    let mut item = crate::item(5);
    item["dies"] = json!({"N": late});
    ok(&db, "PutItem", json!({"TableName": "music", "Item": item}));
    let ttl = json!({
        "TableName": "music",
        "TimeToLiveSpecification": {"AttributeName": "dies", "Enabled": true},
    });
    ok(&db, "UpdateTimeToLive", ttl);
    let before = recorder.kills().len();
    db.run_maintenance().unwrap();
    assert_eq!(everything(&db, "music", None).len(), 1);
    let commits = recorder.kills().len() - before;
    assert!(commits <= 1 + ITEMS as usize / 100, "{commits} commits for {ITEMS} items");
}
