//! A store that injects commit failures, for tests of code above a store.
//!
//! The stores of this crate never return *conflict*, and *unknown* only when a disk fails. A
//! distributed store may return both at any time, so callers must handle them.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::{
    CommitError, Exclusive, Health, KeyRange, Openings, Snapshot, Stats, Store, StoreError,
    Submission, Transaction, Verification,
};

/// The injected outcome of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    None,
    /// Fails with a conflict; nothing is written.
    Conflict,
    /// Fails as if the epoch were over; nothing is written.
    Stale,
    /// Is written, but reported as unknown.
    UnknownWritten,
    /// Is not written, and reported as unknown.
    UnknownLost,
    /// Is submitted but not written; waiting for it reports unknown.
    UnknownLate,
}

/// Wraps a store and injects the planned commit failures.
///
/// ```
/// use keyloom_store::{CommitError, Fault, FaultyStore, MemoryStore, Store};
///
/// let store = FaultyStore::new(MemoryStore::new());
/// store.plan([Fault::Conflict]);
/// let mut tx = store.begin(&[b"key"])?;
/// tx.put("key".into(), "value".into());
/// assert!(matches!(tx.commit(), Err(CommitError::Conflict)));
/// assert_eq!(store.get(b"key")?, None);
/// # Ok::<(), keyloom_store::StoreError>(())
/// ```
#[derive(Debug)]
pub struct FaultyStore<S> {
    inner: S,
    plan: Mutex<VecDeque<Fault>>,
}

impl<S: Store> FaultyStore<S> {
    /// A store that behaves like `inner` until faults are planned.
    pub fn new(inner: S) -> Self {
        Self { inner, plan: Mutex::default() }
    }

    /// Queues the outcomes of the next commits, one each; commits beyond the plan succeed.
    pub fn plan(&self, faults: impl IntoIterator<Item = Fault>) {
        self.plan.lock().extend(faults);
    }
}

impl<S: Store> Store for FaultyStore<S> {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.inner.get_many(keys)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.inner.snapshot()
    }

    fn late_snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.inner.late_snapshot()
    }

    fn begin<'a>(&'a self, locks: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError> {
        Ok(Box::new(FaultyTransaction { inner: self.inner.begin(locks)?, plan: &self.plan }))
    }

    fn begin_within<'a>(
        &'a self,
        locks: &[&[u8]],
        timeout: Duration,
    ) -> Result<Option<Box<dyn Transaction + 'a>>, StoreError> {
        let Some(inner) = self.inner.begin_within(locks, timeout)? else { return Ok(None) };
        Ok(Some(Box::new(FaultyTransaction { inner, plan: &self.plan })))
    }

    fn exclusive<'a>(&'a self) -> Result<Box<dyn Exclusive + 'a>, StoreError> {
        Ok(Box::new(FaultyExclusive { inner: self.inner.exclusive()?, plan: &self.plan }))
    }

    fn epoch(&self) -> u64 {
        self.inner.epoch()
    }

    fn sum(&self, counters: &[&[u8]]) -> Result<Vec<i64>, StoreError> {
        self.inner.sum(counters)
    }

    fn now_ms(&self) -> Option<u64> {
        self.inner.now_ms()
    }

    fn waits(&self) -> bool {
        self.inner.waits()
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
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

    fn health(&self) -> Health {
        self.inner.health()
    }

    fn openings(&self) -> Result<Option<Openings>, StoreError> {
        self.inner.openings()
    }
}

struct FaultyTransaction<'a> {
    inner: Box<dyn Transaction + 'a>,
    plan: &'a Mutex<VecDeque<Fault>>,
}

impl Transaction for FaultyTransaction<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.inner.get_many(keys)
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.inner.put(key, value);
    }

    fn delete(&mut self, key: Bytes) {
        self.inner.delete(key);
    }

    fn append(&mut self, log: Bytes, floor: u64, record: Bytes) {
        self.inner.append(log, floor, record);
    }

    fn add(&mut self, counter: Bytes, delta: i64) {
        self.inner.add(counter, delta);
    }

    fn expect_epoch(&mut self, epoch: u64) {
        self.inner.expect_epoch(epoch);
    }

    fn keep(&mut self, kept: Box<dyn Send>) {
        self.inner.keep(kept);
    }

    fn submit(self: Box<Self>) -> Result<Submission, CommitError> {
        match next_of(self.plan) {
            Fault::None => self.inner.submit(),
            Fault::Conflict => Err(CommitError::Conflict),
            Fault::Stale => Err(CommitError::Stale),
            Fault::UnknownWritten => {
                self.inner.commit()?;
                Err(CommitError::Unknown(planned()))
            }
            Fault::UnknownLost => Err(CommitError::Unknown(planned())),
            Fault::UnknownLate => Ok(Submission::decided(Err(CommitError::Unknown(planned())))),
        }
    }

    fn submit_read(self: Box<Self>) -> Result<Submission, CommitError> {
        self.inner.submit_read()
    }
}

struct FaultyExclusive<'a> {
    inner: Box<dyn Exclusive + 'a>,
    plan: &'a Mutex<VecDeque<Fault>>,
}

impl Exclusive for FaultyExclusive<'_> {
    fn epoch(&self) -> u64 {
        self.inner.epoch()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(key)
    }

    fn scan(&self, range: KeyRange) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        self.inner.scan(range)
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.inner.put(key, value);
    }

    fn delete(&mut self, key: Bytes) {
        self.inner.delete(key);
    }

    fn append(&mut self, log: Bytes, floor: u64, record: Bytes) {
        self.inner.append(log, floor, record);
    }

    fn add(&mut self, counter: Bytes, delta: i64) {
        self.inner.add(counter, delta);
    }

    fn commit(self: Box<Self>) -> Result<u64, CommitError> {
        match next_of(self.plan) {
            Fault::None => self.inner.commit(),
            Fault::Conflict => Err(CommitError::Conflict),
            Fault::Stale => Err(CommitError::Stale),
            Fault::UnknownWritten => {
                self.inner.commit()?;
                Err(CommitError::Unknown(planned()))
            }
            Fault::UnknownLost | Fault::UnknownLate => Err(CommitError::Unknown(planned())),
        }
    }
}

/// The outcome of the next commit.
fn next_of(plan: &Mutex<VecDeque<Fault>>) -> Fault {
    plan.lock().pop_front().unwrap_or(Fault::None)
}

fn planned() -> StoreError {
    StoreError::Engine { action: "commit".into(), detail: "this failure was planned".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;

    fn put(store: &dyn Store, key: &'static str) -> Result<(), CommitError> {
        let mut transaction = store.begin(&[key.as_bytes()]).unwrap();
        transaction.put(key.into(), "value".into());
        transaction.commit()
    }

    #[test]
    fn each_commit_has_its_planned_outcome() {
        let store = FaultyStore::new(MemoryStore::new());
        store.plan([Fault::Conflict, Fault::UnknownWritten, Fault::None, Fault::UnknownLost]);
        store.plan([Fault::UnknownLate]);
        assert!(matches!(put(&store, "a"), Err(CommitError::Conflict)));
        assert!(matches!(put(&store, "b"), Err(CommitError::Unknown(_))));
        assert!(put(&store, "c").is_ok());
        assert!(matches!(put(&store, "d"), Err(CommitError::Unknown(_))));
        assert!(matches!(put(&store, "e"), Err(CommitError::Unknown(_))));
        assert!(put(&store, "f").is_ok());
        let present = store.get_many(&[b"a", b"b", b"c", b"d", b"e", b"f"]).unwrap();
        let present: Vec<bool> = present.iter().map(Option::is_some).collect();
        assert_eq!(present, [false, true, true, false, false, true]);
    }

    #[test]
    fn delete_prefix_retries_after_a_conflict() {
        let store = FaultyStore::new(MemoryStore::new());
        for key in ["t/1", "t/2", "t/3"] {
            put(&store, key).unwrap();
        }
        store.plan([Fault::None, Fault::Conflict, Fault::Conflict]);
        store.delete_prefix(b"t/", 1).unwrap();
        assert_eq!(store.verify().unwrap().entries, 0);
        put(&store, "t/4").unwrap();
        store.plan([Fault::UnknownLost]);
        assert!(store.delete_prefix(b"t/", 1).is_err());
    }
}
