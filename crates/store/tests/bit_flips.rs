//! Flips single bits in the files of a closed store: for each bit, either the store reports damage
//! or every read is still correct. No read is silently wrong.
//!
//! By default about 150 bits are tested, spread over all files. `KEYLOOM_FLIPS` sets the number:
//! `KEYLOOM_FLIPS=100000 cargo test --release -p keyloom-store --test bit_flips -- --nocapture`

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use keyloom_store::{Bytes, Direction, DiskOptions, DiskStore, KeyRange, Store, StoreError};

const DEFAULT_FLIPS: usize = 120;
const KEYS: u64 = 800;

/// Small memtables, so that there are several tables as well as a log.
fn options() -> DiskOptions {
    DiskOptions { memtable_bytes: 30_000, ..DiskOptions::default() }
}

fn key(n: u64) -> Bytes {
    format!("key {n:06}").into()
}

/// Half text that compresses, half noise that does not.
fn value(n: u64) -> Bytes {
    let mut random = fastrand::Rng::with_seed(n);
    let noise = std::iter::repeat_with(move || random.u8(..));
    format!("value of {n} ").bytes().cycle().take(100).chain(noise.take(100)).collect()
}

/// A closed store: most of its data in tables, the rest in the log, some keys deleted.
fn make(path: &Path) -> BTreeMap<Bytes, Bytes> {
    let (store, _) = DiskStore::open(path, options()).unwrap();
    let mut content = BTreeMap::new();
    for start in (0..KEYS).step_by(50) {
        let mut transaction = store.begin(&[]).unwrap();
        for n in start..start + 50 {
            transaction.put(key(n), value(n));
            content.insert(key(n), value(n));
            if n.is_multiple_of(7) && n > 100 {
                transaction.delete(key(n - 100));
                content.remove(&key(n - 100));
            }
        }
        transaction.commit().unwrap();
    }
    store.close().unwrap();
    content
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.file_name().unwrap() != "LOCK" {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
}

/// The log is preallocated with zeros; flipping many of those would be a waste.
fn used_bytes(file: &Path) -> u64 {
    let bytes = fs::read(file).unwrap();
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
    bytes.len().min(last + 64) as u64
}

/// Where a flipped bit was detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Opening,
    Reading,
    Verifying,
    /// Undetected, and every read is correct.
    Harmless,
}

/// Opens the store and reads everything in three ways: key by key, forward, backward. Any error
/// must name the damaged file.
fn examine(path: &Path, damaged: &Path, content: &BTreeMap<Bytes, Bytes>) -> Result<Found, String> {
    let is_damage = |error: &StoreError| is_damage(error, damaged);
    let store = match DiskStore::open(path, options()) {
        Ok((store, _)) => store,
        Err(error) => return is_damage(&error).map(|_| Found::Opening),
    };
    let mut is_noticed = false;
    for n in 0..KEYS {
        match store.get(&key(n)) {
            Ok(found) if found.as_ref() == content.get(&key(n)) => {}
            Ok(found) => return Err(format!("key {n}: {found:?}")),
            Err(error) => is_noticed |= is_damage(&error)?,
        }
    }
    let snapshot = store.snapshot().unwrap();
    for direction in [Direction::Forward, Direction::Backward] {
        let mut read = BTreeMap::new();
        let mut is_cut = false;
        for entry in snapshot.scan(KeyRange::all(), direction) {
            match entry {
                Ok((key, value)) => {
                    let key = key.into_bytes();
                    if content.get(&key) != Some(&value) {
                        return Err(format!("{direction:?}: {key:?} is {value:?}"));
                    }
                    read.insert(key, value);
                }
                Err(error) => {
                    is_cut = is_damage(&error)?;
                    break;
                }
            }
        }
        if !is_cut && read.len() != content.len() {
            return Err(format!("{direction:?}: {} of {} entries", read.len(), content.len()));
        }
        is_noticed |= is_cut;
    }
    if is_noticed {
        return Ok(Found::Reading);
    }
    let verification = store.verify().map_err(|error| error.to_string())?;
    if let Some(finding) = verification.damage.iter().find(|finding| !is_named(damaged, finding)) {
        return Err(format!("the damaged file is not named: {finding}"));
    }
    Ok(if verification.is_intact() { Found::Harmless } else { Found::Verifying })
}

/// Damage must be reported as such, since the remedy differs from that for a full disk, and the
/// error must name the damaged file.
fn is_damage(error: &StoreError, damaged: &Path) -> Result<bool, String> {
    match error {
        StoreError::Corrupt { .. } | StoreError::Format { .. } => {}
        other => return Err(format!("not reported as damage: {other}")),
    }
    if is_named(damaged, &error.to_string()) {
        Ok(true)
    } else {
        Err(format!("the damaged file is not named: {error}"))
    }
}

fn is_named(file: &Path, text: &str) -> bool {
    let name = file.display().to_string();
    let mut rest = text;
    while let Some(at) = rest.find(&name) {
        rest = &rest[at + name.len()..];
        // `tables/12` does not name `tables/1`.
        if !rest.starts_with(|next: char| next.is_ascii_alphanumeric()) {
            return true;
        }
    }
    false
}

#[test]
fn no_flipped_bit_is_silently_served() {
    let flips = env::var("KEYLOOM_FLIPS").map_or(DEFAULT_FLIPS, |flips| flips.parse().unwrap());
    let scratch = tempfile::tempdir().unwrap();
    let original = scratch.path().join("original");
    let content = make(&original);
    let files = files(&original);
    let sizes: Vec<u64> = files.iter().map(|file| used_bytes(file)).collect();
    let total: u64 = sizes.iter().sum();
    let mut tally: BTreeMap<(String, Found), usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for (file, size) in files.iter().zip(&sizes) {
        // Every file is covered, however small; beyond that, in proportion to its size.
        let count = (flips as u64 * size / total).max(flips as u64 / 20).min(*size);
        for n in 0..count {
            let at = n * size / count;
            let path = scratch.path().join("damaged");
            copy(&original, &path);
            let name = file.strip_prefix(&original).unwrap();
            let damaged = path.join(name);
            let mut bytes = fs::read(&damaged).unwrap();
            let bit = 1 << (n % 8);
            *bytes.get_mut(at as usize).unwrap() ^= bit;
            fs::write(&damaged, bytes).unwrap();
            let outcome = catch_unwind(AssertUnwindSafe(|| examine(&path, &damaged, &content)));
            let kind = name.parent().unwrap().display().to_string();
            let kind = if kind == "tree" { name.display().to_string() } else { kind };
            match outcome {
                Ok(Ok(found)) => *tally.entry((kind, found)).or_default() += 1,
                Ok(Err(wrong)) => failures.push(format!("{} at {at}: {wrong}", name.display())),
                Err(_) => failures.push(format!("{} at {at}: panic", name.display())),
            }
            fs::remove_dir_all(&path).unwrap();
        }
    }
    for ((kind, found), count) in &tally {
        eprintln!("{kind:12} {found:10?} {count}");
    }
    assert!(
        failures.is_empty(),
        "{} failures, e.g. {:#?}",
        failures.len(),
        failures.iter().take(20).collect::<Vec<_>>()
    );
}

/// Missing or truncated tables and lists. (The log and `current`, which the manifest protects, have
/// tests of their own.)
#[test]
fn every_missing_or_truncated_table_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let original = scratch.path().join("original");
    let content = make(&original);
    let current = fs::read(original.join("tree/current")).unwrap();
    let list = u64::from_le_bytes(current[..8].try_into().unwrap());
    let is_used = |file: &PathBuf| {
        file.parent().unwrap().ends_with("tables") || file.ends_with(format!("tree/v{list}"))
    };
    let files: Vec<_> = files(&original).into_iter().filter(is_used).collect();
    assert!(files.len() > 2, "there should be a list and some tables");
    for file in files {
        let size = fs::metadata(&file).unwrap().len();
        for kept in [None, Some(0), Some(1), Some(size / 2), Some(size - 1)] {
            let path = scratch.path().join("damaged");
            copy(&original, &path);
            let damaged = path.join(file.strip_prefix(&original).unwrap());
            match kept {
                None => fs::remove_file(&damaged).unwrap(),
                Some(kept) => {
                    fs::File::options().write(true).open(&damaged).unwrap().set_len(kept).unwrap();
                }
            }
            let found = examine(&path, &damaged, &content);
            assert!(
                matches!(found, Ok(Found::Opening | Found::Reading | Found::Verifying)),
                "{} cut to {kept:?}: {found:?}",
                damaged.display()
            );
            fs::remove_dir_all(&path).unwrap();
        }
    }
}

#[test]
fn a_foreign_file_among_the_tables_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    make(scratch.path());
    let strange = scratch.path().join("tree/tables/notes.txt");
    fs::write(&strange, "mine").unwrap();
    let error = DiskStore::open(scratch.path(), options()).unwrap_err();
    assert!(is_named(&strange, &error.to_string()), "{error}");
    fs::remove_file(&strange).unwrap();
    DiskStore::open(scratch.path(), options()).unwrap();
}
