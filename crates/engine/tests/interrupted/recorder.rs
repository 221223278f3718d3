//! A store that remembers what a kill would leave after each of its commits.

use std::sync::Mutex;

use keyloom_store::{
    Bytes, CommitError, Exclusive, KeyRange, MemoryStore, Openings, Snapshot, Stats, Store,
    StoreError, Submission, Transaction, Verification,
};

/// A store in memory with its states so far.
#[derive(Debug)]
pub(crate) struct Recorder {
    inner: MemoryStore,
    kills: Mutex<Vec<MemoryStore>>,
}

impl Recorder {
    pub(crate) fn new(inner: MemoryStore) -> Self {
        Self { inner, kills: Mutex::default() }
    }

    fn remember(&self) {
        self.kills.lock().unwrap().push(self.inner.fork());
    }

    /// What was there after each commit, the first one first.
    pub(crate) fn kills(&self) -> Vec<MemoryStore> {
        self.kills.lock().unwrap().iter().map(MemoryStore::fork).collect()
    }
}

impl Store for Recorder {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.inner.get_many(keys)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.inner.snapshot()
    }

    fn begin<'a>(&'a self, locks: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError> {
        Ok(Box::new(Recorded { inner: self.inner.begin(locks)?, store: self }))
    }

    fn exclusive<'a>(&'a self) -> Result<Box<dyn Exclusive + 'a>, StoreError> {
        Ok(Box::new(RecordedChange { inner: self.inner.exclusive()?, store: self }))
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
        self.inner.openings()
    }
}

struct Recorded<'a> {
    inner: Box<dyn Transaction + 'a>,
    store: &'a Recorder,
}

impl Transaction for Recorded<'_> {
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
        let submission = self.inner.submit()?;
        // A store in memory has made it visible already; whoever waits for it finds it so.
        assert!(submission.is_durable());
        self.store.remember();
        Ok(submission)
    }

    fn submit_read(self: Box<Self>) -> Result<Submission, CommitError> {
        self.inner.submit_read()
    }
}

struct RecordedChange<'a> {
    inner: Box<dyn Exclusive + 'a>,
    store: &'a Recorder,
}

impl Exclusive for RecordedChange<'_> {
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
        let epoch = self.inner.commit()?;
        self.store.remember();
        Ok(epoch)
    }
}
