//! The transaction that all stores of this crate share: key locks, a write buffer, and read-through
//! to the store's newest state.

use std::cell::Cell;
use std::collections::BTreeMap;

use bytes::Bytes;

use crate::locks::HeldLocks;
use crate::submission::Submission;
use crate::{
    CommitError, MAX_KEY_BYTES, MAX_TRANSACTION_BYTES, MAX_VALUE_BYTES, StoreError, Transaction,
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

/// What a store provides to its transactions.
pub(crate) trait Backend {
    /// The newest value of a key, pending or durable.
    fn newest(&self, key: &[u8]) -> Result<Newest, StoreError>;

    /// Assigns these writes their position in the total order and releases the locks. `seen` is the
    /// latest pending write that they depend on.
    fn submit(
        &self,
        writes: WriteSet,
        guards: Guards,
        locks: HeldLocks<'_>,
        seen: Ticket,
    ) -> Result<Submission, CommitError>;

    /// Resolves once the write with this ticket is durable.
    fn submit_read(&self, ticket: Ticket) -> Result<Submission, CommitError>;
}

/// A transaction over any [`Backend`].
pub(crate) struct LockedTransaction<'a, B> {
    backend: &'a B,
    locks: HeldLocks<'a>,
    writes: WriteSet,
    guards: Guards,
    /// The latest pending write that this transaction has read.
    seen: Cell<Ticket>,
}

impl<'a, B: Backend> LockedTransaction<'a, B> {
    /// A transaction that holds these locks.
    pub(crate) fn new(backend: &'a B, locks: HeldLocks<'a>) -> Self {
        Self { backend, locks, writes: WriteSet::new(), guards: Guards::new(), seen: Cell::new(0) }
    }
}

impl<B: Backend> Transaction for LockedTransaction<'_, B> {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        if let Some(own) = self.writes.get(key) {
            return Ok(own.clone());
        }
        let newest = self.backend.newest(key)?;
        self.seen.set(self.seen.get().max(newest.ticket));
        Ok(newest.value)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.writes.insert(key, Some(value));
    }

    fn delete(&mut self, key: Bytes) {
        self.writes.insert(key, None);
    }

    fn keep(&mut self, guards: Box<dyn Send>) {
        self.guards.push(guards);
    }

    fn submit(self: Box<Self>) -> Result<Submission, CommitError> {
        if self.writes.is_empty() {
            return self.submit_read();
        }
        check_limits(&self.writes).map_err(CommitError::Failed)?;
        self.backend.submit(self.writes, self.guards, self.locks, self.seen.get())
    }

    fn submit_read(self: Box<Self>) -> Result<Submission, CommitError> {
        drop(self.locks);
        match self.seen.get() {
            0 => Ok(Submission::durable()),
            ticket => self.backend.submit_read(ticket),
        }
    }
}

/// Applies the limits of the most restrictive store, so that all stores refuse the same writes.
fn check_limits(writes: &WriteSet) -> Result<(), StoreError> {
    let refuse = |what: &str, len: usize, limit: &str| {
        Err(StoreError::Limit { detail: format!("{what} has {len} bytes; the limit is {limit}") })
    };
    for (key, value) in writes {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return refuse("a key", key.len(), &format!("1 to {MAX_KEY_BYTES}"));
        }
        if let Some(value) = value.as_ref().filter(|value| value.len() > MAX_VALUE_BYTES) {
            return refuse("a value", value.len(), &MAX_VALUE_BYTES.to_string());
        }
    }
    match size_bytes(writes) {
        size if size > MAX_TRANSACTION_BYTES => {
            refuse("a transaction", size, &MAX_TRANSACTION_BYTES.to_string())
        }
        _ => Ok(()),
    }
}
