//! A disk that fills up, for real: the store lives on a file system of a few megabytes, and a writer
//! goes on until it is refused. The refusal says why, nothing that was acknowledged is lost, and once
//! there is room again the store goes on.
//!
//! The file system is a `tmpfs` in a mount namespace of its own, which `unshare` makes without any
//! privilege on most systems; where it cannot, the test says so and is not run.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use keyloom_store::{Bytes, CommitError, DiskOptions, DiskStore, Store};

/// Where the child mounts its disk, and how large that is.
const SMALL_DISK: &str = "KEYLOOM_SMALL_DISK";
/// Exit code of a child that may not mount.
const CANNOT_MOUNT: i32 = 77;
/// Kept free at first, so that there is something to give back.
const BALLAST_BYTES: usize = 1 << 20;

fn options() -> DiskOptions {
    DiskOptions { memtable_bytes: 300_000, ..DiskOptions::default() }
}

fn key(n: u64) -> Bytes {
    format!("key {n:08}").into()
}

fn value(n: u64) -> Bytes {
    let mut state = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(700)
    .collect()
}

fn put(store: &DiskStore, n: u64) -> Result<(), CommitError> {
    let mut transaction = store.begin(&[&key(n)]).map_err(CommitError::Failed)?;
    transaction.put(key(n), value(n));
    transaction.commit()
}

fn check(store: &DiskStore, acknowledged: u64) {
    for n in 0..acknowledged {
        assert_eq!(store.get(&key(n)).unwrap(), Some(value(n)), "{n} of {acknowledged}");
    }
}

/// Writes until the disk is full; how many writes were acknowledged.
fn fill(path: &Path) -> u64 {
    let (store, _) = DiskStore::open(path, options()).unwrap();
    let mut acknowledged = 0;
    let error = loop {
        match put(&store, acknowledged) {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    let told = error.to_string();
    assert!(told.contains("No space left on device"), "{told}");
    // What was durable stays readable, full disk or not.
    check(&store, acknowledged);
    let again = put(&store, acknowledged).unwrap_err().to_string();
    assert!(again.contains("No space left on device"), "the reason is not forgotten: {again}");
    acknowledged
}

#[test]
#[ignore = "run by the test below in a namespace of its own"]
fn inside_a_small_disk() {
    let Ok(disk) = env::var(SMALL_DISK) else { return };
    let (directory, bytes) = disk.rsplit_once(':').unwrap();
    let directory = PathBuf::from(directory);
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"])
        .arg(&directory)
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        std::process::exit(CANNOT_MOUNT);
    }
    let (ballast, store_path) = (directory.join("ballast"), directory.join("store"));
    fs::write(&ballast, vec![1; BALLAST_BYTES]).unwrap();
    let acknowledged = fill(&store_path);
    assert!(acknowledged > 100, "only {acknowledged} writes fitted");

    // Full as it is, the store may refuse to open; it must not lose anything by it.
    drop(DiskStore::open(&store_path, options()));
    fs::remove_file(ballast).unwrap();
    let (store, _) = DiskStore::open(&store_path, options()).unwrap();
    check(&store, acknowledged);
    for n in acknowledged..acknowledged + 50 {
        put(&store, n).unwrap();
    }
    check(&store, acknowledged + 50);
    assert!(store.verify().unwrap().is_intact());
    eprintln!("{bytes} bytes: {acknowledged} writes, all kept");
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let home = tempfile::tempdir().unwrap();
    // Different sizes meet the end at different work: the log, a flush, a compaction.
    for bytes in (4_000_000_u64..8_000_000).step_by(370_000) {
        let outcome = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount"])
            .arg(env::current_exe().unwrap())
            .args(["--ignored", "--exact", "inside_a_small_disk", "--nocapture"])
            .env(SMALL_DISK, format!("{}:{bytes}", home.path().display()))
            .output();
        let Ok(outcome) = outcome else {
            eprintln!("NOT RUN: there is no `unshare` to make a small disk with");
            return;
        };
        let told = String::from_utf8_lossy(&outcome.stderr);
        if outcome.status.code() == Some(CANNOT_MOUNT) || told.contains("unshare failed") {
            eprintln!("NOT RUN: this system does not let `unshare` make a small disk: {told}");
            return;
        }
        assert!(
            outcome.status.success(),
            "{bytes} bytes: {told}\n{}",
            String::from_utf8_lossy(&outcome.stdout)
        );
        eprint!("{told}");
    }
}
