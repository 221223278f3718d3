//! Ordered byte keys with snapshots and transactions, in memory, on disk and over PostgreSQL.
//!
//! This is the storage interface below the database: items, conditions, indexes and streams are
//! plain bytes here. A [`Store`] can
//!
//! - read: one key, many keys from one snapshot, or a [`Snapshot`] that scans in both directions;
//! - write: a [`Transaction`] that ends as *ok*, *conflict*, *stale* or *unknown*;
//! - number and count: records appended to a log are numbered by the store, counters are summed;
//! - change what everything else depends on, alone: an [`Exclusive`].
//!
//! # How a write happens
//!
//! 1. [`Store::begin`] locks the keys whose values decide what will be written. The locks are
//!    short: they are held while the caller computes, never during disk I/O.
//! 2. The transaction reads. It sees the newest values, including those of transactions that are
//!    committed but not yet durable ("pending").
//! 3. [`Transaction::submit`] assigns the writes their position in the total order of writes and
//!    unlocks. The returned [`Submission`] resolves when they are durable; a thread can block on it
//!    and a task can await it. [`Transaction::commit`] does both steps. All transactions submitted
//!    during one sync share the next sync (group commit).
//!
//! A transaction that decides *against* writing may have done so because of a pending value. Its
//! caller must not reveal that decision before the value is durable; [`Transaction::finish_read`]
//! waits for that.
//!
//! Plain reads ([`Store::get`], [`Store::get_many`], [`Snapshot`]) see durable data only and never
//! wait for a writer.
//!
//! # Guarantees of a transaction
//!
//! Its writes become visible together or not at all. Transactions that lock every key whose value
//! they depend on are serializable. Reads of keys that are neither locked nor written return the
//! newest value, which may change before the commit. A thread must not begin a transaction while it
//! holds another one on the same store: it would deadlock with itself.
//!
//! # The epoch
//!
//! What is stored has a description (which tables there are, which indexes they keep) that every
//! writer holds in memory and every write depends on. Whoever changes it does so in an
//! [`Exclusive`], which begins a new *epoch*. A transaction names the epoch of the description it
//! was made by ([`Transaction::expect_epoch`]) and ends as *stale* if that is over: at the commit
//! of any write, its description is the one that is stored. A reader compares
//! [`Store::epoch`] with its description's **after** it has read.
//!
//! # Stores
//!
//! | store | durable | for |
//! |---|---|---|
//! | [`MemoryStore`] | no | tests, caches; forks in constant time |
//! | [`DiskStore`] | yes | everything else |
//! | `PostgresStore` (feature `postgres`) | as the database | many processes on one store |
//! | [`ReadOnlyStore`] | as found | inspecting a store on disk without changing it |
//! | [`FaultyStore`] | as the wrapped store | fault injection in tests of code above a store; [`Wrapped`] for other kinds of trouble |

#[cfg(feature = "disk")]
mod committer;
#[cfg_attr(not(feature = "disk"), expect(dead_code, reason = "the store on disk uses all of it"))]
mod condition;
#[cfg(feature = "disk")]
mod disk;
#[cfg_attr(
    not(any(feature = "disk", feature = "postgres")),
    expect(dead_code, reason = "durable stores use all of it")
)]
mod error;
mod exclusive;
mod faulty;
mod key;
mod locks;
mod lookup;
mod memory;
mod numbering;
#[cfg_attr(not(feature = "disk"), expect(dead_code, reason = "the store on disk uses all of it"))]
mod pending;
#[cfg(feature = "postgres")]
mod postgres;
mod range;
#[cfg_attr(
    not(any(feature = "disk", feature = "postgres")),
    expect(dead_code, reason = "durable stores use all of it")
)]
mod submission;
mod transaction;
mod wrapped;

use std::fmt;
use std::ops::Bound;
use std::time::Duration;

pub use bytes::Bytes;

#[cfg(feature = "disk")]
pub use disk::{BackupReport, BackupSource, BackupTarget, Inventory, Restored, restore_backup};
#[cfg(feature = "disk")]
pub use disk::{
    CutTail, DiskOptions, DiskStore, Durability, OpenReport, ReadOnlyStore, machine_memory_bytes,
};
#[cfg(feature = "disk")]
pub use disk::{Loss, RepairReport, RepairedStore, repair_store};
pub use error::{CommitError, StoreError};
pub use faulty::{Fault, Faults, FaultyStore};
pub use key::Key;
pub use lookup::{LookedUp, Lookup, PageLookup};
pub use memory::MemoryStore;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
pub use range::{Direction, KeyRange};
pub use submission::Submission;
pub use wrapped::{Wrapped, Wrapper};

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
    /// The connections by which all processes on the store commit; none where there is only this process.
    fn lanes(&self) -> Result<Vec<LaneStatus>, StoreError> {
        Ok(Vec::new())
    }

    /// The durable value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// The durable values of these keys, in the same order, all from one snapshot.
    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError>;

    /// A point-in-time view of the durable content. Later writes do not change it, and it blocks no
    /// writer.
    fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Like [`snapshot`](Self::snapshot), but of the moment of its first read: a store that is read
    /// over a network saves a round trip.
    fn late_snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError> {
        self.snapshot()
    }

    /// The beginning of a range at one moment, for a reader that wants no more than expected: a store
    /// that is read over a network answers with one statement. `None` if a snapshot is as cheap, or if
    /// this range needs one.
    fn first_page(
        &self,
        range: &KeyRange,
        direction: Direction,
        expected: Expected,
    ) -> Result<Option<FirstPage>, StoreError> {
        let _ = (range, direction, expected);
        Ok(None)
    }

    /// Begins to look keys up, for a caller that must not wait; perhaps `to_write`, with
    /// [`begin_with`](Self::begin_with). `None` if a read does not wait for a network, or if these keys need more than
    /// one question.
    fn look_up(&self, keys: &[&[u8]], to_write: bool) -> Option<Lookup> {
        let _ = (keys, to_write);
        None
    }

    /// Begins to read what [`first_page`](Self::first_page) reads, for a caller that must not wait. `None` like
    /// [`look_up`](Self::look_up).
    fn look_up_page(
        &self,
        range: &KeyRange,
        direction: Direction,
        expected: Expected,
    ) -> Option<PageLookup> {
        let _ = (range, direction, expected);
        None
    }

    /// Like [`begin_within`](Self::begin_within), for a caller that has [looked up](Self::look_up) these very keys: the
    /// transaction reads what was found, unless it knows better. `None`, too, if it would be of no use.
    fn begin_with<'a>(
        &'a self,
        locks: &[&[u8]],
        timeout: Duration,
        found: LookedUp,
    ) -> Result<Option<Box<dyn Transaction + 'a>>, StoreError> {
        drop(found);
        self.begin_within(locks, timeout)
    }

    /// Begins a transaction and locks these keys, waiting until all of them are locked.
    fn begin<'a>(&'a self, locks: &[&[u8]]) -> Result<Box<dyn Transaction + 'a>, StoreError>;

    /// Like [`begin`](Self::begin), but returns `None` if the locks are not acquired within
    /// `timeout`. A store that cannot bound the wait blocks.
    fn begin_within<'a>(
        &'a self,
        locks: &[&[u8]],
        timeout: Duration,
    ) -> Result<Option<Box<dyn Transaction + 'a>>, StoreError> {
        let _ = timeout;
        self.begin(locks).map(Some)
    }

    /// Begins a change of what every other transaction depends on. Waits until no other transaction
    /// is under way and lets none begin before it ends. Its reads see everything committed before.
    ///
    /// A thread that holds a transaction of this store must not call this, nor begin a transaction
    /// while it holds an exclusive one: it would wait for itself.
    fn exclusive<'a>(&'a self) -> Result<Box<dyn Exclusive + 'a>, StoreError>;

    /// The newest epoch that this store knows of: every exclusive change raises it. Cheap.
    ///
    /// Other processes may share the store. A description is of this epoch, or of a later one and
    /// its writes end as *stale*, if it is read *after* the epoch; what else is read is of this epoch
    /// if the method still returns it *after* the read.
    fn epoch(&self) -> u64;

    /// The sums of these counters (see [`Transaction::add`]), in the same order; zero for a counter
    /// that nothing was added to. Sees durable additions only.
    fn sum(&self, counters: &[&[u8]]) -> Result<Vec<i64>, StoreError>;

    /// The store's own clock, in milliseconds since 1970; `None` if it has none and the caller's is
    /// as good. Processes that share a store must agree on the time. Cheap.
    fn now_ms(&self) -> Option<u64> {
        None
    }

    /// Whether reads and [`begin`](Self::begin) may wait for a network: then they are not tried on a
    /// thread that must not block, however short the timeout.
    fn waits(&self) -> bool {
        false
    }

    /// Whether other processes may change the store while this one has it open: then an [`epoch`](Self::epoch) may
    /// begin that this process did not cause, and what is remembered of the store has to be compared with it.
    fn is_shared(&self) -> bool {
        false
    }

    /// Waits until every earlier submission is decided and visible to plain reads.
    fn settle(&self) -> Result<(), StoreError>;

    /// Reads everything and reports damage. Slow: a full scan.
    fn verify(&self) -> Result<Verification, StoreError>;

    /// Statistics of the store; cheap.
    fn stats(&self) -> Result<Stats, StoreError>;

    /// Whether the store accepts writes; cheap.
    fn health(&self) -> Health {
        Health::Ready
    }

    /// Numbers that identify this opening of the store; `None` if the store has no such numbers.
    fn openings(&self) -> Result<Option<Openings>, StoreError> {
        Ok(None)
    }

    /// Takes a snapshot of the store's files for a backup (see [`DiskStore::capture_source`]);
    /// `None` from a store without files.
    #[cfg(feature = "disk")]
    fn backup_source(&self) -> Option<Result<BackupSource, StoreError>> {
        None
    }

    /// Deletes every key that begins with `prefix`, `chunk` keys per transaction.
    ///
    /// For a background thread, and for keys that are no longer in use: nothing may be written
    /// under the prefix in the meantime, and reads under it return unspecified old or new state
    /// until this returns. (Earlier snapshots are unaffected.) No lock is held between chunks.
    /// After a crash in between, call it again. Logs and counters whose names begin with the prefix
    /// begin anew.
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
            // Starting after the last key keeps the next scan from stepping over the fresh
            // tombstones.
            Ok(()) => range.lower = Bound::Excluded(last),
            Err(CommitError::Conflict | CommitError::Stale) => {}
            Err(CommitError::Failed(error) | CommitError::Unknown(error)) => return Err(error),
        }
    }
}

/// The sums of counters that are entries.
fn sum_entries<S: Store>(store: &S, counters: &[&[u8]]) -> Result<Vec<i64>, StoreError> {
    let values = store.get_many(counters)?;
    let pairs = counters.iter().zip(&values);
    pairs.map(|(counter, value)| numbering::decode_sum(counter, value.as_ref())).collect()
}

/// Reads all entries of a snapshot in order.
#[cfg(any(feature = "disk", feature = "postgres"))]
fn verify_entries(snapshot: &dyn Snapshot, found: &mut Verification) {
    let mut last = None;
    for entry in snapshot.scan(KeyRange::all(), Direction::Forward) {
        let Ok((key, value)) = entry.map_err(|error| found.damage.push(error.to_string())) else {
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
}

/// A read-only, point-in-time view.
pub trait Snapshot: Send {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// The values of these keys, in the same order.
    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError>;

    /// The entries in a range. Lazy: entries are read as the iterator is advanced.
    fn scan(&self, range: KeyRange, direction: Direction) -> Entries<'_>;

    /// A scan whose reader expects to stop after so much. A store that is read over a network
    /// fetches that in one round trip and no more; a reader may still go on to the end.
    fn page(&self, range: KeyRange, direction: Direction, expected: Expected) -> Entries<'_> {
        let _ = expected;
        self.scan(range, direction)
    }
}

/// What [`Store::first_page`] has read.
#[derive(Debug)]
pub struct FirstPage {
    /// The entries, in the direction of the read.
    pub entries: Vec<(Bytes, Bytes)>,
    /// Whether the range has no more; else the page was cut where the reader expected to stop.
    pub is_whole: bool,
}

/// How much the reader of [`Snapshot::page`] expects to read: up to the first of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// How many entries it has.
    pub entries: usize,
    /// Bytes of keys and values.
    pub bytes: usize,
}

/// Reads and writes that take effect together.
///
/// Dropping a transaction releases its locks and writes nothing.
pub trait Transaction {
    /// The newest value of a key: this transaction's own write, else a pending one, else the
    /// durable one.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// The newest values of these keys, in the same order.
    fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError>;

    /// Sets a key. Size limits are checked when the transaction is submitted.
    fn put(&mut self, key: Bytes, value: Bytes);

    /// Removes a key, whether it exists or not.
    fn delete(&mut self, key: Bytes);

    /// Appends a record to a log. Its key is the log's name and a number, eight bytes in big-endian
    /// order, that the store gives it when the transaction commits.
    ///
    /// Numbers of a log rise in the order in which its records become visible: who has seen one
    /// finds no smaller one appear later. A number is not below `floor` and above all that the log
    /// has given. (A store that was reopened may know those only from records that are still there;
    /// `floor` is for what is known otherwise, such as the time.)
    fn append(&mut self, log: Bytes, floor: u64, record: Bytes);

    /// Adds to a counter, which [`Store::sum`] reads. Additions never conflict. The counter's name is
    /// a key of its own, not otherwise written; whether reads and scans show it is up to the store.
    fn add(&mut self, counter: Bytes, delta: i64);

    /// Makes the outcome *stale* unless the store's epoch is this one at the commit.
    fn expect_epoch(&mut self, epoch: u64);

    /// Holds a value until the outcome of the writes is decided. It is dropped once the writes are
    /// visible to plain reads, or are known never to be, and before the submission resolves. The
    /// drop runs on any thread and must not block.
    fn keep(&mut self, kept: Box<dyn Send>);

    /// Assigns the writes their position in the total order of writes and unlocks, without waiting
    /// for the disk. The submission resolves when they are durable.
    fn submit(self: Box<Self>) -> Result<Submission, CommitError>;

    /// Discards the writes. The submission resolves when everything this transaction has read is
    /// durable: only then may the caller act on it.
    fn submit_read(self: Box<Self>) -> Result<Submission, CommitError>;

    /// Writes everything and waits until it, and everything this transaction has read, is durable.
    fn commit(self: Box<Self>) -> Result<(), CommitError> {
        self.submit()?.wait()
    }

    /// [`Transaction::submit_read`], then waits for it.
    fn finish_read(self: Box<Self>) -> Result<(), StoreError> {
        self.submit_read().and_then(Submission::wait).map_err(StoreError::from)
    }
}

/// The one transaction under way in a store, which begins a new epoch. Dropping it writes nothing.
pub trait Exclusive {
    /// The epoch that this change ends.
    fn epoch(&self) -> u64;

    /// The value of a key: this change's own write, else the stored one.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// All entries in a range, with this change's own writes. For descriptions, which fit into
    /// memory.
    fn scan(&self, range: KeyRange) -> Result<Vec<(Bytes, Bytes)>, StoreError>;

    /// Sets a key.
    fn put(&mut self, key: Bytes, value: Bytes);

    /// Removes a key, whether it exists or not.
    fn delete(&mut self, key: Bytes);

    /// Appends to a log, like [`Transaction::append`].
    fn append(&mut self, log: Bytes, floor: u64, record: Bytes);

    /// Adds to a counter, like [`Transaction::add`].
    fn add(&mut self, counter: Bytes, delta: i64);

    /// Writes everything, begins the new epoch and returns it once that is durable. After an
    /// *unknown* outcome the caller reads again what it had read: the epoch may have changed.
    fn commit(self: Box<Self>) -> Result<u64, CommitError>;
}

/// Numbers that grow with every opening of a store, whichever version of this crate opens it, and
/// may also grow while it is open.
///
/// If `current` is saved before the store is closed and equals `previous` after it is opened again,
/// nothing else has opened the store in between. A store that cannot be reopened has zeros.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Openings {
    /// The number at the end of the last opening; zero for a new store.
    pub previous: u64,
    /// The number now.
    pub current: u64,
}

impl Openings {
    /// Whether the store can be reopened, which yields different numbers.
    pub fn are_told_apart(self) -> bool {
        self.current > self.previous
    }
}

/// Whether a store accepts writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Health {
    /// Reads and writes are accepted.
    #[default]
    Ready,
    /// Only reads are accepted.
    ReadOnly {
        /// Why writes are refused.
        reason: String,
        /// Whether this lasts until the store is reopened; otherwise writes are accepted again as
        /// soon as the reason is gone.
        restart_needed: bool,
    },
}

impl Health {
    /// Whether writes are accepted.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }
}

/// A connection that commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneStatus {
    /// The lane's unique id.
    pub id: i64,
    /// How many flights it has committed: groups of transactions.
    pub flights: i64,
    /// Milliseconds since its last heartbeat.
    pub silent_ms: i64,
    /// Whose it is.
    pub about: String,
}

/// The result of [`Store::verify`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// How many entries were read.
    pub entries: u64,
    /// Their keys and values, in bytes.
    pub bytes: u64,
    /// What is damaged, one line per finding; empty if the store is intact.
    pub damage: Vec<String>,
}

impl Verification {
    /// Whether no damage was found.
    pub fn is_intact(&self) -> bool {
        self.damage.is_empty()
    }
}

/// Statistics of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Entries, approximately: recently overwritten or deleted ones may be counted.
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
