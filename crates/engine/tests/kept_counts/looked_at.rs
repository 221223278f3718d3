//! A store that says how often entries are scanned, and whose content can be spoilt, or held back.

use std::ops::Bound;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use keyloom_store::{
    Bytes, Direction, Entries, KeyRange, Openings, Snapshot, Store, StoreError, Wrapped, Wrapper,
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

/// A store whose scans are counted, and whose content can be spoilt.
pub(crate) type LookedAt<S> = Wrapped<S, Look>;

/// What is seen of the content, and how often.
#[derive(Debug)]
pub(crate) struct Look {
    condition: Mutex<Condition>,
    seen: AtomicUsize,
}

impl Look {
    pub(crate) fn at<S: Store + 'static>(inner: S, condition: Condition) -> LookedAt<S> {
        let look = Self { condition: Mutex::new(condition), seen: AtomicUsize::new(0) };
        Wrapped::around(inner, look)
    }

    /// From now on, the content is like this.
    pub(crate) fn turn(&self, condition: Condition) {
        *self.condition.lock().unwrap() = condition;
    }

    fn condition(&self) -> Condition {
        *self.condition.lock().unwrap()
    }

    /// Waits until entries have been scanned so many times.
    pub(crate) fn wait_for_scans(&self, count: usize) {
        while self.entry_scans() < count {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// How often entries were scanned.
    pub(crate) fn entry_scans(&self) -> usize {
        self.seen.load(Ordering::Relaxed)
    }
}

impl<S: Store> Wrapper<S> for Look {
    fn get(&self, inner: &S, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        if key == NOTE && self.condition() == Condition::NoteDamaged {
            return Err(damage());
        }
        inner.get(key)
    }

    fn openings(&self, inner: &S) -> Result<Option<Openings>, StoreError> {
        if self.condition() == Condition::Untold {
            return Ok(None);
        }
        inner.openings()
    }

    fn scan<'s>(
        &self,
        inner: &'s dyn Snapshot,
        range: KeyRange,
        direction: Direction,
    ) -> Entries<'s> {
        let (Bound::Included(lower) | Bound::Excluded(lower)) = &range.lower else {
            return inner.scan(range, direction);
        };
        if lower.first() != Some(&ENTRY) {
            return inner.scan(range, direction);
        }
        self.seen.fetch_add(1, Ordering::Relaxed);
        let mut entries = inner.scan(range, direction);
        while self.condition() == Condition::Held {
            std::thread::sleep(Duration::from_millis(1));
        }
        match self.condition() {
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
