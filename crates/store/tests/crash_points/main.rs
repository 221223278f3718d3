//! Power failures at every point of a store's file operations, of the log and the engine alike, and
//! after earlier processes were killed.
//!
//! Processes that write to a store run with a recorder (`recorder.c`, a preloaded library) that
//! logs each write, sync, rename and removal; some of them are killed right after one of these.
//! From the record, states are reconstructed that the disk may have after a power failure at some
//! point (`disk.rs` defines which are legal). Each is opened: all acknowledged transactions must be
//! present and whole, and nothing damaged (`workload.rs`).
//!
//! `KEYLOOM_CRASH_POINTS` sets the number of states (default 5,000), `KEYLOOM_CRASH_SEED` the first
//! seed. The long form: `KEYLOOM_CRASH_POINTS=1000000 cargo test --release -p keyloom-store --test
//! crash_points -- --nocapture`. The record of a failure is kept, and `KEYLOOM_CRASH_RECORD` tests
//! such a file again.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod disk;
mod random;
mod trace;
mod workload;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use keyloom_store::Bytes;

use disk::Disk;
use random::Random;
use trace::Event;
use workload::{Expected, Promises, live};

/// The number of states tested per record.
const POINTS_PER_RECORD: u64 = 2_500;
const LIVES: u64 = 8;
const TRANSACTIONS: u64 = 30;

const ROOT: &str = "KEYLOOM_TRACE_ROOT";
const MARKS: &str = "KEYLOOM_TRACE_MARKS";
const RELAXED: &str = "KEYLOOM_CRASH_RELAXED";

/// A directory for files: in memory if the system has one.
fn place() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// The recorded process.
#[test]
#[ignore = "run by the crash tests in a process of its own"]
fn recorded_process() {
    let Ok(root) = env::var(ROOT) else { return };
    let marks = env::var(MARKS).unwrap();
    live(Path::new(&root), Path::new(&marks), env::var_os(RELAXED).is_some(), TRANSACTIONS);
}

/// Compiles the recorder.
fn recorder(scratch: &Path) -> PathBuf {
    let library = scratch.join("recorder.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crash_points/recorder.c");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .arg(source)
        .arg("-lpthread")
        .status()
        .expect("this test compiles a recorder with `cc`; install a C compiler");
    assert!(status.success(), "the recorder does not compile");
    library
}

/// Consecutive lives of a store, some of them killed.
struct Record {
    bytes: Bytes,
    events: Vec<Event>,
    root: PathBuf,
}

impl Record {
    fn make(seed: u64, mutation: Option<&str>) -> Self {
        let scratch = place();
        let library = recorder(scratch.path());
        let (root, trace) = (scratch.path().join("store"), scratch.path().join("trace"));
        fs::create_dir(&root).unwrap();
        let mut random = Random::new(seed);
        for n in 0..LIVES {
            let kill = match random.below(8) {
                // The last life of each record ends with a clean close.
                _ if n + 1 == LIVES => String::new(),
                0 => format!("R{}", 1 + random.below(12)),
                1 => format!("U{}", 1 + random.below(12)),
                2 => format!("S{}", 1 + random.below(60)),
                3 => format!("M{}", 1 + random.below(3)),
                _ => format!("*{}", 1 + random.below(400)),
            };
            let outcome = Command::new(env::current_exe().unwrap())
                .args(["--ignored", "--exact", "recorded_process", "--nocapture"])
                .env("LD_PRELOAD", &library)
                .env(ROOT, &root)
                .env(MARKS, scratch.path().join("marks"))
                .env("KEYLOOM_TRACE_FILE", &trace)
                .env("KEYLOOM_TRACE_KILL", &kill)
                .envs((random.below(3) == 0).then_some((RELAXED, "1")))
                .envs(mutation.map(|mutation| ("KEYLOOM_STORE_MUTATION", mutation)))
                .output()
                .unwrap();
            let was_killed = outcome.status.code().is_none();
            let said = String::from_utf8_lossy(&outcome.stderr);
            assert!(outcome.status.success() || (was_killed && !kill.is_empty()), "{said}");
        }
        let record = Self::read(&trace);
        assert_eq!(record.root, root);
        let mut disk = Disk::new(&root);
        record.events.iter().for_each(|event| disk.apply(event));
        disk.check_against(&root);
        record
    }

    fn read(file: &Path) -> Self {
        let bytes = Bytes::from(fs::read(file).unwrap());
        let events = trace::parse(&bytes);
        let opened = events.iter().find_map(|event| match event {
            Event::Open { path, .. } => Some(path),
            _ => None,
        });
        let root = opened.unwrap().ancestors().find(|path| path.ends_with("store")).unwrap();
        Self { root: root.to_owned(), bytes, events }
    }

    /// Saves the record for another run.
    fn keep(&self, seed: u64) -> PathBuf {
        let file =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("crash-points-{seed}.record"));
        fs::write(&file, &self.bytes).unwrap();
        file
    }

    /// Tests `points` states, spread over the whole record, and returns the failures.
    fn try_points(&self, seed: u64, points: u64) -> Vec<String> {
        let mut promises = Promises::default();
        let marks = self.events.iter().filter_map(|event| match event {
            Event::Mark(mark) => Some(mark),
            _ => None,
        });
        marks.for_each(|mark| promises.process(mark));
        let expected = Expected::up_to(promises.tried() + 1);
        let failures = Mutex::new(Vec::new());
        let share = points.div_ceil(WORKERS);
        thread::scope(|scope| {
            for worker in 0..WORKERS {
                let (expected, failures) = (&expected, &failures);
                scope.spawn(move || self.work(seed, worker, share, expected, failures));
            }
        });
        failures.into_inner().unwrap()
    }

    /// A worker: each replays the whole record and stops at its own points.
    fn work(
        &self,
        seed: u64,
        worker: u64,
        points: u64,
        expected: &Expected,
        failures: &Mutex<Vec<String>>,
    ) {
        let place = place();
        let state = place.path().join("state");
        let (mut disk, mut promises) = (Disk::new(&self.root), Promises::default());
        let count = self.events.len() as u64;
        for (n, event) in self.events.iter().enumerate() {
            disk.apply(event);
            if let Event::Mark(mark) = event {
                promises.process(mark);
            }
            let n = n as u64;
            let due = points * (n + 1) / count - points * n / count;
            for nth in 0..due {
                let point = (n * WORKERS + worker) * 1000 + nth;
                let mut random = Random::new(seed ^ (point << 20));
                disk.crash(&mut random, &self.root, &state).unwrap();
                if let Err(wrong) = promises.check(&state, expected) {
                    let text =
                        format!("seed {seed}, event {n} ({event:?}), point {point}: {wrong}");
                    failures.lock().unwrap().push(text);
                }
                fs::remove_dir_all(&state).unwrap();
            }
        }
    }
}

const WORKERS: u64 = 2;

/// Tests this many points; returns the number of recorded events, and the failures.
fn run(first_seed: u64, points: u64, mutation: Option<&str>) -> (u64, Vec<String>) {
    let mut events = 0;
    let mut failures = Vec::new();
    let mut left = points;
    let mut seed = first_seed;
    while left > 0 {
        let now = left.min(POINTS_PER_RECORD);
        let record = Record::make(seed, mutation);
        events += record.events.len() as u64;
        failures = record.try_points(seed, now);
        if !failures.is_empty() {
            if mutation.is_none() {
                failures.push(format!("the record is {}", record.keep(seed).display()));
            }
            break;
        }
        left -= now;
        seed += 1;
        if (points - left).is_multiple_of(50_000) {
            eprintln!("{} states", points - left);
        }
    }
    (events, failures)
}

fn setting(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |value| value.parse().unwrap())
}

#[test]
fn power_failures_at_any_point_and_after_kills_lose_no_acknowledged_write() {
    let points = setting("KEYLOOM_CRASH_POINTS", 5_000);
    let seed = setting("KEYLOOM_CRASH_SEED", 1);
    let (events, failures) = match env::var_os("KEYLOOM_CRASH_RECORD") {
        Some(file) => {
            let record = Record::read(Path::new(&file));
            (record.events.len() as u64, record.try_points(seed, points))
        }
        None => run(seed, points, None),
    };
    eprintln!("{points} states of records with {events} events");
    assert!(events > 500, "too few events were recorded");
    assert!(
        failures.is_empty(),
        "{} of {points} states, e.g. {:#?}",
        failures.len(),
        failures.iter().rev().take(10).collect::<Vec<_>>()
    );
}

/// Proves that the test can fail: it finds each reintroduced bug, all of which make recovery rely
/// on what a killed process left in the page cache.
#[test]
#[cfg(debug_assertions)]
fn recovery_that_relies_on_unsynced_data_is_found() {
    for mutation in ["log-not-synced", "manifest-not-synced", "tables-not-synced"] {
        let found = (1..=20).find_map(|seed| {
            let (_, failures) = run(seed, 300, Some(mutation));
            failures.into_iter().next().map(|failure| (seed, failure))
        });
        let (seed, failure) =
            found.unwrap_or_else(|| panic!("{mutation} was not found in 20 records"));
        eprintln!("{mutation}: found in record {seed}: {failure}");
    }
}
