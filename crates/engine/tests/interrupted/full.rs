//! A disk that is full for a while: what goes on in the background waits, says so, and goes on.

use std::sync::Arc;
use std::time::Duration;

use keyloom_engine::buckets::Folder;
use keyloom_engine::{Database, Health, ManualClock, Options};
use keyloom_store::{MemoryStore, Store};
use serde_json::{Value, json};

use crate::troubled::Troubled;
use crate::{
    ITEMS, START_MS, call, described, eventually, everything, filled, filled_without_recovery,
    indexed, item, ok, table,
};

/// A database with threads that look for work all the time.
fn open(store: &Arc<Troubled>, bucket_root: Option<std::path::PathBuf>) -> Database {
    let options = Options {
        clock: Arc::new(ManualClock::at_ms(START_MS)),
        maintenance_interval: Duration::from_millis(20),
        buckets: bucket_root.map(|root| Arc::new(Folder::new(root)) as _),
        ..Options::default()
    };
    Database::on(Arc::clone(store) as Arc<dyn Store>, options).unwrap()
}

/// Has the disk run full after each number of commits: whatever has been acknowledged by then is done
/// when there is room again.
fn is_done_later(
    before: &MemoryStore,
    bucket_root: Option<&std::path::Path>,
    (operation, body): (&str, &Value),
    is_done: impl Fn(&Database) -> bool,
) {
    let mut waited = 0;
    for commits in 1..6 {
        let store = Arc::new(Troubled::new(before.fork()));
        let db = open(&store, bucket_root.map(Into::into));
        store.fill_after(commits);
        if call(&db, operation, body).0 != 200 {
            continue;
        }
        eventually("that it says so", || is_done(&db) || !db.background_failures().is_empty());
        if !is_done(&db) {
            waited += 1;
            assert!(matches!(db.health(), Health::ReadOnly { restart_needed: false, .. }));
        }
        store.make_room();
        eventually(operation, || is_done(&db));
        eventually("that it is content", || db.background_failures().is_empty());
        assert_eq!(db.health(), Health::Ready);
    }
    assert!(waited > 0, "{operation} never met a full disk");
}

#[test]
fn a_backup_waits_for_room() {
    let backup = json!({"TableName": "music", "BackupName": "copy"});
    is_done_later(&filled(&json!({})), None, ("CreateBackup", &backup), |db| {
        let listed = ok(db, "ListBackups", json!({}));
        listed["BackupSummaries"][0]["BackupStatus"] == "AVAILABLE"
    });
}

#[test]
fn a_restore_waits_for_room() {
    let restore = json!({
        "SourceTableName": "music", "TargetTableName": "copy", "UseLatestRestorableTime": true,
    });
    is_done_later(&filled(&indexed()), None, ("RestoreTableToPointInTime", &restore), |db| {
        let copy = described(db, "copy").unwrap();
        copy["TableStatus"] == "ACTIVE" && copy["ItemCount"] == ITEMS
    });
}

#[test]
fn an_index_waits_for_room() {
    let create = json!({
        "TableName": "music",
        "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }}],
    });
    is_done_later(&filled(&json!({})), None, ("UpdateTable", &create), |db| {
        let index = described(db, "music").unwrap()["GlobalSecondaryIndexes"][0].clone();
        index["IndexStatus"] == "ACTIVE" && {
            assert_eq!(index["ItemCount"], ITEMS);
            everything(db, "music", Some("by-g")).len() == ITEMS as usize
        }
    });
}

#[test]
fn an_import_waits_for_room() {
    let root = crate::transfers::buckets();
    let import = json!({
        "S3BucketSource": {"S3Bucket": "bucket"},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": table("copy", json!({})),
    });
    let before = filled(&json!({}));
    is_done_later(&before, Some(root.path()), ("ImportTable", &import), |db| {
        let listed = ok(db, "ListImports", json!({}));
        let status = &listed["ImportSummaryList"][0]["ImportStatus"];
        assert_ne!(status, "FAILED");
        status == "COMPLETED" && everything(db, "copy", None).len() == ITEMS as usize
    });
}

#[test]
fn removals_wait_for_room() {
    let ttl = json!({
        "TableName": "music",
        "TimeToLiveSpecification": {"AttributeName": "dies", "Enabled": true},
    });
    is_done_later(&filled(&indexed()), None, ("UpdateTimeToLive", &ttl), |db| {
        everything(db, "music", None).is_empty()
    });
}

#[test]
fn a_dropped_table_is_removed_when_there_is_room() {
    let store = Arc::new(Troubled::new(filled_without_recovery(&indexed())));
    let db = open(&store, None);
    store.fill_after(1);
    ok(&db, "DeleteTable", json!({"TableName": "music"}));
    eventually("that it says so", || !db.background_failures().is_empty());
    store.make_room();
    let entries = || {
        let snapshot = store.snapshot().unwrap();
        let range = keyloom_store::KeyRange::prefix(&[0x10]);
        snapshot.scan(range, keyloom_store::Direction::Forward).count()
    };
    eventually("that it is gone", || entries() == 0);
    eventually("that it is content", || db.background_failures().is_empty());
}

#[test]
fn a_database_opens_for_reading_on_a_full_disk_and_goes_on_later() {
    let before = Arc::new(Troubled::new(filled(&indexed())));
    // Everything is interrupted right after it was acknowledged.
    let options = Options {
        clock: Arc::new(ManualClock::at_ms(START_MS)),
        background: false,
        ..Options::default()
    };
    let db = Database::on(Arc::clone(&before) as Arc<dyn Store>, options).unwrap();
    ok(&db, "CreateBackup", json!({"TableName": "music", "BackupName": "copy"}));
    let import = json!({
        "S3BucketSource": {"S3Bucket": "bucket"},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": table("imported", json!({})),
    });
    ok(&db, "ImportTable", import);
    let restore = json!({
        "SourceTableName": "music", "TargetTableName": "copy", "UseLatestRestorableTime": true,
    });
    ok(&db, "RestoreTableToPointInTime", restore);
    let store = Arc::new(Troubled::new(before.inner().fork()));
    drop(db);

    store.fill_after(0);
    let db = open(&store, None);
    assert_eq!(everything(&db, "music", None).len(), ITEMS as usize);
    assert!(!db.health().is_ready());
    let (status, _) = call(&db, "PutItem", &json!({"TableName": "music", "Item": item(1)}));
    assert_eq!(status, 200, "it is there already: nothing is written");
    let (status, reply) = call(&db, "PutItem", &json!({"TableName": "music", "Item": item(1000)}));
    assert_eq!(status, 500);
    assert!(reply.to_string().contains("no space left"), "{reply}");
    store.make_room();
    eventually("the restore", || described(&db, "copy").unwrap()["TableStatus"] == "ACTIVE");
    eventually("the backup", || {
        let listed = ok(&db, "ListBackups", json!({}));
        listed["BackupSummaries"][0]["BackupStatus"] == "AVAILABLE"
    });
    eventually("the import", || {
        ok(&db, "ListImports", json!({}))["ImportSummaryList"][0]["ImportStatus"] == "FAILED"
    });
    eventually("its table", || described(&db, "imported").is_none());
    assert_eq!(everything(&db, "copy", None), everything(&db, "music", None));
}
