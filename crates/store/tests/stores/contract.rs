//! The contract of every store. Each test runs on each store.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::Duration;

use keyloom_store::{
    Bytes, CommitError, Direction, Expected, KeyRange, MAX_KEY_BYTES, MAX_VALUE_BYTES, Snapshot,
    Store, StoreError,
};

use crate::subjects::{Subject, on_every_store};

fn put_all(store: &dyn Store, pairs: &[(&'static str, &'static str)]) {
    let mut transaction = store.begin(&[]).unwrap();
    for (key, value) in pairs {
        transaction.put((*key).into(), (*value).into());
    }
    transaction.commit().unwrap();
}

fn scan(snapshot: &dyn Snapshot, range: KeyRange, direction: Direction) -> Vec<Bytes> {
    snapshot.scan(range, direction).map(|entry| entry.unwrap().0.into_bytes()).collect()
}

fn count(value: Option<Bytes>) -> u64 {
    value.map_or(0, |value| std::str::from_utf8(&value).unwrap().parse().unwrap())
}

/// A first page, if the store has one, is the beginning of these keys, and says whether it is all.
fn assert_is_first_page(store: &dyn Store, range: &KeyRange, expected: Expected, keys: &[Bytes]) {
    for direction in [Direction::Forward, Direction::Backward] {
        let Some(page) = store.first_page(range, direction, expected).unwrap() else { continue };
        let found: Vec<&Bytes> = page.entries.iter().map(|(key, _)| key).collect();
        let mut all: Vec<&Bytes> = keys.iter().collect();
        if direction == Direction::Backward {
            all.reverse();
        }
        assert!(!found.is_empty() && all.starts_with(&found), "{expected:?} {direction:?}");
        assert!(!page.is_whole || found.len() == all.len(), "{expected:?} {direction:?}");
    }
}

on_every_store! {
    fn guards_live_until_the_outcome_is_decided(subject: Subject) {
        let store = subject.store();
        let kept = Arc::new(());
        let begin = || {
            let mut transaction = store.begin(&[b"key"]).unwrap();
            transaction.put("key".into(), "value".into());
            transaction.keep(Box::new(Arc::clone(&kept)));
            assert_eq!(Arc::strong_count(&kept), 2);
            transaction
        };
        begin().commit().unwrap();
        assert_eq!(Arc::strong_count(&kept), 1, "committed");
        begin().finish_read().unwrap();
        assert_eq!(Arc::strong_count(&kept), 1, "dropped");
        drop(begin());
        assert_eq!(Arc::strong_count(&kept), 1, "dropped");
    }

    fn a_put_is_readable_until_deleted(subject: Subject) {
        let store = subject.store();
        assert_eq!(store.get(b"key").unwrap(), None);
        put_all(store, &[("key", "value"), ("empty", "")]);
        assert_eq!(store.get(b"key").unwrap(), Some("value".into()));
        assert_eq!(store.get(b"empty").unwrap(), Some(Bytes::new()));
        put_all(store, &[("key", "other")]);
        assert_eq!(store.get(b"key").unwrap(), Some("other".into()));
        let mut transaction = store.begin(&[b"key"]).unwrap();
        transaction.delete("key".into());
        transaction.delete("never was".into());
        transaction.commit().unwrap();
        assert_eq!(store.get(b"key").unwrap(), None);
        assert_eq!(store.get(b"").unwrap(), None);
    }

    fn get_many_keeps_the_order_of_the_keys(subject: Subject) {
        let store = subject.store();
        put_all(store, &[("a", "1"), ("b", "2")]);
        let expected = [Some("2".into()), None, Some("1".into()), Some("2".into())];
        let keys: [&[u8]; 4] = [b"b", b"x", b"a", b"b"];
        assert_eq!(store.get_many(&keys).unwrap(), expected);
        assert_eq!(store.snapshot().unwrap().get_many(&keys).unwrap(), expected);
        assert_eq!(store.begin(&[]).unwrap().get_many(&keys).unwrap(), expected);
        assert_eq!(store.get_many(&[]).unwrap(), []);
    }

    fn scans_honour_every_kind_of_bound_in_both_directions(subject: Subject) {
        let store = subject.store();
        let keys = ["a", "b", "b\0", "bb", "c", "\u{7F}"];
        put_all(store, &keys.map(|key| (key, "value")));
        let snapshot = store.snapshot().unwrap();
        let bounds = |key: &'static str| {
            let key = Bytes::from(key);
            [Bound::Included(key.clone()), Bound::Excluded(key)]
        };
        let places = ["", "a", "b", "b\0", "ba", "c", "zz"];
        let mut ends: Vec<Bound<Bytes>> = places.into_iter().flat_map(bounds).collect();
        ends.push(Bound::Unbounded);
        for lower in &ends {
            for upper in &ends {
                let range = KeyRange { lower: lower.clone(), upper: upper.clone() };
                let mut expected: Vec<Bytes> = keys.map(Bytes::from).into();
                expected.retain(|key| range.contains(key));
                let found = scan(&*snapshot, range.clone(), Direction::Forward);
                assert_eq!(found, expected, "{range:?}");
                expected.reverse();
                let found = scan(&*snapshot, range.clone(), Direction::Backward);
                assert_eq!(found, expected, "{range:?}");
            }
        }
    }

    fn a_prefix_range_holds_exactly_the_keys_with_that_prefix(subject: Subject) {
        let store = subject.store();
        put_all(store, &[("user/1", ""), ("user/12", ""), ("user0", ""), ("user", "")]);
        let snapshot = store.snapshot().unwrap();
        let found = scan(&*snapshot, KeyRange::prefix(b"user/"), Direction::Forward);
        assert_eq!(found, ["user/1", "user/12"]);
    }

    fn a_page_is_a_scan_whatever_is_expected(subject: Subject) {
        let store = subject.store();
        let keys: Vec<Bytes> = (0..300).map(|n| format!("key {n:03}").into()).collect();
        let mut transaction = store.begin(&[]).unwrap();
        for (n, key) in keys.iter().enumerate() {
            transaction.put(key.clone(), vec![7; n * 10].into());
        }
        transaction.commit().unwrap();
        let snapshot = store.snapshot().unwrap();
        for (entries, bytes) in [(1, 1), (10, 1 << 20), (usize::MAX, 2000), (usize::MAX, usize::MAX)] {
            let expected = Expected { entries, bytes };
            let range = KeyRange::new(&b"key 1"[..]..&b"key 2"[..]);
            let found = snapshot.page(range.clone(), Direction::Forward, expected);
            let found: Vec<Bytes> = found.map(|entry| entry.unwrap().0.into_bytes()).collect();
            assert_eq!(found, keys[100..200], "{expected:?}");
            let mut found = snapshot.page(range.clone(), Direction::Backward, expected);
            assert_eq!(*found.next().unwrap().unwrap().0, keys[199][..], "{expected:?}");
            assert_eq!(*found.next().unwrap().unwrap().0, keys[198][..], "{expected:?}");
            assert_is_first_page(store, &range, expected, &keys[100..200]);
        }
    }

    fn a_first_page_with_a_long_key_is_right_or_none(subject: Subject) {
        let store = subject.store();
        let long: Bytes = [&b"b"[..], &[7; 3000]].concat().into();
        let mut transaction = store.begin(&[]).unwrap();
        for key in [&Bytes::from("a"), &long, &Bytes::from("c")] {
            transaction.put(key.clone(), "value".into());
        }
        transaction.commit().unwrap();
        let (range, all) = (KeyRange::all(), Expected { entries: 10, bytes: 1 << 20 });
        assert_is_first_page(store, &range, all, &["a".into(), long, "c".into()]);
    }

    fn a_snapshot_never_changes(subject: Subject) {
        let store = subject.store();
        put_all(store, &[("kept", "1"), ("changed", "1"), ("deleted", "1")]);
        let snapshot = store.snapshot().unwrap();
        let mut transaction = store.begin(&[]).unwrap();
        transaction.put("changed".into(), "2".into());
        transaction.put("added".into(), "2".into());
        transaction.delete("deleted".into());
        transaction.commit().unwrap();
        // Enough to make a store with small buffers flush and compact beneath the snapshot.
        for n in 0..200 {
            let mut transaction = store.begin(&[]).unwrap();
            transaction.put("changed".into(), vec![n; 500].into());
            transaction.commit().unwrap();
        }
        assert_eq!(snapshot.get(b"changed").unwrap(), Some("1".into()));
        assert_eq!(snapshot.get(b"deleted").unwrap(), Some("1".into()));
        assert_eq!(snapshot.get(b"added").unwrap(), None);
        let found = scan(&*snapshot, KeyRange::all(), Direction::Forward);
        assert_eq!(found, ["changed", "deleted", "kept"]);
        assert_eq!(store.get(b"added").unwrap(), Some("2".into()));
    }

    fn a_late_snapshot_never_changes_once_it_is_read(subject: Subject) {
        let store = subject.store();
        put_all(store, &[("a", "1"), ("b", "1")]);
        let snapshot = store.late_snapshot().unwrap();
        assert_eq!(snapshot.get(b"a").unwrap(), Some("1".into()));
        put_all(store, &[("a", "2"), ("c", "2")]);
        assert_eq!(scan(&*snapshot, KeyRange::all(), Direction::Backward), ["b", "a"]);
        assert_eq!(snapshot.get_many(&[b"a", b"c"]).unwrap(), [Some("1".into()), None]);
    }

    fn a_scan_continues_during_writes(subject: Subject) {
        let store = subject.store();
        put_all(store, &[("a", "1"), ("c", "1"), ("e", "1")]);
        let snapshot = store.snapshot().unwrap();
        let mut entries = snapshot.scan(KeyRange::all(), Direction::Forward);
        assert_eq!(*entries.next().unwrap().unwrap().0, *b"a");
        put_all(store, &[("b", "2"), ("d", "2")]);
        assert_eq!(*entries.next().unwrap().unwrap().0, *b"c");
        assert_eq!(*entries.next().unwrap().unwrap().0, *b"e");
        assert!(entries.next().is_none());
    }

    fn a_transaction_sees_its_own_writes_and_others_do_not(subject: Subject) {
        let store = subject.store();
        put_all(store, &[("a", "old"), ("b", "old")]);
        let mut transaction = store.begin(&[b"a", b"b"]).unwrap();
        transaction.put("a".into(), "new".into());
        transaction.delete("b".into());
        assert_eq!(transaction.get(b"a").unwrap(), Some("new".into()));
        assert_eq!(transaction.get(b"b").unwrap(), None);
        assert_eq!(transaction.get_many(&[b"a", b"b"]).unwrap(), [Some("new".into()), None]);
        assert_eq!(store.get_many(&[b"a", b"b"]).unwrap(), [Some("old".into()), Some("old".into())]);
        transaction.commit().unwrap();
        assert_eq!(store.get_many(&[b"a", b"b"]).unwrap(), [Some("new".into()), None]);
    }

    fn a_dropped_or_read_only_transaction_writes_nothing(subject: Subject) {
        let store = subject.store();
        let mut transaction = store.begin(&[b"key"]).unwrap();
        transaction.put("key".into(), "value".into());
        drop(transaction);
        let mut transaction = store.begin(&[b"key"]).unwrap();
        transaction.put("key".into(), "value".into());
        transaction.finish_read().unwrap();
        assert_eq!(store.get(b"key").unwrap(), None);
        store.begin(&[b"key"]).unwrap().commit().unwrap();
        assert_eq!(store.get(b"key").unwrap(), None);
    }

    fn naming_a_key_twice_locks_it_once(subject: Subject) {
        let transaction = subject.store().begin(&[b"key", b"other", b"key"]).unwrap();
        assert_eq!(transaction.get(b"key").unwrap(), None);
    }

    fn begin_within_times_out_on_a_locked_key(subject: Subject) {
        let (store, patience) = (subject.store(), Duration::from_micros(50));
        let begin = |keys: &[&[u8]]| store.begin_within(keys, patience).unwrap();
        let mut first = begin(&[b"key"]).unwrap();
        assert!(begin(&[b"key"]).is_none());
        // Which key is locked first is random; either must be free again.
        for other in 0..20_u8 {
            assert!(begin(&[&[other], b"key"]).is_none());
            assert!(begin(&[]).is_some());
        }
        first.put("key".into(), "value".into());
        first.commit().unwrap();
        let free: Vec<[u8; 1]> = (0..20_u8).map(|other| [other]).collect();
        let free: Vec<&[u8]> = free.iter().map(<[u8; 1]>::as_slice).collect();
        let second = begin(&[&free[..], &[b"key"]].concat()).unwrap();
        assert_eq!(second.get(b"key").unwrap(), Some("value".into()));
        drop(second);
        assert!(begin(&[b"key"]).is_some());
    }

    fn locks_make_read_modify_write_exact(subject: Subject) {
        let (store, threads, rounds) = (subject.store(), 8, 40);
        scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || {
                    for round in 0..rounds {
                        // In different orders, to provoke a deadlock.
                        let mut keys: [&[u8]; 2] = [b"left", b"right"];
                        keys.rotate_left((thread + round) % 2);
                        let mut transaction = store.begin(&keys).unwrap();
                        for key in keys {
                            let next = count(transaction.get(key).unwrap()) + 1;
                            transaction.put(key.to_vec().into(), next.to_string().into());
                        }
                        transaction.commit().unwrap();
                    }
                });
            }
        });
        let counts = store.get_many(&[b"left", b"right"]).unwrap();
        let expected = Some(Bytes::from((threads * rounds).to_string()));
        assert_eq!(counts, [expected.clone(), expected]);
    }

    fn transactions_are_atomic_to_readers(subject: Subject) {
        let store = subject.store();
        let done = AtomicBool::new(false);
        let keys: Vec<Bytes> = (0..20).map(|n| format!("account {n:02}").into()).collect();
        scope(|scope| {
            scope.spawn(|| {
                for round in 0..300_u64 {
                    let mut transaction = store.begin(&[]).unwrap();
                    for key in &keys {
                        transaction.put(key.clone(), round.to_string().into());
                    }
                    transaction.commit().unwrap();
                }
                done.store(true, Ordering::Release);
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    let wanted: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
                    let mut newest = 0;
                    while !done.load(Ordering::Acquire) {
                        let many = store.get_many(&wanted).unwrap();
                        assert!(many.iter().all(|value| *value == many[0]), "{many:?}");
                        let snapshot = store.snapshot().unwrap();
                        let all: Vec<_> = snapshot
                            .scan(KeyRange::all(), Direction::Backward)
                            .map(|entry| entry.unwrap().1)
                            .collect();
                        assert!(all.iter().all(|value| *value == all[0]), "{all:?}");
                        // Single reads must not see part of a transaction either, nor go back in
                        // time.
                        for key in &keys {
                            let now = count(store.get(key).unwrap());
                            assert!(now >= newest, "{now} after {newest}");
                            newest = now;
                        }
                    }
                });
            }
        });
    }

    fn a_commit_is_visible_to_its_thread_at_once(subject: Subject) {
        let store = subject.store();
        scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for n in 0..50 {
                        let key = Bytes::from(format!("{thread}/{n}"));
                        let mut transaction = store.begin(&[&key]).unwrap();
                        transaction.put(key.clone(), "value".into());
                        transaction.commit().unwrap();
                        assert!(store.get(&key).unwrap().is_some());
                        assert!(store.snapshot().unwrap().get(&key).unwrap().is_some());
                    }
                });
            }
        });
        assert_eq!(store.verify().unwrap().entries, 200);
    }

    fn keys_outside_the_limits_are_refused_without_any_write(subject: Subject) {
        let store = subject.store();
        for key in [Bytes::new(), vec![b'k'; MAX_KEY_BYTES + 1].into()] {
            let mut transaction = store.begin(&[]).unwrap();
            transaction.put("fine".into(), "value".into());
            transaction.put(key.clone(), "value".into());
            let error = transaction.commit().unwrap_err();
            assert!(matches!(error, CommitError::Failed(StoreError::Limit { .. })), "{error}");
            assert!(error.to_string().contains(&format!("{} bytes", key.len())), "{error}");
            assert_eq!(store.get(b"fine").unwrap(), None);
        }
        let mut transaction = store.begin(&[]).unwrap();
        let value = Bytes::from(vec![0; MAX_VALUE_BYTES]);
        for n in 0..4 {
            transaction.put(format!("{n}").into(), value.clone());
        }
        let error = transaction.commit().unwrap_err();
        assert!(error.to_string().contains("a transaction has"), "{error}");
        assert_eq!(store.get(b"0").unwrap(), None);
        let longest = Bytes::from(vec![b'k'; MAX_KEY_BYTES]);
        let mut transaction = store.begin(&[&longest]).unwrap();
        transaction.put(longest.clone(), "value".into());
        transaction.commit().unwrap();
        assert_eq!(store.get(&longest).unwrap(), Some("value".into()));
    }

    fn large_values_round_trip(subject: Subject) {
        let store = subject.store();
        let value: Bytes = (0..3_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let mut transaction = store.begin(&[]).unwrap();
        transaction.put("large".into(), value.clone());
        transaction.commit().unwrap();
        assert_eq!(store.get(b"large").unwrap(), Some(value.clone()));
        let subject = subject.reopen();
        assert_eq!(subject.store().get(b"large").unwrap(), Some(value));
    }

    fn delete_prefix_removes_exactly_the_prefix(subject: Subject) {
        let store = subject.store();
        let mut transaction = store.begin(&[]).unwrap();
        for n in 0..100 {
            transaction.put(format!("t1/{n}").into(), "value".into());
            transaction.put(format!("t2/{n}").into(), "value".into());
        }
        transaction.commit().unwrap();
        store.delete_prefix(b"t1/", 7).unwrap();
        store.delete_prefix(b"t1/", 7).unwrap();
        let snapshot = store.snapshot().unwrap();
        assert_eq!(scan(&*snapshot, KeyRange::prefix(b"t1/"), Direction::Forward).len(), 0);
        assert_eq!(scan(&*snapshot, KeyRange::prefix(b"t2/"), Direction::Forward).len(), 100);
        store.delete_prefix(b"", 1000).unwrap();
        assert_eq!(store.verify().unwrap().entries, 0);
    }

    fn verify_counts_entries_and_finds_no_damage(subject: Subject) {
        let store = subject.store();
        put_all(store, &[("a", "1"), ("b", "22"), ("c", "333")]);
        put_all(store, &[("a", "4444")]);
        let verification = store.verify().unwrap();
        assert_eq!((verification.entries, verification.bytes), (3, 3 + 4 + 2 + 3));
        assert!(verification.is_intact());
        assert!(store.stats().unwrap().approximate_entries >= 3);
    }

    fn reopening_keeps_everything(subject: Subject) {
        let mut subject = subject;
        for round in 0..8 {
            let store = subject.store();
            for n in 0..50 {
                let mut transaction = store.begin(&[]).unwrap();
                transaction.put(format!("{n}").into(), format!("{round}").into());
                transaction.put(format!("{round}/{n}").into(), vec![1; 300].into());
                transaction.delete(format!("{}/{n}", round - 2).into());
                transaction.commit().unwrap();
            }
            subject = subject.reopen();
            assert_eq!(subject.store().get(b"49").unwrap(), Some(format!("{round}").into()));
        }
        let verification = subject.store().verify().unwrap();
        assert_eq!((verification.entries, verification.damage), (150, vec![]));
    }
}
