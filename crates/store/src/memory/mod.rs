//! An in-memory store: for tests, and for embedded use without durability.
//!
//! All state is one [`Tree`] behind a lock. A snapshot or fork clones its root, so readers hold the
//! lock for nanoseconds however long they read, and a writer copies only the nodes on its path that
//! a snapshot still shares (copy-on-write).

mod read_ahead;
mod tree;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};

use self::read_ahead::ReadAhead;
use self::tree::Tree;
use crate::exclusive::{LocalEpoch, LocalExclusive};
use crate::locks::{HeldLocks, KeyLocks};
use crate::numbering::Numbering;
use crate::submission::Submission;
use crate::transaction::{Backend, Newest, Staged, Ticket, locked_transaction};
use crate::{
    CommitError, Direction, Entries, Exclusive, Key, KeyRange, Openings, Snapshot, Stats, Store,
    StoreError, Transaction, Verification, delete_each, sum_entries,
};

/// An ordered in-memory store; commits are visible at once.
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
    content: RwLock<Tree>,
    /// Locked before `content` is.
    numbering: Mutex<Numbering>,
    locks: KeyLocks,
    epoch: LocalEpoch,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::over(Tree::default())
    }

    /// An independent store with the same content, forked in constant time.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::over(self.content.read().clone())
    }

    fn over(content: Tree) -> Self {
        Self {
            content: RwLock::new(content),
            numbering: Mutex::default(),
            locks: KeyLocks::new(),
            epoch: LocalEpoch::default(),
        }
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
            .field("entries", &self.content.read().len())
            .finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.content.read().get(key).cloned())
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let content = self.content.read();
        Ok(keys.iter().map(|key| content.get(key).cloned()).collect())
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(MemorySnapshot(self.content.read().clone())))
    }

    fn begin<'a>(&'a self, locks: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError> {
        Ok(locked_transaction(self, self.locks.lock(locks)))
    }

    fn begin_within<'a>(
        &'a self,
        locks: &[&[u8]],
        timeout: Duration,
    ) -> Result<Option<Box<dyn Transaction + 'a>>, StoreError> {
        let Some(held) = self.locks.lock_within(locks, timeout) else { return Ok(None) };
        Ok(Some(locked_transaction(self, held)))
    }

    fn exclusive<'a>(&'a self) -> Result<Box<dyn Exclusive + 'a>, StoreError> {
        Ok(Box::new(LocalExclusive::begin(self, &self.locks, &self.epoch)?))
    }

    fn epoch(&self) -> u64 {
        self.epoch.get()
    }

    fn sum(&self, counters: &[&[u8]]) -> Result<Vec<i64>, StoreError> {
        sum_entries(self, counters)
    }

    fn delete_prefix(&self, prefix: &[u8], chunk: usize) -> Result<(), StoreError> {
        delete_each(self, prefix, chunk)?;
        self.numbering.lock().forget_prefix(prefix);
        Ok(())
    }

    fn settle(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn verify(&self) -> Result<Verification, StoreError> {
        let content = self.content.read().clone();
        let size = |(key, value): (&Bytes, &Bytes)| key.len() + value.len();
        Ok(Verification {
            entries: content.len() as u64,
            bytes: content.iter().map(size).sum::<usize>() as u64,
            damage: content.check().err().into_iter().collect(),
        })
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        Ok(Stats { approximate_entries: self.content.read().len() as u64, ..Stats::default() })
    }

    fn openings(&self) -> Result<Option<Openings>, StoreError> {
        Ok(Some(Openings::default()))
    }
}

impl Backend for MemoryStore {
    fn newest(&self, key: &[u8]) -> Result<Newest, StoreError> {
        Ok(Newest { value: self.content.read().get(key).cloned(), ticket: 0 })
    }

    fn submit(
        &self,
        staged: Staged,
        locks: HeldLocks<'_>,
        _seen: Ticket,
    ) -> Result<Submission, CommitError> {
        let Staged { mut writes, unnumbered, guards, .. } = staged;
        // Held until the writes are visible: numbers rise in the order in which they can be seen.
        let numbering = if unnumbered.is_empty() {
            None
        } else {
            let mut numbering = self.numbering.lock();
            if let Some(missing) = numbering.missing(&unnumbered) {
                let known = self.snapshot().and_then(|snapshot| missing.read(&*snapshot));
                numbering.learn(known.map_err(CommitError::Failed)?);
            }
            numbering.number(unnumbered, &mut writes);
            Some(numbering)
        };
        let mut content = self.content.write();
        for (key, value) in writes {
            match value {
                Some(value) => content.insert(key, value),
                None => content.remove(&key),
            }
        }
        drop(content);
        drop(numbering);
        drop(guards);
        drop(locks);
        Ok(Submission::durable())
    }

    fn submit_read(&self, _: Ticket) -> Result<Submission, CommitError> {
        Ok(Submission::durable())
    }
}

struct MemorySnapshot(Tree);

impl Snapshot for MemorySnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.0.get(key).cloned())
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        Ok(keys.iter().map(|key| self.0.get(key).cloned()).collect())
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Entries<'_> {
        let entries = ReadAhead::over(self.0.range(&range, direction));
        Box::new(entries.map(|(key, value)| Ok((Key::Lent(key), value.clone()))))
    }
}
