//! What was under way when a database on disk was closed goes on when it is opened again.

use std::sync::Arc;

use keyloom_engine::{Database, DiskOptions, ManualClock, Options};
use serde_json::{Value, json};

use crate::streams::{arn, records};
use crate::{Directory, START_MS, create_index, describe, everything, ok, table};

impl Directory {
    /// Opens the database without threads: what is not asked for stays undone.
    fn open(&self, now_ms: u64) -> Database {
        let options = Options {
            clock: Arc::new(ManualClock::at_ms(now_ms)),
            background: false,
            ..Options::default()
        };
        Database::open_with(&self.0, DiskOptions::default(), options).unwrap()
    }
}

fn put(db: &Database, sk: u32, v: &str) {
    let item = json!({
        "pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "g": {"S": "x"}, "v": {"S": v},
    });
    ok(db, "PutItem", json!({"TableName": "music", "Item": item}));
}

fn index(db: &Database) -> Value {
    describe(db, "music")["GlobalSecondaryIndexes"][0].clone()
}

#[test]
fn a_backfill_is_finished_after_a_restart() {
    let directory = Directory::new();
    let db = directory.open(START_MS);
    ok(&db, "CreateTable", table("music", json!({})));
    (0..20).for_each(|sk| put(&db, sk, "before"));
    ok(&db, "UpdateTable", create_index("music", "by-g"));
    put(&db, 100, "kept by the writer");
    drop(db);
    let db = directory.open(START_MS);
    assert_eq!(index(&db)["IndexStatus"], "CREATING");
    put(&db, 0, "after");
    put(&db, 101, "after");
    db.run_maintenance().unwrap();
    assert_eq!(index(&db)["IndexStatus"], "ACTIVE");
    assert_eq!(everything(&db, "music", Some("by-g")), everything(&db, "music", None));
    assert_eq!(index(&db)["ItemCount"], 22);
    assert_eq!(index(&db)["IndexSizeBytes"], describe(&db, "music")["TableSizeBytes"]);
}

#[test]
fn a_stream_goes_on_after_a_restart_even_if_the_clock_went_back() {
    let directory = Directory::new();
    let db = directory.open(START_MS);
    let stream = json!({"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"});
    ok(&db, "CreateTable", table("music", json!({"StreamSpecification": stream})));
    put(&db, 1, "a");
    put(&db, 1, "b");
    drop(db);
    let db = directory.open(START_MS - 10_000);
    put(&db, 1, "c");
    let records = records(&db, &arn(&db, "music"));
    let values: Vec<&str> =
        records.iter().map(|r| r["dynamodb"]["NewImage"]["v"]["S"].as_str().unwrap()).collect();
    assert_eq!(values, ["a", "b", "c"]);
}

#[test]
fn restores_and_half_made_backups_go_on() {
    let directory = Directory::new();
    let db = directory.open(START_MS);
    ok(&db, "CreateTable", table("music", json!({})));
    (0..20).for_each(|sk| put(&db, sk, "v"));
    let backup = |db: &Database, name: &str| {
        let body = json!({"TableName": "music", "BackupName": name});
        ok(db, "CreateBackup", body)["BackupDetails"]["BackupArn"].clone()
    };
    let whole = backup(&db, "whole");
    db.run_maintenance().unwrap();
    let half = backup(&db, "half");
    ok(&db, "RestoreTableFromBackup", json!({"TargetTableName": "copy", "BackupArn": whole}));
    ok(
        &db,
        "UpdateContinuousBackups",
        json!({
            "TableName": "music",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true},
        }),
    );
    ok(
        &db,
        "RestoreTableToPointInTime",
        json!({
            "SourceTableName": "music", "TargetTableName": "present", "UseLatestRestorableTime": true,
        }),
    );
    drop(db);
    let db = directory.open(START_MS);
    let details = |db: &Database| {
        let described = ok(db, "DescribeBackup", json!({"BackupArn": half}));
        described["BackupDescription"]["BackupDetails"].clone()
    };
    assert_eq!(details(&db)["BackupStatus"], "CREATING");
    assert_eq!(describe(&db, "copy")["TableStatus"], "CREATING");
    assert_eq!(describe(&db, "present")["TableStatus"], "CREATING");
    db.run_maintenance().unwrap();
    assert_eq!(details(&db)["BackupStatus"], "AVAILABLE");
    for table in ["copy", "present"] {
        assert_eq!(everything(&db, table, None), everything(&db, "music", None));
        assert_eq!(describe(&db, table)["ItemCount"], 20);
    }
}

#[test]
fn closing_waits_for_the_threads_so_that_opening_again_succeeds() {
    let directory = Directory::new();
    for round in 0..3 {
        let options = Options::default();
        let db = Database::open_with(&directory.0, DiskOptions::default(), options).unwrap();
        if round == 0 {
            ok(&db, "CreateTable", table("music", json!({})));
            (0..50).for_each(|sk| put(&db, sk, "v"));
        }
        if round == 1 {
            ok(&db, "UpdateTable", create_index("music", "by-g"));
        }
    }
    let db = directory.open(START_MS);
    db.run_maintenance().unwrap();
    assert_eq!(everything(&db, "music", Some("by-g")).len(), 50);
}
