//! The engine: an LSM-tree of sorted tables beneath memtables, from the `lsm-tree` crate.
//!
//! The tree knows neither log nor threads; this wrapper gives it moments (see [`Moments`]) and one
//! rule of order. The tree draws a sequence number for each change of its own structure, from the
//! same counter as our transactions. A group of transactions takes its numbers, reaches the log,
//! enters the memtable and is published under [`Tree::order`]; the newest moment may only be
//! pushed past the tree's own numbers while nobody is in the middle of that, or a reader could see
//! half a group.

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

use crate::disk::home::Home;
use crate::disk::moments::{Moments, Pin};
use crate::disk::options::DiskOptions;
use crate::disk::retired_tables::{RetiredTables, file_of};
use crate::disk::structure::Structure;
use crate::disk::table_damage::{KnownDamage, engine_error, may_be_damage};
use crate::disk::table_list::TableFile;
use crate::transaction::WriteSet;
use crate::{Direction, Entries, Key, KeyRange, Snapshot, StoreError};

/// Tables are split at the size of a memtable, within these bounds, so that a compaction rewrites a
/// bounded piece.
const SMALLEST_TABLE: u64 = 1 << 20;
const LARGEST_TABLE: u64 = 32 << 20;

/// The unit in which tables are read, checked and cached. Reading a range becomes cheaper with its
/// size, reading a single key that is not in the cache dearer.
const BLOCK_BYTES: u32 = 8 << 10;

/// Every so many entries of a block, one has its whole key and can be searched for; the others hold
/// what differs from the key before.
const RESTART_INTERVAL: u8 = 4;

/// Numbers below this are never given out; readers need a moment after "nothing".
const FIRST_NUMBER: u64 = 1;

/// The tree, its numbers and its readers.
pub(crate) struct Tree {
    inner: AnyTree,
    path: PathBuf,
    numbers: SequenceNumberCounter,
    moments: Moments,
    order: Mutex<()>,
    structure: Structure,
    table_bytes: u64,
    /// Bytes of keys and values that were applied.
    written_bytes: AtomicU64,
    /// The number of the newest transaction.
    newest_number: AtomicU64,
    /// Tombstones in the memtables, give or take those that are being flushed.
    deletions: AtomicU64,
    /// Bytes of tables that were compacted while a reader needed what they had overwritten.
    compacted_while_held: AtomicU64,
    retired: RetiredTables,
    damage: KnownDamage,
    /// Held by the tree, not the store: a snapshot may outlive the store, and while it does, no
    /// other process may remove tables beneath it.
    _home: Arc<Home>,
}

/// The right to number and apply transactions.
pub(crate) struct Order<'a>(#[expect(dead_code, reason = "held for its drop")] MutexGuard<'a, ()>);

impl Tree {
    /// Opens the tree in `path`, making it if need be.
    pub(crate) fn open(
        path: &Path,
        tables: &[TableFile],
        options: &DiskOptions,
        home: Arc<Home>,
    ) -> Result<Self, StoreError> {
        let damage = KnownDamage::default();
        let cache = Arc::new(Cache::with_capacity_bytes(options.cache_bytes));
        let numbers = SequenceNumberCounter::new(FIRST_NUMBER);
        let bloom = |policy| FilterPolicyEntry::Bloom(policy);
        // The tree's own notion of visibility is left unused: it would jump past a half-applied
        // group (see the module's documentation).
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
        let moments = Moments::starting_at(next);
        let retired = RetiredTables::new(inner.id(), cache);
        let structure = Structure::new(path, inner.current_version().iter_tables());
        Ok(Self {
            inner,
            path: path.to_owned(),
            numbers,
            moments,
            order: Mutex::new(()),
            structure,
            table_bytes: options.memtable_bytes.clamp(SMALLEST_TABLE, LARGEST_TABLE),
            written_bytes: AtomicU64::new(0),
            newest_number: AtomicU64::new(0),
            deletions: AtomicU64::new(0),
            compacted_while_held: AtomicU64::new(0),
            retired,
            damage,
            _home: home,
        })
    }

    /// The number of the newest list of tables.
    pub(crate) fn version(&self) -> u64 {
        self.inner.current_version().id()
    }

    /// The number of the newest list of tables, and the tables; no file goes away while they are held.
    pub(crate) fn tables(&self) -> (u64, Vec<lsm_tree::Table>) {
        let version = self.inner.current_version();
        (version.id(), version.iter_tables().cloned().collect())
    }

    /// Where the tables and their lists are.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The highest number whose transaction is in a table.
    pub(crate) fn persisted_number(&self) -> u64 {
        self.inner.get_highest_persisted_seqno().unwrap_or(0)
    }

    /// Gives out only numbers above this one; nobody reads or writes yet.
    pub(crate) fn begin_after(&self, number: u64) {
        self.numbers.fetch_max(number + 1);
        self.moments.publish(number + 1);
    }

    /// Applies a transaction from the log; nobody reads or writes yet.
    pub(crate) fn replay(&self, number: u64, writes: &WriteSet) {
        self.numbers.fetch_max(number + 1);
        self.insert(number, writes);
        self.newest_number.store(number, Ordering::Release);
        self.moments.publish(number + 1);
    }

    /// Waits for the right to number and apply transactions.
    pub(crate) fn order(&self) -> Order<'_> {
        Order(self.order.lock())
    }

    /// A number greater than all before.
    pub(crate) fn next_number(&self, _: &Order<'_>) -> u64 {
        self.numbers.next()
    }

    /// Applies durable transactions and shows them to readers, all at once.
    pub(crate) fn apply(&self, _: &Order<'_>, group: &[(u64, &WriteSet)]) {
        for (number, writes) in group {
            self.insert(*number, writes);
        }
        if let Some((last, _)) = group.last() {
            self.newest_number.store(*last, Ordering::Release);
            self.moments.publish(last + 1);
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

    /// Lets readers move on to the tree's newest structure, and the tree forget old ones.
    pub(crate) fn catch_up(&self) -> Result<(), StoreError> {
        let order = self.order();
        self.moments.publish(self.numbers.get());
        drop(order);
        self.inner
            .get_version_history_lock()
            // Each reader looks at the newest structure from before its moment, so one of those
            // before the oldest moment stays.
            .maintenance(&self.path, self.moments.oldest())
            .map_err(|error| self.failed("remove old table lists", &error))?;
        self.retired.sweep();
        Ok(())
    }

    /// What no reader needs any more: everything that was overwritten before this number.
    fn forgettable(&self) -> u64 {
        self.moments.oldest().saturating_sub(1)
    }

    /// Starts a new memtable; the old one waits to be flushed.
    pub(crate) fn rotate(&self) {
        self.deletions.store(0, Ordering::Relaxed);
        self.inner.rotate_memtable();
    }

    /// How many memtables wait to be flushed.
    pub(crate) fn unflushed(&self) -> usize {
        self.inner.sealed_memtable_count()
    }

    /// How many layers of fresh tables wait to be compacted.
    pub(crate) fn uncompacted(&self) -> usize {
        self.inner.l0_run_count()
    }

    /// Writes all waiting memtables to tables, durably.
    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        let _changing = self.structure.change();
        let lock = self.inner.get_flush_lock();
        let flushed = self.inner.flush(&lock, self.forgettable());
        flushed.map_err(|error| self.failed("flush a memtable", &error))?;
        drop(lock);
        self.note_structure();
        self.catch_up()
    }

    fn note_structure(&self) {
        let version = self.inner.current_version();
        self.structure.note(version.id(), version.iter_tables());
    }

    /// Removes tables that a flush or compaction left unfinished for lack of room.
    pub(crate) fn remove_orphans(&self) -> Result<(), StoreError> {
        self.structure
            .remove_orphans()
            .map_err(|error| StoreError::io("remove unfinished tables", error))
    }

    /// Does one piece of compaction; returns whether there was one.
    pub(crate) fn compact(&self) -> Result<bool, StoreError> {
        let strategy = Leveled::default().with_table_target_size(self.table_bytes);
        self.replace_tables("compact tables", || {
            self.inner.compact(Arc::new(strategy), self.forgettable())
        })
    }

    /// Does something that may replace tables by others; returns whether it did.
    fn replace_tables(
        &self,
        action: &str,
        replace: impl FnOnce() -> lsm_tree::Result<()>,
    ) -> Result<bool, StoreError> {
        let _changing = self.structure.change();
        let needed_from = self.forgettable();
        let before = self.inner.current_version();
        self.retired.note(before.iter_tables());
        replace().map_err(|error| self.failed(action, &error))?;
        let after = self.inner.current_version();
        self.retired.retire(before.iter_tables(), after.iter_tables());
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
        // As long as these are held, no file is removed.
        drop((before, after));
        self.note_structure();
        self.catch_up()?;
        Ok(true)
    }

    /// Reads every table from front to back, past the cache, and lists what is wrong.
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

    /// Bytes of all tables.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.inner.disk_space()
    }

    /// Entries, overwritten ones included.
    pub(crate) fn approximate_entries(&self) -> u64 {
        self.inner.approximate_len() as u64
    }

    /// The published value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let pin = self.moments.pin();
        let value = self.get_at(key, pin.moment);
        self.moments.unpin(&pin);
        value
    }

    fn get_at(&self, key: &[u8], moment: u64) -> Result<Option<Bytes>, StoreError> {
        let value = self.inner.get(key, moment).map_err(|error| {
            let range = (Bound::Included(key), Bound::Included(key));
            self.failed_in(range, "read a key", &error)
        })?;
        Ok(value.map(Bytes::from))
    }

    fn failed(&self, action: &str, error: &lsm_tree::Error) -> StoreError {
        self.failed_in((Bound::Unbounded, Bound::Unbounded), action, error)
    }

    /// An error of the engine, with the damaged file of those that hold keys of this range.
    fn failed_in(&self, range: Bounds<'_>, action: &str, error: &lsm_tree::Error) -> StoreError {
        let find = || {
            let version = self.inner.current_version();
            let tables = version.iter_tables();
            let mut suspects: Vec<_> = tables
                .filter(|table| table.metadata.key_range.overlaps_with_bounds(&range))
                .map(file_of)
                .collect();
            // The reader may look at an older moment, when other tables held the keys.
            suspects.extend(self.retired.files());
            // `version` holds the tables: they are not removed while they are read.
            self.damage.find(&suspects)
        };
        let found = may_be_damage(error).then(find).flatten();
        engine_error(&self.path, action, error, found)
    }
}

type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// The tree at one moment.
pub(crate) struct TreeSnapshot {
    tree: Arc<Tree>,
    pin: Pin,
}

impl TreeSnapshot {
    /// The tree at the newest moment.
    pub(crate) fn open(tree: &Arc<Tree>) -> Self {
        Self { tree: Arc::clone(tree), pin: tree.moments.pin() }
    }
}

impl Drop for TreeSnapshot {
    fn drop(&mut self) {
        self.tree.moments.unpin(&self.pin);
    }
}

impl Snapshot for TreeSnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.tree.get_at(key, self.pin.moment)
    }

    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Entries<'_> {
        if range.is_empty() {
            return Box::new(std::iter::empty());
        }
        let entries = self.tree.inner.range::<&[u8], _>(range.as_bounds(), self.pin.moment, None);
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
