//! The background threads of a disk store: one flushes full memtables to tables and removes the log
//! segments that this makes obsolete, one compacts tables and reclaims garbage, and with relaxed
//! durability one syncs the log.
//!
//! They are separate because a long compaction must not delay a flush, which writers may wait for,
//! nor a flush the sync, which is promised within a second.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::StoreError;
use crate::condition::Condition;
use crate::disk::directory::StoreDirectory;
use crate::disk::log::directory::LogDirectory;
use crate::disk::log::syncing::Unsynced;
use crate::disk::options::{DiskOptions, Durability};
use crate::disk::reclaim::{self, Reclaimer};
use crate::disk::tree::Tree;

/// Write stall: writers wait while this many memtables are unflushed …
const UNFLUSHED_LIMIT: usize = 3;

/// … or this many level-0 runs are uncompacted, because reads would become slow.
const UNCOMPACTED_LIMIT: usize = 20;

/// Writes are accepted again when a full disk has this much space, or one memtable if that is less.
const ENOUGH_SPACE: u64 = 4 << 20;

/// Retry interval on a full disk: initial and maximum.
const RETRY_INTERVAL: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));

/// The background threads of one store.
pub(crate) struct Background {
    work: Arc<Work>,
    threads: Vec<JoinHandle<()>>,
}

/// State shared by the threads and the writers.
pub(crate) struct Work {
    tree: Arc<Tree>,
    log: Arc<LogDirectory>,
    store_dir: Arc<StoreDirectory>,
    condition: Condition,
    tail: Arc<Mutex<Option<Unsynced>>>,
    options: DiskOptions,
    requests: Mutex<Requests>,
    changed: Condvar,
}

#[derive(Default)]
struct Requests {
    /// The memtables of all segments up to this one are sealed.
    sealed_to: u64,
    flushed_to: u64,
    compact: bool,
    sync: Option<Unsynced>,
    /// A new segment is about to begin.
    prepare: bool,
    /// The disk is full, and its free space must be probed.
    wants_space: bool,
    closing: bool,
}

impl Background {
    /// Starts the threads.
    pub(crate) fn start(
        tree: Arc<Tree>,
        log: Arc<LogDirectory>,
        store_dir: Arc<StoreDirectory>,
        condition: Condition,
        tail: Arc<Mutex<Option<Unsynced>>>,
        options: DiskOptions,
    ) -> Result<Self, StoreError> {
        let requests = Mutex::new(Requests { compact: true, ..Requests::default() });
        let changed = Condvar::new();
        let work =
            Arc::new(Work { tree, log, store_dir, condition, tail, options, requests, changed });
        let mut background = Self { work, threads: Vec::new() };
        background.spawn("keyloom-flush", Work::flush_loop)?;
        background.spawn("keyloom-compact", Work::compact_loop)?;
        if options.durability == Durability::Relaxed {
            background.spawn("keyloom-sync", Work::sync_loop)?;
        }
        Ok(background)
    }

    fn spawn(
        &mut self,
        name: &str,
        run: fn(&Work) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let work = Arc::clone(&self.work);
        let guarded = move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| run(&work)));
            if let Err(error) = outcome.unwrap_or_else(|_| Err(panicked())) {
                work.condition.poison(&error);
                work.changed.notify_all();
            }
        };
        let thread = thread::Builder::new()
            .name(name.into())
            .spawn(guarded)
            .map_err(|error| StoreError::io(format!("start the thread {name}"), error))?;
        self.threads.push(thread);
        Ok(())
    }

    /// The part that writers use.
    pub(crate) fn work(&self) -> Arc<Work> {
        Arc::clone(&self.work)
    }
}

impl Background {
    /// Stops the threads after their current step.
    pub(crate) fn stop(&mut self) {
        self.work.requests.lock().closing = true;
        self.work.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A panic has already poisoned the store.
            let _ = thread.join();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Work {
    /// Requests a flush: the memtables of all segments up to `segment` are sealed.
    pub(crate) fn flush_to(&self, segment: u64) {
        let mut requests = self.requests.lock();
        requests.sealed_to = requests.sealed_to.max(segment);
        self.changed.notify_all();
    }

    /// Requests a sync of the log without waiting for it; if a new segment is about to begin, its
    /// file is created first.
    pub(crate) fn sync_soon(&self, unsynced: Unsynced, is_full: bool) {
        let mut requests = self.requests.lock();
        requests.sync = Some(unsynced);
        requests.prepare |= is_full;
        drop(requests);
        self.changed.notify_all();
    }

    /// Requests probing for free space on a full disk.
    pub(crate) fn probe_for_space(&self) {
        self.requests.lock().wants_space = true;
        self.changed.notify_all();
    }

    /// Stalls the writer while the threads are too far behind.
    pub(crate) fn stall(&self) -> Result<(), StoreError> {
        while self.tree.unflushed() >= UNFLUSHED_LIMIT
            || self.tree.uncompacted() >= UNCOMPACTED_LIMIT
        {
            self.condition.check()?;
            self.changed.wait_for(&mut self.requests.lock(), Duration::from_millis(10));
        }
        self.condition.check()
    }

    fn flush_loop(&self) -> Result<(), StoreError> {
        let mut pause = RETRY_INTERVAL.0;
        loop {
            let mut requests = self.requests.lock();
            while requests.sealed_to == requests.flushed_to && !requests.wants_space {
                if requests.closing {
                    return Ok(());
                }
                self.changed.wait(&mut requests);
            }
            let (from, to) = (requests.flushed_to, requests.sealed_to);
            let wanted_space = std::mem::take(&mut requests.wants_space);
            drop(requests);
            match self.flush(from, to, wanted_space) {
                Ok(()) => {}
                Err(StoreError::Full { cause }) => {
                    self.condition.is_full(&cause);
                    if self.back_off(&mut pause) {
                        return Ok(());
                    }
                    continue;
                }
                Err(error) => return Err(error),
            }
            if wanted_space {
                self.condition.has_space();
                pause = RETRY_INTERVAL.0;
            }
            let mut requests = self.requests.lock();
            requests.flushed_to = to;
            requests.compact = true;
            self.changed.notify_all();
        }
    }

    fn flush(&self, from: u64, to: u64, wanted_space: bool) -> Result<(), StoreError> {
        if wanted_space {
            self.tree.remove_orphans()?;
            self.store_dir.probe_space(self.options.memtable_bytes.min(ENOUGH_SPACE))?;
        }
        if from == to {
            return Ok(());
        }
        self.store_dir.check()?;
        self.tree.flush()?;
        self.remove_segments(from, to)
    }

    /// Backs off before the next attempt on a full disk; returns whether the store is closing.
    fn back_off(&self, pause: &mut Duration) -> bool {
        let mut requests = self.requests.lock();
        requests.wants_space = true;
        // The compaction thread leaves the probe to the flush thread, which may be asleep.
        self.changed.notify_all();
        self.changed.wait_while_for(&mut requests, |requests| !requests.closing, *pause);
        *pause = (*pause * 2).min(RETRY_INTERVAL.1);
        requests.closing
    }

    /// Removes segments whose content is in tables, oldest first, after the manifest no longer
    /// requires them.
    fn remove_segments(&self, from: u64, to: u64) -> Result<(), StoreError> {
        let tables = self.tree.version();
        self.store_dir.record(|contents| {
            contents.first_segment = contents.first_segment.max(to + 1);
            contents.tables = contents.tables.max(tables);
        })?;
        let listed = self.log.list().map_err(|error| StoreError::io("list the log", error))?;
        for id in listed.into_iter().filter(|id| *id > from && *id <= to) {
            self.log.remove(id).map_err(|error| {
                StoreError::io(format!("remove {}", self.log.name(id).display()), error)
            })?;
        }
        Ok(())
    }

    fn sync_loop(&self) -> Result<(), StoreError> {
        let mut requests = self.requests.lock();
        loop {
            if let Some(unsynced) = requests.sync.take() {
                let prepare = std::mem::take(&mut requests.prepare);
                drop(requests);
                if prepare {
                    self.log.prepare();
                }
                unsynced.sync()?;
                requests = self.requests.lock();
            } else if requests.closing {
                return Ok(());
            } else {
                self.changed.wait(&mut requests);
            }
        }
    }

    /// Compacts until no level is over its threshold; returns whether the store is closing.
    fn compact_levels(&self, pause: &mut Duration) -> Result<bool, StoreError> {
        loop {
            self.store_dir.check()?;
            match self.tree.compact() {
                Ok(false) => return Ok(false),
                Ok(true) => {
                    *pause = RETRY_INTERVAL.0;
                    self.changed.notify_all();
                }
                Err(StoreError::Full { cause }) => {
                    self.condition.is_full(&cause);
                    if self.back_off(pause) {
                        return Ok(true);
                    }
                }
                Err(error) => return Err(error),
            }
            if self.requests.lock().closing {
                return Ok(true);
            }
        }
    }

    fn compact_loop(&self) -> Result<(), StoreError> {
        let mut pause = RETRY_INTERVAL.0;
        let mut reclaimer = Reclaimer::new(self.options.memtable_bytes, &self.tree);
        let mut next_check = Instant::now() + reclaim::EVERY;
        loop {
            let mut requests = self.requests.lock();
            while !requests.closing && !requests.compact && Instant::now() < next_check {
                self.changed.wait_until(&mut requests, next_check);
            }
            if requests.closing {
                return Ok(());
            }
            let is_ordered = std::mem::take(&mut requests.compact);
            drop(requests);
            if is_ordered && self.compact_levels(&mut pause)? {
                return Ok(());
            }
            if Instant::now() >= next_check {
                let is_urgent = || {
                    let requests = self.requests.lock();
                    requests.closing || requests.compact
                };
                let result =
                    reclaimer.run(&self.tree, is_urgent, |number| self.enter_flushing(number));
                // Reclaiming space needs some at first; without it, the garbage stays.
                match result {
                    Ok(()) | Err(StoreError::Full { .. }) => {}
                    Err(error) => return Err(error),
                }
                next_check = Instant::now() + reclaim::EVERY;
            }
        }
    }
}

impl Work {
    /// Records durably that the tables may hold transactions of the newest segment up to this
    /// number, all of which are in the log.
    pub(crate) fn enter_flushing(&self, number: u64) -> Result<(), StoreError> {
        let tail = self.tail.lock().as_ref().map(Unsynced::again);
        tail.map_or(Ok(()), |tail| tail.sync())?;
        self.store_dir.record(|contents| contents.flushing = contents.flushing.max(number))
    }
}

fn panicked() -> StoreError {
    let detail = "the storage engine panicked".to_owned();
    StoreError::Engine { action: "maintain the tables".into(), detail }
}
