//! Point-in-time recovery: restores to any second, its window, and what a deleted table leaves.

use std::sync::Arc;
use std::time::Duration;

use keyloom_engine::{Database, ManualClock, Options};
use keyloom_store::{Bytes, MemoryStore, Store};
use serde_json::{Value, json};

use crate::{Fixture, START_MS, describe, everything, table};

const DAY: Duration = Duration::from_hours(24);

/// A table with indexes of both kinds.
fn fixture() -> Fixture {
    let f = Fixture::new();
    let index = |name: &str, hash: &str, range: &str| {
        json!({
            "IndexName": name,
            "KeySchema": [
                {"AttributeName": hash, "KeyType": "HASH"},
                {"AttributeName": range, "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        })
    };
    let more = json!({
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
            {"AttributeName": "g", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexes": [index("by-g", "g", "sk")],
        "LocalSecondaryIndexes": [index("by-pk-g", "pk", "g")],
    });
    f.ok("CreateTable", table("music", more));
    f
}

fn item(sk: u32, v: &str) -> Value {
    json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "g": {"S": "x"}, "v": {"S": v}})
}

fn put(f: &Fixture, sk: u32, v: &str) {
    f.ok("PutItem", json!({"TableName": "music", "Item": item(sk, v)}));
}

fn delete(f: &Fixture, sk: u32) {
    let key = json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}});
    f.ok("DeleteItem", json!({"TableName": "music", "Key": key}));
}

fn switch(f: &Fixture, specification: Value) -> Value {
    let body = json!({"TableName": "music", "PointInTimeRecoverySpecification": specification});
    window(&f.ok("UpdateContinuousBackups", body))
}

fn on(f: &Fixture) -> Value {
    switch(f, json!({"PointInTimeRecoveryEnabled": true}))
}

fn off(f: &Fixture) -> Value {
    switch(f, json!({"PointInTimeRecoveryEnabled": false}))
}

fn described(f: &Fixture) -> Value {
    window(&f.ok("DescribeContinuousBackups", json!({"TableName": "music"})))
}

fn window(reply: &Value) -> Value {
    reply["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"].clone()
}

/// Seconds after the start.
fn at_s(seconds: u64) -> Value {
    json!((START_MS / 1000 + seconds) as f64)
}

fn restore_to(seconds: u64, target: &str) -> Value {
    json!({
        "SourceTableName": "music", "TargetTableName": target, "RestoreDateTime": at_s(seconds),
    })
}

/// What the table was; the indexes of the restored table agree.
fn restored(f: &Fixture, request: Value) -> Vec<String> {
    let name = request["TargetTableName"].as_str().unwrap().to_owned();
    f.ok("RestoreTableToPointInTime", request);
    f.tidy();
    let items = everything(&f.db, &name, None);
    assert_eq!(everything(&f.db, &name, Some("by-g")), items);
    assert_eq!(everything(&f.db, &name, Some("by-pk-g")), items);
    assert_eq!(describe(&f.db, &name)["ItemCount"], items.len());
    f.ok("DeleteTable", json!({"TableName": name}));
    f.tidy();
    items
}

fn is_sound(db: &Database) {
    let report = db.verify().unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}

#[test]
fn a_restore_gives_the_table_of_any_second() {
    let f = fixture();
    put(&f, 1, "before");
    on(&f);
    let mut known = vec![everything(&f.db, "music", None)];
    let steps: [&dyn Fn(); 7] = [
        &|| put(&f, 1, "overwritten"),
        &|| put(&f, 2, "new"),
        &|| delete(&f, 1),
        &|| put(&f, 1, "back"),
        &|| {
            let update = json!({
                "TableName": "music", "Key": {"pk": {"S": "a"}, "sk": {"N": "2"}},
                "UpdateExpression": "SET g = :g REMOVE v",
                "ExpressionAttributeValues": {":g": {"S": "moved"}},
            });
            drop(f.ok("UpdateItem", update));
        },
        &|| {
            let puts: Vec<Value> =
                (3..9).map(|sk| json!({"PutRequest": {"Item": item(sk, "batch")}})).collect();
            drop(f.ok("BatchWriteItem", json!({"RequestItems": {"music": puts}})));
        },
        // A put of the same item changes nothing, and is nothing to remember.
        &|| put(&f, 8, "batch"),
    ];
    for step in steps {
        f.advance(Duration::from_secs(10));
        step();
        known.push(everything(&f.db, "music", None));
    }
    f.advance(Duration::from_secs(10));
    // A second contains what was written before it.
    for (number, known) in known.iter().enumerate() {
        let seconds = number as u64 * 10;
        if number > 0 {
            assert_eq!(&restored(&f, restore_to(seconds + 1, "copy")), known, "step {number}");
        }
        let before = restored(&f, restore_to(seconds + 10 - 3, "copy"));
        assert_eq!(&before, known, "before step {number}");
    }
    assert_eq!(restored(&f, restore_to(10, "copy")), known[0], "the second of the first change");
    let arn = describe(&f.db, "music")["TableArn"].clone();
    let latest = json!({
        "SourceTableArn": arn, "TargetTableName": "copy", "UseLatestRestorableTime": true,
    });
    assert_eq!(restored(&f, latest), known[7]);
    is_sound(&f.db);
}

#[test]
fn no_second_cuts_a_transaction_in_two() {
    let f = fixture();
    on(&f);
    // More numbers than a moment has fit into one second, whatever the clock says.
    for round in 0..50 {
        f.advance(Duration::from_millis(300));
        let write =
            |sk: u32| json!({"Put": {"TableName": "music", "Item": item(sk, &round.to_string())}});
        let writes: Vec<Value> = (0..10).map(write).collect();
        f.ok("TransactWriteItems", json!({"TransactItems": writes}));
    }
    f.advance(Duration::from_secs(5));
    for second in 1..15 {
        let items = restored(&f, restore_to(second, "copy"));
        let values: std::collections::BTreeSet<String> = items
            .iter()
            .map(|item| serde_json::from_str::<Value>(item).unwrap()["v"].to_string())
            .collect();
        assert_eq!((items.len(), values.len()), (10, 1), "{second}");
    }
}

#[test]
fn expired_items_are_there_before_they_were_removed() {
    let f = fixture();
    let ttl = json!({
        "TableName": "music",
        "TimeToLiveSpecification": {"AttributeName": "dies", "Enabled": true},
    });
    f.ok("UpdateTimeToLive", ttl);
    on(&f);
    let mut item = item(1, "mortal");
    item["dies"] = json!({"N": (START_MS / 1000 + 30).to_string()});
    f.ok("PutItem", json!({"TableName": "music", "Item": item}));
    f.advance(Duration::from_mins(1));
    f.tidy();
    assert!(everything(&f.db, "music", None).is_empty());
    f.advance(Duration::from_mins(1));
    assert_eq!(restored(&f, restore_to(59, "copy")).len(), 1);
    assert_eq!(restored(&f, restore_to(61, "copy")).len(), 0);
}

#[test]
fn the_window_is_described_and_kept() {
    let f = fixture();
    put(&f, 1, "old");
    let latest = json!({
        "SourceTableName": "music", "TargetTableName": "copy", "UseLatestRestorableTime": true,
    });
    let (code, message) = f.err("RestoreTableToPointInTime", latest.clone());
    assert_eq!(code, "PointInTimeRecoveryUnavailableException");
    assert_eq!(message, "Point in time recovery is not enabled for table 'music'");
    assert_eq!(described(&f), json!({"PointInTimeRecoveryStatus": "DISABLED"}));
    let begun = switch(&f, json!({"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 7}));
    assert_eq!(begun["RecoveryPeriodInDays"], 7);
    assert_eq!(begun["EarliestRestorableDateTime"], at_s(0));
    assert_eq!(begun["LatestRestorableDateTime"], at_s(0));
    f.advance(Duration::from_millis(60_500));
    assert_eq!(described(&f)["EarliestRestorableDateTime"], at_s(0));
    // A few seconds back.
    assert_eq!(described(&f)["LatestRestorableDateTime"], at_s(57));
    for seconds in [58, 61, 120] {
        let (code, _) = f.err("RestoreTableToPointInTime", restore_to(seconds, "copy"));
        assert_eq!(code, "InvalidRestoreTimeException", "{seconds}");
    }
    let mut early = restore_to(0, "copy");
    early["RestoreDateTime"] = json!((START_MS / 1000 - 1) as f64);
    let (code, message) = f.err("RestoreTableToPointInTime", early);
    assert_eq!(code, "InvalidRestoreTimeException");
    assert!(message.contains("EarliestRestorableDateTime"), "{message}");
    let timeless = json!({"SourceTableName": "music", "TargetTableName": "copy"});
    assert_eq!(f.err("RestoreTableToPointInTime", timeless).0, "ValidationException");
    let to_itself = restore_to(10, "music");
    assert_eq!(f.err("RestoreTableToPointInTime", to_itself).0, "TableAlreadyExistsException");
    assert_eq!(restored(&f, restore_to(57, "copy")).len(), 1);
    f.advance(30 * DAY);
    let week_ago = at_s(23 * 24 * 60 * 60 + 60);
    let earliest = described(&f)["EarliestRestorableDateTime"].as_f64().unwrap();
    assert!((earliest - week_ago.as_f64().unwrap()).abs() < 1.0);
    let (code, _) = f.err("RestoreTableToPointInTime", restore_to(57, "copy"));
    assert_eq!(code, "InvalidRestoreTimeException");
    for (days, code) in [(0, "ValidationException"), (36, "ValidationException")] {
        let body = json!({"TableName": "music", "PointInTimeRecoverySpecification":
            {"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": days}});
        assert_eq!(f.err("UpdateContinuousBackups", body).0, code, "{days}");
    }
    let missing = json!({"TableName": "missing"});
    assert_eq!(f.err("DescribeContinuousBackups", missing).0, "TableNotFoundException");
}

#[test]
fn switching_it_off_and_on_again_begins_anew() {
    let f = fixture();
    on(&f);
    put(&f, 1, "first");
    f.advance(Duration::from_mins(1));
    assert_eq!(off(&f), json!({"PointInTimeRecoveryStatus": "DISABLED"}));
    put(&f, 1, "unrecorded");
    f.advance(Duration::from_mins(1));
    assert_eq!(on(&f)["EarliestRestorableDateTime"], at_s(120));
    put(&f, 1, "recorded");
    f.advance(Duration::from_mins(1));
    let (code, _) = f.err("RestoreTableToPointInTime", restore_to(30, "copy"));
    assert_eq!(code, "InvalidRestoreTimeException");
    let items = restored(&f, restore_to(120, "copy"));
    assert!(items[0].contains("unrecorded"), "{items:?}");
    // Only the new history is left.
    assert_eq!(f.db.verify().unwrap().totals.history_records, 1);
    is_sound(&f.db);
}

#[test]
fn days_that_were_given_up_do_not_come_back() {
    let f = fixture();
    on(&f);
    let days = |days: u32| {
        switch(&f, json!({"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": days}))
    };
    put(&f, 1, "first");
    f.advance(10 * DAY);
    put(&f, 1, "second");
    days(2);
    f.tidy();
    let earliest = days(35)["EarliestRestorableDateTime"].clone();
    assert_eq!(earliest, at_s(8 * 24 * 60 * 60));
    assert_eq!(f.db.verify().unwrap().totals.history_records, 1);
    let items = restored(&f, restore_to(9 * 24 * 60 * 60, "copy"));
    assert!(items[0].contains("first"), "{items:?}");
}

#[test]
fn old_history_is_trimmed_and_the_rest_can_be_restored() {
    let f = fixture();
    switch(&f, json!({"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 3}));
    for day in 0..10 {
        put(&f, 1, &format!("day {day}"));
        put(&f, 2 + day, "stays");
        f.advance(DAY);
        f.tidy();
        // Whole days go: one more than the window has.
        let kept = f.db.verify().unwrap().totals.history_records;
        assert!(kept <= 2 * 5, "{kept} records on day {day}");
    }
    let items = restored(&f, restore_to(8 * 24 * 60 * 60 + 60, "copy"));
    assert_eq!(items.len(), 10);
    assert!(items.iter().any(|item| item.contains("day 8")), "{items:?}");
    is_sound(&f.db);
}

#[test]
fn a_deleted_table_leaves_a_system_backup() {
    let f = fixture();
    on(&f);
    (0..5).for_each(|sk| put(&f, sk, "kept"));
    let before = everything(&f.db, "music", None);
    let user = json!({"TableName": "music", "BackupName": "mine"});
    let user = f.ok("CreateBackup", user)["BackupDetails"]["BackupArn"].clone();
    f.tidy();
    f.advance(Duration::from_mins(1));
    f.ok("DeleteTable", json!({"TableName": "music"}));
    f.tidy();
    let listed = |kind: Value| {
        let mut body = json!({"TableName": "music"});
        if !kind.is_null() {
            body["BackupType"] = kind;
        }
        f.ok("ListBackups", body)["BackupSummaries"].as_array().unwrap().clone()
    };
    // Those of users, if nothing is said.
    for kind in [Value::Null, json!("USER")] {
        assert_eq!(listed(kind)[0]["BackupArn"], user);
    }
    assert_eq!(listed(json!("ALL")).len(), 2);
    assert_eq!(listed(json!("AWS_BACKUP")).len(), 0);
    let system = listed(json!("SYSTEM"))[0].clone();
    assert_eq!(system["BackupName"], "music$DeletedTableBackup");
    assert_eq!(system["BackupType"], "SYSTEM");
    assert_eq!(system["BackupStatus"], "AVAILABLE");
    assert_eq!(system["BackupExpiryDateTime"], at_s(60 + 35 * 24 * 60 * 60));
    let arn = json!({"BackupArn": system["BackupArn"]});
    let described = f.ok("DescribeBackup", arn.clone())["BackupDescription"].clone();
    assert_eq!(described["SourceTableDetails"]["ItemCount"], 5);
    let (code, message) = f.err("DeleteBackup", arn.clone());
    assert_eq!(code, "ValidationException");
    assert!(message.contains("not allowed to delete the system backup"), "{message}");
    is_sound(&f.db);

    let mut restore = arn.clone();
    restore["TargetTableName"] = "music".into();
    f.ok("RestoreTableFromBackup", restore.clone());
    f.tidy();
    for index in [None, Some("by-g"), Some("by-pk-g")] {
        assert_eq!(everything(&f.db, "music", index), before);
    }
    // Recovery is one of the things that are not restored, as on AWS.
    assert_eq!(self::described(&f), json!({"PointInTimeRecoveryStatus": "DISABLED"}));
    f.advance(35 * DAY);
    assert_eq!(f.err("DescribeBackup", arn.clone()).0, "BackupNotFoundException");
    f.tidy();
    assert_eq!(listed(json!("ALL")).len(), 1);
    restore["TargetTableName"] = "another".into();
    assert_eq!(f.err("RestoreTableFromBackup", restore).0, "BackupNotFoundException");
    is_sound(&f.db);
}

#[test]
fn tables_that_are_deleted_at_the_same_time_leave_a_backup_each() {
    let f = fixture();
    f.ok("CreateTable", table("other", json!({})));
    let mut body = json!({"TableName": "other",
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}});
    for name in ["music", "other"] {
        body["TableName"] = name.into();
        f.ok("UpdateContinuousBackups", body.clone());
        let item = json!({"pk": {"S": name}, "sk": {"N": "1"}});
        f.ok("PutItem", json!({"TableName": name, "Item": item}));
    }
    for name in ["music", "other"] {
        f.ok("DeleteTable", json!({"TableName": name}));
    }
    f.tidy();
    for name in ["music", "other"] {
        let listed = f.ok("ListBackups", json!({"TableName": name, "BackupType": "SYSTEM"}));
        let arn = &listed["BackupSummaries"][0]["BackupArn"];
        let restore = json!({"TargetTableName": name, "BackupArn": arn});
        f.ok("RestoreTableFromBackup", restore);
        f.tidy();
        assert!(everything(&f.db, name, None)[0].contains(name));
    }
    is_sound(&f.db);
}

fn open(store: &Arc<MemoryStore>, now_ms: u64) -> Fixture {
    let clock = Arc::new(ManualClock::at_ms(now_ms));
    let options = Options {
        clock: Arc::clone(&clock) as Arc<dyn keyloom_engine::Clock>,
        background: false,
        ..Options::default()
    };
    Fixture { db: Database::on(Arc::clone(store) as Arc<dyn Store>, options).unwrap(), clock }
}

#[test]
fn a_clock_that_was_set_back_does_not_mix_up_the_history() {
    let store = Arc::new(MemoryStore::new());
    let f = open(&store, START_MS);
    f.ok("CreateTable", table("music", json!({})));
    on(&f);
    f.advance(Duration::from_mins(10));
    put(&f, 1, "first");
    // Killed, and the clock is set back for longer than the table has its history.
    let store = Arc::new(store.fork());
    drop(f);
    let f = open(&store, START_MS - 60_000);
    put(&f, 1, "second");
    f.advance(Duration::from_mins(20));
    let latest = |f: &Fixture, seconds: u64| {
        f.ok("RestoreTableToPointInTime", restore_to(seconds, "copy"));
        f.tidy();
        let items = everything(&f.db, "copy", None);
        f.ok("DeleteTable", json!({"TableName": "copy"}));
        items
    };
    assert_eq!(latest(&f, 599).len(), 0);
    assert!(latest(&f, 602)[0].contains("second"));
    assert_eq!(latest(&f, 1).len(), 0);
    is_sound(&f.db);
}

#[test]
fn a_table_of_an_earlier_release_gets_a_history() {
    let store = Arc::new(MemoryStore::new());
    let f = open(&store, START_MS);
    f.ok("CreateTable", table("music", json!({})));
    put(&f, 1, "old");
    on(&f);
    drop(f);
    // The record as it was stored when recovery was only a setting.
    let key = b"\x02music".as_slice();
    let mut record: Value = serde_json::from_slice(&store.get(key).unwrap().unwrap()).unwrap();
    record["settings"]["PointInTimeRecovery"] = json!({"enabled_ms": START_MS, "days": 9});
    let mut transaction = store.begin(&[key]).unwrap();
    transaction.put(Bytes::from_static(b"\x02music"), record.to_string().into());
    transaction.commit().unwrap();

    let f = open(&store, START_MS + 60_000);
    assert_eq!(described(&f)["RecoveryPeriodInDays"], 9);
    // It cannot know what was before.
    assert_eq!(described(&f)["EarliestRestorableDateTime"], at_s(60));
    put(&f, 1, "new");
    f.advance(Duration::from_mins(1));
    f.ok("RestoreTableToPointInTime", restore_to(60, "copy"));
    f.tidy();
    assert!(everything(&f.db, "copy", None)[0].contains("old"));
    is_sound(&f.db);
}

#[test]
fn a_table_that_is_being_restored_cannot_have_it_yet() {
    let f = fixture();
    on(&f);
    f.advance(Duration::from_mins(1));
    f.ok("RestoreTableToPointInTime", restore_to(10, "copy"));
    let body = json!({"TableName": "copy", "PointInTimeRecoverySpecification":
        {"PointInTimeRecoveryEnabled": true}});
    let (code, message) = f.err("UpdateContinuousBackups", body.clone());
    assert_eq!(code, "ContinuousBackupsUnavailableException");
    assert_eq!(message, "Backups are being enabled for the table: copy. Please retry later");
    f.tidy();
    f.ok("UpdateContinuousBackups", body);
}

#[test]
fn overrides_are_honoured_or_refused() {
    let f = fixture();
    put(&f, 1, "x");
    on(&f);
    f.advance(Duration::from_mins(1));
    let index = |name: &str, hash: &str, range: &str, projection: &str| {
        json!({
            "IndexName": name, "Projection": {"ProjectionType": projection},
            "KeySchema": [
                {"AttributeName": hash, "KeyType": "HASH"},
                {"AttributeName": range, "KeyType": "RANGE"},
            ],
        })
    };
    let with = |more: Value| {
        let mut body = restore_to(10, "copy");
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let global = index("by-g", "g", "sk", "ALL");
    let mut warm = global.clone();
    warm["WarmThroughput"] = json!({"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000});
    for refused in [
        json!({"GlobalSecondaryIndexOverride": [index("new", "g", "sk", "ALL")]}),
        json!({"GlobalSecondaryIndexOverride": [index("by-g", "g", "pk", "ALL")]}),
        json!({"GlobalSecondaryIndexOverride": [index("by-g", "g", "sk", "KEYS_ONLY")]}),
        json!({"GlobalSecondaryIndexOverride": [global, global]}),
        json!({"GlobalSecondaryIndexOverride": [warm]}),
        json!({"LocalSecondaryIndexOverride": [global]}),
        json!({"VectorIndexOverride": [{
            "IndexName": "none", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 3,
            "DistanceFunction": "COSINE", "Projection": {"ProjectionType": "ALL"},
        }]}),
        json!({"ProvisionedThroughputOverride": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}),
        json!({"UseLatestRestorableTime": true}),
    ] {
        let (code, message) = f.err("RestoreTableToPointInTime", with(refused.clone()));
        assert_eq!(code, "ValidationException", "{refused}: {message}");
    }
    let units = json!({"ReadCapacityUnits": 3, "WriteCapacityUnits": 4});
    let provisioned =
        json!({"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": units});
    let (_, message) = f.err("RestoreTableToPointInTime", with(provisioned));
    assert_eq!(message, "Invalid Request: Must specify provisioned throughput for index by-g");
    let mut global = global;
    global["ProvisionedThroughput"] = units.clone();
    let body = with(json!({
        "BillingModeOverride": "PROVISIONED",
        "ProvisionedThroughputOverride": units,
        "GlobalSecondaryIndexOverride": [global],
        "LocalSecondaryIndexOverride": [],
        "SSESpecificationOverride": {"Enabled": true, "SSEType": "KMS"},
    }));
    f.ok("RestoreTableToPointInTime", body);
    f.tidy();
    let copy = describe(&f.db, "copy");
    assert_eq!(copy["ProvisionedThroughput"]["WriteCapacityUnits"], 4);
    assert_eq!(copy["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["ReadCapacityUnits"], 3);
    assert!(copy.get("LocalSecondaryIndexes").is_none());
    assert_eq!(copy["SSEDescription"]["Status"], "ENABLED");
    assert_eq!(everything(&f.db, "copy", Some("by-g")).len(), 1);
}
