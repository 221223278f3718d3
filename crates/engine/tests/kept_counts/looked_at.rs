//! A store that says how often entries are scanned, and whose content can be spoilt.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use keyloom_store::{
    Bytes, Direction, Entries, KeyRange, Openings, Snapshot, Stats, Store, StoreError, Transaction,
    Verification,
};

use crate::NOTE;

/// With what byte the keys of items and index entries begin.
const ENTRY: u8 = 0x10;

/// What is wrong with the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Nothing.
    Whole,
    /// Neither entries nor the note can be read.
    Damaged,
    /// A scan of entries does not end.
    Endless,
}

fn damage() -> StoreError {
    StoreError::Engine { action: "read".into(), detail: "this damage was planned".into() }
}

/// A store around another one.
#[derive(Debug)]
pub(crate) struct LookedAt<S> {
    inner: S,
    condition: Condition,
    seen: Arc<AtomicUsize>,
}

impl<S: Store> LookedAt<S> {
    pub(crate) fn new(inner: S, condition: Condition) -> Self {
        Self { inner, condition, seen: Arc::default() }
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
        if key == NOTE && self.condition == Condition::Damaged {
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
            condition: self.condition,
            seen: Arc::clone(&self.seen),
        }))
    }

    fn begin<'a>(&'a self, locks: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError> {
        self.inner.begin(locks)
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

    fn openings(&self) -> Result<Openings, StoreError> {
        self.inner.openings()
    }
}

struct LookedAtSnapshot {
    inner: Box<dyn Snapshot>,
    condition: Condition,
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
        match self.condition {
            Condition::Whole => entries,
            Condition::Damaged => Box::new(std::iter::once(Err(damage()))),
            Condition::Endless => {
                let first = entries.next().unwrap().unwrap();
                Box::new(std::iter::repeat_with(move || Ok(first.clone())))
            }
        }
    }
}
