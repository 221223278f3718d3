//! A disk that really fills up: the store is on a file system of a few megabytes, and a writer
//! continues until it is refused. The error gives the reason, no acknowledged write is lost, and
//! writes are accepted again once there is space.
//!
//! The file system is a `tmpfs` in a mount namespace of its own, which `unshare` creates without
//! privileges on most systems. Where it cannot, the test says so and is not run, or fails if
//! `KEYLOOM_REQUIRE_CLIENTS` demands it.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use keyloom_store::{Bytes, CommitError, DiskOptions, DiskStore, Health, Store, StoreError};

/// Where the child mounts its disk, and the size of it.
const SMALL_DISK: &str = "KEYLOOM_SMALL_DISK";
/// Exit code of a child that may not mount.
const CANNOT_MOUNT: i32 = 77;
/// Allocated at first, so that there is something to free.
const BALLAST_BYTES: usize = 1 << 20;

fn options() -> DiskOptions {
    DiskOptions { memtable_bytes: 300_000, ..DiskOptions::default() }
}

fn key(n: u64) -> Bytes {
    format!("key {n:08}").into()
}

fn value(n: u64) -> Bytes {
    let mut random = fastrand::Rng::with_seed(n);
    std::iter::repeat_with(|| random.u8(..)).take(700).collect()
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

/// Writes until the disk is full; returns how many writes were acknowledged.
fn fill(store: &DiskStore) -> u64 {
    let mut acknowledged = 0;
    // The space that a refused write frees may suffice for a few more.
    for _ in 0..3 {
        let error = loop {
            match put(store, acknowledged) {
                Ok(()) => acknowledged += 1,
                Err(error) => break error,
            }
        };
        let output = error.to_string();
        assert!(output.contains("No space left on device"), "{output}");
        assert!(matches!(error, CommitError::Failed(StoreError::Full { .. })), "{error:?}");
        // Durable data stays readable on a full disk.
        check(store, acknowledged);
        assert_eq!(store.get(&key(acknowledged)).unwrap(), None, "it was refused");
    }
    acknowledged
}

/// Waits until the store accepts writes again.
fn wait_until_ready(store: &DiskStore) {
    let start = Instant::now();
    while let Health::ReadOnly { reason, restart_needed } = store.health() {
        assert!(!restart_needed, "{reason}");
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "the store does not notice the free space: {reason}"
        );
        sleep(Duration::from_millis(10));
    }
}

fn write_more(store: &DiskStore, acknowledged: &mut u64) {
    for _ in 0..50 {
        put(store, *acknowledged).unwrap();
        *acknowledged += 1;
    }
    check(store, *acknowledged);
    assert!(store.verify().unwrap().is_intact());
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
    let store_path = directory.join("store");
    let ballast = |number: u32| directory.join(format!("ballast {number}"));
    for number in 0..2 {
        fs::write(ballast(number), vec![1; BALLAST_BYTES]).unwrap();
    }
    let (store, _) = DiskStore::open(&store_path, options()).unwrap();
    let mut acknowledged = fill(&store);
    assert!(acknowledged > 100, "only {acknowledged} writes fitted");
    // With free space it accepts writes again, without a restart.
    fs::remove_file(ballast(0)).unwrap();
    wait_until_ready(&store);
    write_more(&store, &mut acknowledged);
    drop(store);

    // On a completely full disk it opens read-only, and accepts writes when there is space.
    let _ = fs::write(directory.join("the rest"), vec![1; 16 << 20]);
    let (store, _) = DiskStore::open(&store_path, options()).unwrap();
    check(&store, acknowledged);
    let refused = put(&store, acknowledged).unwrap_err();
    assert!(refused.to_string().contains("No space left on device"), "{refused}");
    fs::remove_file(ballast(1)).unwrap();
    wait_until_ready(&store);
    write_more(&store, &mut acknowledged);
    store.close().unwrap();
    let (store, _) = DiskStore::open(&store_path, options()).unwrap();
    write_more(&store, &mut acknowledged);
    eprintln!("{bytes} bytes: {acknowledged} writes, all kept");
}

/// Runs the test above on a disk of this size; `Err` with the reason if there is none to be had.
fn on_a_disk_of(bytes: u64, namespace: &[&str], directory: &Path) -> Result<Output, String> {
    let outcome = Command::new("unshare")
        .args(namespace)
        .arg(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "inside_a_small_disk", "--nocapture"])
        .env(SMALL_DISK, format!("{}:{bytes}", directory.display()))
        .output()
        .map_err(|error| format!("there is no `unshare` to make a small disk with: {error}"))?;
    let output = String::from_utf8_lossy(&outcome.stderr);
    if outcome.status.code() == Some(CANNOT_MOUNT) || output.contains("unshare failed") {
        return Err(format!("this system does not let `unshare` make a small disk: {output}"));
    }
    Ok(outcome)
}

#[test]
fn a_full_disk_loses_no_acknowledged_write() {
    /// A user namespace needs no privileges, but is forbidden on some systems; root needs none.
    const NAMESPACES: [&[&str]; 2] = [&["--user", "--map-root-user", "--mount"], &["--mount"]];
    let scratch = tempfile::tempdir().unwrap();
    // With different sizes the disk fills up during different operations: log write, flush,
    // compaction.
    let sizes: usize = env::var("KEYLOOM_DISK_SIZES").map_or(3, |count| count.parse().unwrap());
    for bytes in (5_000_000_u64..8_500_000).step_by(3_500_000 / sizes) {
        let on_disk = |namespace| on_a_disk_of(bytes, namespace, scratch.path());
        let outcome =
            match on_disk(NAMESPACES[0]).or_else(|why| on_disk(NAMESPACES[1]).map_err(|_| why)) {
                Ok(outcome) => outcome,
                Err(why) => {
                    let is_demanded = env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_some();
                    assert!(!is_demanded, "{why}, and KEYLOOM_REQUIRE_CLIENTS demands it");
                    eprintln!("NOT RUN: {why}");
                    return;
                }
            };
        let output = String::from_utf8_lossy(&outcome.stderr);
        assert!(
            outcome.status.success(),
            "{bytes} bytes: {output}\n{}",
            String::from_utf8_lossy(&outcome.stdout)
        );
        eprint!("{output}");
    }
}
