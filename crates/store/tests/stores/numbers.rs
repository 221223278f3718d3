//! The contract of logs and counters, on every store.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;

use keyloom_store::{Bytes, CommitError, Direction, KeyRange, MAX_KEY_BYTES, Store, StoreError};

use crate::subjects::{Subject, on_every_store};

/// The numbers and records of a log above `after`, in order.
fn records(store: &dyn Store, log: &str, after: u64) -> Vec<(u64, Bytes)> {
    let key = |number: u64| Bytes::from([log.as_bytes(), &number.to_be_bytes()].concat());
    let range =
        KeyRange { lower: Bound::Excluded(key(after)), upper: Bound::Included(key(u64::MAX)) };
    let snapshot = store.snapshot().unwrap();
    let entries = snapshot.scan(range, Direction::Forward).map(Result::unwrap);
    let entries = entries.filter(|(key, _)| key.len() == log.len() + 8);
    entries.map(|(key, value)| (u64::from_be_bytes(*key.last_chunk().unwrap()), value)).collect()
}

fn append(store: &dyn Store, log: &'static str, floor: u64, record: &'static str) {
    let mut transaction = store.begin(&[]).unwrap();
    transaction.append(log.into(), floor, record.into());
    transaction.commit().unwrap();
}

fn add(store: &dyn Store, counter: &'static str, delta: i64) {
    let mut transaction = store.begin(&[]).unwrap();
    transaction.add(counter.into(), delta);
    transaction.commit().unwrap();
}

on_every_store! {
    fn records_are_numbered_in_order_and_from_the_floor(subject: Subject) {
        let store = subject.store();
        append(store, "log/1/", 1000, "a");
        append(store, "log/1/", 0, "b");
        append(store, "log/2/", 7, "other");
        let mut transaction = store.begin(&[b"key"]).unwrap();
        transaction.append("log/1/".into(), 5000, "c".into());
        transaction.append("log/1/".into(), 0, "d".into());
        transaction.put("key".into(), "value".into());
        transaction.commit().unwrap();
        let found = records(store, "log/1/", 0);
        let texts: Vec<&[u8]> = found.iter().map(|(_, record)| record.as_ref()).collect();
        assert_eq!(texts, [b"a", b"b", b"c", b"d"]);
        let numbers: Vec<u64> = found.iter().map(|(number, _)| *number).collect();
        assert!(numbers[0] >= 1000 && numbers[2] >= 5000, "{numbers:?}");
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        assert_eq!(records(store, "log/2/", 0).len(), 1);
        assert_eq!(store.get(b"key").unwrap(), Some("value".into()));
    }

    fn a_transaction_that_fails_appends_and_adds_nothing(subject: Subject) {
        let store = subject.store();
        let stage = || {
            let mut transaction = store.begin(&[]).unwrap();
            transaction.append("log/".into(), 0, "record".into());
            transaction.add("sum".into(), 3);
            transaction
        };
        drop(stage());
        stage().finish_read().unwrap();
        let mut transaction = stage();
        transaction.put(Bytes::new(), "no key".into());
        assert!(matches!(transaction.commit(), Err(CommitError::Failed(StoreError::Limit { .. }))));
        assert_eq!(records(store, "log/", 0), []);
        assert_eq!(store.sum(&[b"sum"]).unwrap(), [0]);
        for log in [MAX_KEY_BYTES - 7, MAX_KEY_BYTES] {
            let mut transaction = store.begin(&[]).unwrap();
            transaction.append(vec![b'l'; log].into(), 0, "record".into());
            let error = transaction.commit().unwrap_err();
            assert!(matches!(error, CommitError::Failed(StoreError::Limit { .. })), "{error}");
        }
    }

    fn numbers_go_on_after_reopening_and_after_a_deletion(subject: Subject) {
        append(subject.store(), "log/", 40, "a");
        let subject = subject.reopen();
        let store = subject.store();
        append(store, "log/", 0, "b");
        let found = records(store, "log/", 0);
        assert!(found.len() == 2 && found[1].0 > found[0].0, "{found:?}");
        // Trimmed by its reader: the log goes on.
        let mut transaction = store.begin(&[]).unwrap();
        for (number, _) in &found {
            transaction.delete([&b"log/"[..], &number.to_be_bytes()].concat().into());
        }
        transaction.commit().unwrap();
        append(store, "log/", 0, "c");
        assert!(records(store, "log/", 0)[0].0 > found[1].0);
        // Dropped: it may begin anew, and must not fail.
        store.delete_prefix(b"log/", 10).unwrap();
        assert_eq!(records(store, "log/", 0), []);
        append(store, "log/", 0, "d");
        assert_eq!(records(store, "log/", 0).len(), 1);
    }

    fn a_reader_of_a_log_meets_every_record_once_and_in_order(subject: Subject) {
        let (store, writers, rounds) = (subject.store(), 4, 40);
        let done = AtomicBool::new(false);
        scope(|scope| {
            let reader = scope.spawn(|| {
                let (mut last, mut met) = (0, Vec::new());
                loop {
                    let is_last = done.load(Ordering::Acquire);
                    for (number, record) in records(store, "log/", last) {
                        last = number;
                        met.push(record);
                    }
                    if is_last {
                        return met;
                    }
                }
            });
            scope.spawn(|| {
                std::thread::scope(|scope| {
                    for writer in 0..writers {
                        scope.spawn(move || {
                            for round in 0..rounds {
                                let mut transaction = store.begin(&[]).unwrap();
                                let record = format!("{writer}/{round:02}");
                                transaction.append("log/".into(), 0, record.into());
                                transaction.commit().unwrap();
                            }
                        });
                    }
                });
                done.store(true, Ordering::Release);
            });
            let met = reader.join().unwrap();
            for writer in 0..writers {
                let own = met.iter().filter(|r| r.starts_with(format!("{writer}/").as_bytes()));
                let own: Vec<Bytes> = own.cloned().collect();
                let expected: Vec<Bytes> =
                    (0..rounds).map(|round| format!("{writer}/{round:02}").into()).collect();
                assert_eq!(own, expected);
            }
        });
    }

    fn counters_sum_what_was_committed(subject: Subject) {
        let store = subject.store();
        add(store, "items", 5);
        add(store, "items", -7);
        let mut transaction = store.begin(&[]).unwrap();
        transaction.add("bytes".into(), 40);
        transaction.add("bytes".into(), 2);
        transaction.add("items".into(), 1);
        transaction.commit().unwrap();
        assert_eq!(store.sum(&[b"items", b"bytes", b"never"]).unwrap(), [-1, 42, 0]);
        assert_eq!(store.sum(&[]).unwrap(), []);
        let subject = subject.reopen();
        let store = subject.store();
        assert_eq!(store.sum(&[b"items", b"bytes"]).unwrap(), [-1, 42]);
        add(store, "items", 10);
        assert_eq!(store.sum(&[b"items"]).unwrap(), [9]);
        store.delete_prefix(b"it", 10).unwrap();
        assert_eq!(store.sum(&[b"items", b"bytes"]).unwrap(), [0, 42]);
        add(store, "items", 1);
        assert_eq!(store.sum(&[b"items"]).unwrap(), [1]);
    }

    fn additions_of_many_threads_are_all_counted(subject: Subject) {
        let (store, threads, rounds) = (subject.store(), 8, 40);
        scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || {
                    for _ in 0..rounds {
                        let mut transaction = store.begin(&[&[thread as u8]]).unwrap();
                        transaction.put(vec![thread as u8].into(), "value".into());
                        transaction.add("sum".into(), thread);
                        transaction.add("count".into(), 1);
                        transaction.commit().unwrap();
                    }
                });
            }
        });
        let expected = [threads * (threads - 1) / 2 * rounds, threads * rounds];
        assert_eq!(store.sum(&[b"sum", b"count"]).unwrap(), expected);
    }
}
