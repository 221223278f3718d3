//! Exclusive changes in a local store: the gate is closed, so what is read stays as it is.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::RwLockWriteGuard;

use crate::locks::{HeldLocks, KeyLocks};
use crate::transaction::{Backend, Staged};
use crate::{CommitError, Direction, Exclusive, KeyRange, Snapshot, StoreError};

/// The epoch of a store in one process, which begins with zero at each opening.
#[derive(Debug, Default)]
pub(crate) struct LocalEpoch(AtomicU64);

impl LocalEpoch {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn advance(&self) -> u64 {
        self.0.fetch_add(1, Ordering::AcqRel) + 1
    }
}

/// An exclusive change of a local store.
pub(crate) struct LocalExclusive<'a, B> {
    backend: &'a B,
    epoch: &'a LocalEpoch,
    snapshot: Box<dyn Snapshot>,
    staged: Staged,
    _alone: RwLockWriteGuard<'a, ()>,
}

impl<'a, B: Backend> LocalExclusive<'a, B> {
    /// Closes the gate and waits until everything submitted is visible.
    pub(crate) fn begin(
        backend: &'a B,
        locks: &'a KeyLocks,
        epoch: &'a LocalEpoch,
    ) -> Result<Self, StoreError> {
        let alone = locks.lock_everything();
        backend.settle()?;
        let snapshot = backend.snapshot()?;
        Ok(Self { backend, epoch, snapshot, staged: Staged::default(), _alone: alone })
    }
}

impl<B: Backend> Exclusive for LocalExclusive<'_, B> {
    fn epoch(&self) -> u64 {
        self.epoch.get()
    }

    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        match self.staged.writes.get(key) {
            Some(own) => Ok(own.clone()),
            None => self.snapshot.get(key),
        }
    }

    fn scan(&self, range: KeyRange) -> Result<Vec<(Bytes, Bytes)>, StoreError> {
        let stored = self.snapshot.scan(range.clone(), Direction::Forward);
        let stored = stored.map(|entry| entry.map(|(key, value)| (key.into_bytes(), value)));
        Ok(self.staged.laid_over(stored.collect::<Result<_, _>>()?, &range))
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.staged.put(key, value);
    }

    fn delete(&mut self, key: Bytes) {
        self.staged.delete(key);
    }

    fn append(&mut self, log: Bytes, floor: u64, record: Bytes) {
        self.staged.append(log, floor, record);
    }

    fn add(&mut self, counter: Bytes, delta: i64) {
        self.staged.add(counter, delta);
    }

    fn commit(self: Box<Self>) -> Result<u64, CommitError> {
        self.staged.check_limits().map_err(CommitError::Failed)?;
        // Advanced twice. A reader that sees the writes must not find the old epoch afterwards, so that one
        // ends before they are visible; a reader that does not see them must not have found the new epoch
        // before, so that one begins after they are visible.
        self.epoch.advance();
        self.backend.submit(self.staged, HeldLocks::default(), 0)?.wait()?;
        Ok(self.epoch.advance())
    }
}

impl Staged {
    /// These entries of a range in order, with the writes of the transaction over them.
    pub(crate) fn laid_over(
        &self,
        stored: BTreeMap<Bytes, Bytes>,
        range: &KeyRange,
    ) -> Vec<(Bytes, Bytes)> {
        let mut entries = stored;
        for (key, value) in self.writes.iter().filter(|(key, _)| range.contains(key)) {
            match value {
                Some(value) => drop(entries.insert(key.clone(), value.clone())),
                None => drop(entries.remove(key)),
            }
        }
        entries.into_iter().collect()
    }
}
