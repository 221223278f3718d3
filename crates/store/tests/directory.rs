//! The directory of a disk store: locking, formats, and what is refused.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use keyloom_store::{DiskOptions, DiskStore, Durability, ReadOnlyStore, Store, StoreError};

fn open(path: &Path) -> Result<DiskStore, StoreError> {
    DiskStore::open(path, DiskOptions::default()).map(|(store, _)| store)
}

fn put(store: &DiskStore, key: String, value: Vec<u8>) {
    let mut transaction = store.begin(&[]).unwrap();
    transaction.put(key.into(), value.into());
    transaction.commit().unwrap();
}

#[test]
fn a_store_is_opened_once_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path()).unwrap();
    let error = open(directory.path()).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    assert!(error.to_string().contains("is open in another process"), "{error}");
    let snapshot = first.snapshot().unwrap();
    drop(first);
    assert!(open(directory.path()).is_err(), "a snapshot still reads the tables");
    drop(snapshot);
    open(directory.path()).unwrap();
}

#[test]
fn a_newer_or_unknown_format_is_refused_with_its_version() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()).unwrap());
    let manifest = directory.path().join("MANIFEST");
    let intact = fs::read_to_string(&manifest).unwrap();
    assert!(intact.starts_with("keyloom-store format 3\n"), "{intact}");
    for (content, expected) in [
        ("keyloom-store format 4\n", "the store has format 4, but this version reads up to"),
        ("keyloom-store format 0\n", "format 0, which this version cannot read"),
        ("something else\n", "is not the format of a keyloom store"),
        ("", "is not the format of a keyloom store"),
    ] {
        fs::write(&manifest, content).unwrap();
        let error = open(directory.path()).unwrap_err();
        assert!(matches!(error, StoreError::Format { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{content:?}: {error}");
        assert!(error.to_string().contains("MANIFEST"), "{error}");
    }
    fs::write(&manifest, intact.replace("log 1", "log 2")).unwrap();
    let error = open(directory.path()).unwrap_err();
    assert!(
        error.to_string().contains("MANIFEST is damaged: its content does not match"),
        "{error}"
    );
    fs::write(&manifest, intact).unwrap();
    open(directory.path()).unwrap();
}

/// Recreates the layout of builds before format 3: the same files, a format file, no manifest.
fn turn_into_format(number: u32, path: &Path) {
    fs::remove_file(path.join("MANIFEST")).unwrap();
    fs::write(path.join("FORMAT"), format!("keyloom-store format {number}\n")).unwrap();
}

#[test]
fn a_store_of_format_2_is_upgraded_when_it_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    flushed_store(directory.path());
    turn_into_format(2, directory.path());
    assert_eq!(open(directory.path()).unwrap().verify().unwrap().entries, 200);
    assert!(!directory.path().join("FORMAT").exists(), "older builds must not open it any more");
    assert!(directory.path().join("MANIFEST").exists());
    assert_eq!(open(directory.path()).unwrap().verify().unwrap().entries, 200);
}

#[test]
fn older_and_newer_format_files_are_refused() {
    for (number, expected) in [
        (0, "format 0, which"),
        (1, "export its tables"),
        (3, "is not the format"),
        (9, "use a newer"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        drop(open(directory.path()).unwrap());
        turn_into_format(number, directory.path());
        let error = open(directory.path()).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("FORMAT"), "{number}: {error}");
    }
}

#[test]
fn a_directory_with_foreign_files_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("holiday.jpg"), "").unwrap();
    let error = open(directory.path()).unwrap_err();
    assert!(error.to_string().contains("contains holiday.jpg"), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is created in it");
    let error = ReadOnlyStore::open(directory.path(), DiskOptions::default()).unwrap_err();
    assert!(error.to_string().ends_with("this is not a keyloom store"), "{error}");
    fs::remove_file(directory.path().join("holiday.jpg")).unwrap();
    open(directory.path()).unwrap();
}

#[cfg(unix)]
#[test]
fn all_files_of_a_new_store_are_private_to_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("store");
    let store = open(&path).unwrap();
    assert!(path.join("tree/v0").exists());
    for directory in [path.clone(), path.join("log"), path.join("tree"), path.join("tree/tables")] {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}: {mode:o}", entry.path().display());
        }
    }
    drop(store);
}

#[cfg(unix)]
#[test]
fn a_lock_file_that_is_a_link_is_refused() {
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = other.path().join("target");
    std::os::unix::fs::symlink(&target, directory.path().join("LOCK")).unwrap();
    let error = open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("LOCK") && error.contains("symbolic link"), "{error}");
    assert!(!target.exists());
}

#[test]
fn an_interrupted_creation_is_restarted() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("MANIFEST.tmp"), "keyl").unwrap();
    fs::write(directory.path().join("LOCK"), "").unwrap();
    drop(open(directory.path()).unwrap());
    fs::write(directory.path().join("log/next.tmp"), "KLOO").unwrap();
    open(directory.path()).unwrap();
}

#[test]
fn a_path_that_is_a_file_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = open(file.path()).unwrap_err();
    assert!(error.to_string().starts_with("could not create the directory"), "{error}");
}

#[test]
fn a_directory_is_created_with_its_parents() {
    let directory = tempfile::tempdir().unwrap();
    open(&directory.path().join("a/b/c")).unwrap();
}

#[test]
fn flushed_segments_are_removed_from_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let options = DiskOptions {
        memtable_bytes: 200_000,
        durability: Durability::Relaxed,
        ..DiskOptions::default()
    };
    let (store, _) = DiskStore::open(directory.path(), options).unwrap();
    for n in 0..5000 {
        put(&store, format!("key {n:05}"), vec![n as u8; 1000]);
    }
    let stats = store.stats().unwrap();
    assert!(stats.disk_bytes - stats.log_bytes > 3_000_000, "{stats:?}");
    // At most three memtables wait to be flushed; each segment is preallocated with zeros.
    assert!(stats.log_bytes < 5 * (200_000 + 300_000), "{stats:?}");
    assert_eq!(store.verify().unwrap().entries, 5000);
    drop(store);
    let (store, report) = DiskStore::open(directory.path(), options).unwrap();
    assert!(report.replayed_transactions < 1000, "{report:?}");
    assert_eq!(store.verify().unwrap().entries, 5000);
}

#[test]
fn frequent_reopening_does_not_accumulate_segments() {
    let directory = tempfile::tempdir().unwrap();
    for n in 0..20 {
        put(&open(directory.path()).unwrap(), format!("{n}"), vec![]);
    }
    let segments = fs::read_dir(directory.path().join("log")).unwrap().count();
    assert!(segments <= 8, "{segments}");
    assert_eq!(open(directory.path()).unwrap().verify().unwrap().entries, 20);
}

/// A closed store whose content is in tables.
fn flushed_store(path: &Path) -> Vec<PathBuf> {
    let options = DiskOptions { memtable_bytes: 50_000, ..DiskOptions::default() };
    let (store, _) = DiskStore::open(path, options).unwrap();
    for n in 0..200 {
        put(&store, format!("key {n:05}"), vec![n as u8; 1000]);
    }
    drop(store);
    let mut tables: Vec<_> = fs::read_dir(path.join("tree/tables"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    tables.sort();
    assert!(!tables.is_empty());
    tables
}

#[test]
fn a_damaged_table_is_reported_by_verify() {
    let directory = tempfile::tempdir().unwrap();
    for table in flushed_store(directory.path()) {
        let mut bytes = fs::read(&table).unwrap();
        bytes[2000] ^= 1;
        fs::write(&table, bytes).unwrap();
    }
    let store = open(directory.path()).unwrap();
    let verification = store.verify().unwrap();
    assert!(!verification.is_intact());
    assert!(verification.damage[0].contains("table"), "{:?}", verification.damage);
    let damaged = (0..200).any(|n| {
        let read = store.get(format!("key {n:05}").as_bytes());
        matches!(read, Err(StoreError::Corrupt { .. }))
    });
    assert!(damaged, "reading a damaged block is an error");
}

#[test]
fn a_missing_table_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    fs::remove_file(&flushed_store(directory.path())[0]).unwrap();
    let error = open(directory.path()).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[test]
fn a_failed_flush_poisons_the_store_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let options = DiskOptions { memtable_bytes: 20_000, ..DiskOptions::default() };
    let (store, _) = DiskStore::open(directory.path(), options).unwrap();
    fs::remove_dir_all(directory.path().join("tree/tables")).unwrap();
    let mut acknowledged = 0;
    let error = loop {
        let Ok(mut transaction) = store.begin(&[]) else {
            break store.begin(&[]).err().unwrap().to_string();
        };
        transaction.put(format!("key {acknowledged:05}").into(), vec![1; 1000].into());
        match transaction.commit() {
            Ok(()) => acknowledged += 1,
            Err(error) => break error.to_string(),
        }
        assert!(acknowledged < 10_000, "the flush should have failed by now");
    };
    assert!(error.contains("accepts no more writes"), "{error}");
    assert!(acknowledged > 10);
    assert!(store.get(b"key 00000").unwrap().is_some());
    drop(store);
    let (store, _) = DiskStore::open(directory.path(), options).unwrap();
    assert!(store.verify().unwrap().entries >= acknowledged);
}

#[test]
fn openings_are_distinguishable_however_they_ended() {
    let directory = tempfile::tempdir().unwrap();
    let small = DiskOptions { memtable_bytes: 10_000, ..DiskOptions::default() };
    let mut left_behind = 0;
    for round in 0..8 {
        let (store, _) = DiskStore::open(directory.path(), small).unwrap();
        let opened = store.openings().unwrap().unwrap();
        assert_eq!(opened.previous, left_behind);
        assert!(opened.are_told_apart(), "{opened:?}");
        // Every other opening writes nothing, every fourth fills segments that are then flushed.
        let count = [0, 1, 0, 40][round % 4];
        (0..count).for_each(|number| put(&store, format!("key {number}"), vec![1; 1000]));
        let left = store.openings().unwrap().unwrap();
        assert_eq!(left.previous, opened.previous);
        left_behind = left.current;
        assert!(count < 40 || left_behind > opened.current + 1, "{left:?}");
    }
}

#[test]
fn unfinished_files_of_the_engine_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    open(directory.path()).unwrap().close().unwrap();
    let unfinished = directory.path().join("tree/.tmpX1y2Z3");
    fs::write(&unfinished, [0; 25]).unwrap();
    open(directory.path()).unwrap().close().unwrap();
    assert!(!unfinished.exists());
}

/// An opening creates a log segment before it adds it to the manifest. The state after a kill in
/// between is assembled from a store and the segment that its copy creates.
#[test]
fn an_opening_killed_before_the_manifest_update_is_harmless() {
    let scratch = tempfile::tempdir().unwrap();
    let (path, copy) = (scratch.path().join("store"), scratch.path().join("copy"));
    let store = open(&path).unwrap();
    put(&store, "key".to_owned(), b"value".to_vec());
    store.close().unwrap();
    for _ in 0..3 {
        copy_all(&path, &copy);
        let begun = open(&copy).unwrap();
        let segment = fs::read_dir(copy.join("log")).unwrap().map(|entry| entry.unwrap().path());
        let newest = segment.filter(|file| file.extension().is_some_and(|e| e == "log")).max();
        let newest = newest.unwrap();
        fs::copy(&newest, path.join("log").join(newest.file_name().unwrap())).unwrap();
        drop(begun);
        fs::remove_dir_all(&copy).unwrap();
    }
    let store = open(&path).unwrap();
    assert_eq!(store.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!(store.verify().unwrap().damage, Vec::<String>::new());
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
