//! Deleted and overwritten data are reclaimed within a minute on an otherwise idle store: the
//! directory is then at most 1.5 times as large as the live data, plus four memtables.
//!
//! Each kind of garbage is tested as it is, with a restart in between, and under a snapshot, which
//! must see all of its data until it is dropped.
//!
//! `KEYLOOM_SPACE_MB` sets how much is written (default 6, with small memtables; from 256 on with
//! those of the defaults). The long form: `KEYLOOM_SPACE_MB=286 cargo test --release -p
//! keyloom-store --test disk_space -- --nocapture`

#![expect(clippy::unwrap_used, reason = "tests")]

use std::env;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use keyloom_store::{Bytes, Direction, DiskOptions, DiskStore, KeyRange, Snapshot, Store};

const DEADLINE: Duration = Duration::from_mins(1);
const VALUE_BYTES: usize = 1000;

fn megabytes() -> u64 {
    env::var("KEYLOOM_SPACE_MB").map_or(6, |megabytes| megabytes.parse().unwrap())
}

fn options() -> DiskOptions {
    let defaults = DiskOptions::default();
    let memtable_bytes = if megabytes() < 256 { 256 << 10 } else { defaults.memtable_bytes };
    DiskOptions { memtable_bytes, cache_bytes: 8 << 20, ..defaults }
}

fn key(table: &str, n: u64) -> Bytes {
    // Key order differs from write order.
    format!("{table}/{:016x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).into()
}

fn value(n: u64, round: u64) -> Bytes {
    let mut value = vec![0; VALUE_BYTES];
    fastrand::Rng::with_seed(n * 31 + round).fill(&mut value);
    value.into()
}

/// Applies an edit for each of these numbers, in transactions of a hundred.
fn for_each(
    store: &DiskStore,
    numbers: impl Iterator<Item = u64>,
    edit: impl Fn(&mut dyn keyloom_store::Transaction, u64),
) {
    let numbers: Vec<u64> = numbers.collect();
    for chunk in numbers.chunks(100) {
        let mut transaction = store.begin(&[]).unwrap();
        for n in chunk {
            edit(&mut *transaction, *n);
        }
        transaction.commit().unwrap();
    }
}

fn fill(store: &DiskStore, table: &str, count: u64, round: u64) {
    for_each(store, 0..count, |transaction, n| {
        transaction.put(key(table, n), value(n, round));
    });
}

/// The size of all files in a directory.
fn disk_bytes(directory: &Path) -> u64 {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            // Files are created and removed concurrently.
            if path.is_dir() {
                disk_bytes(&path)
            } else {
                fs::metadata(&path).map_or(0, |m| m.len())
            }
        })
        .sum()
}

fn most_bytes(live_bytes: u64) -> u64 {
    live_bytes * 3 / 2 + 4 * options().memtable_bytes
}

fn wait_for_space(path: &Path, live_items: u64, what: &str) {
    let most = most_bytes(live_items * (VALUE_BYTES as u64 + 20));
    let start = Instant::now();
    let mut shown = u64::MAX;
    loop {
        let bytes = disk_bytes(path);
        if bytes.abs_diff(shown) > most / 50 {
            eprintln!("{what}: {:5.1} s {:7.1} MB", start.elapsed().as_secs_f64(), mb(bytes));
            shown = bytes;
        }
        if bytes <= most {
            return;
        }
        assert!(
            start.elapsed() < DEADLINE,
            "{what}: {:.1} MB after a minute, {:.1} are allowed",
            mb(bytes),
            mb(most)
        );
        thread::sleep(Duration::from_millis(50));
    }
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn content(snapshot: &dyn Snapshot) -> Vec<(Bytes, Bytes)> {
    let entries = snapshot.scan(KeyRange::all(), Direction::Forward);
    entries.map(|entry| entry.map(|(key, value)| (key.into_bytes(), value)).unwrap()).collect()
}

/// Creates garbage in the three variants; the store holds `kept` items afterwards.
fn check(what: &str, make: impl Fn(&DiskStore), make_garbage: impl Fn(&DiskStore), kept: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let open = || DiskStore::open(path, options()).unwrap().0;

    let store = open();
    make(&store);
    make_garbage(&store);
    let expected = content(&*store.snapshot().unwrap());
    assert_eq!(expected.len() as u64, kept);
    wait_for_space(path, kept, what);
    assert!(content(&*store.snapshot().unwrap()) == expected, "{what}: wrong content");
    store.close().unwrap();

    let store = open();
    make(&store);
    make_garbage(&store);
    store.close().unwrap();
    let store = open();
    wait_for_space(path, kept, &format!("{what}, after a restart"));
    assert!(content(&*store.snapshot().unwrap()) == expected, "{what}: wrong content");

    make(&store);
    let snapshot = store.snapshot().unwrap();
    let before = content(&*snapshot);
    make_garbage(&store);
    thread::sleep(Duration::from_secs(5));
    assert!(content(&*snapshot) == before, "{what}: the snapshot has changed");
    drop(snapshot);
    wait_for_space(path, kept, &format!("{what}, after a snapshot"));
    store.close().unwrap();

    let store = open();
    assert!(content(&*store.snapshot().unwrap()) == expected, "{what}: wrong content after all");
    assert_eq!(store.verify().unwrap().damage, Vec::<String>::new());
}

#[test]
fn a_dropped_prefix_is_reclaimed() {
    let items = megabytes() * 1000;
    let make = |store: &DiskStore| {
        fill(store, "b-dropped", items / 2, 0);
        // Interleaved, so that tables hold both.
        fill(store, "a-kept", items / 8, 0);
        fill(store, "b-dropped", items, 1);
        fill(store, "c-kept", items / 8, 0);
    };
    let make_garbage = |store: &DiskStore| store.delete_prefix(b"b-dropped/", 1000).unwrap();
    check("drop", make, make_garbage, items / 8 * 2);
}

#[test]
fn scattered_deleted_keys_are_reclaimed() {
    let items = megabytes() * 1000;
    let make = |store: &DiskStore| fill(store, "table", items, 0);
    let make_garbage = |store: &DiskStore| {
        let second = (0..items).filter(|n| n % 2 == 1);
        for_each(store, second, |transaction, n| transaction.delete(key("table", n)));
    };
    check("expiry", make, make_garbage, items / 2);
}

#[test]
fn overwritten_values_are_reclaimed() {
    let items = megabytes() * 250;
    let make = |store: &DiskStore| fill(store, "table", items, 0);
    let make_garbage =
        |store: &DiskStore| (1..4).for_each(|round| fill(store, "table", items, round));
    check("overwrites", make, make_garbage, items);
}
