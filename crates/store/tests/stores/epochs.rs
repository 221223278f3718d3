//! The contract of exclusive changes and epochs, on every store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::scope;
use std::time::Duration;

use keyloom_store::{Bytes, CommitError, KeyRange, Store, StoreError};

use crate::subjects::{Subject, on_every_store};

fn put(store: &dyn Store, key: &'static str, epoch: u64) -> Result<(), CommitError> {
    let mut transaction = store.begin(&[key.as_bytes()]).unwrap();
    transaction.get(key.as_bytes()).unwrap();
    transaction.put(key.into(), "value".into());
    transaction.expect_epoch(epoch);
    transaction.commit()
}

on_every_store! {
    fn an_exclusive_change_reads_its_writes_and_begins_an_epoch(subject: Subject) {
        let store = subject.store();
        let first = store.epoch();
        put(store, "table/a", first).unwrap();
        put(store, "table/b", first).unwrap();
        let mut change = store.exclusive().unwrap();
        assert_eq!(change.epoch(), first);
        change.put("table/c".into(), "new".into());
        change.delete("table/a".into());
        change.append("log/".into(), 9, "record".into());
        change.add("sum".into(), 4);
        assert_eq!(change.get(b"table/a").unwrap(), None);
        assert_eq!(change.get(b"table/b").unwrap(), Some("value".into()));
        assert_eq!(change.get(b"table/c").unwrap(), Some("new".into()));
        let expected: [(Bytes, Bytes); 2] =
            [("table/b".into(), "value".into()), ("table/c".into(), "new".into())];
        assert_eq!(change.scan(KeyRange::prefix(b"table/")).unwrap(), expected);
        let second = change.commit().unwrap();
        assert!(second > first);
        assert_eq!(store.epoch(), second);
        let found = store.get_many(&[b"table/a", b"table/b", b"table/c"]).unwrap();
        assert_eq!(found, [None, Some("value".into()), Some("new".into())]);
        assert_eq!(store.sum(&[b"sum"]).unwrap(), [4]);
        let snapshot = store.snapshot().unwrap();
        let log = snapshot.scan(KeyRange::prefix(b"log/"), keyloom_store::Direction::Forward);
        assert_eq!(log.count(), 1);
        drop(snapshot);
        let subject = subject.reopen();
        assert_eq!(subject.store().get(b"table/c").unwrap(), Some("new".into()));
    }

    fn a_write_of_an_epoch_that_is_over_is_stale(subject: Subject) {
        let store = subject.store();
        let old = store.epoch();
        let new = store.exclusive().unwrap().commit().unwrap();
        assert!(matches!(put(store, "key", old), Err(CommitError::Stale)));
        assert_eq!(store.get(b"key").unwrap(), None);
        put(store, "key", new).unwrap();
        // What expects no epoch, and what only reads, too.
        let mut transaction = store.begin(&[]).unwrap();
        transaction.put("any".into(), "value".into());
        transaction.commit().unwrap();
        let mut transaction = store.begin(&[b"key"]).unwrap();
        transaction.get(b"key").unwrap();
        transaction.expect_epoch(old);
        assert!(matches!(transaction.submit_read().and_then(keyloom_store::Submission::wait), Err(CommitError::Stale)));
    }

    fn a_dropped_or_refused_exclusive_change_writes_nothing(subject: Subject) {
        let store = subject.store();
        let epoch = store.epoch();
        let mut change = store.exclusive().unwrap();
        change.put("key".into(), "value".into());
        drop(change);
        assert_eq!((store.get(b"key").unwrap(), store.epoch()), (None, epoch));
        put(store, "other", epoch).unwrap();
        let mut change = store.exclusive().unwrap();
        change.put("key".into(), "value".into());
        change.put(Bytes::new(), "value".into());
        let error = change.commit().unwrap_err();
        assert!(matches!(error, CommitError::Failed(StoreError::Limit { .. })), "{error}");
        assert_eq!(store.get(b"key").unwrap(), None);
        put(store, "other", store.epoch()).unwrap();
    }

    fn an_exclusive_change_waits_for_others_and_lets_none_begin(subject: Subject) {
        let store = subject.store();
        let mut open = store.begin(&[b"key"]).unwrap();
        scope(|scope| {
            let change = scope.spawn(|| {
                let mut change = store.exclusive().unwrap();
                assert_eq!(change.get(b"key").unwrap(), Some("written before".into()));
                assert!(store.begin_within(&[b"x"], Duration::from_millis(1)).unwrap().is_none());
                change.put("key".into(), "changed".into());
                change.commit().unwrap()
            });
            std::thread::sleep(Duration::from_millis(20));
            open.put("key".into(), "written before".into());
            open.commit().unwrap();
            let epoch = change.join().unwrap();
            assert_eq!(store.epoch(), epoch);
        });
        let transaction = store.begin(&[b"key"]).unwrap();
        assert_eq!(transaction.get(b"key").unwrap(), Some("changed".into()));
    }

    fn every_write_is_made_by_the_description_that_is_stored(subject: Subject) {
        // Writers copy the description into their item; a change counts items made by the last one.
        let (store, writes) = (subject.store(), AtomicU64::new(0));
        let mut change = store.exclusive().unwrap();
        change.put("description".into(), "0".into());
        let first = change.commit().unwrap();
        scope(|scope| {
            for thread in 0..4 {
                let writes = &writes;
                scope.spawn(move || {
                    let mut n = 0;
                    while n < 25 {
                        // Read before the description: if it changes in between, that is stale.
                        let epoch = store.epoch();
                        let description = store.get(b"description").unwrap().unwrap();
                        let key = Bytes::from(format!("item/{thread}/{n}"));
                        let mut transaction = store.begin(&[&key]).unwrap();
                        transaction.put(key.clone(), description);
                        transaction.expect_epoch(epoch);
                        match transaction.commit() {
                            Ok(()) => n += 1,
                            Err(CommitError::Stale | CommitError::Conflict) => continue,
                            Err(error) => panic!("{error}"),
                        }
                        writes.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            scope.spawn(|| {
                let mut seen = 0;
                for next in 1..10_u64 {
                    let mut change = store.exclusive().unwrap();
                    let items = change.scan(KeyRange::prefix(b"item/")).unwrap();
                    let newest = Bytes::from((next - 1).to_string());
                    let of_newest = items.iter().filter(|(_, made_by)| *made_by == newest).count();
                    assert_eq!(items.len(), seen + of_newest, "a write by an older description");
                    seen = items.len();
                    change.put("description".into(), next.to_string().into());
                    change.commit().unwrap();
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
        });
        assert_eq!(writes.load(Ordering::Relaxed), 100);
        assert!(store.epoch() >= first + 9);
    }
}
