//! A store that says how often entries are scanned, and whose content can be spoilt, or held back.

use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom_store::{
    Bytes, Direction, Entries, Exclusive, KeyRange, Openings, Snapshot, Stats, Store, StoreError,
    Transaction, Verification,
};

use crate::NOTE;

/// With what byte the keys of items and index entries begin.
const ENTRY: u8 = 0x10;

/// What is wrong with the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Nothing.
    Whole,
    /// Entries cannot be read.
    Damaged,
    /// The note cannot be read.
    NoteDamaged,
    /// A scan of entries does not end.
    Endless,
    /// A scan of entries panics.
    Broken,
    /// A scan of entries does not begin until the condition is another one.
    Held,
    /// Nothing, but nobody knows which opening of the store this is.
    Untold,
}

fn damage() -> StoreError {
    StoreError::Engine { action: "read".into(), detail: "this damage was planned".into() }
}

/// A store around another one.
#[derive(Debug)]
pub(crate) struct LookedAt<S> {
    inner: S,
    condition: Arc<Mutex<Condition>>,
    seen: Arc<AtomicUsize>,
}

impl<S: Store> LookedAt<S> {
    pub(crate) fn new(inner: S, condition: Condition) -> Self {
        Self { inner, condition: Arc::new(Mutex::new(condition)), seen: Arc::default() }
    }

    /// From now on, the content is like this.
    pub(crate) fn turn(&self, condition: Condition) {
        *self.condition.lock().unwrap() = condition;
    }

    /// Waits until entries have been scanned so many times.
    pub(crate) fn wait_for_scans(&self, count: usize) {
        while self.entry_scans() < count {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn inner(&self) -> &S {
        &self.inner
    }

    /// How often entries were scanned.
    pub(crate) fn entry_scans(&self) -> usize {
        self.seen.load(Ordering::Relaxed)
    }
}

impl<S: Store> Store for LookedAt<S> {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        if key == NOTE && *self.condition.lock().unwrap() == Condition::NoteDamaged {
            return Err(damage());
        }
        self.inner.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.inner.get_many(keys)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let inner = self.inner.snapshot()?;
        Ok(Box::new(LookedAtSnapshot {
            inner,
            condition: Arc::clone(&self.condition),
            seen: Arc::clone(&self.seen),
        }))
    }

    fn begin<'a>(&'a self, locks: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError> {
        self.inner.begin(locks)
    }

    fn exclusive<'a>(&'a self) -> Result<Box<dyn Exclusive + 'a>, StoreError> {
        self.inner.exclusive()
    }

    fn epoch(&self) -> u64 {
        self.inner.epoch()
    }

    fn sum(&self, counters: &[&[u8]]) -> Result<Vec<i64>, StoreError> {
        self.inner.sum(counters)
    }

    fn settle(&self) -> Result<(), StoreError> {
        self.inner.settle()
    }

    fn verify(&self) -> Result<Verification, StoreError> {
        self.inner.verify()
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        self.inner.stats()
    }

    fn openings(&self) -> Result<Option<Openings>, StoreError> {
        if *self.condition.lock().unwrap() == Condition::Untold {
            return Ok(None);
        }
        self.inner.openings()
    }
}

struct LookedAtSnapshot {
    inner: Box<dyn Snapshot>,
    condition: Arc<Mutex<Condition>>,
    seen: Arc<AtomicUsize>,
}

impl Snapshot for LookedAtSnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.inner.get_many(keys)
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Entries<'_> {
        let (Bound::Included(lower) | Bound::Excluded(lower)) = &range.lower else {
            return self.inner.scan(range, direction);
        };
        if lower.first() != Some(&ENTRY) {
            return self.inner.scan(range, direction);
        }
        self.seen.fetch_add(1, Ordering::Relaxed);
        let mut entries = self.inner.scan(range, direction);
        let condition = || *self.condition.lock().unwrap();
        while condition() == Condition::Held {
            std::thread::sleep(Duration::from_millis(1));
        }
        match condition() {
            Condition::Whole | Condition::NoteDamaged | Condition::Held | Condition::Untold => {
                entries
            }
            Condition::Broken => panic!("this bug was planned"),
            Condition::Damaged => Box::new(std::iter::once(Err(damage()))),
            Condition::Endless => {
                let first = entries.next().unwrap().unwrap();
                Box::new(std::iter::repeat_with(move || Ok(first.clone())))
            }
        }
    }
}
