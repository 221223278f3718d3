//! What is sound is found sound, and counted.

use std::sync::Arc;

use keyloom_engine::{DiskOptions, verify};
use keyloom_store::{DiskStore, MemoryStore};

use crate::{fill, filled, open};

#[test]
fn a_sound_database_has_no_findings() {
    let (store, db) = filled();
    let report = db.verify().unwrap();
    assert!(report.is_clean(), "{report:?}");
    let totals = &report.totals;
    assert_eq!((totals.tables, totals.indexes, totals.streams, totals.backups), (2, 3, 1, 1));
    assert_eq!((totals.items, totals.backup_items), (51 + 5 + 20, 51 + 5));
    assert!(totals.index_entries > 60 && totals.stream_records > 80, "{totals:?}");
    assert!(totals.entries > totals.items + totals.index_entries && totals.bytes > 0);
    assert_eq!(totals.counts, 5);
    // Below a database that is open there are no counts.
    let below = verify::store(store.as_ref()).unwrap();
    assert!(below.is_clean(), "{below:?}");
    assert_eq!(below.totals.counts, 0);
}

#[test]
fn a_closed_database_is_verified_with_its_counts_and_left_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let store = || DiskStore::open(directory.path(), DiskOptions::default()).unwrap().0;
    let db = open(&Arc::new(store()));
    fill(&db);
    drop(db);
    let store = store();
    let note = crate::entries(&store, keyloom_engine::COUNTS_KEY);
    let report = verify::store(&store).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.totals.counts, 5);
    assert_eq!(crate::entries(&store, keyloom_engine::COUNTS_KEY), note);
}

#[test]
fn an_empty_database_is_sound() {
    assert!(verify::store(&MemoryStore::new()).unwrap().is_clean());
    assert!(keyloom_engine::Database::memory().verify().unwrap().is_clean());
}

#[test]
fn what_is_under_way_is_no_finding() {
    let (store, db) = filled();
    // An index that is being filled, a backup that is being made, a table that is being removed.
    let index = serde_json::json!({
        "TableName": "plain",
        "AttributeDefinitions": [{"AttributeName": "shape", "AttributeType": "N"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": "by-shape",
            "KeySchema": [{"AttributeName": "shape", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }}],
    });
    crate::ok(&db, "UpdateTable", &index);
    crate::put(&db, "plain", 1000, 3);
    let backup = serde_json::json!({"TableName": "music", "BackupName": "second"});
    crate::ok(&db, "CreateBackup", &backup);
    crate::ok(&db, "DeleteTable", serde_json::json!({"TableName": "music"}));
    for report in [db.verify().unwrap(), verify::store(store.as_ref()).unwrap()] {
        assert!(report.is_clean(), "{report:?}");
    }
    db.run_maintenance().unwrap();
    let report = db.verify().unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.totals.backups, 2);
}
