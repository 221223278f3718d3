//! A failing disk: any write or sync may fail, and the store must report it and be poisoned.

use super::faulty_files::FaultyFiles;
use super::{DiskOptions, DiskStore};
use crate::{CommitError, Store, StoreError};

fn put(store: &DiskStore, key: &'static str) -> Result<(), CommitError> {
    let mut transaction = store.begin(&[key.as_bytes()]).map_err(CommitError::Failed)?;
    transaction.put(key.into(), "value".into());
    transaction.commit()
}

fn with_failing_disk(arm: fn(&FaultyFiles)) {
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = log.open_store(directory.path());

    put(&store, "before").unwrap();
    arm(&log);
    let error = put(&store, "unlucky").unwrap_err();
    assert!(matches!(error, CommitError::Unknown(_)), "{error}");
    assert!(error.to_string().contains("the disk is on fire"), "{error}");

    // The disk works again, but the store stays poisoned.
    let error = put(&store, "after").unwrap_err();
    assert!(matches!(error, CommitError::Failed(StoreError::Poisoned { .. })), "{error}");
    assert!(error.to_string().contains("the disk is on fire"), "{error}");
    assert!(store.get(b"before").unwrap().is_some(), "durable data stays readable");
    assert_eq!(store.get(b"unlucky").unwrap(), None, "a write of unknown outcome is not visible");
    assert!(matches!(store.close(), Err(StoreError::Poisoned { .. })));

    let (store, _) = DiskStore::open(directory.path(), DiskOptions::default()).unwrap();
    assert!(store.get(b"before").unwrap().is_some());
    assert_eq!(store.get(b"after").unwrap(), None);
    put(&store, "after").unwrap();
}

#[test]
fn a_failed_sync_poisons_the_store() {
    with_failing_disk(|log| log.fail_sync_after(0));
}

#[test]
fn a_failed_write_poisons_the_store() {
    with_failing_disk(|log| log.fail_write_after(0));
}

#[test]
fn a_failed_sync_fails_every_waiting_writer() {
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = log.open_store(directory.path());
    log.fail_sync_after(20);
    let acknowledged = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8_u64)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || write_until_failure(store, writer))
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    drop(store);
    let (store, _) = DiskStore::open(directory.path(), DiskOptions::default()).unwrap();
    for (writer, count) in acknowledged.into_iter().enumerate() {
        for n in 0..count {
            let key = format!("{writer}/{n}");
            assert!(store.get(key.as_bytes()).unwrap().is_some(), "{key} was acknowledged");
        }
    }
}

fn write_until_failure(store: &DiskStore, writer: u64) -> u64 {
    for n in 0.. {
        let Ok(mut transaction) = store.begin(&[]) else { return n };
        transaction.put(format!("{writer}/{n}").into(), "value".into());
        if transaction.commit().is_err() {
            return n;
        }
    }
    unreachable!("the injected failure occurs")
}

/// Writes transactions of two keys until one fails; returns how many were acknowledged.
fn pairs_until_failure(store: &DiskStore) -> u64 {
    for n in 0.. {
        let Ok(mut transaction) = store.begin(&[]) else { return n };
        transaction.put(format!("{n} left").into(), "value".into());
        transaction.put(format!("{n} right").into(), "value".into());
        if transaction.commit().is_err() {
            return n;
        }
    }
    unreachable!("the injected failure occurs")
}

#[test]
fn any_failed_write_or_sync_keeps_acknowledged_transactions_whole() {
    for fail_after in [FaultyFiles::fail_write_after, FaultyFiles::fail_sync_after] {
        for count in 0..25 {
            let directory = tempfile::tempdir().unwrap();
            let log = FaultyFiles::default();
            let store = log.open_store(directory.path());
            fail_after(&log, count);
            let acknowledged = pairs_until_failure(&store);
            drop(store);
            let (store, _) = DiskStore::open(directory.path(), DiskOptions::default()).unwrap();
            for n in 0..=acknowledged {
                let left = store.get(format!("{n} left").as_bytes()).unwrap();
                let right = store.get(format!("{n} right").as_bytes()).unwrap();
                assert_eq!(left, right, "{n} is only half present");
                assert!(left.is_some() || n == acknowledged, "{n} was acknowledged");
            }
            assert!(store.verify().unwrap().is_intact());
        }
    }
}

/// A flush thread that runs at the same time would otherwise flush the sealed memtable first, and
/// after a crash the tables would hold transactions that the manifest does not know to be there.
#[test]
fn an_early_flush_is_recorded_before_its_memtable_is_sealed() {
    let directory = tempfile::tempdir().unwrap();
    let store = FaultyFiles::default().open_store(directory.path());
    put(&store, "first").unwrap();
    let is_flushed = store.tree.flush_all(|_| {
        assert_eq!(store.tree.unflushed(), 0, "sealed before it was recorded");
        Ok(())
    });
    assert!(is_flushed.unwrap());
    put(&store, "second").unwrap();
    let flushed_to = store.tree.persisted_number();
    let full = || StoreError::Full { cause: "no manifest".into() };
    assert!(store.tree.flush_all(|_| Err(full())).is_err());
    store.tree.flush().unwrap();
    assert_eq!(store.tree.persisted_number(), flushed_to, "flushed without a record");
}
