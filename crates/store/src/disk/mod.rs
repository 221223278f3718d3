//! A durable store: a write-ahead log in front of an LSM-tree.
//!
//! ```text
//! directory/
//!   MANIFEST             format version, and the files that make up the store
//!   LOCK                 locked while a process has the store open, as is the directory
//!   log/00000007.log …   transactions that are not in tables yet
//!   tree/                sorted tables and their lists
//! ```
//!
//! # Why our own log
//!
//! The tables are those of `lsm-tree`, the engine inside fjall. Fjall's own journal was evaluated
//! and rejected. It refuses to open when the pages of an unsynced batch reach the disk out of
//! order, and it takes damage at the start of an entry for the end of the journal and silently
//! truncates everything after it, acknowledged or not. It has no record of which bytes were
//! acknowledged. After the first reopening it appends to a file that is no longer preallocated, so
//! each sync also writes file-system metadata, and it syncs inside its commit lock. Our own log is
//! about as much code as a repair tool for a foreign file format would be, and it knows exactly
//! what was acknowledged (see [`log::recovery`]).
//!
//! # Life of a write
//!
//! The committer numbers the transactions of a group, appends them to the log as one record, syncs,
//! applies them to the memtable and publishes them to readers. When the log segment is full, it
//! starts a new segment and a new memtable; the flush thread then flushes the old memtable to a
//! table and removes the old segment.
//!
//! # Opening
//!
//! Tables are opened, then the log is replayed: transactions that are already in a table are
//! recognised by their sequence number and skipped. Replayed segments stay until their memtable is
//! flushed.
//!
//! A killed process leaves data that is only in the page cache. Everything that recovery relies on
//! is synced before a new file refers to it.

mod background;
mod backup;
mod cache_size;
mod directory;
pub(crate) mod files;
mod garbage;
pub(crate) mod log;
mod manifest;
mod mutation;
mod obsolete_tables;
mod options;
mod read_only;
mod reclaim;
mod repair;
mod sink;
mod snapshots;
mod table_damage;
mod table_list;
mod table_set;
mod tree;

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod faulty_files;
#[cfg(test)]
mod pending_tests;
#[cfg(test)]
mod relaxed_tests;
#[cfg(test)]
mod simulation_tests;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::committer::Committer;
use crate::condition::Condition;
use crate::disk::background::Background;
use crate::disk::directory::{Before, DirectoryLock, StoreDirectory};
use crate::disk::files::{Files, RealFiles};
use crate::disk::log::directory::LogDirectory;
use crate::disk::log::recovery::{Access, Expected, Recovery, check, recover};
use crate::disk::log::syncing::Unsynced;
use crate::disk::manifest::Contents;
use crate::disk::mutation::Mutation;
use crate::disk::sink::DiskSink;
use crate::disk::tree::{Tree, TreeSnapshot};
use crate::exclusive::{LocalEpoch, LocalExclusive};
use crate::locks::{HeldLocks, KeyLocks};
use crate::submission::Submission;
use crate::transaction::{Backend, Newest, Staged, Ticket, locked_transaction};
use crate::{
    CommitError, Exclusive, Health, KeyRange, Openings, Snapshot, Stats, Store, StoreError,
    Transaction, Verification, delete_each, sum_entries, verify_entries,
};

pub use backup::{BackupReport, BackupSource, BackupTarget, Inventory, Restored, restore_backup};
pub use cache_size::machine_memory_bytes;
pub use log::recovery::CutTail;
pub use options::{DiskOptions, Durability, OpenReport};
pub use read_only::ReadOnlyStore;
pub use repair::{Loss, RepairReport, RepairedStore, repair_store};

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
    committer: Committer<DiskSink>,
    background: Background,
    tree: Arc<Tree>,
    log: Arc<LogDirectory>,
    store_dir: Arc<StoreDirectory>,
    locks: KeyLocks,
    epoch: LocalEpoch,
    condition: Condition,
    counters: Counters,
    /// The last log segment when the store was opened; zero if there was none.
    last_segment_found: u64,
    is_closed: bool,
}

#[derive(Clone, Default)]
struct Counters {
    commits: Arc<AtomicU64>,
    syncs: Arc<AtomicU64>,
    /// The end of the log when the committer stopped; zero before that, or if unknown.
    closed_at: Arc<AtomicU64>,
    /// The newest segment and the end of what has been written to it.
    tail: Arc<Mutex<Option<Unsynced>>>,
    /// The current end of the log; changes with transactions only under [`Tree::order`].
    log_end: Arc<Mutex<LogEnd>>,
}

/// The end of the records in the last segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LogEnd {
    /// The segment number; zero if there is none yet.
    segment: u64,
    offset: u64,
}

impl DiskStore {
    /// Opens the store in `path`, creating it if the directory is empty or missing.
    ///
    /// A full disk does not prevent opening: the store is then read-only until there is space (see
    /// [`Store::health`]).
    pub fn open(
        path: impl AsRef<Path>,
        options: DiskOptions,
    ) -> Result<(Self, OpenReport), StoreError> {
        let path = path.as_ref();
        let lock = DirectoryLock::take(path, &RealFiles)?.with_lock_file()?;
        Self::open_in(Arc::new(RealFiles), path, lock, &path.join("tree"), options)
    }

    /// Opens the store whose own files are at `path` of `files` and whose tables are in `tables`.
    fn open_in(
        files: Arc<dyn Files>,
        path: &Path,
        lock: DirectoryLock,
        tables: &Path,
        options: DiskOptions,
    ) -> Result<(Self, OpenReport), StoreError> {
        let (store_dir, before) = StoreDirectory::open(Arc::clone(&files), path, lock, true)?;
        let store_dir = Arc::new(store_dir);
        let tree = Arc::new(open_tree(&store_dir, tables, before, &options)?);
        tree.note_table_set();
        let log = Arc::new(LogDirectory::new(Arc::clone(&files), &path.join("log")));
        log.make().map_err(|error| StoreError::io("create the log's directory", error))?;
        if !matches!(before, Before::Store(_)) {
            // The manifest will refer to the content of the directories that were just created.
            files
                .sync_directory(path)
                .map_err(|error| StoreError::io(format!("sync {}", path.display()), error))?;
        }
        let recovery = replay(&log, &tree, before, Access::Repair)?;
        let (condition, counters) = (Condition::default(), Counters::default());
        let background = Background::start(
            Arc::clone(&tree),
            Arc::clone(&log),
            Arc::clone(&store_dir),
            condition.clone(),
            Arc::clone(&counters.tail),
            options,
        )?;
        let mut sink = DiskSink::new(
            Arc::clone(&log),
            Arc::clone(&tree),
            Arc::clone(&store_dir),
            background.work(),
            condition.clone(),
            options,
            counters.clone(),
        );
        let last_segment_found = recovery.segments.last().copied().unwrap_or(0);
        sink.begin(&recovery)?;
        if before == Before::Format2 {
            store_dir.remove_old_format()?;
        }
        let report = OpenReport {
            created: before == Before::New,
            replayed_transactions: recovery.transactions,
            cut: recovery.cut,
        };
        let store = Self {
            committer: Committer::start(sink, condition.clone())?,
            background,
            tree,
            log,
            store_dir,
            locks: KeyLocks::new(),
            epoch: LocalEpoch::default(),
            condition,
            counters,
            last_segment_found,
            is_closed: false,
        };
        Ok((store, report))
    }

    /// Syncs and closes the store. Dropping it does the same but cannot report a failure.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.shut_down()
    }

    /// Stops all threads, then records a clean shutdown in the manifest: from then on, any missing
    /// data is damage.
    fn shut_down(&mut self) -> Result<(), StoreError> {
        if std::mem::replace(&mut self.is_closed, true) {
            return Ok(());
        }
        self.committer.close()?;
        self.background.stop();
        self.condition.check_not_poisoned()?;
        let end = self.counters.closed_at.load(Ordering::Acquire);
        if end == 0 {
            return Ok(());
        }
        match self.store_dir.record(|contents| contents.closed_at = Some(end)) {
            // The next opening treats this as a crash, which loses nothing.
            Err(StoreError::Full { .. }) => Ok(()),
            recorded => recorded,
        }
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        // Call `close` to learn of errors.
        let _ = self.shut_down();
    }
}

/// Opens the tables after checking them against the manifest.
fn open_tree(
    store_dir: &Arc<StoreDirectory>,
    path: &Path,
    before: Before,
    options: &DiskOptions,
) -> Result<Tree, StoreError> {
    let found = table_list::check(path)?;
    let mut was_closed = false;
    if let Before::Store(contents) = before
        && !mutation::is_on(Mutation::ManifestIgnored)
    {
        table_list::check_number(path, found.number, contents.tables)?;
        was_closed = contents.closed_at.is_some();
    }
    if !was_closed && found.number.is_some() && !mutation::is_on(Mutation::TablesNotSynced) {
        table_list::secure(path)?;
    }
    for directory in [path.to_owned(), path.join("tables")] {
        RealFiles
            .make_directory(&directory)
            .map_err(|error| StoreError::io(format!("create {}", directory.display()), error))?;
    }
    let tree = Tree::open(path, &found.tables, options, Arc::clone(store_dir))?;
    table_list::remove_unfinished(path)
        .map_err(|error| StoreError::io(format!("clean up {}", path.display()), error))?;
    Ok(tree)
}

/// Reads the log and applies the transactions that are not in the tables.
fn replay(
    log: &LogDirectory,
    tree: &Tree,
    before: Before,
    access: Access,
) -> Result<Recovery, StoreError> {
    let contents = match before {
        Before::Store(contents) => contents,
        Before::New | Before::Format2 => Contents::NOTHING,
    };
    let persisted = tree.persisted_number().max(contents.flushed);
    let expected = match before {
        _ if mutation::is_on(Mutation::ManifestIgnored) => None,
        Before::New | Before::Store(_) => Some(Expected::from(contents)),
        Before::Format2 => None,
    };
    let mixed = |detail: String| {
        let detail = format!(
            "{detail}; the files were copied at different times (use 'keyloom backup' to copy an \
             open store)"
        );
        StoreError::Corrupt { path: log.name(contents.last_segment), detail }
    };
    let mut newest = 0;
    tree.begin_after(persisted);
    let recovery = recover(log, expected, access, |segment, number, writes| {
        newest = number;
        let is_newest_segment = expected.is_some_and(|expected| segment >= expected.last);
        if number > persisted {
            tree.replay(number, &writes);
        } else if is_newest_segment && number > contents.flushing {
            return Err(mixed(format!(
                "it contains transaction {number}, which is already in the tables"
            )));
        }
        Ok(())
    })?;
    if expected.is_some() && contents.flushing > newest.max(persisted) {
        return Err(mixed(format!(
            "it ends with transaction {newest}, but {} had been written",
            contents.flushing
        )));
    }
    Ok(recovery)
}

impl fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskStore").field("path", &self.store_dir.path()).finish_non_exhaustive()
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
        self.condition.check()?;
        Ok(locked_transaction(self, self.locks.lock(locks)))
    }

    fn begin_within<'a>(
        &'a self,
        locks: &[&[u8]],
        timeout: Duration,
    ) -> Result<Option<Box<dyn Transaction + 'a>>, StoreError> {
        self.condition.check()?;
        let Some(held) = self.locks.lock_within(locks, timeout) else { return Ok(None) };
        Ok(Some(locked_transaction(self, held)))
    }

    fn exclusive<'a>(&'a self) -> Result<Box<dyn Exclusive + 'a>, StoreError> {
        self.condition.check()?;
        Ok(Box::new(LocalExclusive::begin(self, &self.locks, &self.epoch)?))
    }

    fn epoch(&self) -> u64 {
        self.epoch.get()
    }

    fn sum(&self, counters: &[&[u8]]) -> Result<Vec<i64>, StoreError> {
        sum_entries(self, counters)
    }

    fn settle(&self) -> Result<(), StoreError> {
        self.committer.submit_nothing(0).and_then(Submission::wait).map_err(StoreError::from)
    }

    fn verify(&self) -> Result<Verification, StoreError> {
        let mut found = Verification { damage: self.tree.check_tables(), ..Default::default() };
        let no_writer = self.tree.order();
        found.damage.extend(check(&self.log)?);
        drop(no_writer);
        verify_entries(&TreeSnapshot::open(&self.tree), &mut found);
        Ok(found)
    }

    fn delete_prefix(&self, prefix: &[u8], chunk: usize) -> Result<(), StoreError> {
        // Tables are dropped at once. The transaction that made the prefix obsolete must be durable
        // first, which relaxed durability does not guarantee.
        self.committer.run_between_groups(DiskSink::sync)?;
        // The log must not replay what was in the dropped tables.
        let flushed = self.tree.persisted_number();
        self.store_dir.record(|contents| contents.flushed = contents.flushed.max(flushed))?;
        self.tree.drop_tables(&KeyRange::prefix(prefix))?;
        delete_each(self, prefix, chunk)?;
        self.committer.forget_numbers(prefix);
        Ok(())
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        let segments = self.log.list().map_err(|error| StoreError::io("list the log", error))?;
        // A segment may be flushed and removed after it was listed.
        let log_bytes = segments.iter().filter_map(|id| self.log.size(*id).ok()).sum();
        Ok(Stats {
            approximate_entries: self.tree.approximate_entries(),
            disk_bytes: self.tree.disk_bytes() + log_bytes,
            log_bytes,
            commits: self.counters.commits.load(Ordering::Relaxed),
            syncs: self.counters.syncs.load(Ordering::Relaxed),
        })
    }

    fn health(&self) -> Health {
        self.condition.health()
    }

    fn backup_source(&self) -> Option<Result<BackupSource, StoreError>> {
        Some(self.capture_source())
    }

    /// Log segments are numbered without gaps, the last one is never removed, and every opening
    /// durably creates another one before anything can be written.
    fn openings(&self) -> Result<Option<Openings>, StoreError> {
        let segments = self.log.list().map_err(|error| StoreError::io("list the log", error))?;
        let current = segments.last().copied().unwrap_or(0);
        Ok(Some(Openings { previous: self.last_segment_found, current }))
    }
}

impl Backend for DiskStore {
    fn newest(&self, key: &[u8]) -> Result<Newest, StoreError> {
        // The overlay is read first: a value leaves it only after it is in the tree.
        match self.committer.pending(key) {
            Some(newest) => Ok(newest),
            None => Ok(Newest { value: self.tree.get(key)?, ticket: 0 }),
        }
    }

    fn submit(
        &self,
        staged: Staged,
        locks: HeldLocks<'_>,
        seen: Ticket,
    ) -> Result<Submission, CommitError> {
        self.committer.submit(staged, locks, seen, || self.snapshot())
    }

    fn submit_read(&self, seen: Ticket) -> Result<Submission, CommitError> {
        self.committer.submit_nothing(seen)
    }
}
