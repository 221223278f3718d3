//! Damage that background work meets: it is told where its result would be, and nowhere else.

use std::sync::Arc;

use keyloom_engine::{Database, Options};
use keyloom_store::Store;
use serde_json::{Value, json};

use crate::troubled::Troubled;
use crate::{
    call, described, everything, filled, filled_without_recovery, indexed, ok, open, table,
};

/// The beginning of the entries of the first table that a store has had.
const MUSIC: &[u8] = &[0x10, 0, 0, 0, 1];

fn troubled() -> Arc<Troubled> {
    Arc::new(Troubled::new(filled(&indexed())))
}

#[test]
fn counts_that_met_damage_are_an_error_and_never_zero() {
    let store = troubled();
    let db = open(&store, None);
    ok(&db, "CreateTable", table("whole", json!({})));
    crate::put(&db, "whole", 1);
    drop(db);
    store.damage(MUSIC);
    for background in [false, true] {
        let options = Options { background, ..Options::default() };
        let db = Database::on(Arc::clone(&store) as Arc<dyn Store>, options).unwrap();
        let (status, reply) = call(&db, "DescribeTable", &json!({"TableName": "music"}));
        assert_eq!(status, 500, "{reply}");
        assert!(reply["__type"].as_str().unwrap().ends_with("InternalServerError"));
        assert!(reply.to_string().contains("tree/tables/7 is damaged"), "{reply}");
        // A backup shows counts, too.
        let backup = json!({"TableName": "music", "BackupName": "copy"});
        assert_eq!(call(&db, "CreateBackup", &backup).0, 500);
        // Other tables are as well as ever.
        assert_eq!(described(&db, "whole").unwrap()["ItemCount"], 1);
    }
}

#[test]
fn what_was_done_is_answered_without_counts_where_there_are_none() {
    let store = troubled();
    store.damage(MUSIC);
    let db = open(&store, None);
    let updated =
        ok(&db, "UpdateTable", json!({"TableName": "music", "DeletionProtectionEnabled": false}));
    let deleted = ok(&db, "DeleteTable", json!({"TableName": "music"}));
    for table in [updated, deleted] {
        let table = &table["TableDescription"];
        assert_eq!(table["TableName"], "music");
        assert_eq!((table.get("ItemCount"), table.get("TableSizeBytes")), (None, None));
        let index = &table["GlobalSecondaryIndexes"][0];
        assert_eq!((index.get("ItemCount"), index.get("IndexSizeBytes")), (None, None));
    }
}

#[test]
fn a_backup_of_a_damaged_table_fails_with_a_reason() {
    let store = troubled();
    let db = open(&store, None);
    let answer = ok(&db, "CreateBackup", json!({"TableName": "music", "BackupName": "copy"}));
    let arn = json!({"BackupArn": answer["BackupDetails"]["BackupArn"]});
    store.damage(MUSIC);
    assert!(db.run_maintenance().is_err());
    let shown = |db: &Database| -> Value {
        ok(db, "DescribeBackup", arn.clone())["BackupDescription"]["BackupDetails"].clone()
    };
    // A restart changes nothing about it.
    drop(db);
    let db = open(&store, None);
    assert_eq!(shown(&db)["BackupStatus"], "FAILED");
    let message = shown(&db)["FailureMessage"].as_str().unwrap().to_owned();
    assert!(message.contains("tree/tables/7 is damaged"), "{message}");
    let mut restore = arn.clone();
    restore["TargetTableName"] = "copy".into();
    let (status, reply) = call(&db, "RestoreTableFromBackup", &restore);
    assert_eq!(status, 400);
    assert!(reply.to_string().contains("it failed"), "{reply}");
    ok(&db, "DeleteBackup", arn.clone());
    assert_eq!(call(&db, "DescribeBackup", &arn).0, 400);
}

#[test]
fn a_restore_of_a_damaged_table_fails_with_a_reason() {
    let store = troubled();
    let db = open(&store, None);
    let restore = json!({
        "SourceTableName": "music", "TargetTableName": "copy", "UseLatestRestorableTime": true,
    });
    ok(&db, "RestoreTableToPointInTime", restore);
    store.damage(MUSIC);
    assert!(db.run_maintenance().is_err());
    drop(db);
    let db = open(&store, None);
    let copy = described(&db, "copy").unwrap();
    assert_eq!(copy["TableStatus"], "FAILED");
    assert_eq!(copy["RestoreSummary"]["RestoreInProgress"], false);
    let message = copy["RestoreSummary"]["FailureMessage"].as_str().unwrap();
    assert!(message.contains("tree/tables/7 is damaged"), "{message}");
    assert_eq!(call(&db, "Scan", &json!({"TableName": "copy"})).0, 400);
    ok(&db, "DeleteTable", json!({"TableName": "copy"}));
    assert!(described(&db, "copy").is_none());
}

#[test]
fn a_damaged_dropped_table_does_not_keep_others_from_being_removed() {
    let store = Arc::new(Troubled::new(filled_without_recovery(&indexed())));
    let db = open(&store, None);
    ok(&db, "CreateTable", table("other", json!({})));
    (0..10).for_each(|number| crate::put(&db, "other", number));
    let ttl = json!({
        "TableName": "other",
        "TimeToLiveSpecification": {"AttributeName": "dies", "Enabled": true},
    });
    ok(&db, "UpdateTimeToLive", ttl);
    store.damage(MUSIC);
    ok(&db, "DeleteTable", json!({"TableName": "music"}));
    assert!(db.run_maintenance().is_err());
    assert!(everything(&db, "other", None).is_empty(), "expired items go nevertheless");
    let failures = db.background_failures();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].1.contains("tree/tables/7"), "{failures:?}");
}
