//! Where groups of transactions become durable: the log, then the memtable.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{Counters, LogEnd};
use crate::committer::Sink;
use crate::condition::Condition;
use crate::disk::background::Work;
use crate::disk::home::Home;
use crate::disk::log::Log;
use crate::disk::log::directory::LogDirectory;
use crate::disk::log::recovery::Recovery;
use crate::disk::options::{DiskOptions, Durability, RELAXED_SYNC_AFTER};
use crate::disk::tree::Tree;
use crate::transaction::WriteSet;
use crate::{CommitError, StoreError};

/// Replayed segments beyond this many are flushed right after opening, so that reopening often
/// does not pile up small files.
const SEGMENTS_KEPT: usize = 4;

/// So many bytes are synced in the time that a sync of nothing takes.
const QUICKLY_SYNCED: u64 = 256 << 10;

/// What the committer writes to.
pub(crate) struct DiskSink {
    tail: Tail,
    directory: Arc<LogDirectory>,
    tree: Arc<Tree>,
    home: Arc<Home>,
    work: Arc<Work>,
    condition: Condition,
    options: DiskOptions,
    counters: Counters,
    last_sync: Instant,
    /// How far the full segment is being synced before the next begins; zero while it is not full.
    rotation_sync_to: u64,
}

/// The end of the log.
enum Tail {
    /// The segment that is being written.
    Written(Log),
    /// The segment that has yet to begin: there was no room for it when the store was opened.
    Unbegun {
        /// Its number.
        id: u64,
        /// Where the segment before ends.
        previous_end: u64,
    },
}

impl DiskSink {
    /// A sink without a segment to write to; see [`DiskSink::begin`].
    pub(super) fn new(
        directory: Arc<LogDirectory>,
        tree: Arc<Tree>,
        home: Arc<Home>,
        work: Arc<Work>,
        condition: Condition,
        options: DiskOptions,
        counters: Counters,
    ) -> Self {
        Self {
            tail: Tail::Unbegun { id: 1, previous_end: 0 },
            directory,
            tree,
            home,
            work,
            condition,
            options,
            counters,
            last_sync: Instant::now(),
            rotation_sync_to: 0,
        }
    }

    /// Begins the segment after those that were found, and flushes those if there are many or they are
    /// large. Without room for it, the store begins without a segment.
    pub(super) fn begin(&mut self, recovery: &Recovery) -> Result<(), StoreError> {
        let last = recovery.segments.last().copied().unwrap_or(0);
        let first = recovery.segments.first().copied().unwrap_or(last + 1);
        self.tail = Tail::Unbegun { id: last + 1, previous_end: recovery.last_end };
        self.note_end();
        let is_long =
            recovery.segments.len() > SEGMENTS_KEPT || recovery.bytes > self.options.memtable_bytes;
        self.home.expect_segments_from(first);
        match self.log().map(drop) {
            Ok(()) if is_long => self.rotate(),
            Err(error @ StoreError::Full { .. }) => {
                self.wait_for_room(&error);
                Ok(())
            }
            begun => begun,
        }
    }

    /// The segment that is being written, begun if need be.
    fn log(&mut self) -> Result<&mut Log, StoreError> {
        if let Tail::Unbegun { id, previous_end } = self.tail {
            self.home.check()?;
            let (directory, syncs) =
                (Arc::clone(&self.directory), Arc::clone(&self.counters.syncs));
            let log = Log::create(directory, id, previous_end, syncs)?;
            self.enter(&log)?;
            self.tail = Tail::Written(log);
            self.note_end();
        }
        self.written()
    }

    /// Notes where the log ends, for backups.
    fn note_end(&self) {
        let (segment, offset) = match &self.tail {
            Tail::Written(log) => (log.id(), log.len()),
            Tail::Unbegun { id, previous_end } => (id - 1, *previous_end),
        };
        *self.counters.log_end.lock() = LogEnd { segment, offset };
    }

    /// The segment that is being written.
    fn written(&mut self) -> Result<&mut Log, StoreError> {
        match &mut self.tail {
            Tail::Written(log) => Ok(log),
            Tail::Unbegun { .. } => Err(StoreError::Engine {
                action: "write the log".into(),
                detail: "its segment has not begun".into(),
            }),
        }
    }

    /// Enters a new segment in the manifest; only then may it have records.
    fn enter(&self, log: &Log) -> Result<(), StoreError> {
        let tables = self.tree.version();
        self.home.record(|contents| {
            contents.last_segment = log.id();
            contents.tables = tables;
            contents.flushing = 0;
            contents.closed_at = None;
        })
    }

    /// Has the background find out when there is room again.
    fn wait_for_room(&self, error: &StoreError) {
        if let StoreError::Full { cause } = error {
            self.condition.is_full(cause);
            self.work.watch_for_room();
        }
    }

    /// Makes room, and may fail without consequence: nothing of the group has been written.
    fn prepare(&mut self) -> Result<(), StoreError> {
        let full_at = self.options.memtable_bytes;
        if self.log()?.len() >= full_at && !self.rotation_can_wait()? {
            self.rotate()?;
        }
        self.work.wait_for_room()
    }

    /// A segment may begin only when the one before is durable. Where commits do not wait for the
    /// disk, that is made so in the background while the full segment grows a little further.
    fn rotation_can_wait(&mut self) -> Result<bool, StoreError> {
        let overfull = self.options.memtable_bytes + self.options.memtable_bytes / 4;
        let is_sync = self.options.durability == Durability::Sync;
        let sync_ordered_to = self.rotation_sync_to;
        let log = self.log()?;
        if is_sync || log.unsynced_bytes() < QUICKLY_SYNCED || log.len() >= overfull {
            return Ok(false);
        }
        // Fast writers write much while a sync runs; then another one follows it.
        if log.durable_to() >= sync_ordered_to {
            self.rotation_sync_to = log.len();
            self.sync_behind()?;
        }
        Ok(true)
    }

    fn rotate(&mut self) -> Result<(), StoreError> {
        self.home.check()?;
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

    /// Makes a record as durable as its writers were promised.
    fn secure(&mut self) -> Result<(), StoreError> {
        match self.options.durability {
            Durability::Sync => self.log()?.sync(),
            Durability::Relaxed if self.last_sync.elapsed() >= RELAXED_SYNC_AFTER => {
                self.sync_behind()
            }
            Durability::Relaxed => Ok(()),
        }
    }

    /// Makes everything durable that was committed.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        match &mut self.tail {
            Tail::Written(log) => log.sync(),
            Tail::Unbegun { .. } => Ok(()),
        }
    }

    /// Has the log synced in the background.
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
        log.append(&numbered).map_err(|error| took_back(log, error))?;
        let written = log.unsynced();
        *self.counters.tail.lock() = Some(written);
        self.note_end();
        self.secure().map_err(CommitError::Unknown)?;
        tree.apply(&order, &numbered);
        Ok(())
    }

    /// Leaves word in the log that all of it is durable, if there is room for it.
    fn seal(&mut self) -> Result<(), StoreError> {
        let Tail::Written(log) = &mut self.tail else { return Ok(()) };
        match log.seal().map_err(|error| took_back(log, error)) {
            Ok(()) | Err(CommitError::Failed(StoreError::Full { .. })) => {}
            Err(error) => return Err(error.into()),
        }
        self.note_end();
        Ok(())
    }
}

/// What a failed append means: without room it was not written, if the log can be cut where it ended.
/// Otherwise nobody knows.
fn took_back(log: &mut Log, error: StoreError) -> CommitError {
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
            self.wait_for_room(error);
        }
        committed?;
        self.counters.commits.fetch_add(group.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn tidy(&mut self) -> Result<bool, StoreError> {
        let Tail::Written(log) = &mut self.tail else { return Ok(true) };
        match self.options.durability {
            Durability::Sync => log.sync()?,
            // Who comes just now must not wait for the disk.
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
