//! A store in memory: for tests, and for embedded use that needs no durability.
//!
//! All state is one [`Content`] behind a lock. It consists of persistent maps: a snapshot or a fork
//! is a clone of their roots, so a reader holds the lock for nanoseconds however long it reads, and
//! a writer copies only the nodes on its path, and only those that a snapshot still shares.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use foldhash::quality::RandomState;
use imbl::shared_ptr::DefaultSharedPtr;
use imbl::{GenericHashMap, OrdMap};
use parking_lot::RwLock;

use crate::locks::{HeldLocks, KeyLocks};
use crate::read_ahead::ReadAhead;
use crate::submission::Submission;
use crate::transaction::{Backend, Kept, LockedTransaction, Newest, Ticket, WriteSet};
use crate::{
    CommitError, Direction, Entries, KeyRange, Snapshot, Stats, Store, StoreError, Transaction,
    Verification,
};

/// Every entry twice: in order for scans, and hashed, which makes reading one key three times as
/// fast as a descent through the ordered map. Keys and values themselves are shared.
#[derive(Clone, Default)]
struct Content {
    ordered: OrdMap<Bytes, Bytes>,
    hashed: GenericHashMap<Bytes, Bytes, RandomState, DefaultSharedPtr>,
}

impl Content {
    fn get(&self, key: &[u8]) -> Option<Bytes> {
        self.hashed.get(key).cloned()
    }

    fn get_many(&self, keys: &[&[u8]]) -> Vec<Option<Bytes>> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    fn apply(&mut self, writes: WriteSet) {
        for (key, value) in writes {
            if let Some(value) = value {
                self.hashed.insert(key.clone(), value.clone());
                self.ordered.insert(key, value);
            } else {
                self.hashed.remove(&key);
                self.ordered.remove(&key);
            }
        }
    }
}

/// An ordered store in memory; what is committed is visible at once.
///
/// ```
/// use keyloom_store::{MemoryStore, Store};
///
/// let store = MemoryStore::new();
/// let mut tx = store.begin(&[b"greeting"])?;
/// tx.put("greeting".into(), "hello".into());
/// tx.commit()?;
///
/// let fork = store.fork();
/// let mut tx = fork.begin(&[b"greeting"])?;
/// tx.delete("greeting".into());
/// tx.commit()?;
///
/// assert_eq!(store.get(b"greeting")?.as_deref(), Some(&b"hello"[..]));
/// assert_eq!(fork.get(b"greeting")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemoryStore {
    content: RwLock<Content>,
    locks: KeyLocks,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::over(Content::default())
    }

    /// An independent store with the same content, made in constant time.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::over(self.content.read().clone())
    }

    fn over(content: Content) -> Self {
        Self { content: RwLock::new(content), locks: KeyLocks::new() }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("entries", &self.content.read().ordered.len())
            .finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.content.read().get(key))
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        Ok(self.content.read().get_many(keys))
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(MemorySnapshot(self.content.read().clone())))
    }

    fn begin<'a>(&'a self, locks: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError> {
        Ok(Box::new(LockedTransaction::new(self, self.locks.lock(locks))))
    }

    fn begin_within<'a>(
        &'a self,
        locks: &[&[u8]],
        patience: Duration,
    ) -> Result<Option<Box<dyn Transaction + 'a>>, StoreError> {
        let Some(held) = self.locks.lock_within(locks, patience) else { return Ok(None) };
        Ok(Some(Box::new(LockedTransaction::new(self, held))))
    }

    fn settle(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn verify(&self) -> Result<Verification, StoreError> {
        let content = self.content.read().clone();
        let size = |(key, value): (&Bytes, &Bytes)| key.len() + value.len();
        let mut found = Verification {
            entries: content.ordered.len() as u64,
            bytes: content.ordered.iter().map(size).sum::<usize>() as u64,
            damage: Vec::new(),
        };
        let agree = |(key, value)| content.hashed.get(key) == Some(value);
        if content.hashed.len() != content.ordered.len() || !content.ordered.iter().all(agree) {
            found.damage.push("the ordered and the hashed entries differ".into());
        }
        Ok(found)
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        Ok(Stats {
            approximate_entries: self.content.read().ordered.len() as u64,
            ..Stats::default()
        })
    }
}

impl Backend for MemoryStore {
    fn newest(&self, key: &[u8]) -> Result<Newest, StoreError> {
        Ok(Newest { value: self.content.read().get(key), ticket: 0 })
    }

    fn submit(
        &self,
        writes: WriteSet,
        kept: Kept,
        locks: HeldLocks<'_>,
    ) -> Result<Submission, CommitError> {
        self.content.write().apply(writes);
        drop(kept);
        drop(locks);
        Ok(Submission::durable())
    }

    fn submit_read(&self, _: Ticket) -> Result<Submission, CommitError> {
        Ok(Submission::durable())
    }
}

struct MemorySnapshot(Content);

impl Snapshot for MemorySnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.0.get(key))
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        Ok(self.0.get_many(keys))
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Entries<'_> {
        if range.is_empty() {
            return Box::new(std::iter::empty());
        }
        let pairs = self.0.ordered.range::<_, [u8]>(range.as_bounds());
        let owned = |(key, value): (&Bytes, &Bytes)| Ok((key.clone(), value.clone()));
        match direction {
            Direction::Forward => Box::new(ReadAhead::over(pairs).map(owned)),
            Direction::Backward => Box::new(ReadAhead::over(pairs.rev()).map(owned)),
        }
    }
}
