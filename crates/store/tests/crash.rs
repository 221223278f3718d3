//! A writer process is killed at random points, repeatedly, on the same store: every acknowledged
//! transaction must be present and whole, and the store must always open.
//!
//! `KEYLOOM_CRASH_ROUNDS` sets the number of kills (default 200). The long form:
//! `KEYLOOM_CRASH_ROUNDS=2000 cargo test --release -p keyloom-store --test crash`

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use keyloom_store::{Bytes, DiskOptions, DiskStore, Durability, KeyRange, Store};

const WRITERS: u64 = 4;
/// How many of its rounds a writer leaves in the store.
const WINDOW: u64 = 10;
const STORE: &str = "KEYLOOM_CRASH_STORE";

/// Set for a writer with relaxed durability: its commits survive the end of the process, too.
const RELAXED: &str = "KEYLOOM_CRASH_RELAXED";

/// Small buffers: most lives of the writer see flushes and compactions.
fn options() -> DiskOptions {
    let is_relaxed = env::var_os(RELAXED).is_some();
    let durability = if is_relaxed { Durability::Relaxed } else { Durability::Sync };
    DiskOptions { durability, memtable_bytes: 300_000, ..DiskOptions::default() }
}

fn number(value: Option<Bytes>) -> u64 {
    value.map_or(0, |value| u64::from_be_bytes(value.as_ref().try_into().unwrap()))
}

fn counter(writer: u64) -> Bytes {
    format!("counter {writer}").into()
}

fn item(writer: u64, round: u64, part: &str) -> Bytes {
    format!("item {writer} {round} {part}").into()
}

/// Mostly small, sometimes many pages; incompressible, and different for each round.
fn payload(writer: u64, round: u64) -> Bytes {
    let mut random = fastrand::Rng::with_seed(round * WRITERS + writer);
    let len = if random.u8(..13) == 0 { 30_000 } else { 200 };
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

/// One transaction: inserts a new item in two parts, deletes an old one, and updates the writer's
/// counter and a total that all writers share.
fn write_round(store: &DiskStore, writer: u64) -> u64 {
    let mine = counter(writer);
    let mut transaction = store.begin(&[&mine, b"total"]).unwrap();
    let round = number(transaction.get(&mine).unwrap()) + 1;
    let total = number(transaction.get(b"total").unwrap()) + 1;
    transaction.put(mine, Bytes::copy_from_slice(&round.to_be_bytes()));
    transaction.put("total".into(), Bytes::copy_from_slice(&total.to_be_bytes()));
    transaction.put(item(writer, round, "a"), payload(writer, round));
    transaction.put(item(writer, round, "b"), payload(writer, round));
    if round > WINDOW {
        transaction.delete(item(writer, round - WINDOW, "a"));
        transaction.delete(item(writer, round - WINDOW, "b"));
    }
    transaction.commit().unwrap();
    round
}

/// The writer process: prints each acknowledged round.
#[test]
#[ignore = "run by the crash test in a process of its own"]
fn writer_process() {
    let Ok(path) = env::var(STORE) else { return };
    let (store, _) = DiskStore::open(path, options()).unwrap();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = &store;
            scope.spawn(move || {
                loop {
                    let line = format!("ack {writer} {}\n", write_round(store, writer));
                    std::io::stdout().write_all(line.as_bytes()).unwrap();
                }
            });
        }
    });
}

/// Runs a writer for a while, kills it, and returns what it acknowledged.
fn live_and_die(
    path: &Path,
    is_relaxed: bool,
    life: Duration,
    acknowledged: &mut BTreeMap<u64, u64>,
) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "writer_process", "--nocapture"])
        .env(STORE, path)
        .envs(is_relaxed.then_some((RELAXED, "1")))
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let output = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut newest = BTreeMap::new();
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // The kill may truncate the last line; its round may or may not count as acknowledged.
            if let Some((writer, round)) = line.strip_prefix("ack ").and_then(|l| l.split_once(' '))
            {
                newest.insert(writer.parse::<u64>().unwrap(), round.parse::<u64>().unwrap());
            }
        }
        newest
    });
    thread::sleep(life);
    child.kill().unwrap();
    child.wait().unwrap();
    acknowledged.extend(reader.join().unwrap());
}

fn check(store: &DiskStore, acknowledged: &BTreeMap<u64, u64>) -> u64 {
    let mut rounds = 0;
    let mut entries = 0;
    for writer in 0..WRITERS {
        let round = number(store.get(&counter(writer)).unwrap());
        let promised = acknowledged.get(&writer).copied().unwrap_or(0);
        assert!(round >= promised, "writer {writer}: {promised} acknowledged, {round} found");
        for n in round.saturating_sub(WINDOW)..=round + 1 {
            for part in ["a", "b"] {
                let expected = n > round.saturating_sub(WINDOW) && n > 0 && n <= round;
                let found = store.get(&item(writer, n, part)).unwrap();
                assert_eq!(found, expected.then(|| payload(writer, n)), "{writer} {n} {part}");
            }
        }
        rounds += round;
        entries += 2 * round.min(WINDOW) + u64::from(round > 0);
    }
    assert_eq!(
        number(store.get(b"total").unwrap()),
        rounds,
        "a transaction is only partly present"
    );
    let verification = store.verify().unwrap();
    assert_eq!(verification.damage, Vec::<String>::new());
    assert_eq!(verification.entries, entries + u64::from(rounds > 0));
    let snapshot = store.snapshot().unwrap();
    let backward = snapshot.scan(KeyRange::all(), keyloom_store::Direction::Backward);
    assert_eq!(backward.map(Result::unwrap).count() as u64, verification.entries);
    rounds
}

#[test]
fn killing_the_writer_loses_no_acknowledged_write() {
    let kills: u64 = env::var("KEYLOOM_CRASH_ROUNDS").map_or(200, |rounds| rounds.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let random = RandomState::new();
    let mut acknowledged = BTreeMap::new();
    let (mut rounds, mut cuts, mut replayed) = (0, 0, 0);
    for kill in 0..kills {
        // From "still opening" to "has flushed and compacted".
        let life = Duration::from_micros(3_000 + random.hash_one(kill) % 60_000);
        live_and_die(directory.path(), kill % 3 == 2, life, &mut acknowledged);
        let (store, report) = DiskStore::open(directory.path(), options()).unwrap();
        cuts += u64::from(report.cut.is_some());
        replayed += report.replayed_transactions;
        rounds = check(&store, &acknowledged);
    }
    eprintln!(
        "{kills} kills, {rounds} transactions, {replayed} replayed, {cuts} torn tails truncated"
    );
    assert!(rounds > kills, "the writer wrote too little");
}
