//! Time to live: its settings, and the removal of expired items.

use std::time::Duration;

use serde_json::{Value, json};

use crate::streams::{arn, records};
use crate::{Fixture, START_MS, everything, table};

fn now_s() -> u64 {
    START_MS / 1000
}

fn put(f: &Fixture, sk: u32, ttl: Value) {
    let mut item = json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "g": {"S": "x"}});
    if !ttl.is_null() {
        item["ttl"] = ttl;
    }
    f.ok("PutItem", json!({"TableName": "music", "Item": item}));
}

fn seconds(value: u64) -> Value {
    json!({"N": value.to_string()})
}

fn enable(f: &Fixture) {
    let body = json!({
        "TableName": "music",
        "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "ttl"},
    });
    let reply = f.ok("UpdateTimeToLive", body);
    assert_eq!(reply["TimeToLiveSpecification"], json!({"Enabled": true, "AttributeName": "ttl"}));
}

fn fixture() -> Fixture {
    let f = Fixture::new();
    let more = json!({
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
            {"AttributeName": "g", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexes": [{
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    });
    f.ok("CreateTable", table("music", more));
    f
}

#[test]
fn expired_items_go_with_their_index_entries_and_leave_a_signed_record() {
    let f = fixture();
    put(&f, 1, seconds(now_s() + 10));
    put(&f, 2, seconds(now_s() + 1000));
    put(&f, 3, Value::Null);
    put(&f, 4, json!({"S": now_s().to_string()}));
    put(&f, 5, seconds(now_s() - 6 * 365 * 86_400));
    enable(&f);
    f.tidy();
    assert_eq!(everything(&f.db, "music", None).len(), 5, "nothing has expired yet");
    f.advance(Duration::from_secs(11));
    // Expired items stay readable until they are removed.
    assert_eq!(everything(&f.db, "music", None).len(), 5);
    f.tidy();
    assert_eq!(everything(&f.db, "music", None).len(), 4);
    assert_eq!(everything(&f.db, "music", Some("by-g")).len(), 4);
    let records = records(&f.db, &arn(&f.db, "music"));
    let removed: Vec<&Value> = records.iter().filter(|r| r["eventName"] == "REMOVE").collect();
    assert_eq!(removed.len(), 1);
    assert_eq!(removed[0]["dynamodb"]["Keys"]["sk"]["N"], "1");
    assert_eq!(removed[0]["userIdentity"]["principalId"], "dynamodb.amazonaws.com");
    assert_eq!(removed[0]["userIdentity"]["type"], "Service");
    assert!(records.iter().all(|r| r["eventName"] == "REMOVE" || r.get("userIdentity").is_none()));
}

#[test]
fn items_written_after_the_last_walk_expire_too() {
    let f = fixture();
    enable(&f);
    f.tidy();
    put(&f, 1, seconds(now_s() + 5));
    f.ok(
        "UpdateItem",
        json!({
            "TableName": "music", "Key": {"pk": {"S": "a"}, "sk": {"N": "2"}},
            "UpdateExpression": "SET #t = :t", "ExpressionAttributeNames": {"#t": "ttl"},
            "ExpressionAttributeValues": {":t": seconds(now_s() + 7)},
        }),
    );
    for (passed, left) in [(5, 2), (1, 1), (1, 1), (1, 0)] {
        f.advance(Duration::from_secs(passed));
        f.tidy();
        assert_eq!(everything(&f.db, "music", None).len(), left);
    }
}

#[test]
fn more_time_saves_an_item() {
    let f = fixture();
    enable(&f);
    put(&f, 1, seconds(now_s() + 5));
    f.advance(Duration::from_mins(1));
    put(&f, 1, seconds(now_s() + 600));
    f.tidy();
    assert_eq!(everything(&f.db, "music", None).len(), 1);
}

#[test]
fn a_switched_off_table_keeps_its_items() {
    let f = fixture();
    enable(&f);
    put(&f, 1, seconds(now_s() + 5));
    let off = json!({
        "TableName": "music",
        "TimeToLiveSpecification": {"Enabled": false, "AttributeName": "ttl"},
    });
    f.ok("UpdateTimeToLive", off);
    f.advance(Duration::from_mins(1));
    f.tidy();
    assert_eq!(everything(&f.db, "music", None).len(), 1);
    enable(&f);
    f.tidy();
    assert!(everything(&f.db, "music", None).is_empty());
}

#[test]
fn settings_are_described_and_wrong_ones_refused() {
    let f = fixture();
    let describe = || f.ok("DescribeTimeToLive", json!({"TableName": "music"}));
    assert_eq!(describe(), json!({"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}));
    let set = |enabled: bool, attribute: &str| {
        json!({
            "TableName": "music",
            "TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute},
        })
    };
    let refused = |body: Value| f.err("UpdateTimeToLive", body).1;
    assert_eq!(refused(set(false, "ttl")), "TimeToLive is already disabled");
    enable(&f);
    assert_eq!(
        describe(),
        json!({"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}})
    );
    assert_eq!(refused(set(true, "ttl")), "TimeToLive is already enabled");
    assert_eq!(
        refused(set(true, "other")),
        "TimeToLive is active on a different AttributeName: current AttributeName is ttl"
    );
    assert_eq!(
        refused(set(true, "")),
        "1 validation error detected: Value '' at 'timeToLiveSpecification.attributeName' failed to \
         satisfy constraint: Member must have length greater than or equal to 1"
    );
    let mut missing = set(true, "ttl");
    missing["TableName"] = "missing".into();
    assert_eq!(f.err("UpdateTimeToLive", missing).0, "ResourceNotFoundException");
}
