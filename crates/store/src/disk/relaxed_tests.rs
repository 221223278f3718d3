//! Relaxed durability: the log is synced in the background.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::faulty_files::FaultyFiles;
use super::log::record::SEGMENT_HEADER;
use super::{DiskOptions, DiskStore, Durability};
use crate::{CommitError, Store, StoreError};

const TIMEOUT: Duration = Duration::from_secs(20);

fn open_relaxed(log: &FaultyFiles, path: &Path, memtable_bytes: u64) -> DiskStore {
    let durability = Durability::Relaxed;
    let options = DiskOptions { durability, memtable_bytes, ..DiskOptions::default() };
    log.open_store_with(path, options)
}

fn put(store: &DiskStore, key: u64, bytes: usize) -> Result<(), CommitError> {
    let mut transaction = store.begin(&[]).map_err(CommitError::Failed)?;
    transaction.put(key.to_be_bytes().to_vec().into(), vec![7; bytes].into());
    transaction.commit()
}

/// Writes items slowly until a sync is blocked; returns how many were written. No assertion may
/// fail while the sync is blocked: dropping the store would wait for it.
fn put_until_sync(store: &DiskStore, log: &FaultyFiles, first: u64) -> Result<u64, CommitError> {
    let start = Instant::now();
    let mut count = first;
    while !log.is_sync_held() && start.elapsed() < TIMEOUT {
        put(store, count, 1000)?;
        count += 1;
        sleep(Duration::from_millis(2));
    }
    Ok(count)
}

fn entries_of(directory: &Path) -> u64 {
    let (store, _) = DiskStore::open(directory, DiskOptions::default()).unwrap();
    store.verify().unwrap().entries
}

#[test]
fn writes_do_not_wait_for_a_running_sync() {
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = open_relaxed(&log, directory.path(), 32 << 20);
    log.hold_syncs();
    let count = put_until_sync(&store, &log, 0).unwrap();
    for key in count..count + 100 {
        put(&store, key, 1000).unwrap();
    }
    let is_held = log.is_sync_held();
    log.release_syncs();
    assert!(is_held, "no sync was blocked during these writes");
    store.close().unwrap();
    assert_eq!(entries_of(directory.path()), count + 100);
}

#[test]
fn a_full_segment_is_synced_in_the_background_before_the_next_begins() {
    const FULL: u64 = 2 << 20;
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = open_relaxed(&log, directory.path(), FULL);
    let segments = || FaultyFiles::log(directory.path()).list().unwrap().len();
    for key in 0..FULL / 1100 {
        put(&store, key, 1000).unwrap();
    }
    log.hold_syncs();
    let mut count = put_until_sync(&store, &log, FULL / 1100).unwrap();
    put(&store, count, 1000).unwrap();
    let (is_held, segments_meanwhile) = (log.is_sync_held(), segments());
    log.release_syncs();
    assert!(is_held, "nothing was synced");
    assert_eq!(segments_meanwhile, 1, "a new segment asserts that the previous one is durable");
    let start = Instant::now();
    while segments() == 1 && start.elapsed() < TIMEOUT {
        count += 1;
        put(&store, count, 1000).unwrap();
    }
    assert_ne!(segments(), 1, "the next segment does not begin");
    store.close().unwrap();
    assert_eq!(entries_of(directory.path()), count + 1);
}

#[test]
fn a_failed_background_sync_poisons_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = open_relaxed(&log, directory.path(), 32 << 20);
    log.fail_sync_after(0);
    let error = put_until_sync(&store, &log, 0).unwrap_err();
    assert!(matches!(error, CommitError::Failed(StoreError::Poisoned { .. })), "{error}");
    assert!(error.to_string().contains("the disk is on fire"), "{error}");
    assert!(matches!(store.close(), Err(StoreError::Poisoned { .. })));
}

/// Durable data is sealed once the store is idle, so that damage to it is not taken for a torn
/// tail.
#[test]
fn damage_to_data_synced_while_idle_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = open_relaxed(&log, directory.path(), 32 << 20);
    put(&store, 1, 1000).unwrap();
    let start = Instant::now();
    loop {
        let bytes = FaultyFiles::log(directory.path()).read(1).unwrap();
        let damaged = tempfile::tempdir().unwrap();
        let copy = DiskStore::open(damaged.path(), DiskOptions::default()).unwrap().0;
        copy.close().unwrap();
        let mut bytes = bytes;
        bytes[SEGMENT_HEADER + 500] ^= 1;
        std::fs::write(damaged.path().join("log/00000001.log"), bytes).unwrap();
        match DiskStore::open(damaged.path(), DiskOptions::default()) {
            Err(StoreError::Corrupt { .. }) => return,
            outcome => assert!(start.elapsed() < TIMEOUT, "{outcome:?}"),
        }
        sleep(Duration::from_millis(20));
    }
}
