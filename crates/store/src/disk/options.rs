//! How to open a store on disk, and what happened when it was.

use std::time::Duration;

use crate::disk::cache_size::default_cache_bytes;
use crate::disk::log::recovery::CutTail;

/// What a writer may rely on when its commit returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// The data survives power failure: it has been synced.
    #[default]
    Sync,
    /// The data survives the end of the process; it is synced within a second, and on close.
    /// Power failure may lose the last moments, though never part of a transaction.
    Relaxed,
}

/// How long [`Durability::Relaxed`] leaves data unsynced.
pub(crate) const RELAXED_SYNC_AFTER: Duration = Duration::from_millis(500);

/// Settings of a [`DiskStore`](crate::DiskStore). The defaults suit most uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskOptions {
    /// When a commit returns.
    pub durability: Durability,
    /// Memory for blocks read from tables, taken as they are read. By default an eighth of the
    /// memory of the machine, or of the container's limit on Linux; at least 64 MiB and at most
    /// 2 GiB. What does not fit is read from the system's page cache, at about twice the cost.
    pub cache_bytes: u64,
    /// How much is written to memory and log before it goes to a table. Bounds the memory for
    /// recent writes, the log on disk (about four times this) and the time to open after a crash.
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
    /// The store was made just now.
    pub created: bool,
    /// Transactions read back from the log.
    pub replayed_transactions: u64,
    /// The unacknowledged end of the log, if a crash tore it; it has been cut.
    pub cut: Option<CutTail>,
}
