//! A store around another one, for tests of code above a store.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

#[cfg(feature = "disk")]
use crate::BackupSource;
use crate::{
    CommitError, Direction, Entries, Exclusive, Health, KeyRange, Openings, Snapshot, Stats, Store,
    StoreError, Submission, Transaction, Verification,
};

/// How a [`Wrapped`] store differs from the one inside. What is not implemented is passed on.
pub trait Wrapper<S: Store>: fmt::Debug + Send + Sync + 'static {
    /// Reads a key outside a transaction.
    fn get(&self, inner: &S, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        inner.get(key)
    }

    /// Scans a snapshot.
    fn scan<'s>(
        &self,
        inner: &'s dyn Snapshot,
        range: KeyRange,
        direction: Direction,
    ) -> Entries<'s> {
        inner.scan(range, direction)
    }

    /// Whether a transaction that does not wait finds its keys locked.
    fn is_locked(&self) -> bool {
        false
    }

    /// Submits a transaction.
    fn submit(
        &self,
        inner: &S,
        transaction: Box<dyn Transaction + '_>,
    ) -> Result<Submission, CommitError> {
        let _ = inner;
        transaction.submit()
    }

    /// Commits an exclusive change.
    fn commit(&self, inner: &S, change: Box<dyn Exclusive + '_>) -> Result<u64, CommitError> {
        let _ = inner;
        change.commit()
    }

    /// Whether writes are accepted.
    fn health(&self, inner: &S) -> Health {
        inner.health()
    }

    /// The numbers of this opening.
    fn openings(&self, inner: &S) -> Result<Option<Openings>, StoreError> {
        inner.openings()
    }
}

/// A store that differs from the one inside as its [`Wrapper`] says, which it dereferences to.
#[derive(Debug)]
pub struct Wrapped<S, W> {
    inner: S,
    wrapper: Arc<W>,
}

impl<S: Store + 'static, W: Wrapper<S> + Default> Wrapped<S, W> {
    /// A store with a wrapper in its initial state.
    pub fn new(inner: S) -> Self {
        Self::around(inner, W::default())
    }
}

impl<S: Store + 'static, W: Wrapper<S>> Wrapped<S, W> {
    /// A store with this wrapper.
    pub fn around(inner: S, wrapper: W) -> Self {
        Self { inner, wrapper: Arc::new(wrapper) }
    }

    /// The store inside.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn snapshot_of(&self, inner: Box<dyn Snapshot>) -> Box<dyn Snapshot> {
        Box::new(WrappedSnapshot::<S, W> {
            inner,
            wrapper: Arc::clone(&self.wrapper),
            store: PhantomData,
        })
    }

    fn transaction<'a>(&'a self, inner: Box<dyn Transaction + 'a>) -> Box<dyn Transaction + 'a> {
        Box::new(WrappedTransaction { inner, store: self })
    }
}

impl<S, W> Deref for Wrapped<S, W> {
    type Target = W;

    fn deref(&self) -> &W {
        &self.wrapper
    }
}

impl<S: Store + 'static, W: Wrapper<S>> Store for Wrapped<S, W> {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.wrapper.get(&self.inner, key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.inner.get_many(keys)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(self.snapshot_of(self.inner.snapshot()?))
    }

    fn late_snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(self.snapshot_of(self.inner.late_snapshot()?))
    }

    fn begin<'a>(&'a self, locks: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError> {
        Ok(self.transaction(self.inner.begin(locks)?))
    }

    fn begin_within<'a>(
        &'a self,
        locks: &[&[u8]],
        timeout: Duration,
    ) -> Result<Option<Box<dyn Transaction + 'a>>, StoreError> {
        if self.wrapper.is_locked() {
            return Ok(None);
        }
        let inner = self.inner.begin_within(locks, timeout)?;
        Ok(inner.map(|inner| self.transaction(inner)))
    }

    fn exclusive<'a>(&'a self) -> Result<Box<dyn Exclusive + 'a>, StoreError> {
        Ok(Box::new(WrappedExclusive { inner: self.inner.exclusive()?, store: self }))
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
        self.wrapper.health(&self.inner)
    }

    fn openings(&self) -> Result<Option<Openings>, StoreError> {
        self.wrapper.openings(&self.inner)
    }

    #[cfg(feature = "disk")]
    fn backup_source(&self) -> Option<Result<BackupSource, StoreError>> {
        self.inner.backup_source()
    }
}

struct WrappedSnapshot<S, W> {
    inner: Box<dyn Snapshot>,
    wrapper: Arc<W>,
    store: PhantomData<fn(S)>,
}

impl<S: Store, W: Wrapper<S>> Snapshot for WrappedSnapshot<S, W> {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.inner.get_many(keys)
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Entries<'_> {
        self.wrapper.scan(self.inner.as_ref(), range, direction)
    }
}

struct WrappedTransaction<'a, S, W> {
    inner: Box<dyn Transaction + 'a>,
    store: &'a Wrapped<S, W>,
}

impl<S: Store, W: Wrapper<S>> Transaction for WrappedTransaction<'_, S, W> {
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
        self.store.wrapper.submit(&self.store.inner, self.inner)
    }

    fn submit_read(self: Box<Self>) -> Result<Submission, CommitError> {
        self.inner.submit_read()
    }
}

struct WrappedExclusive<'a, S, W> {
    inner: Box<dyn Exclusive + 'a>,
    store: &'a Wrapped<S, W>,
}

impl<S: Store, W: Wrapper<S>> Exclusive for WrappedExclusive<'_, S, W> {
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
        self.store.wrapper.commit(&self.store.inner, self.inner)
    }
}
