//! Ordered byte keys with snapshots and transactions, in memory and on disk.
//!
//! This is the seam beneath the database: everything above it (items, conditions, indexes,
//! streams) is bytes down here. A [`Store`] can
//!
//! - read: one key, many keys from one moment, or a [`Snapshot`] to scan in both directions;
//! - write: a [`Transaction`] that ends as *ok*, *conflict* or *unknown*.
//!
//! # How a write happens
//!
//! 1. [`Store::begin`] locks the keys whose values decide what will be written. The locks are
//!    short: they are held while the caller thinks, never while a disk works.
//! 2. The transaction reads. It sees the newest values, including those of transactions that are
//!    committed but not yet durable ("pending").
//! 3. [`Transaction::submit`] fixes the place of the writes in the one order of all writes and
//!    unlocks. The [`Submission`] tells when they are durable, to a thread that waits or to a task;
//!    [`Transaction::commit`] is both in one. Whatever is submitted while the disk works shares its
//!    next sync.
//!
//! A transaction that decides *against* writing may have done so because of a pending value.
//! Its caller must not tell the world before that value is durable; [`Transaction::finish_read`]
//! waits for it.
//!
//! Plain reads ([`Store::get`], [`Store::get_many`], [`Snapshot`]) see durable data only, and
//! never wait for a writer.
//!
//! # What a transaction promises
//!
//! Its writes appear together or not at all. Transactions that lock every key whose value they
//! depend on behave as if they ran one after another. Reads of keys that are neither locked nor
//! written are fresh but may change before the commit. A thread must not begin a transaction
//! while it holds another on the same store: it would wait for itself.
//!
//! # Stores
//!
//! | store | durable | for |
//! |---|---|---|
//! | [`MemoryStore`] | no | tests, caches; forks in constant time |
//! | [`DiskStore`] | yes | everything else |
//! | [`ReadOnlyStore`] | as it was found | looking at a store on disk without changing it |
//! | [`FaultyStore`] | as the one inside | tests of what is built on a store |

mod committer;
mod condition;
mod disk;
mod error;
mod faulty;
mod key;
mod locks;
mod memory;
mod pending;
mod range;
mod submission;
mod transaction;

use std::fmt;
use std::ops::Bound;
use std::time::Duration;

pub use bytes::Bytes;

pub use disk::{BackupReport, BackupSource, BackupTarget, Inventory, Restored, restore_backup};
pub use disk::{
    CutTail, DiskOptions, DiskStore, Durability, OpenReport, ReadOnlyStore, machine_memory_bytes,
};
pub use disk::{Loss, RepairReport, RepairedStore, repair_store};
pub use error::{CommitError, StoreError};
pub use faulty::{Fault, FaultyStore};
pub use key::Key;
pub use memory::MemoryStore;
pub use range::{Direction, KeyRange};
pub use submission::Submission;

/// The longest key that every store accepts; the shortest has one byte.
pub const MAX_KEY_BYTES: usize = 65_535;

/// The longest value that every store accepts.
pub const MAX_VALUE_BYTES: usize = 64 << 20;

/// The largest transaction that every store accepts: all its keys and values together.
pub const MAX_TRANSACTION_BYTES: usize = 256 << 20;

/// The entries of a scan, in the order of the scan.
pub type Entries<'a> = Box<dyn Iterator<Item = Result<(Key<'a>, Bytes), StoreError>> + Send + 'a>;

/// An ordered map from byte keys to byte values, shared by any number of threads.
pub trait Store: Send + Sync + fmt::Debug {
    /// The durable value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// The durable values of these keys, in their order, all from one moment.
    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError>;

    /// A view of the durable content at this moment, which no later write changes and which
    /// blocks no writer.
    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Begins a transaction that holds a lock on these keys, waiting until it has them all.
    fn begin<'a>(&'a self, locks: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError>;

    /// Begins a transaction like [`begin`](Self::begin), or none if it would have to wait for its locks
    /// longer than `patience`. A store that cannot tell waits.
    fn begin_within<'a>(
        &'a self,
        locks: &[&[u8]],
        patience: Duration,
    ) -> Result<Option<Box<dyn Transaction + 'a>>, StoreError> {
        let _ = patience;
        self.begin(locks).map(Some)
    }

    /// Waits until everything that was submitted before has its fate, and plain reads see it.
    fn settle(&self) -> Result<(), StoreError>;

    /// Reads everything and reports what is damaged. Slow on purpose.
    fn verify(&self) -> Result<Verification, StoreError>;

    /// Figures about the store, cheap to ask for.
    fn stats(&self) -> Result<Stats, StoreError>;

    /// Whether the store accepts writes, cheap to ask for.
    fn health(&self) -> Health {
        Health::Ready
    }

    /// What tells this opening of the store from others; none from a store that cannot tell.
    fn openings(&self) -> Result<Option<Openings>, StoreError> {
        Ok(None)
    }

    /// Fixes the moment of a backup (see [`DiskStore::capture_source`]); none from a store without files.
    fn backup_source(&self) -> Option<Result<BackupSource, StoreError>> {
        None
    }

    /// Deletes every key that begins with `prefix`, `chunk` keys per transaction.
    ///
    /// Meant for a background thread, and for keys that are out of use: nobody may write under the
    /// prefix meanwhile, and what is read there before this returns may be of any time. (Snapshots
    /// from before go on to see what they saw.) No chunk holds a lock, and a crash in between leaves
    /// something to delete again.
    fn delete_prefix(&self, prefix: &[u8], chunk: usize) -> Result<(), StoreError> {
        delete_each(self, prefix, chunk)
    }
}

/// Deletes the keys that begin with `prefix`, one by one.
fn delete_each<S: Store + ?Sized>(
    store: &S,
    prefix: &[u8],
    chunk: usize,
) -> Result<(), StoreError> {
    let mut range = KeyRange::prefix(prefix);
    loop {
        let keys = store
            .snapshot()?
            .scan(range.clone(), Direction::Forward)
            .take(chunk.max(1))
            .map(|entry| entry.map(|(key, _)| key.into_bytes()))
            .collect::<Result<Vec<_>, _>>()?;
        let Some(last) = keys.last().cloned() else { return Ok(()) };
        let mut transaction = store.begin(&[])?;
        for key in keys {
            transaction.delete(key);
        }
        match transaction.commit() {
            // Going on behind the last key spares the next scan the fresh tombstones.
            Ok(()) => range.lower = Bound::Excluded(last),
            Err(CommitError::Conflict) => {}
            Err(CommitError::Failed(error) | CommitError::Unknown(error)) => return Err(error),
        }
    }
}

/// A read-only view of one moment.
pub trait Snapshot: Send {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// The values of these keys, in their order.
    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError>;

    /// The entries in a range. Lazy: entries are read as the iterator is advanced.
    fn scan(&self, range: KeyRange, direction: Direction) -> Entries<'_>;
}

/// Reads and writes that take effect together.
///
/// Dropping a transaction lets go of its locks and writes nothing.
pub trait Transaction {
    /// The newest value of a key: this transaction's own write, else a pending one, else the
    /// durable one.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// The newest values of these keys, in their order.
    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError>;

    /// Sets a key. The key's limits are checked when the transaction is committed.
    fn put(&mut self, key: Bytes, value: Bytes);

    /// Removes a key, whether it exists or not.
    fn delete(&mut self, key: Bytes);

    /// Keeps something until the fate of the writes is decided. It is dropped once plain reads see them,
    /// or it is known that they never will, and before anybody is told: on any thread, so that its drop
    /// must not wait for anything.
    fn keep(&mut self, kept: Box<dyn Send>);

    /// Fixes the place of the writes in the one order of all writes and unlocks, without waiting for
    /// the disk: whether they are durable, the submission tells.
    fn submit(self: Box<Self>) -> Result<Submission, CommitError>;

    /// Gives the writes up. The submission is durable when everything is that this transaction has
    /// read: only then may the caller act on what it saw.
    fn submit_read(self: Box<Self>) -> Result<Submission, CommitError>;

    /// Writes everything and waits until it, and everything this transaction has read, is durable.
    fn commit(self: Box<Self>) -> Result<(), CommitError> {
        self.submit()?.wait()
    }

    /// [`Transaction::submit_read`], waited for.
    fn finish_read(self: Box<Self>) -> Result<(), StoreError> {
        self.submit_read().and_then(Submission::wait).map_err(StoreError::from)
    }
}

/// Numbers that grow with every opening of a store, whatever version of this crate opens it, and may grow
/// in between.
///
/// Who notes `current` before the store is closed and finds it as `previous` after it was opened, knows
/// that nobody else has had it open since. A store that ends with its only opening has zeros.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Openings {
    /// The number that the last opening left behind; zero for a new store.
    pub previous: u64,
    /// The number of this moment.
    pub current: u64,
}

impl Openings {
    /// Whether there can be another opening, which then has other numbers.
    pub fn are_told_apart(self) -> bool {
        self.current > self.previous
    }
}

/// Whether a store accepts writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Health {
    /// It reads and writes.
    #[default]
    Ready,
    /// It only reads.
    ReadOnly {
        /// Why it refuses writes.
        reason: String,
        /// Whether it stays so until it is opened again; otherwise it accepts writes again by itself
        /// once the reason is gone.
        restart_needed: bool,
    },
}

impl Health {
    /// Whether writes are accepted.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }
}

/// What [`Store::verify`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// How many entries were read.
    pub entries: u64,
    /// Their keys and values, in bytes.
    pub bytes: u64,
    /// What is wrong, one line per finding; empty when all is well.
    pub damage: Vec<String>,
}

impl Verification {
    /// Whether nothing is wrong.
    pub fn is_intact(&self) -> bool {
        self.damage.is_empty()
    }
}

/// Figures about a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Entries, give or take those that were overwritten or deleted recently.
    pub approximate_entries: u64,
    /// Bytes on disk, log included; zero for a store in memory.
    pub disk_bytes: u64,
    /// The part of `disk_bytes` that is log.
    pub log_bytes: u64,
    /// Transactions that wrote something since the store was opened.
    pub commits: u64,
    /// Syncs of the log since the store was opened; fewer than `commits` when writers share them.
    pub syncs: u64,
}
