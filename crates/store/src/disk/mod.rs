//! A durable store: a write-ahead log in front of an LSM-tree.
//!
//! ```text
//! directory/
//!   FORMAT          format of the whole, one line
//!   LOCK            locked while a process has the store open
//!   log/00000007.log …   what tables do not hold yet
//!   tree/           sorted tables and their lists
//! ```
//!
//! # Why an own log
//!
//! The tables are those of `lsm-tree`, the engine inside fjall. Fjall's own journal was weighed
//! and left out. It refuses to open when the pages of an unsynced batch reach the disk out of
//! order, and where damage hits the start of an entry it takes that for the end and silently cuts
//! all that follows, acknowledged or not. It cannot be told which bytes were acknowledged. After
//! the first reopening it appends to a file that is no longer allocated in advance, so each sync
//! also writes file-system metadata, and it syncs inside its commit lock. An own log is about as
//! much code as a repair tool for a private file format would be, and it can say exactly what was
//! acknowledged (see [`log::recovery`]).
//!
//! # Life of a write
//!
//! The committer numbers the transactions of a group, appends them to the log as one record, syncs,
//! applies them to the memtable and publishes them to readers. When the log segment is full, it
//! starts a new segment and a new memtable; the flush thread then writes the old memtable to a
//! table and removes the old segment.
//!
//! # Opening
//!
//! Tables are opened, then the log is replayed: transactions that a table holds already are
//! recognised by their number and skipped. Replayed segments stay until their memtable is flushed.

mod background;
mod cache_size;
mod format;
pub(crate) mod log;
mod moments;
mod options;
mod table_list;
mod tree;

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod pending_tests;
#[cfg(test)]
mod relaxed_tests;
#[cfg(test)]
mod unruly_log;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::committer::{Committer, Sink};
use crate::disk::background::{Background, Work};
use crate::disk::format::Claim;
use crate::disk::log::Log;
use crate::disk::log::recovery::{Recovery, check, recover};
use crate::disk::log::storage::{LogDirectory, LogStorage, sync_directory};
use crate::disk::options::RELAXED_SYNC_AFTER;
use crate::disk::tree::{Tree, TreeSnapshot};
use crate::locks::{HeldLocks, KeyLocks};
use crate::poison::Poison;
use crate::submission::Submission;
use crate::transaction::{Backend, Kept, LockedTransaction, Newest, Ticket, WriteSet};
use crate::{
    CommitError, Direction, KeyRange, Openings, Snapshot, Stats, Store, StoreError, Transaction,
    Verification,
};

pub use cache_size::machine_memory_bytes;
pub use log::recovery::CutTail;
pub use options::{DiskOptions, Durability, OpenReport};

/// Replayed segments beyond this many are flushed right after opening, so that reopening often
/// does not pile up small files.
const SEGMENTS_KEPT: usize = 4;

/// So many bytes are synced in the time that a sync of nothing takes.
const QUICKLY_SYNCED: u64 = 256 << 10;

/// An ordered store in a directory.
///
/// ```
/// use keyloom_store::{DiskOptions, DiskStore, Store};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path();
/// let (store, _report) = DiskStore::open(path, DiskOptions::default())?;
/// let mut tx = store.begin(&[b"greeting"])?;
/// tx.put("greeting".into(), "hello".into());
/// tx.commit()?; // on disk now
/// store.close()?;
///
/// let (store, _report) = DiskStore::open(path, DiskOptions::default())?;
/// assert_eq!(store.get(b"greeting")?.as_deref(), Some(&b"hello"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DiskStore {
    // Fields are dropped in this order: writers first.
    committer: Committer<DiskSink>,
    _background: Background,
    tree: Arc<Tree>,
    log: Arc<dyn LogStorage>,
    locks: KeyLocks,
    poison: Poison,
    counters: Counters,
    /// The last segment of the log when the store was opened; zero if there was none.
    last_segment_found: u64,
    path: PathBuf,
}

#[derive(Debug, Clone, Default)]
struct Counters {
    commits: Arc<AtomicU64>,
    syncs: Arc<AtomicU64>,
}

impl DiskStore {
    /// Opens the store in `path`, making it if the directory is empty or missing.
    pub fn open(
        path: impl AsRef<Path>,
        options: DiskOptions,
    ) -> Result<(Self, OpenReport), StoreError> {
        let path = path.as_ref();
        let claim = format::claim(path)?;
        let log = LogDirectory::open(&path.join("log"))
            .map_err(|error| StoreError::io("open the log's directory", error))?;
        Self::open_with_log(path, claim, Arc::new(log), options)
    }

    fn open_with_log(
        path: &Path,
        claim: Claim,
        storage: Arc<dyn LogStorage>,
        options: DiskOptions,
    ) -> Result<(Self, OpenReport), StoreError> {
        let created = claim.created;
        let tree = Arc::new(Tree::open(&path.join("tree"), options.cache_bytes, claim)?);
        sync_directory(path)
            .map_err(|error| StoreError::io(format!("sync {}", path.display()), error))?;
        let persisted = tree.persisted_number();
        let recovery = recover(&*storage, |number, writes| {
            if number > persisted {
                tree.replay(number, &writes);
            }
        })?;
        let poison = Poison::default();
        let counters = Counters::default();
        let background = Background::start(
            Arc::clone(&tree),
            Arc::clone(&storage),
            poison.clone(),
            options.durability,
        )?;
        let last_segment_found = recovery.segments.last().copied().unwrap_or(0);
        let mut sink = DiskSink {
            log: Log::create(
                Arc::clone(&storage),
                last_segment_found + 1,
                recovery.last_end,
                Arc::clone(&counters.syncs),
            )?,
            tree: Arc::clone(&tree),
            work: background.work(),
            options,
            counters: counters.clone(),
            last_sync: Instant::now(),
            rotation_sync_to: 0,
        };
        sink.shorten_log(&recovery)?;
        let report =
            OpenReport { created, replayed_transactions: recovery.transactions, cut: recovery.cut };
        let store = Self {
            committer: Committer::start(sink, poison.clone())?,
            _background: background,
            tree,
            log: storage,
            locks: KeyLocks::new(),
            poison,
            counters,
            last_segment_found,
            path: path.to_owned(),
        };
        Ok((store, report))
    }

    /// Syncs and closes the store. Dropping it does the same, but cannot tell of a failure.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.committer.close()
    }
}

impl fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskStore").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Store for DiskStore {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.tree.get(key)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        TreeSnapshot::open(&self.tree).get_many(keys)
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        Ok(Box::new(TreeSnapshot::open(&self.tree)))
    }

    fn begin<'a>(&'a self, locks: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError> {
        self.poison.check()?;
        Ok(Box::new(LockedTransaction::new(self, self.locks.lock(locks))))
    }

    fn begin_within<'a>(
        &'a self,
        locks: &[&[u8]],
        patience: Duration,
    ) -> Result<Option<Box<dyn Transaction + 'a>>, StoreError> {
        self.poison.check()?;
        let Some(held) = self.locks.lock_within(locks, patience) else { return Ok(None) };
        Ok(Some(Box::new(LockedTransaction::new(self, held))))
    }

    fn settle(&self) -> Result<(), StoreError> {
        self.committer.submit_nothing().and_then(Submission::wait).map_err(StoreError::from)
    }

    fn verify(&self) -> Result<Verification, StoreError> {
        let mut found = Verification { damage: self.tree.check_tables(), ..Default::default() };
        let no_writer = self.tree.order();
        found.damage.extend(check(&*self.log)?);
        drop(no_writer);
        let snapshot = TreeSnapshot::open(&self.tree);
        let mut last = None;
        for entry in snapshot.scan(KeyRange::all(), Direction::Forward) {
            let Ok((key, value)) = entry.map_err(|error| found.damage.push(error.to_string()))
            else {
                break;
            };
            found.entries += 1;
            found.bytes += (key.len() + value.len()) as u64;
            let key = key.into_bytes();
            if last.is_some_and(|last| last >= key) {
                found.damage.push(format!("entry {} is out of order", found.entries));
            }
            last = Some(key);
        }
        Ok(found)
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        let segments = self.log.list().map_err(|error| StoreError::io("list the log", error))?;
        // A segment may be flushed and removed between the two questions.
        let log_bytes = segments.iter().filter_map(|id| self.log.size(*id).ok()).sum();
        Ok(Stats {
            approximate_entries: self.tree.approximate_entries(),
            disk_bytes: self.tree.disk_bytes() + log_bytes,
            log_bytes,
            commits: self.counters.commits.load(Ordering::Relaxed),
            syncs: self.counters.syncs.load(Ordering::Relaxed),
        })
    }

    /// Segments of the log are numbered without gaps, the last one is never removed, and every opening
    /// begins another, durably, before anything can be written.
    fn openings(&self) -> Result<Option<Openings>, StoreError> {
        let segments = self.log.list().map_err(|error| StoreError::io("list the log", error))?;
        let current = segments.last().copied().unwrap_or(0);
        Ok(Some(Openings { previous: self.last_segment_found, current }))
    }
}

impl Backend for DiskStore {
    fn newest(&self, key: &[u8]) -> Result<Newest, StoreError> {
        // The overlay is asked first: a value leaves it only after it has entered the tree.
        match self.committer.pending(key) {
            Some(newest) => Ok(newest),
            None => Ok(Newest { value: self.tree.get(key)?, ticket: 0 }),
        }
    }

    fn submit(
        &self,
        writes: WriteSet,
        kept: Kept,
        locks: HeldLocks<'_>,
    ) -> Result<Submission, CommitError> {
        self.committer.submit(writes, kept, locks)
    }

    fn submit_read(&self, _: Ticket) -> Result<Submission, CommitError> {
        self.committer.submit_nothing()
    }
}

/// What the committer writes to.
struct DiskSink {
    log: Log,
    tree: Arc<Tree>,
    work: Arc<Work>,
    options: DiskOptions,
    counters: Counters,
    last_sync: Instant,
    /// How far the full segment is being synced before the next begins; zero while it is not full.
    rotation_sync_to: u64,
}

impl DiskSink {
    /// Makes room, and may fail without consequence: nothing of the group has been written.
    fn prepare(&mut self) -> Result<(), StoreError> {
        if self.log.len() >= self.options.memtable_bytes && !self.rotation_can_wait() {
            self.rotate()?;
        }
        self.work.wait_for_room()
    }

    /// A segment may begin only when the one before is durable. Where commits do not wait for the
    /// disk, that is made so in the background while the full segment grows a little further.
    fn rotation_can_wait(&mut self) -> bool {
        let overfull = self.options.memtable_bytes + self.options.memtable_bytes / 4;
        if self.options.durability == Durability::Sync
            || self.log.unsynced_bytes() < QUICKLY_SYNCED
            || self.log.len() >= overfull
        {
            return false;
        }
        // Fast writers write much while a sync runs; then another one follows it.
        if self.log.durable_to() >= self.rotation_sync_to {
            self.rotation_sync_to = self.log.len();
            self.sync_behind();
        }
        true
    }

    fn rotate(&mut self) -> Result<(), StoreError> {
        let full = self.log.id();
        self.log.rotate()?;
        self.rotation_sync_to = 0;
        self.tree.rotate();
        self.work.flush_to(full);
        Ok(())
    }

    /// Flushes replayed segments if there are many or they are large.
    fn shorten_log(&mut self, recovery: &Recovery) -> Result<(), StoreError> {
        if recovery.segments.len() > SEGMENTS_KEPT || recovery.bytes > self.options.memtable_bytes {
            self.rotate()?;
        }
        Ok(())
    }

    /// Makes a record as durable as its writers were promised.
    fn secure(&mut self) -> Result<(), StoreError> {
        match self.options.durability {
            Durability::Sync => self.log.sync()?,
            Durability::Relaxed if self.last_sync.elapsed() >= RELAXED_SYNC_AFTER => {
                self.sync_behind();
            }
            Durability::Relaxed => {}
        }
        Ok(())
    }

    /// Has the log synced in the background.
    fn sync_behind(&mut self) {
        self.work.sync_soon(self.log.unsynced(), self.rotation_sync_to > 0);
        self.last_sync = Instant::now();
    }

    fn write(&mut self, group: &[&WriteSet]) -> Result<(), StoreError> {
        let tree = Arc::clone(&self.tree);
        let order = tree.order();
        let numbered: Vec<(u64, &WriteSet)> =
            group.iter().map(|writes| (tree.next_number(&order), *writes)).collect();
        self.log.append(&numbered)?;
        self.secure()?;
        tree.apply(&order, &numbered);
        Ok(())
    }
}

impl Sink for DiskSink {
    fn commit(&mut self, group: &[&WriteSet]) -> Result<(), CommitError> {
        self.prepare().map_err(CommitError::Failed)?;
        self.write(group).map_err(CommitError::Unknown)?;
        self.counters.commits.fetch_add(group.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn tidy(&mut self) -> Result<bool, StoreError> {
        match self.options.durability {
            Durability::Sync => self.log.sync()?,
            // Who comes just now must not wait for the disk.
            Durability::Relaxed if self.log.unsynced_bytes() > 0 => {
                self.sync_behind();
                return Ok(false);
            }
            Durability::Relaxed => {}
        }
        self.log.seal()?;
        Ok(true)
    }

    fn close(&mut self) -> Result<(), StoreError> {
        self.log.sync()?;
        self.log.seal()?;
        self.log.sync()
    }
}
