//! Backups, and restores from them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{Fixture, START_MS, create_index, describe, everything, table};

fn put(f: &Fixture, sk: u32, v: &str) {
    let item = json!({
        "pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "g": {"S": "x"}, "v": {"S": v},
    });
    f.ok("PutItem", json!({"TableName": "music", "Item": item}));
}

fn fixture() -> Fixture {
    let f = Fixture::new();
    let more = json!({
        "Tags": [{"Key": "a", "Value": "b"}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"},
        "DeletionProtectionEnabled": true,
    });
    f.ok("CreateTable", table("music", more));
    f.ok("UpdateTable", create_index("music", "by-g"));
    for sk in 0..300 {
        put(&f, sk, "old");
    }
    f.tidy();
    f
}

fn backup(f: &Fixture, name: &str) -> Value {
    let body = json!({"TableName": "music", "BackupName": name});
    let details = f.ok("CreateBackup", body)["BackupDetails"].clone();
    assert_eq!(details["BackupStatus"], "CREATING");
    details["BackupArn"].clone()
}

#[test]
fn a_restore_gives_the_table_of_the_backup() {
    let f = fixture();
    let before = everything(&f.db, "music", None);
    let arn = backup(&f, "first");
    // The backup is of the moment of the request, whenever it is copied.
    put(&f, 1, "new");
    put(&f, 1000, "new");
    let restore = json!({"TargetTableName": "copy", "BackupArn": arn});
    assert_eq!(f.err("RestoreTableFromBackup", restore.clone()).0, "BackupInUseException");
    assert_eq!(f.err("DeleteBackup", json!({"BackupArn": arn})).0, "BackupInUseException");
    f.tidy();
    let described = f.ok("DescribeBackup", json!({"BackupArn": arn}))["BackupDescription"].clone();
    assert_eq!(described["BackupDetails"]["BackupStatus"], "AVAILABLE");
    assert_eq!(described["SourceTableDetails"]["ItemCount"], 300);
    let features = &described["SourceTableFeatureDetails"];
    assert_eq!(features["GlobalSecondaryIndexes"][0]["IndexName"], "by-g");

    let reply = f.ok("RestoreTableFromBackup", restore.clone());
    assert_eq!(reply["TableDescription"]["TableStatus"], "CREATING");
    assert_eq!(reply["TableDescription"]["RestoreSummary"]["RestoreInProgress"], true);
    assert_eq!(f.err("Scan", json!({"TableName": "copy"})).0, "ResourceNotFoundException");
    assert_eq!(f.err("DeleteTable", json!({"TableName": "copy"})).0, "ResourceInUseException");
    f.tidy();
    assert_eq!(everything(&f.db, "copy", None), before);
    assert_eq!(everything(&f.db, "copy", Some("by-g")), before);
    let copy = describe(&f.db, "copy");
    assert_eq!(copy["TableStatus"], "ACTIVE");
    assert_eq!(copy["RestoreSummary"]["RestoreInProgress"], false);
    assert_eq!(copy["ItemCount"], 300);
    assert_eq!(copy["DeletionProtectionEnabled"], false);
    assert!(copy.get("StreamSpecification").is_none());
    assert_ne!(copy["TableId"], describe(&f.db, "music")["TableId"]);
    assert_eq!(f.err("RestoreTableFromBackup", restore).0, "TableAlreadyExistsException");
}

#[test]
fn a_restore_may_leave_indexes_out_and_change_the_billing() {
    let f = fixture();
    let arn = backup(&f, "first");
    f.tidy();
    let body = |more: Value| {
        let mut body = json!({"TargetTableName": "copy", "BackupArn": arn});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let unknown = json!([{
        "IndexName": "by-g",
        "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }]);
    let refused = body(json!({"GlobalSecondaryIndexOverride": unknown}));
    assert_eq!(f.err("RestoreTableFromBackup", refused).0, "ValidationException");
    f.ok(
        "RestoreTableFromBackup",
        body(json!({
            "GlobalSecondaryIndexOverride": [],
            "BillingModeOverride": "PROVISIONED",
            "ProvisionedThroughputOverride": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4},
        })),
    );
    f.tidy();
    let copy = describe(&f.db, "copy");
    assert!(copy.get("GlobalSecondaryIndexes").is_none());
    assert_eq!(copy["AttributeDefinitions"].as_array().unwrap().len(), 2);
    assert_eq!(copy["ProvisionedThroughput"]["WriteCapacityUnits"], 4);
}

#[test]
fn backups_are_listed_and_outlive_their_table() {
    let f = fixture();
    let first = backup(&f, "first");
    f.advance(Duration::from_mins(1));
    let second = backup(&f, "second");
    f.tidy();
    f.ok("UpdateTable", json!({"TableName": "music", "DeletionProtectionEnabled": false}));
    f.ok("DeleteTable", json!({"TableName": "music"}));
    f.tidy();
    let names = |body: Value| -> Vec<String> {
        let page = f.ok("ListBackups", body);
        let name = |summary: &Value| summary["BackupName"].as_str().unwrap().to_owned();
        page["BackupSummaries"].as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(names(json!({})), ["first", "second"]);
    assert_eq!(names(json!({"TableName": "other"})), [""; 0]);
    assert_eq!(names(json!({"BackupType": "SYSTEM"})), [""; 0]);
    let later = (START_MS + 1000) as f64 / 1000.0;
    assert_eq!(names(json!({"TimeRangeLowerBound": later})), ["second"]);
    assert_eq!(names(json!({"TimeRangeUpperBound": later})), ["first"]);
    let page = f.ok("ListBackups", json!({"Limit": 1}));
    let rest = json!({"ExclusiveStartBackupArn": page["LastEvaluatedBackupArn"]});
    assert_eq!(names(rest), ["second"]);

    let deleted = f.ok("DeleteBackup", json!({"BackupArn": first}));
    assert_eq!(deleted["BackupDescription"]["BackupDetails"]["BackupStatus"], "DELETED");
    assert_eq!(f.err("DescribeBackup", json!({"BackupArn": first})).0, "BackupNotFoundException");
    f.ok("RestoreTableFromBackup", json!({"TargetTableName": "music", "BackupArn": second}));
    f.tidy();
    assert_eq!(everything(&f.db, "music", None).len(), 300);
    let missing = json!({"TableName": "missing", "BackupName": "name"});
    assert_eq!(f.err("CreateBackup", missing).0, "TableNotFoundException");
}
