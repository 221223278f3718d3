//! A store that refuses writes for a while, or has damage somewhere.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use keyloom_store::{
    Bytes, CommitError, Direction, Entries, Exclusive, Health, KeyRange, MemoryStore, Openings,
    Snapshot, Stats, Store, StoreError, Submission, Transaction, Verification,
};

/// A store in memory that behaves like one on a disk with troubles.
#[derive(Debug)]
pub(crate) struct Troubled {
    inner: MemoryStore,
    /// How many more commits there is room for; negative when nothing fits any more.
    room: AtomicI64,
    damaged: Arc<Mutex<Option<Vec<u8>>>>,
}

impl Troubled {
    pub(crate) fn new(inner: MemoryStore) -> Self {
        Self { inner, room: AtomicI64::new(i64::MAX), damaged: Arc::default() }
    }

    /// The disk is full after so many more commits.
    pub(crate) fn fill_after(&self, commits: i64) {
        self.room.store(commits, Ordering::SeqCst);
    }

    pub(crate) fn make_room(&self) {
        self.room.store(i64::MAX, Ordering::SeqCst);
    }

    /// From now on, whoever reads an entry whose key begins like this meets damage.
    pub(crate) fn damage(&self, prefix: &[u8]) {
        *self.damaged.lock().unwrap() = Some(prefix.to_vec());
    }

    pub(crate) fn fork(&self) -> MemoryStore {
        self.inner.fork()
    }

    /// Takes room for one commit.
    fn take_room(&self) -> Result<(), CommitError> {
        let take = |room: i64| (room > 0).then_some(room - 1);
        let taken = self.room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        taken.map(drop).map_err(|_| CommitError::Failed(full()))
    }

    fn is_full(&self) -> bool {
        self.room.load(Ordering::SeqCst) <= 0
    }
}

fn full() -> StoreError {
    StoreError::Engine { action: "write the log".into(), detail: "no space left".into() }
}

impl Store for Troubled {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.inner.get_many(keys)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        let damaged = Arc::clone(&self.damaged);
        Ok(Box::new(TroubledSnapshot { inner: self.inner.snapshot()?, damaged }))
    }

    fn begin<'a>(&'a self, locks: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError> {
        Ok(Box::new(TroubledTransaction { inner: self.inner.begin(locks)?, store: self }))
    }

    fn exclusive<'a>(&'a self) -> Result<Box<dyn Exclusive + 'a>, StoreError> {
        Ok(Box::new(TroubledChange { inner: self.inner.exclusive()?, store: self }))
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

    fn health(&self) -> Health {
        if self.is_full() {
            Health::ReadOnly { reason: full().to_string(), restart_needed: false }
        } else {
            Health::Ready
        }
    }

    fn openings(&self) -> Result<Option<Openings>, StoreError> {
        Ok(None)
    }
}

struct TroubledSnapshot {
    inner: Box<dyn Snapshot>,
    damaged: Arc<Mutex<Option<Vec<u8>>>>,
}

impl Snapshot for TroubledSnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.inner.get_many(keys)
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Entries<'_> {
        let damaged = self.damaged.lock().unwrap().clone();
        Box::new(self.inner.scan(range, direction).map(move |entry| {
            let (key, value) = entry?;
            match &damaged {
                Some(prefix) if key.starts_with(prefix) => Err(StoreError::Corrupt {
                    path: PathBuf::from("tree/tables/7"),
                    detail: "block 3 has another checksum".into(),
                }),
                _ => Ok((key, value)),
            }
        }))
    }
}

struct TroubledTransaction<'a> {
    inner: Box<dyn Transaction + 'a>,
    store: &'a Troubled,
}

impl Transaction for TroubledTransaction<'_> {
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
        self.store.take_room()?;
        self.inner.submit()
    }

    fn submit_read(self: Box<Self>) -> Result<Submission, CommitError> {
        self.inner.submit_read()
    }
}

struct TroubledChange<'a> {
    inner: Box<dyn Exclusive + 'a>,
    store: &'a Troubled,
}

impl Exclusive for TroubledChange<'_> {
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
        self.store.take_room()?;
        self.inner.commit()
    }
}
