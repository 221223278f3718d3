//! Repair of damaged stores: whatever is removed, truncated or flipped, the repaired store opens,
//! holds only values that were once written, and reports every loss. The damaged store is not
//! changed.
//!
//! `KEYLOOM_REPAIR_FLIPS` sets the number of flipped bits (default 30).

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use keyloom_store::{
    Bytes, Direction, DiskOptions, DiskStore, KeyRange, RepairReport, Store, StoreError,
    repair_store,
};

fn options() -> DiskOptions {
    DiskOptions { memtable_bytes: 30_000, cache_bytes: 1 << 20, ..DiskOptions::default() }
}

/// The writes made to a store.
#[derive(Default)]
struct History {
    /// Every value that a key ever had.
    values: HashMap<Bytes, HashSet<Bytes>>,
    /// What the store must hold.
    state: BTreeMap<Bytes, Bytes>,
}

impl History {
    fn write(&mut self, store: &DiskStore, number: u64) {
        let mut transaction = store.begin(&[]).unwrap();
        for part in 0..3 {
            let key = Bytes::from(format!("key {:04}", (number * 7 + part * 101) % 130));
            if (number + part).is_multiple_of(5) {
                transaction.delete(key.clone());
                self.state.remove(&key);
            } else {
                let value = Bytes::from(format!("{number} ").repeat(40));
                transaction.put(key.clone(), value.clone());
                self.values.entry(key.clone()).or_default().insert(value.clone());
                self.state.insert(key, value);
            }
        }
        transaction.commit().unwrap();
    }
}

/// A closed store with several tables, and with records in its log.
fn closed_store(path: &Path) -> History {
    let mut history = History::default();
    let (store, _) = DiskStore::open(path, options()).unwrap();
    (0..260).for_each(|number| history.write(&store, number));
    store.close().unwrap();
    let (store, _) = DiskStore::open(path, DiskOptions::default()).unwrap();
    (260..275).for_each(|number| history.write(&store, number));
    store.close().unwrap();
    history
}

fn all_files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(all_files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
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

fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    all_files(path).into_iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

fn entries(path: &Path) -> BTreeMap<Bytes, Bytes> {
    let (store, report) = DiskStore::open(path, options()).unwrap();
    assert_eq!(report.cut, None);
    assert_eq!(store.verify().unwrap().damage, Vec::<String>::new());
    let snapshot = store.snapshot().unwrap();
    let scan = snapshot.scan(KeyRange::all(), Direction::Forward);
    scan.map(|entry| entry.map(|(key, value)| (key.into_bytes(), value)).unwrap()).collect()
}

struct Bench {
    scratch: tempfile::TempDir,
    history: History,
}

impl Bench {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let history = closed_store(&scratch.path().join("original"));
        Self { scratch, history }
    }

    fn original(&self) -> PathBuf {
        self.scratch.path().join("original")
    }

    /// Repairs a copy after `damage`, and checks the result.
    fn repair(&self, what: &str, damage: impl FnOnce(&Path)) -> (RepairReport, usize) {
        let (damaged, saved) =
            (self.scratch.path().join("damaged"), self.scratch.path().join("saved"));
        copy(&self.original(), &damaged);
        damage(&damaged);
        let before = contents(&damaged);
        let repaired =
            repair_store(&damaged, &saved).unwrap_or_else(|error| panic!("{what}: {error}"));
        let report = repaired.put_in_place(&saved).unwrap();
        assert_eq!(contents(&damaged), before, "{what}: the damaged store was changed");
        let found = entries(&saved);
        assert_eq!(found.len() as u64, report.entries, "{what}");
        for (key, value) in &found {
            let once = self.history.values.get(key).is_some_and(|values| values.contains(value));
            assert!(once, "{what}: {key:?} never had {value:?}");
        }
        let wrong =
            self.history.state.iter().filter(|(key, value)| found.get(*key) != Some(value)).count()
                + found.keys().filter(|key| !self.history.state.contains_key(*key)).count();
        assert!(
            wrong == 0 || !report.is_complete(),
            "{what}: {wrong} wrong keys without a reported loss"
        );
        for directory in [&damaged, &saved] {
            fs::remove_dir_all(directory).unwrap();
        }
        (report, wrong)
    }
}

#[test]
fn an_intact_store_is_recovered_completely() {
    let bench = Bench::new();
    let (report, wrong) = bench.repair("intact", |_| {});
    assert_eq!((report.losses.len(), wrong), (0, 0), "{report:?}");
    assert_eq!(report.entries as usize, bench.history.state.len());
}

#[test]
fn each_missing_file_or_directory_is_reported_and_the_rest_recovered() {
    let bench = Bench::new();
    let original = bench.original();
    let mut things = all_files(&original);
    assert!(things.len() > 8, "{things:?}");
    things.extend(["log", "tree", "tree/tables"].map(|folder| original.join(folder)));
    for thing in things {
        let inside = thing.strip_prefix(&original).unwrap();
        let what = format!("without {}", inside.display());
        let (report, wrong) = bench.repair(&what, |damaged| {
            let victim = damaged.join(inside);
            if victim.is_dir() {
                fs::remove_dir_all(victim).unwrap();
            } else {
                fs::remove_file(victim).unwrap();
            }
        });
        let is_needed = ![Path::new("LOCK"), Path::new("log/next.tmp")].contains(&inside);
        let noted = !report.is_complete() || !report.notes.is_empty();
        assert_eq!(noted, is_needed, "{what}: {report:?}");
        if inside == Path::new("MANIFEST") {
            assert_eq!(wrong, 0, "everything else is recovered");
        }
        if inside.parent() == Some(Path::new("tree/tables")) {
            assert!(report.losses.iter().any(|loss| loss.file.ends_with(inside)), "{report:?}");
        }
    }
}

#[test]
fn each_truncated_file_is_reported_and_the_rest_recovered() {
    let bench = Bench::new();
    let original = bench.original();
    for file in all_files(&original) {
        let inside = file.strip_prefix(&original).unwrap();
        let length = fs::metadata(&file).unwrap().len();
        for cut in [length / 3, length.saturating_sub(1)] {
            let what = format!("{} cut from {length} to {cut}", inside.display());
            bench.repair(&what, |damaged| {
                let victim = fs::OpenOptions::new().write(true).open(damaged.join(inside));
                victim.unwrap().set_len(cut).unwrap();
            });
        }
    }
}

#[test]
fn flipped_bits_lose_little_and_losses_are_reported() {
    let bench = Bench::new();
    let original = bench.original();
    let flips: u64 = env::var("KEYLOOM_REPAIR_FLIPS").map_or(30, |count| count.parse().unwrap());
    let files = all_files(&original);
    let (mut lossless, mut most) = (0, 0);
    for flip in 0..flips {
        let file = &files[flip as usize % files.len()];
        let inside = file.strip_prefix(&original).unwrap();
        let length = fs::metadata(file).unwrap().len();
        if length == 0 {
            continue;
        }
        let bit = flip.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (length * 8);
        let what = format!("bit {bit} of {}", inside.display());
        let (report, wrong) = bench.repair(&what, |damaged| {
            let mut bytes = fs::read(damaged.join(inside)).unwrap();
            bytes[bit as usize / 8] ^= 1 << (bit % 8);
            fs::write(damaged.join(inside), bytes).unwrap();
        });
        lossless += u64::from(report.is_complete());
        most = most.max(wrong);
    }
    eprintln!("{flips} flips: {lossless} without loss, at most {most} keys wrong");
}

#[test]
fn a_damaged_block_is_reported_with_its_neighbouring_keys() {
    let bench = Bench::new();
    let tables = all_files(&bench.original().join("tree/tables"));
    let largest = tables.iter().max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let inside = largest.strip_prefix(bench.original()).unwrap();
    let (report, wrong) = bench.repair("one block", |damaged| {
        let mut bytes = fs::read(damaged.join(inside)).unwrap();
        bytes[60] ^= 1;
        fs::write(damaged.join(inside), bytes).unwrap();
    });
    let [loss] = &report.losses[..] else { panic!("{report:?}") };
    assert!(loss.file.ends_with(inside) && loss.between.1.is_some(), "{loss:?}");
    assert!(loss.entries.is_some_and(|lost| lost > 0 && lost as usize >= wrong.min(1)), "{loss:?}");
    assert!(report.entries > bench.history.state.len() as u64 / 2, "{report:?}");
}

#[test]
fn tables_without_an_index_are_read_block_by_block() {
    let bench = Bench::new();
    // Everything after the data: index, filter, table of contents.
    let (report, wrong) = bench.repair("no index", |damaged| {
        for table in all_files(&damaged.join("tree/tables")) {
            let length = fs::metadata(&table).unwrap().len();
            fs::OpenOptions::new().write(true).open(&table).unwrap().set_len(length - 200).unwrap();
        }
    });
    assert_eq!(wrong, 0, "the data itself is intact");
    assert!(!report.doubts.is_empty(), "{report:?}");
}

#[test]
fn an_intact_table_of_another_store_is_doubtful() {
    let scratch = tempfile::tempdir().unwrap();
    let [ours, other, saved] = ["ours", "other", "saved"].map(|name| scratch.path().join(name));
    closed_store(&ours);
    let (store, _) = DiskStore::open(&other, options()).unwrap();
    let mut foreign = History::default();
    (5000..5400).for_each(|number| foreign.write(&store, number));
    store.close().unwrap();
    let table = all_files(&ours.join("tree/tables")).remove(0);
    fs::copy(all_files(&other.join("tree/tables")).remove(0), &table).unwrap();
    let report = repair_store(&ours, &saved).unwrap().put_in_place(&saved).unwrap();
    assert!(!report.is_complete(), "{report:?}");
    let [doubt] = &report.doubts[..] else { panic!("{report:?}") };
    let named = doubt.contains(&*table.to_string_lossy());
    assert!(named && doubt.contains("another file"), "{doubt}");
}

#[test]
fn a_killed_store_is_recovered_completely() {
    let bench = Bench::new();
    let scratch = tempfile::tempdir().unwrap();
    let mut history = History::default();
    let (store, _) = DiskStore::open(scratch.path().join("store"), options()).unwrap();
    (0..150).for_each(|number| history.write(&store, number));
    std::thread::sleep(std::time::Duration::from_millis(300));
    copy(&scratch.path().join("store"), &bench.original().with_file_name("killed"));
    drop(store);
    let (killed, saved) = (bench.scratch.path().join("killed"), bench.scratch.path().join("saved"));
    let report = repair_store(&killed, &saved).unwrap().put_in_place(&saved).unwrap();
    assert_eq!(report.losses, [], "{report:?}");
    assert_eq!(entries(&saved), history.state);
}

#[test]
fn unsuitable_directories_are_refused_by_name() {
    let bench = Bench::new();
    let original = bench.original();
    let refusal = |from: &Path, to: &Path, named: &Path, why: &str| {
        let error: StoreError = repair_store(from, to).map(drop).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&*named.to_string_lossy()) && text.contains(why), "{text}");
    };
    let other = bench.scratch.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("x"), "x").unwrap();
    refusal(&original, &other, &other, "empty or missing");
    refusal(&original, &original, &original, "directory of the store");
    let new = bench.scratch.path().join("new");
    refusal(&other, &new, &other, "not a keyloom store");
    let (store, _) = DiskStore::open(&original, options()).unwrap();
    refusal(&original, &new, &original, "open in another process");
    drop(store);
    // A repaired store that is not put in place leaves no files.
    drop(repair_store(&original, &new).unwrap());
    assert!(!new.exists() && !bench.scratch.path().join("new.partial").exists());
}
