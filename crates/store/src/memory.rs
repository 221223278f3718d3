//! A store in memory: for tests, and for embedded use that needs no durability.
//!
//! All state is one persistent ordered map behind a lock. A snapshot or a fork is a clone of its
//! root, so a reader holds the lock for nanoseconds however long it reads, and a writer copies
//! only the nodes on its path, and only those that a snapshot still shares.

use std::fmt;

use bytes::Bytes;
use imbl::OrdMap;
use parking_lot::RwLock;

use crate::locks::{HeldLocks, KeyLocks};
use crate::transaction::{Backend, LockedTransaction, Newest, Ticket, WriteSet};
use crate::{
    CommitError, Direction, Entries, KeyRange, Snapshot, Stats, Store, StoreError, Transaction,
    Verification,
};

type Map = OrdMap<Bytes, Bytes>;

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
    map: RwLock<Map>,
    locks: KeyLocks,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::over(Map::new())
    }

    /// An independent store with the same content, made in constant time.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::over(self.map.read().clone())
    }

    fn over(map: Map) -> Self {
        Self { map: RwLock::new(map), locks: KeyLocks::new() }
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
            .field("entries", &self.map.read().len())
            .finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.map.read().get(key).cloned())
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.snapshot()?.get_many(keys)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(MemorySnapshot(self.map.read().clone())))
    }

    fn begin<'a>(&'a self, locks: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError> {
        Ok(Box::new(LockedTransaction::begin(self, &self.locks, locks)))
    }

    fn verify(&self) -> Result<Verification, StoreError> {
        let map = self.map.read().clone();
        let bytes = map.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        Ok(Verification { entries: map.len() as u64, bytes: bytes as u64, damage: Vec::new() })
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        Ok(Stats { approximate_entries: self.map.read().len() as u64, ..Stats::default() })
    }
}

impl Backend for MemoryStore {
    fn newest(&self, keys: &[&[u8]]) -> Result<Vec<Newest>, StoreError> {
        let map = self.map.read();
        Ok(keys.iter().map(|key| Newest { value: map.get(*key).cloned(), ticket: 0 }).collect())
    }

    fn write(&self, writes: WriteSet, locks: HeldLocks<'_>) -> Result<(), CommitError> {
        let mut map = self.map.write();
        for (key, value) in writes {
            match value {
                Some(value) => map.insert(key, value),
                None => map.remove(&key),
            };
        }
        drop(map);
        drop(locks);
        Ok(())
    }

    fn settle(&self, _: Ticket) -> Result<(), StoreError> {
        Ok(())
    }
}

struct MemorySnapshot(Map);

impl Snapshot for MemorySnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.0.get(key).cloned())
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        Ok(keys.iter().map(|key| self.0.get(*key).cloned()).collect())
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Entries<'_> {
        if range.is_empty() {
            return Box::new(std::iter::empty());
        }
        let pairs = self.0.range::<_, [u8]>(range.as_bounds());
        let owned = |(key, value): (&Bytes, &Bytes)| Ok((key.clone(), value.clone()));
        match direction {
            Direction::Forward => Box::new(pairs.map(owned)),
            Direction::Backward => Box::new(pairs.rev().map(owned)),
        }
    }
}
