//! Visibility while a commit waits for its sync.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::scope;
use std::time::Duration;

use super::DiskStore;
use super::faulty_files::FaultyFiles;
use crate::pending::GROUP_BYTES;
use crate::{Store, Submission};

fn put(store: &DiskStore, key: &'static str, value: &'static str) {
    let mut transaction = store.begin(&[key.as_bytes()]).unwrap();
    transaction.put(key.into(), value.into());
    transaction.commit().unwrap();
}

fn with_pending_write(then: impl FnOnce(&DiskStore, &FaultyFiles)) {
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = log.open_store(directory.path());
    put(&store, "key", "old");
    log.hold_syncs();
    scope(|scope| {
        scope.spawn(|| put(&store, "key", "new"));
        log.wait_for_held_sync();
        then(&store, &log);
        log.release_syncs();
    });
    assert_eq!(store.get(b"key").unwrap().as_deref(), Some(&b"new"[..]));
}

#[test]
fn plain_reads_see_only_durable_values() {
    with_pending_write(|store, _| {
        let snapshot = store.snapshot().unwrap();
        for seen in [
            store.get(b"key").unwrap(),
            store.get_many(&[b"key"]).unwrap().remove(0),
            snapshot.get(b"key").unwrap(),
        ] {
            assert_eq!(seen.as_deref(), Some(&b"old"[..]));
        }
    });
}

#[test]
fn a_transaction_sees_pending_writes_although_their_locks_are_free() {
    with_pending_write(|store, _| {
        let transaction = store.begin(&[b"key"]).unwrap();
        assert_eq!(transaction.get(b"key").unwrap().as_deref(), Some(&b"new"[..]));
        let many = transaction.get_many(&[b"other", b"key"]).unwrap();
        assert_eq!(many, [None, Some("new".into())]);
    });
}

#[test]
fn finishing_a_read_of_a_pending_write_waits_until_it_is_durable() {
    with_pending_write(|store, log| {
        let released = AtomicBool::new(false);
        scope(|scope| {
            scope.spawn(|| {
                let transaction = store.begin(&[b"key"]).unwrap();
                assert_eq!(transaction.get(b"key").unwrap().as_deref(), Some(&b"new"[..]));
                transaction.finish_read().unwrap();
                assert!(released.load(Ordering::SeqCst));
                assert_eq!(store.get(b"key").unwrap().as_deref(), Some(&b"new"[..]));
            });
            std::thread::sleep(Duration::from_millis(30));
            released.store(true, Ordering::SeqCst);
            log.release_syncs();
        });
    });
}

#[test]
fn finishing_a_read_of_durable_values_does_not_wait() {
    with_pending_write(|store, _| {
        let transaction = store.begin(&[b"other"]).unwrap();
        assert_eq!(transaction.get(b"other").unwrap(), None);
        transaction.finish_read().unwrap();
    });
}

#[test]
fn writes_on_top_of_pending_writes_share_the_next_sync() {
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = log.open_store(directory.path());
    log.hold_syncs();
    scope(|scope| {
        scope.spawn(|| put(&store, "counter", "0"));
        log.wait_for_held_sync();
        for _ in 0..10 {
            scope.spawn(|| {
                let mut transaction = store.begin(&[b"counter"]).unwrap();
                let count = transaction.get(b"counter").unwrap().unwrap();
                let count: u64 = std::str::from_utf8(&count).unwrap().parse().unwrap();
                transaction.put("counter".into(), (count + 1).to_string().into());
                transaction.commit().unwrap();
            });
        }
        // All ten queue up behind the blocked sync; no lock is held while waiting.
        while store.begin(&[b"counter"]).unwrap().get(b"counter").unwrap() != Some("10".into()) {
            std::thread::yield_now();
        }
        log.release_syncs();
    });
    assert_eq!(store.get(b"counter").unwrap(), Some("10".into()));
    let stats = store.stats().unwrap();
    assert_eq!((stats.commits, stats.syncs), (11, 2));
}

#[test]
fn a_failed_pending_write_vanishes_and_its_readers_fail() {
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = log.open_store(directory.path());
    put(&store, "key", "old");
    log.hold_syncs();
    scope(|scope| {
        scope.spawn(|| put(&store, "first", "durable"));
        log.wait_for_held_sync();
        log.fail_sync_after(0);
        scope.spawn(|| {
            let mut transaction = store.begin(&[b"key"]).unwrap();
            transaction.put("key".into(), "new".into());
            assert!(transaction.commit().is_err());
        });
        let transaction = loop {
            let transaction = store.begin(&[b"key"]).unwrap();
            if transaction.get(b"key").unwrap() == Some("new".into()) {
                break transaction;
            }
        };
        log.release_syncs();
        assert!(transaction.finish_read().is_err());
    });
    assert_eq!(store.get(b"key").unwrap(), Some("old".into()));
    assert_eq!(store.get(b"first").unwrap(), Some("durable".into()));
    assert!(store.begin(&[b"key"]).is_err());
}

fn submit(store: &DiskStore, key: &'static str) -> Submission {
    let mut transaction = store.begin(&[key.as_bytes()]).unwrap();
    transaction.put(key.into(), "new".into());
    transaction.submit().unwrap()
}

#[test]
fn a_dropped_submission_becomes_durable() {
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = log.open_store(directory.path());
    for key in ["alone", "another"] {
        let submission = submit(&store, key);
        assert!(submission.would_lead());
        drop(submission);
        store.settle().unwrap();
        assert_eq!(store.get(key.as_bytes()).unwrap(), Some("new".into()));
    }
}

#[test]
fn a_task_is_woken_when_its_submission_is_durable() {
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = log.open_store(directory.path());
    log.hold_syncs();
    let (first, second) = (submit(&store, "first"), submit(&store, "second"));
    assert!(first.would_lead() && second.would_lead());
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (woken, wakes) = channel();
    let waker = Waker::from(Arc::new(Woken(woken)));
    let mut context = Context::from_waker(&waker);
    // A task does not commit on its own thread: polling wakes the committer thread.
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    log.wait_for_held_sync();
    assert!(!first.would_lead());
    assert!(first.as_mut().poll(&mut context).is_pending());
    log.release_syncs();
    for _ in 0..2 {
        wakes.recv_timeout(Duration::from_secs(10)).unwrap();
    }
    assert!(matches!(first.as_mut().poll(&mut context), Poll::Ready(Ok(()))));
    assert!(matches!(second.as_mut().poll(&mut context), Poll::Ready(Ok(()))));
    assert_eq!(store.get(b"second").unwrap(), Some("new".into()));
    let stats = store.stats().unwrap();
    assert_eq!((stats.commits, stats.syncs), (2, 1));
}

#[test]
fn a_waiting_writer_commits_dropped_submissions() {
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = log.open_store(directory.path());
    let idle = submit(&store, "idle");
    store.settle().unwrap();
    assert_eq!(store.get(b"idle").unwrap(), Some("new".into()));
    assert!(!idle.would_lead());
    idle.wait().unwrap();
    // Closing commits the rest.
    let left = submit(&store, "left");
    store.close().unwrap();
    let store = FaultyFiles::default().open_store(directory.path());
    assert_eq!(store.get(b"left").unwrap(), Some("new".into()));
    left.wait().unwrap();
}

struct Woken(Sender<()>);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap();
    }
}

#[test]
fn settle_waits_for_submissions() {
    with_pending_write(|store, log| {
        let released = AtomicBool::new(false);
        scope(|scope| {
            scope.spawn(|| {
                store.settle().unwrap();
                assert!(released.load(Ordering::SeqCst));
                assert_eq!(store.get(b"key").unwrap(), Some("new".into()));
            });
            std::thread::sleep(Duration::from_millis(30));
            released.store(true, Ordering::SeqCst);
            log.release_syncs();
        });
    });
}

#[test]
fn guards_are_dropped_after_the_writes_are_visible_and_before_the_outcome() {
    struct Probe(Arc<DiskStore>, Sender<bool>);
    impl Drop for Probe {
        fn drop(&mut self) {
            let is_seen = self.0.get(b"key").unwrap().is_some();
            self.1.send(is_seen).unwrap();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = Arc::new(log.open_store(directory.path()));
    let (probe, seen) = channel();
    let mut transaction = store.begin(&[b"key"]).unwrap();
    transaction.put("key".into(), "value".into());
    transaction.keep(Box::new(Probe(Arc::clone(&store), probe.clone())));
    let held = transaction.submit().unwrap();
    assert!(seen.try_recv().is_err(), "the outcome is not decided");
    // Nobody waits for its outcome: the next committer drops the guard.
    put(&store, "other", "value");
    assert!(seen.try_recv().unwrap());
    held.wait().unwrap();

    let mut dropped = store.begin(&[b"key"]).unwrap();
    dropped.keep(Box::new(Probe(Arc::clone(&store), probe)));
    drop(dropped);
    assert!(seen.try_recv().unwrap());
}

#[test]
fn guards_are_dropped_before_a_failure_is_reported() {
    struct Slow(Arc<AtomicBool>);
    impl Drop for Slow {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_millis(30));
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let log = FaultyFiles::default();
    let store = log.open_store(directory.path());
    let submit = |key: &'static str, value: Vec<u8>| {
        let is_dropped = Arc::new(AtomicBool::new(false));
        let mut transaction = store.begin(&[key.as_bytes()]).unwrap();
        transaction.put(key.into(), value.into());
        transaction.keep(Box::new(Slow(Arc::clone(&is_dropped))));
        let submission = transaction.submit().unwrap();
        move || {
            submission.wait().unwrap_err();
            assert!(is_dropped.load(Ordering::SeqCst), "{key}");
        }
    };
    log.hold_syncs();
    scope(|scope| {
        scope.spawn(|| put(&store, "first", "durable"));
        log.wait_for_held_sync();
        log.fail_sync_after(0);
        // Large enough to be a group of its own; the other transaction is aborted with it.
        scope.spawn(submit("fails", vec![0; GROUP_BYTES]));
        scope.spawn(submit("behind", vec![0]));
        log.release_syncs();
    });
}
