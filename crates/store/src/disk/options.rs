//! Options for opening a disk store, and the report of an opening.

use std::time::Duration;

use crate::disk::cache_size::default_cache_bytes;
use crate::disk::log::recovery::CutTail;

/// What a commit guarantees when it returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// The data survives power failure: it has been synced.
    #[default]
    Sync,
    /// The data survives the end of the process; it is synced within a second, and on close. A
    /// power failure may lose the last second of commits, but never part of a transaction.
    Relaxed,
}

/// How long [`Durability::Relaxed`] leaves data unsynced.
pub(crate) const RELAXED_SYNC_AFTER: Duration = Duration::from_millis(500);

/// Settings of a [`DiskStore`](crate::DiskStore). The defaults suit most uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskOptions {
    /// The guarantee of a commit.
    pub durability: Durability,
    /// Size of the block cache, filled as blocks are read. By default an eighth of the machine's
    /// memory, or of the container's limit on Linux; at least 64 MiB and at most 2 GiB. Blocks that
    /// do not fit are read from the page cache, at about twice the cost.
    pub cache_bytes: u64,
    /// Size at which a memtable is flushed to a table. Bounds the memory for recent writes, the log
    /// on disk (about four times this) and the time to open after a crash.
    pub memtable_bytes: u64,
}

impl Default for DiskOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            cache_bytes: default_cache_bytes(),
            memtable_bytes: 32 << 20,
        }
    }
}

/// What was found when a store was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// The store was created by this opening.
    pub created: bool,
    /// Transactions replayed from the log.
    pub replayed_transactions: u64,
    /// The unacknowledged, torn tail of the log after a crash; it has been truncated.
    pub cut: Option<CutTail>,
}
