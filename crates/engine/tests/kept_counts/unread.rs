//! Notes that cannot be read, removed or believed.

use std::path::Path;
use std::sync::Arc;

use keyloom_engine::{Database, DiskOptions, Durability, Options};
use keyloom_store::{DiskStore, Fault, FaultyStore, MemoryStore, Store};
use serde_json::json;

use crate::looked_at::{Condition, Look};
use crate::{
    NOTE, call, closed, copied, counts, delete, fill, item, on_disk, open, put, write_beneath,
};

#[test]
fn a_note_that_makes_no_sense_is_as_good_as_none() {
    let (store, expected) = closed();
    let whole = store.get(NOTE).unwrap().unwrap();
    let without_indexes = br#"{"opening":0,"counts":{"1":[3,300]},"expiries":{}}"#;
    let of_another_opening = br#"{"opening":7,"counts":{},"expiries":{}}"#;
    let spoilt: [&[u8]; 6] =
        [b"", b"{}", b"\xff\x00", &whole[..whole.len() / 2], without_indexes, of_another_opening];
    for note in spoilt {
        let store = Arc::new(Look::at(store.fork(), Condition::Whole));
        write_beneath(store.as_ref(), NOTE, Some(note));
        let database = open(&store);
        assert_eq!(counts(&database), expected);
        assert!(store.entry_scans() > 0);
        assert_eq!(store.get(NOTE).unwrap(), None);
        drop(database);
        assert_eq!(store.get(NOTE).unwrap(), Some(whole.clone()));
    }
}

/// In a store that has one opening only, somebody could take it for a note of today.
#[test]
fn a_note_that_would_be_believed_later_must_be_removed() {
    let (store, expected) = closed();
    let store = Arc::new(FaultyStore::new(store));
    for fault in [Fault::UnknownLost, Fault::UnknownWritten] {
        store.plan([fault]);
        let options = Options { background: false, ..Options::default() };
        let refused = Database::on(Arc::clone(&store) as Arc<dyn Store>, options).unwrap_err();
        assert!(refused.to_string().contains("this failure was planned"), "{refused}");
        let database = open(&store);
        assert_eq!(counts(&database), expected, "{fault:?}");
        put(&database, 500, 7);
        delete(&database, 500);
    }
    store.plan([Fault::Conflict, Fault::Conflict]);
    assert_eq!(counts(&open(&store)), expected);
}

/// A directory in which a database has been closed, its note, and its counts.
fn closed_on_disk() -> (tempfile::TempDir, Vec<u8>, Vec<(String, u64, u64)>) {
    let directory = tempfile::tempdir().unwrap();
    let database = open(&on_disk(directory.path(), Durability::Sync));
    fill(&database);
    let counts = counts(&database);
    drop(database);
    let left = copied(directory.path());
    let note = on_disk(left.path(), Durability::Sync).get(NOTE).unwrap().unwrap();
    (directory, note.to_vec(), counts)
}

/// Writes, crashes, and has what is left counted, whatever note is there.
fn crash_and_count(database: &Database, path: &Path) {
    put(database, 900, 7);
    let expected = counts(database);
    let crashed = copied(path);
    let store = on_disk(crashed.path(), Durability::Sync);
    assert_eq!(counts(&open(&store)), expected);
    assert_eq!(store.entry_scans(), 4);
}

#[test]
fn a_note_that_cannot_be_read_is_left_where_it_is_and_never_believed() {
    let (directory, note, expected) = closed_on_disk();
    let store = on_disk(directory.path(), Durability::Sync);
    store.turn(Condition::NoteDamaged);
    let database = open(&store);
    assert_eq!(store.inner().get(NOTE).unwrap().as_deref(), Some(&note[..]));
    assert_eq!(counts(&database), expected);
    assert_eq!(store.entry_scans(), 4);
    crash_and_count(&database, directory.path());
    let expected = counts(&database);
    drop(database);
    drop(store);

    // The close has put one in its place.
    let store = on_disk(directory.path(), Durability::Sync);
    assert_eq!(counts(&open(&store)), expected);
    assert_eq!(store.entry_scans(), 0);
}

#[test]
fn a_note_that_could_not_be_read_is_not_believed_within_the_same_opening_either() {
    let (directory, _, before) = closed_on_disk();
    let (store, _) = DiskStore::open(directory.path(), DiskOptions::default()).unwrap();
    let store = Arc::new(Look::at(FaultyStore::new(store), Condition::NoteDamaged));
    let database = open(&store);
    put(&database, 900, 7);
    store.inner().plan([Fault::UnknownLost]);
    let body = json!({"TableName": "notes", "Item": item(901, 7)});
    assert_eq!(call(&database, "PutItem", &body).0, 500);
    // Without a note of its own.
    drop(database);
    store.turn(Condition::Whole);
    assert_eq!(counts(&open(&store))[0].1, before[0].1 + 1);
}

#[test]
fn where_a_note_could_be_believed_later_one_that_cannot_be_read_is_an_error() {
    let (store, _) = closed();
    let store = Arc::new(Look::at(store, Condition::NoteDamaged));
    let options = Options { background: false, ..Options::default() };
    let refused = Database::on(Arc::clone(&store) as Arc<dyn Store>, options).unwrap_err();
    assert!(refused.to_string().contains("this damage was planned"), "{refused}");
    assert!(store.inner().get(NOTE).unwrap().is_some());
}

/// As without room on the disk.
#[test]
fn a_note_that_cannot_be_removed_from_a_disk_does_not_keep_the_database_from_opening() {
    for fault in [Fault::UnknownLost, Fault::UnknownWritten, Fault::UnknownLate] {
        let (directory, _, expected) = closed_on_disk();
        let (store, _) = DiskStore::open(directory.path(), DiskOptions::default()).unwrap();
        let store = Arc::new(Look::at(FaultyStore::new(store), Condition::Whole));
        store.inner().plan([fault]);
        let database = open(&store);
        assert_eq!(store.entry_scans(), 4, "it is not believed: {fault:?}");
        assert_eq!(counts(&database), expected);
        let is_left = fault != Fault::UnknownWritten;
        assert_eq!(store.get(NOTE).unwrap().is_some(), is_left, "{fault:?}");
        crash_and_count(&database, directory.path());
    }
}

#[test]
fn a_store_that_cannot_tell_its_openings_apart_gets_no_note_and_none_is_believed() {
    let store = Arc::new(Look::at(MemoryStore::new(), Condition::Untold));
    let database = open(&store);
    fill(&database);
    let expected = counts(&database);
    drop(database);
    assert_eq!(store.get(NOTE).unwrap(), None);
    let (left, _) = closed();
    let note = left.get(NOTE).unwrap().unwrap();
    write_beneath(store.as_ref(), NOTE, Some(&note));
    assert_eq!(counts(&open(&store)), expected);
    assert_eq!(store.entry_scans(), 4);
}
