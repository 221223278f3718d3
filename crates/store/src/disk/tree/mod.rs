//! The engine: an LSM tree of sorted tables and memtables, from the `lsm-tree` crate.
//!
//! The crate knows neither the log nor threads; this wrapper adds snapshots (see [`Snapshots`]) and
//! one ordering rule. The tree draws a sequence number for each change of its set of tables from
//! the same counter as our transactions. A group of transactions takes its numbers, is logged,
//! enters the memtable and is published under [`Tree::order`]; the newest snapshot may be advanced
//! past the tree's own numbers only between groups, or a reader could see half a group.

mod reclaiming;

use std::collections::HashSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use lsm_tree::compaction::Leveled;
use lsm_tree::config::{
    BlockSizePolicy, BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry,
    RestartIntervalPolicy,
};
use lsm_tree::{AbstractTree, AnyTree, Cache, CompressionType, Config, Guard};
use lsm_tree::{IterGuardImpl, SequenceNumberCounter};
use parking_lot::{Mutex, MutexGuard};

use crate::disk::directory::StoreDirectory;
use crate::disk::obsolete_tables::{ObsoleteTables, file_of};
use crate::disk::options::DiskOptions;
use crate::disk::snapshots::{Pin, Snapshots};
use crate::disk::table_damage::{KnownDamage, engine_error, may_be_damage};
use crate::disk::table_list::TableFile;
use crate::disk::table_set::TableSet;
use crate::transaction::WriteSet;
use crate::{Direction, Entries, Key, KeyRange, Snapshot, StoreError};

/// Tables are split at the size of a memtable, within these bounds, which bounds the work of a
/// compaction step.
const SMALLEST_TABLE: u64 = 1 << 20;
const LARGEST_TABLE: u64 = 32 << 20;

/// The unit in which tables are read, checksummed and cached. Larger blocks make range reads
/// cheaper and uncached point reads dearer.
const BLOCK_BYTES: u32 = 8 << 10;

/// One in this many entries of a block stores its whole key, for binary search; the others store
/// the difference to the key before (prefix compression).
const RESTART_INTERVAL: u8 = 4;

/// The first sequence number; zero is reserved for the empty snapshot.
const FIRST_NUMBER: u64 = 1;

/// The tree, its sequence numbers and its snapshots.
pub(crate) struct Tree {
    inner: AnyTree,
    path: PathBuf,
    numbers: SequenceNumberCounter,
    snapshots: Snapshots,
    order: Mutex<()>,
    table_set: TableSet,
    table_bytes: u64,
    /// Bytes of keys and values applied.
    written_bytes: AtomicU64,
    /// The number of the newest transaction.
    newest_number: AtomicU64,
    /// Tombstones in the memtables, approximately while a flush runs.
    deletions: AtomicU64,
    /// Bytes of tables that were compacted while a snapshot still needed the versions they
    /// overwrote.
    compacted_while_held: AtomicU64,
    obsolete: ObsoleteTables,
    damage: KnownDamage,
    /// Held by the tree, not the store: a snapshot may outlive the store, and no other process may
    /// remove its tables in the meantime.
    _store_dir: Arc<StoreDirectory>,
}

/// Permission to number and apply transactions.
pub(crate) struct Order<'a>(#[expect(dead_code, reason = "held for its drop")] MutexGuard<'a, ()>);

impl Tree {
    /// Opens the tree in `path`, creating it if it does not exist.
    pub(crate) fn open(
        path: &Path,
        tables: &[TableFile],
        options: &DiskOptions,
        store_dir: Arc<StoreDirectory>,
    ) -> Result<Self, StoreError> {
        let damage = KnownDamage::default();
        let cache = Arc::new(Cache::with_capacity_bytes(options.cache_bytes));
        let numbers = SequenceNumberCounter::new(FIRST_NUMBER);
        let bloom = |policy| FilterPolicyEntry::Bloom(policy);
        // The crate's own visible sequence number is unused: it would advance past a half-applied
        // group (see the module documentation).
        let inner = Config::new(path, numbers.clone(), SequenceNumberCounter::default())
            .use_cache(Arc::clone(&cache))
            .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
            .data_block_restart_interval_policy(RestartIntervalPolicy::all(RESTART_INTERVAL))
            .data_block_compression_policy(CompressionPolicy::new([
                CompressionType::None,
                CompressionType::None,
                CompressionType::Lz4,
            ]))
            .filter_policy(FilterPolicy::new([
                bloom(BloomConstructionPolicy::FalsePositiveRate(0.0001)),
                bloom(BloomConstructionPolicy::BitsPerKey(10.0)),
            ]))
            .open()
            .map_err(|error| {
                let found = may_be_damage(&error).then(|| damage.find(tables)).flatten();
                engine_error(path, "open the tables", &error, found)
            })?;
        let next = inner.get_highest_persisted_seqno().map_or(FIRST_NUMBER, |seqno| seqno + 1);
        numbers.fetch_max(next);
        let snapshots = Snapshots::starting_at(next);
        let obsolete = ObsoleteTables::new(inner.id(), cache);
        let table_set = TableSet::new(path, inner.current_version().iter_tables());
        Ok(Self {
            inner,
            path: path.to_owned(),
            numbers,
            snapshots,
            order: Mutex::new(()),
            table_set,
            table_bytes: options.memtable_bytes.clamp(SMALLEST_TABLE, LARGEST_TABLE),
            written_bytes: AtomicU64::new(0),
            newest_number: AtomicU64::new(0),
            deletions: AtomicU64::new(0),
            compacted_while_held: AtomicU64::new(0),
            obsolete,
            damage,
            _store_dir: store_dir,
        })
    }

    /// The number of the current list of tables.
    pub(crate) fn version(&self) -> u64 {
        self.inner.current_version().id()
    }

    /// The number of the current list of tables, and the tables; their files are not removed while
    /// the handles are held.
    pub(crate) fn tables(&self) -> (u64, Vec<lsm_tree::Table>) {
        let version = self.inner.current_version();
        (version.id(), version.iter_tables().cloned().collect())
    }

    /// The directory of the tables and their lists.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The highest sequence number in a table.
    pub(crate) fn persisted_number(&self) -> u64 {
        self.inner.get_highest_persisted_seqno().unwrap_or(0)
    }

    /// Continues numbering above this number; called before any reader or writer.
    pub(crate) fn begin_after(&self, number: u64) {
        self.numbers.fetch_max(number + 1);
        self.snapshots.publish(number + 1);
    }

    /// Applies a transaction from the log; called before any reader or writer.
    pub(crate) fn replay(&self, number: u64, writes: &WriteSet) {
        self.numbers.fetch_max(number + 1);
        self.insert(number, writes);
        self.newest_number.store(number, Ordering::Release);
        self.snapshots.publish(number + 1);
    }

    /// Waits for permission to number and apply transactions.
    pub(crate) fn order(&self) -> Order<'_> {
        Order(self.order.lock())
    }

    /// The next sequence number.
    pub(crate) fn next_number(&self, _: &Order<'_>) -> u64 {
        self.numbers.next()
    }

    /// Applies durable transactions and publishes them to readers, atomically.
    pub(crate) fn apply(&self, _: &Order<'_>, group: &[(u64, &WriteSet)]) {
        for (number, writes) in group {
            self.insert(*number, writes);
        }
        if let Some((last, _)) = group.last() {
            self.newest_number.store(*last, Ordering::Release);
            self.snapshots.publish(last + 1);
        }
    }

    fn insert(&self, number: u64, writes: &WriteSet) {
        let (mut bytes, mut deletions) = (0, 0);
        for (key, value) in writes {
            bytes += key.len() + value.as_ref().map_or(0, Bytes::len);
            deletions += u64::from(value.is_none());
            match value {
                Some(value) => self.inner.insert(key.clone(), value.clone(), number),
                None => self.inner.remove(key.clone(), number),
            };
        }
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if deletions > 0 {
            self.deletions.fetch_add(deletions, Ordering::Relaxed);
        }
    }

    /// Publishes the tree's current set of tables to readers, and lets it drop old ones.
    pub(crate) fn catch_up(&self) -> Result<(), StoreError> {
        let order = self.order();
        self.snapshots.publish(self.numbers.get());
        drop(order);
        self.inner
            .get_version_history_lock()
            // Each reader uses the newest set of tables from before its snapshot, so the last one
            // from before the oldest snapshot stays.
            .maintenance(&self.path, self.snapshots.oldest())
            .map_err(|error| self.failed("remove old table lists", &error))?;
        self.obsolete.sweep();
        Ok(())
    }

    /// Versions overwritten before this sequence number are needed by no snapshot.
    fn forgettable(&self) -> u64 {
        self.snapshots.oldest().saturating_sub(1)
    }

    /// Starts a new memtable and seals the old one for flushing.
    pub(crate) fn rotate(&self) {
        self.deletions.store(0, Ordering::Relaxed);
        self.inner.rotate_memtable();
    }

    /// The number of sealed memtables.
    pub(crate) fn unflushed(&self) -> usize {
        self.inner.sealed_memtable_count()
    }

    /// The number of level-0 runs that wait for compaction.
    pub(crate) fn uncompacted(&self) -> usize {
        self.inner.l0_run_count()
    }

    /// Flushes all sealed memtables to tables, durably.
    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        let _changing = self.table_set.change();
        let lock = self.inner.get_flush_lock();
        let flushed = self.inner.flush(&lock, self.forgettable());
        flushed.map_err(|error| self.failed("flush a memtable", &error))?;
        drop(lock);
        self.note_table_set();
        self.catch_up()
    }

    /// Records the current tables, and makes new files readable by their owner only.
    pub(crate) fn note_table_set(&self) {
        let version = self.inner.current_version();
        self.table_set.note(version.id(), version.iter_tables());
    }

    /// Removes tables that a flush or compaction left unfinished when the disk was full.
    pub(crate) fn remove_orphans(&self) -> Result<(), StoreError> {
        self.table_set
            .remove_orphans()
            .map_err(|error| StoreError::io("remove unfinished tables", error))
    }

    /// Runs one compaction step; returns whether there was one.
    pub(crate) fn compact(&self) -> Result<bool, StoreError> {
        let strategy = Leveled::default().with_table_target_size(self.table_bytes);
        self.replace_tables("compact tables", || {
            self.inner.compact(Arc::new(strategy), self.forgettable())
        })
    }

    /// Runs an operation that may replace tables; returns whether it did.
    fn replace_tables(
        &self,
        action: &str,
        replace: impl FnOnce() -> lsm_tree::Result<()>,
    ) -> Result<bool, StoreError> {
        let _changing = self.table_set.change();
        let needed_from = self.forgettable();
        let before = self.inner.current_version();
        self.obsolete.note(before.iter_tables());
        replace().map_err(|error| self.failed(action, &error))?;
        let after = self.inner.current_version();
        self.obsolete.retire(before.iter_tables(), after.iter_tables());
        if before.id() == after.id() {
            return Ok(false);
        }
        let kept: HashSet<_> = after.iter_tables().map(lsm_tree::Table::id).collect();
        let bytes = before
            .iter_tables()
            .filter(|table| table.get_highest_seqno() >= needed_from && !kept.contains(&table.id()))
            .map(|table| table.metadata.file_size)
            .sum();
        self.compacted_while_held.fetch_add(bytes, Ordering::Relaxed);
        // Files are removed only after these handles are dropped.
        drop((before, after));
        self.note_table_set();
        self.catch_up()?;
        Ok(true)
    }

    /// Reads every table sequentially, bypassing the cache, and lists the damage.
    pub(crate) fn check_tables(&self) -> Vec<String> {
        let version = self.inner.current_version();
        let check = |table: &lsm_tree::Table| {
            if let Some(damage) = file_of(table).damage() {
                return Err(damage.to_string());
            }
            let unreadable = |error| format!("{}: {error}", table.path.display());
            let mut last: Option<lsm_tree::UserKey> = None;
            for entry in table.scan().map_err(unreadable)? {
                let key = entry.map_err(unreadable)?.key.user_key;
                if last.is_some_and(|last| last > key) {
                    return Err(format!("{}: its keys are out of order", table.path.display()));
                }
                last = Some(key);
            }
            Ok(())
        };
        version.iter_tables().filter_map(|table| check(table).err()).collect()
    }

    /// The size of all tables.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.inner.disk_space()
    }

    /// Entries, overwritten ones included.
    pub(crate) fn approximate_entries(&self) -> u64 {
        self.inner.approximate_len() as u64
    }

    /// The published value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let pin = self.snapshots.pin();
        let value = self.get_at(key, pin.seqno);
        self.snapshots.unpin(&pin);
        value
    }

    fn get_at(&self, key: &[u8], seqno: u64) -> Result<Option<Bytes>, StoreError> {
        let value = self.inner.get(key, seqno).map_err(|error| {
            let range = (Bound::Included(key), Bound::Included(key));
            self.failed_in(range, "read a key", &error)
        })?;
        Ok(value.map(Bytes::from))
    }

    fn failed(&self, action: &str, error: &lsm_tree::Error) -> StoreError {
        self.failed_in((Bound::Unbounded, Bound::Unbounded), action, error)
    }

    /// Converts an engine error, naming the damaged file among those that may hold keys of this
    /// range.
    fn failed_in(&self, range: Bounds<'_>, action: &str, error: &lsm_tree::Error) -> StoreError {
        let find = || {
            let version = self.inner.current_version();
            let tables = version.iter_tables();
            let mut suspects: Vec<_> = tables
                .filter(|table| table.metadata.key_range.overlaps_with_bounds(&range))
                .map(file_of)
                .collect();
            // An older snapshot may read tables that have been replaced since.
            suspects.extend(self.obsolete.files());
            // `version` holds the tables, so they are not removed while they are read.
            self.damage.find(&suspects)
        };
        let found = may_be_damage(error).then(find).flatten();
        engine_error(&self.path, action, error, found)
    }
}

type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// The tree at one snapshot.
pub(crate) struct TreeSnapshot {
    tree: Arc<Tree>,
    pin: Pin,
}

impl TreeSnapshot {
    /// The newest snapshot of the tree.
    pub(crate) fn open(tree: &Arc<Tree>) -> Self {
        Self { tree: Arc::clone(tree), pin: tree.snapshots.pin() }
    }
}

impl Drop for TreeSnapshot {
    fn drop(&mut self) {
        self.tree.snapshots.unpin(&self.pin);
    }
}

impl Snapshot for TreeSnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.tree.get_at(key, self.pin.seqno)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Entries<'_> {
        if range.is_empty() {
            return Box::new(std::iter::empty());
        }
        let entries = self.tree.inner.range::<&[u8], _>(range.as_bounds(), self.pin.seqno, None);
        let read = move |entry: IterGuardImpl| {
            let (key, value) = entry
                .into_inner()
                .map_err(|error| self.tree.failed_in(range.as_bounds(), "read a range", &error))?;
            Ok((Key::Own(Bytes::from(key)), Bytes::from(value)))
        };
        match direction {
            Direction::Forward => Box::new(entries.map(read)),
            Direction::Backward => Box::new(entries.rev().map(read)),
        }
    }
}
