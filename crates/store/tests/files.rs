//! Files of a store that are removed, truncated, moved or copied: either an error names the file,
//! or the store holds everything; it never opens with less.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use keyloom_store::{
    Bytes, Direction, DiskOptions, DiskStore, Durability, Health, KeyRange, ReadOnlyStore, Store,
    StoreError,
};

/// Small buffers: a few hundred writes create tables and several segments.
fn options() -> DiskOptions {
    DiskOptions { memtable_bytes: 40_000, ..DiskOptions::default() }
}

fn key(number: u64) -> Bytes {
    format!("key {number:06}").into()
}

fn put(store: &DiskStore, number: u64) -> Result<(), StoreError> {
    let mut transaction = store.begin(&[])?;
    transaction.put(key(number), vec![number as u8; 500].into());
    transaction.put("newest".into(), Bytes::copy_from_slice(&number.to_be_bytes()));
    transaction.commit().map_err(StoreError::from)
}

/// A closed store with tables and with records in its log.
fn closed_store(path: &Path) -> u64 {
    let (store, _) = DiskStore::open(path, options()).unwrap();
    (0..300).for_each(|number| put(&store, number).unwrap());
    store.close().unwrap();
    let small = DiskOptions::default();
    let (store, _) = DiskStore::open(path, small).unwrap();
    (300..310).for_each(|number| put(&store, number).unwrap());
    store.close().unwrap();
    310
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn all_files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(all_files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Opens a modified copy; either the error names one of the files that were touched, or the store
/// holds everything.
fn check_opens(path: &Path, count: u64, touched: &[&Path], what: &str) -> bool {
    match DiskStore::open(path, options()) {
        Err(error) => {
            let text = error.to_string();
            let names_it = touched.iter().any(|file| text.contains(&file.display().to_string()));
            assert!(names_it, "{what}: {text}");
            true
        }
        Ok((store, report)) => {
            assert_eq!(report.cut, None, "{what}: a clean close leaves no torn tail");
            let verification = store.verify().unwrap();
            if !verification.is_intact() {
                let text = verification.damage.join("; ");
                let names_it =
                    touched.iter().any(|file| text.contains(&file.display().to_string()));
                assert!(names_it, "{what}: {text}");
                return true;
            }
            assert_eq!(verification.entries, count + 1, "{what}: opened with less");
            false
        }
    }
}

#[test]
fn every_missing_file_or_directory_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let original = scratch.path().join("original");
    let count = closed_store(&original);
    let mut things: Vec<PathBuf> = all_files(&original);
    things.extend(["log", "tree", "tree/tables"].map(|folder| original.join(folder)));
    let mut refused = 0;
    for thing in things {
        let relative = thing.strip_prefix(&original).unwrap();
        let damaged = scratch.path().join("damaged");
        copy(&original, &damaged);
        let victim = damaged.join(relative);
        let what = format!("without {}", relative.display());
        let within: Vec<PathBuf> =
            if victim.is_dir() { all_files(&victim) } else { vec![victim.clone()] };
        if victim.is_dir() {
            fs::remove_dir_all(&victim).unwrap();
        } else {
            fs::remove_file(&victim).unwrap();
        }
        let touched: Vec<&Path> = within.iter().map(PathBuf::as_path).collect();
        let is_refused = check_opens(&damaged, count, &touched, &what);
        // The lock file need not exist.
        assert_eq!(is_refused, relative != Path::new("LOCK"), "{what}");
        refused += u32::from(is_refused);
        fs::remove_dir_all(&damaged).unwrap();
    }
    assert!(refused > 6, "{refused}");
}

/// Proves that the test above can fail: it does if the manifest is ignored.
#[test]
#[cfg(debug_assertions)]
fn ignoring_the_manifest_hides_a_missing_file() {
    let outcome = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "every_missing_file_or_directory_is_named"])
        .env("KEYLOOM_STORE_MUTATION", "manifest-ignored")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&outcome.stdout);
    assert!(!outcome.status.success() && output.contains("opened with less"), "{output}");
}

#[test]
fn every_truncated_file_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let original = scratch.path().join("original");
    let count = closed_store(&original);
    for file in all_files(&original) {
        let relative = file.strip_prefix(&original).unwrap();
        let length = fs::metadata(&file).unwrap().len();
        let cuts = [0, 1, length / 3, length / 2, length.saturating_sub(1)];
        for cut in cuts.into_iter().filter(|cut| *cut < length) {
            let damaged = scratch.path().join("damaged");
            copy(&original, &damaged);
            let victim = damaged.join(relative);
            fs::OpenOptions::new().write(true).open(&victim).unwrap().set_len(cut).unwrap();
            let what = format!("{} cut from {length} to {cut}", relative.display());
            // After the last record of the log there are only zeros.
            check_opens(&damaged, count, &[&victim], &what);
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
}

#[test]
fn a_killed_store_names_a_missing_segment() {
    let scratch = tempfile::tempdir().unwrap();
    let original = scratch.path().join("original");
    let (store, _) = DiskStore::open(&original, options()).unwrap();
    (0..300).for_each(|number| put(&store, number).unwrap());
    // As a kill would leave it.
    let image = scratch.path().join("image");
    thread::sleep(Duration::from_millis(300));
    copy(&original, &image);
    drop(store);
    for segment in all_files(&image.join("log")) {
        let damaged = scratch.path().join("damaged");
        copy(&image, &damaged);
        let victim = damaged.join(segment.strip_prefix(&image).unwrap());
        fs::remove_file(&victim).unwrap();
        let outcome = DiskStore::open(&damaged, options()).map(drop);
        let is_segment = victim.extension().is_some_and(|extension| extension == "log");
        match outcome {
            Err(error) => {
                assert!(error.to_string().contains(&victim.display().to_string()), "{error}");
            }
            Ok(()) => assert!(!is_segment, "{} is not missed", victim.display()),
        }
        fs::remove_dir_all(&damaged).unwrap();
    }
}

/// Copies file by file in some order, as tools do, while the store is written.
fn copy_in_order(from: &Path, to: &Path, seed: u64) {
    let mut files = all_files(from);
    files.sort_by_key(|file| {
        let name = file.display().to_string();
        name.bytes()
            .fold(seed, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
    });
    for file in files {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        // The file may have been removed in the meantime; tools report that and continue.
        let _ = fs::copy(&file, &target);
        thread::sleep(Duration::from_millis(seed % 3));
    }
}

#[test]
fn a_plain_copy_under_load_is_refused_or_consistent() {
    let scratch = tempfile::tempdir().unwrap();
    let original = scratch.path().join("original");
    let (store, _) = DiskStore::open(&original, options()).unwrap();
    let (written, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let copies: u64 = std::env::var("KEYLOOM_COPIES").map_or(60, |count| count.parse().unwrap());
    let (mut opened, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                put(&store, number).unwrap();
                number += 1;
                written.store(number, Ordering::Release);
            }
        });
        for seed in 0..copies {
            let target = scratch.path().join("copy");
            copy_in_order(&original, &target, seed);
            match DiskStore::open(&target, options()) {
                Err(_) => refused += 1,
                Ok((copy, _)) => {
                    opened += 1;
                    let newest = copy.get(b"newest").unwrap();
                    let count = newest.map_or(0, |newest| {
                        u64::from_be_bytes(newest.as_ref().try_into().unwrap()) + 1
                    });
                    for number in 0..count {
                        let value = copy.get(&key(number)).unwrap();
                        assert_eq!(value.map(|value| value.len()), Some(500), "{seed}: {number}");
                    }
                    let verification = copy.verify().unwrap();
                    assert_eq!(verification.damage, Vec::<String>::new(), "{seed}");
                    assert_eq!(verification.entries, count + u64::from(count > 0), "{seed}");
                }
            }
            fs::remove_dir_all(&target).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    eprintln!("{copies} copies under load: {refused} refused, {opened} right");
}

#[test]
#[cfg(unix)]
fn created_files_are_private_to_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("a/store");
    closed_store(&path);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for file in all_files(&path) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn removing_the_lock_file_does_not_release_the_lock() {
    let scratch = tempfile::tempdir().unwrap();
    let (store, _) = DiskStore::open(scratch.path(), options()).unwrap();
    fs::remove_file(scratch.path().join("LOCK")).unwrap();
    let error = DiskStore::open(scratch.path(), options()).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    put(&store, 1).unwrap();
}

/// Writes until the store refuses, and returns the error.
fn write_until_refused(store: &DiskStore) -> String {
    let start = Instant::now();
    let mut number = 1_000;
    loop {
        if let Err(error) = put(store, number) {
            return error.to_string();
        }
        assert!(start.elapsed() < Duration::from_secs(20), "it still accepts writes");
        number += 1;
    }
}

#[test]
#[cfg(unix)]
fn a_removed_moved_or_replaced_directory_fails_writes() {
    for durability in [Durability::Sync, Durability::Relaxed] {
        for what in ["removed", "moved", "replaced", "without a log"] {
            let scratch = tempfile::tempdir().unwrap();
            let path = scratch.path().join("store");
            let options = DiskOptions { durability, ..options() };
            let (store, _) = DiskStore::open(&path, options).unwrap();
            (0..20).for_each(|number| put(&store, number).unwrap());
            match what {
                "removed" => fs::remove_dir_all(&path).unwrap(),
                "without a log" => fs::remove_dir_all(path.join("log")).unwrap(),
                _ => fs::rename(&path, scratch.path().join("elsewhere")).unwrap(),
            }
            if what == "replaced" {
                closed_store(&path);
            }
            let error = write_until_refused(&store);
            assert!(error.contains("removed"), "{what}: {error}");
            assert!(
                matches!(store.health(), Health::ReadOnly { restart_needed: true, .. }),
                "{what}"
            );
            drop(store);
            if what == "replaced" {
                let (other, _) = DiskStore::open(&path, options).unwrap();
                assert_eq!(other.verify().unwrap().entries, 311, "the other store is unchanged");
            }
        }
    }
}

fn fingerprint(path: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let look = |file: PathBuf| {
        let changed = fs::metadata(&file).unwrap().modified().unwrap();
        (file.clone(), fs::read(&file).unwrap(), changed)
    };
    all_files(path).into_iter().map(look).collect()
}

#[test]
fn a_read_only_store_is_not_changed_in_any_way() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("store");
    let (store, _) = DiskStore::open(&path, options()).unwrap();
    (0..300).for_each(|number| put(&store, number).unwrap());
    let error = ReadOnlyStore::open(&path, options()).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    // As a kill would leave it, with an unlisted table and a torn tail.
    thread::sleep(Duration::from_millis(300));
    let image = scratch.path().join("image");
    copy(&path, &image);
    drop(store);
    fs::write(image.join("tree/tables/999999"), "unfinished").unwrap();
    let last = all_files(&image.join("log"))
        .into_iter()
        .rfind(|file| file.extension().is_some_and(|e| e == "log"));
    let last = last.unwrap();
    let mut bytes = fs::read(&last).unwrap();
    bytes.truncate(bytes.len() - 100);
    bytes.extend([7; 100]);
    fs::write(&last, bytes).unwrap();
    let before = fingerprint(&image);
    let (reader, report) = ReadOnlyStore::open(&image, options()).unwrap();
    assert!(report.cut.is_some());
    let another = ReadOnlyStore::open(&image, options()).unwrap().0;
    assert_eq!(another.get(&key(299)).unwrap().unwrap().len(), 500);
    assert!(matches!(DiskStore::open(&image, options()), Err(StoreError::InUse { .. })));
    assert_eq!(reader.snapshot().unwrap().scan(KeyRange::all(), Direction::Backward).count(), 301);
    let error = reader.begin(&[]).map(drop).unwrap_err();
    assert!(error.to_string().contains("was opened read-only"), "{error}");
    drop((reader, another));
    assert_eq!(fingerprint(&image), before);
    let missing = scratch.path().join("nowhere");
    assert!(ReadOnlyStore::open(&missing, options()).is_err());
    assert!(!missing.exists());
    let empty = tempfile::tempdir().unwrap();
    let error = ReadOnlyStore::open(empty.path(), options()).map(drop).unwrap_err();
    assert!(error.to_string().contains("not a keyloom store"), "{error}");
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
}

#[test]
fn damage_names_the_original_file_not_the_link() {
    let scratch = tempfile::tempdir().unwrap();
    closed_store(scratch.path());
    let table = all_files(&scratch.path().join("tree/tables")).remove(0);
    let mut bytes = fs::read(&table).unwrap();
    bytes[2000] ^= 1;
    fs::write(&table, bytes).unwrap();
    let (reader, _) = ReadOnlyStore::open(scratch.path(), options()).unwrap();
    let verification = reader.verify().unwrap();
    assert!(verification.damage[0].contains(&table.display().to_string()), "{verification:?}");
    let snapshot = reader.snapshot().unwrap();
    let error = snapshot.scan(KeyRange::all(), Direction::Forward).find_map(Result::err).unwrap();
    assert!(error.to_string().contains(&table.display().to_string()), "{error}");
}
