//! When there is a note, when it is believed, and what happens without one.

use std::sync::Arc;

use keyloom_engine::{Database, DiskOptions, Durability, Options};
use keyloom_store::{DiskStore, Fault, FaultyStore, KeyRange, MemoryStore, Store};
use serde_json::json;

use crate::looked_at::{Condition, Look};
use crate::{
    NOTE, call, closed, counts, fill, item, ok, on_disk, open, put, scanned, write_beneath,
};

#[test]
fn after_a_clean_close_nothing_is_counted_again() {
    for durability in [Durability::Sync, Durability::Relaxed] {
        let directory = tempfile::tempdir().unwrap();
        let database = open(&on_disk(directory.path(), durability));
        fill(&database);
        let mut expected = counts(&database);
        assert!(expected.iter().all(|(_, items, bytes)| *items > 5 && *bytes > 5), "{expected:?}");
        drop(database);
        for round in 0..3 {
            let store = on_disk(directory.path(), durability);
            let database = open(&store);
            assert_eq!(store.get(NOTE).unwrap(), None, "it is gone before anybody can write");
            assert_eq!(counts(&database), expected);
            assert_eq!(store.entry_scans(), 0);
            put(&database, 100 + round, 7);
            expected = counts(&database);
            assert_eq!(expected[0].1, scanned(&database, None));
        }
    }
}

#[test]
fn the_last_handle_leaves_the_note_with_threads_or_without() {
    let store = Arc::new(MemoryStore::new());
    fill(&open(&store));
    for background in [true, false, true] {
        let options = Options { background, ..Options::default() };
        let database = Database::on(Arc::clone(&store) as Arc<dyn Store>, options).unwrap();
        let clone = database.clone();
        drop(database);
        assert_eq!(store.get(NOTE).unwrap(), None, "a handle is left");
        counts(&clone);
        drop(clone);
        assert!(store.get(NOTE).unwrap().is_some());
    }
}

#[test]
fn after_a_crash_everything_is_counted() {
    let store = Arc::new(MemoryStore::new());
    let database = open(&store);
    fill(&database);
    drop(database);
    let database = open(&store);
    put(&database, 200, 7);
    let expected = counts(&database);
    let crashed = Arc::new(Look::at(store.fork(), Condition::Whole));
    assert_eq!(counts(&open(&crashed)), expected);
    assert_eq!(crashed.entry_scans(), 4, "the table and its indexes");
}

/// A build that knows nothing of notes leaves the one that it finds where it is.
#[test]
fn a_note_is_believed_only_by_the_next_opening() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(&on_disk(directory.path(), Durability::Sync));
    fill(&database);
    let before = counts(&database);
    drop(database);

    let (older, _) = DiskStore::open(directory.path(), DiskOptions::default()).unwrap();
    let snapshot = older.snapshot().unwrap();
    let table = KeyRange::prefix(&[0x10, 0, 0, 0, 1]);
    let (key, _) = snapshot.scan(table, keyloom_store::Direction::Forward).next().unwrap().unwrap();
    let key = key.into_bytes();
    drop(snapshot);
    write_beneath(&older, &key, None);
    older.close().unwrap();

    let store = on_disk(directory.path(), Durability::Sync);
    assert!(store.get(NOTE).unwrap().is_some());
    let database = open(&store);
    assert_eq!(counts(&database)[0].1, before[0].1 - 1);
    assert!(store.entry_scans() > 0);
}

#[test]
fn what_is_not_counted_to_the_end_is_not_noted() {
    let (store, _) = closed();
    write_beneath(&store, NOTE, Some(b"no note"));
    for (condition, background) in [
        (Condition::Damaged, true),
        (Condition::Damaged, false),
        (Condition::Endless, true),
        (Condition::Broken, true),
    ] {
        let store = Arc::new(Look::at(store.fork(), condition));
        let options = Options { background, ..Options::default() };
        let database = Database::on(Arc::clone(&store) as Arc<dyn Store>, options).unwrap();
        put(&database, 300, 7);
        store.wait_for_scans(1);
        drop(database);
        assert_eq!(store.inner().get(NOTE).unwrap(), None, "{condition:?}");
        let database = open(&Arc::new(store.inner().fork()));
        assert_eq!(counts(&database)[0].1, scanned(&database, None));
    }
}

#[test]
fn a_write_of_unknown_fate_leaves_no_note() {
    for fault in [Fault::UnknownWritten, Fault::UnknownLost, Fault::UnknownLate] {
        let store = Arc::new(FaultyStore::new(MemoryStore::new()));
        let database = open(&store);
        fill(&database);
        store.plan([fault]);
        let body = json!({"TableName": "notes", "Item": item(400, 7)});
        assert_eq!(call(&database, "PutItem", &body).0, 500);
        put(&database, 401, 7);
        drop(database);
        assert_eq!(store.get(NOTE).unwrap(), None, "{fault:?}");
        let database = open(&store);
        assert_eq!(counts(&database)[0].1, scanned(&database, None));
        drop(database);
        assert!(store.get(NOTE).unwrap().is_some());
    }
}

#[test]
fn a_store_that_fails_when_the_note_is_written_is_counted_anew() {
    let store = Arc::new(FaultyStore::new(MemoryStore::new()));
    let database = open(&store);
    fill(&database);
    let expected = counts(&database);
    for (fault, is_noted) in [
        (Fault::Conflict, true),
        (Fault::UnknownLost, false),
        (Fault::UnknownLate, false),
        (Fault::UnknownWritten, true),
    ] {
        let database = open(&store);
        store.plan([fault]);
        drop(database);
        assert_eq!(store.get(NOTE).unwrap().is_some(), is_noted, "{fault:?}");
        assert_eq!(counts(&open(&store)), expected);
    }
}

#[test]
fn an_index_that_is_being_filled_at_the_close_is_counted_by_who_fills_it() {
    let store = Arc::new(MemoryStore::new());
    let database = open(&store);
    fill(&database);
    let create = json!({
        "TableName": "notes",
        "AttributeDefinitions": [
            {"AttributeName": "g", "AttributeType": "S"},
            {"AttributeName": "pk", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": "late",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }}],
    });
    ok(&database, "UpdateTable", &create);
    put(&database, 600, 1);
    drop(database);
    let database = open(&store);
    put(&database, 601, 1);
    database.run_maintenance().unwrap();
    let after = counts(&database);
    let late = after.iter().find(|(name, ..)| name == "late").unwrap();
    assert_eq!(late.1, scanned(&database, Some("late")));
    drop(database);
    let again = Arc::new(Look::at(store.fork(), Condition::Whole));
    assert_eq!(counts(&open(&again)), after);
    assert_eq!(again.entry_scans(), 0);
}
