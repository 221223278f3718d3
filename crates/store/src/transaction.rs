//! The transaction that all stores share, and the reads that the local ones do: under key locks,
//! from the store's newest state.

use std::cell::Cell;
use std::collections::BTreeMap;

use bytes::Bytes;

use crate::locks::HeldLocks;
use crate::numbering::{Append, Unnumbered};
use crate::submission::Submission;
use crate::{
    CommitError, MAX_KEY_BYTES, MAX_TRANSACTION_BYTES, MAX_VALUE_BYTES, Store, StoreError,
    Transaction,
};

/// The edits of one transaction in key order; `None` deletes.
pub(crate) type WriteSet = BTreeMap<Bytes, Option<Bytes>>;

/// The values passed to [`Transaction::keep`].
pub(crate) type Guards = Vec<Box<dyn Send>>;

/// The total size of all keys and values.
pub(crate) fn size_bytes(writes: &WriteSet) -> usize {
    writes.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, Bytes::len)).sum()
}

/// The position of a write in the store's total order of writes. Zero means durable.
pub(crate) type Ticket = u64;

/// A value as a transaction sees it: the newest one, even if it is not durable yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Newest {
    /// The value, if the key exists.
    pub(crate) value: Option<Bytes>,
    /// The pending write that it comes from, or zero.
    pub(crate) ticket: Ticket,
}

/// What a transaction will do when it is submitted.
#[derive(Default)]
pub(crate) struct Staged {
    pub(crate) writes: WriteSet,
    pub(crate) unnumbered: Unnumbered,
    pub(crate) guards: Guards,
    /// The epoch at which it may commit; any if none.
    pub(crate) epoch: Option<u64>,
}

impl Staged {
    pub(crate) fn put(&mut self, key: Bytes, value: Bytes) {
        self.writes.insert(key, Some(value));
    }

    pub(crate) fn delete(&mut self, key: Bytes) {
        self.writes.insert(key, None);
    }

    pub(crate) fn append(&mut self, log: Bytes, floor: u64, record: Bytes) {
        self.unnumbered.appends.push(Append { log, floor, record });
    }

    pub(crate) fn add(&mut self, counter: Bytes, delta: i64) {
        let sum = self.unnumbered.adds.entry(counter).or_default();
        *sum = sum.saturating_add(delta);
    }

    /// Whether nothing is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.unnumbered.is_empty()
    }

    /// Fails unless the epoch is the one that was expected.
    pub(crate) fn check_epoch(&self, current: u64) -> Result<(), CommitError> {
        match self.epoch {
            Some(expected) if expected != current => Err(CommitError::Stale),
            _ => Ok(()),
        }
    }

    /// Applies the limits of the most restrictive store, so that all stores refuse the same writes.
    pub(crate) fn check_limits(&self) -> Result<(), StoreError> {
        let refuse = |what: &str, len: usize, limit: &str| {
            Err(StoreError::Limit {
                detail: format!("{what} has {len} bytes; the limit is {limit}"),
            })
        };
        let writes = self.writes.iter();
        let writes = writes.map(|(key, value)| (key.len(), value.as_ref().map_or(0, Bytes::len)));
        let mut total = 0;
        for (key, value) in writes.chain(self.unnumbered.sizes()) {
            if key == 0 || key > MAX_KEY_BYTES {
                return refuse("a key", key, &format!("1 to {MAX_KEY_BYTES}"));
            }
            if value > MAX_VALUE_BYTES {
                return refuse("a value", value, &MAX_VALUE_BYTES.to_string());
            }
            total += key + value;
        }
        if total > MAX_TRANSACTION_BYTES {
            return refuse("a transaction", total, &MAX_TRANSACTION_BYTES.to_string());
        }
        Ok(())
    }
}

/// What a store provides to its transactions.
pub(crate) trait Backend: Store {
    /// The newest value of a key, pending or durable.
    fn newest(&self, key: &[u8]) -> Result<Newest, StoreError>;

    /// Assigns these writes their position in the total order and releases the locks. `seen` is the
    /// latest pending write that they depend on.
    fn submit(
        &self,
        staged: Staged,
        locks: HeldLocks<'_>,
        seen: Ticket,
    ) -> Result<Submission, CommitError>;

    /// Resolves once the write with this ticket is durable.
    fn submit_read(&self, ticket: Ticket) -> Result<Submission, CommitError>;
}

/// What differs between the transactions of stores: how they read, and how they take their place.
pub(crate) trait Reads {
    /// The newest values of these keys, in the same order, where the transaction has not written.
    fn newest(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError>;

    /// The newest epoch that the store knows of.
    fn epoch(&self) -> u64;

    /// Refuses what the store cannot take.
    fn check_limits(&self, staged: &Staged) -> Result<(), StoreError> {
        staged.check_limits()
    }

    /// Gives the writes their place in the total order and unlocks.
    fn submit(self, staged: Staged) -> Result<Submission, CommitError>;

    /// Unlocks; resolves when everything that was read is durable.
    fn submit_read(self, staged: Staged) -> Result<Submission, CommitError>;
}

/// A transaction: its writes are staged until it is submitted, and seen by its own reads.
pub(crate) struct StagedTransaction<R> {
    staged: Staged,
    reads: R,
}

impl<R: Reads> StagedTransaction<R> {
    /// A transaction that reads like this.
    pub(crate) fn new(reads: R) -> Self {
        Self { staged: Staged::default(), reads }
    }
}

impl<R: Reads> Transaction for StagedTransaction<R> {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        match self.staged.writes.get(key) {
            Some(own) => Ok(own.clone()),
            None => Ok(self.reads.newest(&[key])?.pop().flatten()),
        }
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        if self.staged.writes.is_empty() {
            return self.reads.newest(keys);
        }
        let own = |key: &&[u8]| self.staged.writes.get(*key);
        let others: Vec<&[u8]> = keys.iter().copied().filter(|key| own(key).is_none()).collect();
        let mut others = self.reads.newest(&others)?.into_iter();
        let value = |key| own(key).map_or_else(|| others.next().flatten(), Clone::clone);
        Ok(keys.iter().map(value).collect())
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

    fn expect_epoch(&mut self, epoch: u64) {
        self.staged.epoch = Some(epoch);
    }

    fn keep(&mut self, guards: Box<dyn Send>) {
        self.staged.guards.push(guards);
    }

    fn submit(self: Box<Self>) -> Result<Submission, CommitError> {
        if self.staged.is_empty() {
            return self.submit_read();
        }
        self.reads.check_limits(&self.staged).map_err(CommitError::Failed)?;
        self.staged.check_epoch(self.reads.epoch())?;
        self.reads.submit(self.staged)
    }

    fn submit_read(self: Box<Self>) -> Result<Submission, CommitError> {
        self.staged.check_epoch(self.reads.epoch())?;
        let Staged { guards, epoch, .. } = self.staged;
        self.reads.submit_read(Staged { guards, epoch, ..Staged::default() })
    }
}

/// Reads under the key locks of any [`Backend`].
pub(crate) struct LockedReads<'a, B> {
    backend: &'a B,
    locks: HeldLocks<'a>,
    /// The latest pending write that the transaction has read.
    seen: Cell<Ticket>,
}

/// A transaction over any [`Backend`] that holds these locks.
pub(crate) fn locked_transaction<'a, B: Backend>(
    backend: &'a B,
    locks: HeldLocks<'a>,
) -> Box<dyn Transaction + 'a> {
    Box::new(StagedTransaction::new(LockedReads { backend, locks, seen: Cell::new(0) }))
}

impl<B: Backend> Reads for LockedReads<'_, B> {
    fn newest(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let newest = |key: &&[u8]| {
            let newest = self.backend.newest(key)?;
            self.seen.set(self.seen.get().max(newest.ticket));
            Ok(newest.value)
        };
        keys.iter().map(newest).collect()
    }

    fn epoch(&self) -> u64 {
        self.backend.epoch()
    }

    fn submit(self, staged: Staged) -> Result<Submission, CommitError> {
        // The gate is held, so the epoch cannot have changed since it was checked.
        self.backend.submit(staged, self.locks, self.seen.get())
    }

    fn submit_read(self, _: Staged) -> Result<Submission, CommitError> {
        drop(self.locks);
        match self.seen.get() {
            0 => Ok(Submission::durable()),
            ticket => self.backend.submit_read(ticket),
        }
    }
}
