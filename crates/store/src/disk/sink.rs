//! Makes groups of transactions durable: first in the log, then in the memtable.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{Counters, LogEnd};
use crate::committer::Sink;
use crate::condition::Condition;
use crate::disk::background::Work;
use crate::disk::directory::StoreDirectory;
use crate::disk::log::Log;
use crate::disk::log::directory::LogDirectory;
use crate::disk::log::recovery::Recovery;
use crate::disk::options::{DiskOptions, Durability, RELAXED_SYNC_AFTER};
use crate::disk::tree::Tree;
use crate::transaction::WriteSet;
use crate::{CommitError, StoreError};

/// More replayed segments than this are flushed right after opening, so that frequent reopening
/// does not accumulate small files.
const SEGMENTS_KEPT: usize = 4;

/// Syncing this many bytes takes about as long as an empty sync.
const QUICKLY_SYNCED: u64 = 256 << 10;

/// The committer's sink.
pub(crate) struct DiskSink {
    tail: Tail,
    directory: Arc<LogDirectory>,
    tree: Arc<Tree>,
    store_dir: Arc<StoreDirectory>,
    work: Arc<Work>,
    condition: Condition,
    options: DiskOptions,
    counters: Counters,
    last_sync: Instant,
    /// How far the full segment is being synced before the next one begins; zero while it is not
    /// full.
    rotation_sync_to: u64,
}

/// The end of the log.
enum Tail {
    /// The current segment.
    Written(Log),
    /// The segment is not created yet: the disk was full when the store was opened.
    Unbegun {
        /// The segment number.
        id: u64,
        /// The end of the previous segment.
        previous_end: u64,
    },
}

impl DiskSink {
    /// A sink without a current segment; see [`DiskSink::begin`].
    pub(super) fn new(
        directory: Arc<LogDirectory>,
        tree: Arc<Tree>,
        store_dir: Arc<StoreDirectory>,
        work: Arc<Work>,
        condition: Condition,
        options: DiskOptions,
        counters: Counters,
    ) -> Self {
        Self {
            tail: Tail::Unbegun { id: 1, previous_end: 0 },
            directory,
            tree,
            store_dir,
            work,
            condition,
            options,
            counters,
            last_sync: Instant::now(),
            rotation_sync_to: 0,
        }
    }

    /// Creates the segment after those that were recovered, and flushes these if they are many or
    /// large. If the disk is full, the store starts without a segment.
    pub(super) fn begin(&mut self, recovery: &Recovery) -> Result<(), StoreError> {
        let last = recovery.segments.last().copied().unwrap_or(0);
        let first = recovery.segments.first().copied().unwrap_or(last + 1);
        self.tail = Tail::Unbegun { id: last + 1, previous_end: recovery.last_end };
        self.note_end();
        let is_long =
            recovery.segments.len() > SEGMENTS_KEPT || recovery.bytes > self.options.memtable_bytes;
        self.store_dir.expect_segments_from(first);
        match self.log().map(drop) {
            Ok(()) if is_long => self.rotate(),
            Err(error @ StoreError::Full { .. }) => {
                self.probe_if_full(&error);
                Ok(())
            }
            begun => begun,
        }
    }

    /// The current segment, created if necessary.
    fn log(&mut self) -> Result<&mut Log, StoreError> {
        if let Tail::Unbegun { id, previous_end } = self.tail {
            self.store_dir.check()?;
            let (directory, syncs) =
                (Arc::clone(&self.directory), Arc::clone(&self.counters.syncs));
            let log = Log::create(directory, id, previous_end, syncs)?;
            self.enter(&log)?;
            self.tail = Tail::Written(log);
            self.note_end();
        }
        self.written()
    }

    /// Records the end of the log, for backups.
    fn note_end(&self) {
        let (segment, offset) = match &self.tail {
            Tail::Written(log) => (log.id(), log.len()),
            Tail::Unbegun { id, previous_end } => (id - 1, *previous_end),
        };
        *self.counters.log_end.lock() = LogEnd { segment, offset };
    }

    /// The current segment.
    fn written(&mut self) -> Result<&mut Log, StoreError> {
        match &mut self.tail {
            Tail::Written(log) => Ok(log),
            Tail::Unbegun { .. } => Err(StoreError::Engine {
                action: "write the log".into(),
                detail: "its segment is not created".into(),
            }),
        }
    }

    /// Adds a new segment to the manifest; records may be written only after that.
    fn enter(&self, log: &Log) -> Result<(), StoreError> {
        let tables = self.tree.version();
        self.store_dir.record(|contents| {
            contents.last_segment = log.id();
            contents.tables = tables;
            contents.flushing = 0;
            contents.closed_at = None;
        })
    }

    /// Makes the background threads probe for free space.
    fn probe_if_full(&self, error: &StoreError) {
        if let StoreError::Full { cause } = error {
            self.condition.is_full(cause);
            self.work.probe_for_space();
        }
    }

    /// Allocates space. May fail without consequence: nothing of the group has been written.
    fn prepare(&mut self) -> Result<(), StoreError> {
        let full_at = self.options.memtable_bytes;
        if self.log()?.len() >= full_at && !self.rotation_can_wait()? {
            self.rotate()?;
        }
        self.work.stall()
    }

    /// A segment may begin only when the previous one is durable. With relaxed durability it is
    /// synced in the background while the full segment grows a little further.
    fn rotation_can_wait(&mut self) -> Result<bool, StoreError> {
        let overfull = self.options.memtable_bytes + self.options.memtable_bytes / 4;
        let is_sync = self.options.durability == Durability::Sync;
        let sync_ordered_to = self.rotation_sync_to;
        let log = self.log()?;
        if is_sync || log.unsynced_bytes() < QUICKLY_SYNCED || log.len() >= overfull {
            return Ok(false);
        }
        // Fast writers append much during a sync; then another sync follows.
        if log.durable_to() >= sync_ordered_to {
            self.rotation_sync_to = log.len();
            self.sync_behind()?;
        }
        Ok(true)
    }

    fn rotate(&mut self) -> Result<(), StoreError> {
        self.store_dir.check()?;
        let log = self.log()?;
        let full = log.id();
        let next = log.next()?;
        self.enter(&next)?;
        self.tail = Tail::Written(next);
        self.note_end();
        self.rotation_sync_to = 0;
        self.tree.rotate();
        self.work.flush_to(full);
        Ok(())
    }

    /// Makes a record as durable as configured.
    fn secure(&mut self) -> Result<(), StoreError> {
        match self.options.durability {
            Durability::Sync => self.log()?.sync(),
            Durability::Relaxed if self.last_sync.elapsed() >= RELAXED_SYNC_AFTER => {
                self.sync_behind()
            }
            Durability::Relaxed => Ok(()),
        }
    }

    /// Makes everything committed durable.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        match &mut self.tail {
            Tail::Written(log) => log.sync(),
            Tail::Unbegun { .. } => Ok(()),
        }
    }

    /// Requests a sync in the background.
    fn sync_behind(&mut self) -> Result<(), StoreError> {
        let unsynced = self.log()?.unsynced();
        self.work.sync_soon(unsynced, self.rotation_sync_to > 0);
        self.last_sync = Instant::now();
        Ok(())
    }

    fn write(&mut self, group: &[&WriteSet]) -> Result<(), CommitError> {
        let tree = Arc::clone(&self.tree);
        let order = tree.order();
        let numbered: Vec<(u64, &WriteSet)> =
            group.iter().map(|writes| (tree.next_number(&order), *writes)).collect();
        let log = self.log().map_err(CommitError::Failed)?;
        log.append(&numbered).map_err(|error| roll_back(log, error))?;
        let written = log.unsynced();
        *self.counters.tail.lock() = Some(written);
        self.note_end();
        self.secure().map_err(CommitError::Unknown)?;
        tree.apply(&order, &numbered);
        Ok(())
    }

    /// Appends a seal, which says that the whole log is durable, if there is space for it.
    fn seal(&mut self) -> Result<(), StoreError> {
        let Tail::Written(log) = &mut self.tail else { return Ok(()) };
        match log.seal().map_err(|error| roll_back(log, error)) {
            Ok(()) | Err(CommitError::Failed(StoreError::Full { .. })) => {}
            Err(error) => return Err(error.into()),
        }
        self.note_end();
        Ok(())
    }
}

/// Classifies a failed append: on a full disk nothing was written if the log can be truncated to
/// its old end; otherwise the outcome is unknown.
fn roll_back(log: &mut Log, error: StoreError) -> CommitError {
    match error {
        StoreError::Full { .. } => match log.cut_back() {
            Ok(()) => CommitError::Failed(error),
            Err(worse) => CommitError::Unknown(worse),
        },
        error => CommitError::Unknown(error),
    }
}

impl Sink for DiskSink {
    fn commit(&mut self, group: &[&WriteSet]) -> Result<(), CommitError> {
        let committed =
            self.prepare().map_err(CommitError::Failed).and_then(|()| self.write(group));
        if let Err(CommitError::Failed(error)) = &committed {
            self.probe_if_full(error);
        }
        committed?;
        self.counters.commits.fetch_add(group.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn on_idle(&mut self) -> Result<bool, StoreError> {
        let Tail::Written(log) = &mut self.tail else { return Ok(true) };
        match self.options.durability {
            Durability::Sync => log.sync()?,
            // A writer that arrives now must not wait for the disk.
            Durability::Relaxed if log.unsynced_bytes() > 0 => {
                self.sync_behind()?;
                return Ok(false);
            }
            Durability::Relaxed => {}
        }
        self.seal()?;
        Ok(true)
    }

    fn close(&mut self) -> Result<(), StoreError> {
        let Tail::Written(log) = &mut self.tail else { return Ok(()) };
        log.sync()?;
        self.seal()?;
        let log = self.written()?;
        log.sync()?;
        let end = log.len();
        self.counters.closed_at.store(end, Ordering::Release);
        Ok(())
    }
}
