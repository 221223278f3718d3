//! The threads behind a store on disk: one writes full memtables to tables and removes the log
//! segments that this makes superfluous, one compacts tables and clears garbage away, and if commits do not wait for the
//! disk, one syncs the log behind their backs.
//!
//! They are apart because a long compaction must not hold up a flush, which writers may wait for,
//! nor a flush the sync, which is promised within a second.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::StoreError;
use crate::condition::Condition;
use crate::disk::home::Home;
use crate::disk::log::directory::LogDirectory;
use crate::disk::log::syncing::Unsynced;
use crate::disk::options::{DiskOptions, Durability};
use crate::disk::reclaim::{self, Reclaimer};
use crate::disk::tree::Tree;

/// Writers wait while this many memtables are unflushed …
const UNFLUSHED_LIMIT: usize = 3;

/// … or this many layers of tables uncompacted: reads would become slow.
const UNCOMPACTED_LIMIT: usize = 20;

/// Writes are accepted again when a full disk takes so many bytes, or a memtable if that is less.
const ROOM: u64 = 4 << 20;

/// How long a thread waits before it tries a full disk again: at first, and at most.
const ROOM_PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));

/// The threads of one store.
pub(crate) struct Background {
    work: Arc<Work>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads and the writers share.
pub(crate) struct Work {
    tree: Arc<Tree>,
    log: Arc<LogDirectory>,
    home: Arc<Home>,
    condition: Condition,
    tail: Arc<Mutex<Option<Unsynced>>>,
    options: DiskOptions,
    orders: Mutex<Orders>,
    changed: Condvar,
}

#[derive(Default)]
struct Orders {
    /// The memtables of all segments up to this one are sealed.
    sealed_to: u64,
    flushed_to: u64,
    compact: bool,
    sync: Option<Unsynced>,
    /// A new segment is about to begin.
    prepare: bool,
    /// The disk is full, and somebody must find out when there is room again.
    wants_room: bool,
    closing: bool,
}

impl Background {
    /// Starts the threads.
    pub(crate) fn start(
        tree: Arc<Tree>,
        log: Arc<LogDirectory>,
        home: Arc<Home>,
        condition: Condition,
        tail: Arc<Mutex<Option<Unsynced>>>,
        options: DiskOptions,
    ) -> Result<Self, StoreError> {
        let orders = Mutex::new(Orders { compact: true, ..Orders::default() });
        let changed = Condvar::new();
        let work = Arc::new(Work { tree, log, home, condition, tail, options, orders, changed });
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

    /// What writers need of it.
    pub(crate) fn work(&self) -> Arc<Work> {
        Arc::clone(&self.work)
    }
}

impl Background {
    /// Ends the threads, after what they are at.
    pub(crate) fn stop(&mut self) {
        self.work.orders.lock().closing = true;
        self.work.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A panic has poisoned the store already.
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
    /// Orders a flush: the memtables of all segments up to `segment` have been sealed.
    pub(crate) fn flush_to(&self, segment: u64) {
        let mut orders = self.orders.lock();
        orders.sealed_to = orders.sealed_to.max(segment);
        self.changed.notify_all();
    }

    /// Orders a sync of the log, and does not wait for it; if a segment is about to begin, its file
    /// is made first.
    pub(crate) fn sync_soon(&self, unsynced: Unsynced, is_full: bool) {
        let mut orders = self.orders.lock();
        orders.sync = Some(unsynced);
        orders.prepare |= is_full;
        drop(orders);
        self.changed.notify_all();
    }

    /// Orders to find out when a full disk has room again.
    pub(crate) fn watch_for_room(&self) {
        self.orders.lock().wants_room = true;
        self.changed.notify_all();
    }

    /// Waits while the threads are too far behind the writers.
    pub(crate) fn wait_for_room(&self) -> Result<(), StoreError> {
        while self.tree.unflushed() >= UNFLUSHED_LIMIT
            || self.tree.uncompacted() >= UNCOMPACTED_LIMIT
        {
            self.condition.check()?;
            self.changed.wait_for(&mut self.orders.lock(), Duration::from_millis(10));
        }
        self.condition.check()
    }

    fn flush_loop(&self) -> Result<(), StoreError> {
        let mut pause = ROOM_PAUSE.0;
        loop {
            let mut orders = self.orders.lock();
            while orders.sealed_to == orders.flushed_to && !orders.wants_room {
                if orders.closing {
                    return Ok(());
                }
                self.changed.wait(&mut orders);
            }
            let (from, to) = (orders.flushed_to, orders.sealed_to);
            let wanted_room = std::mem::take(&mut orders.wants_room);
            drop(orders);
            match self.flush(from, to, wanted_room) {
                Ok(()) => {}
                Err(StoreError::Full { cause }) => {
                    self.condition.is_full(&cause);
                    if self.pause_for_room(&mut pause) {
                        return Ok(());
                    }
                    continue;
                }
                Err(error) => return Err(error),
            }
            if wanted_room {
                self.condition.has_room();
                pause = ROOM_PAUSE.0;
            }
            let mut orders = self.orders.lock();
            orders.flushed_to = to;
            orders.compact = true;
            self.changed.notify_all();
        }
    }

    fn flush(&self, from: u64, to: u64, wanted_room: bool) -> Result<(), StoreError> {
        if wanted_room {
            self.tree.remove_orphans()?;
            self.home.probe_room(self.options.memtable_bytes.min(ROOM))?;
        }
        if from == to {
            return Ok(());
        }
        self.home.check()?;
        self.tree.flush()?;
        self.remove_segments(from, to)
    }

    /// Waits before the disk is tried again, longer each time; returns whether the store is closing.
    fn pause_for_room(&self, pause: &mut Duration) -> bool {
        let mut orders = self.orders.lock();
        orders.wants_room = true;
        if !orders.closing {
            self.changed.wait_for(&mut orders, *pause);
        }
        *pause = (*pause * 2).min(ROOM_PAUSE.1);
        orders.closing
    }

    /// Removes segments whose content is in tables now, oldest first, after the manifest has stopped
    /// to expect them.
    fn remove_segments(&self, from: u64, to: u64) -> Result<(), StoreError> {
        let tables = self.tree.version();
        self.home.record(|contents| {
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
        let mut orders = self.orders.lock();
        loop {
            if let Some(unsynced) = orders.sync.take() {
                let prepare = std::mem::take(&mut orders.prepare);
                drop(orders);
                if prepare {
                    self.log.prepare();
                }
                unsynced.sync()?;
                orders = self.orders.lock();
            } else if orders.closing {
                return Ok(());
            } else {
                self.changed.wait(&mut orders);
            }
        }
    }

    /// Compacts until the levels are in shape; returns whether the store is closing.
    fn compact_levels(&self, pause: &mut Duration) -> Result<bool, StoreError> {
        loop {
            self.home.check()?;
            match self.tree.compact() {
                Ok(false) => return Ok(false),
                Ok(true) => {
                    *pause = ROOM_PAUSE.0;
                    self.changed.notify_all();
                }
                Err(StoreError::Full { cause }) => {
                    self.condition.is_full(&cause);
                    if self.pause_for_room(pause) {
                        return Ok(true);
                    }
                }
                Err(error) => return Err(error),
            }
            if self.orders.lock().closing {
                return Ok(true);
            }
        }
    }

    fn compact_loop(&self) -> Result<(), StoreError> {
        let mut pause = ROOM_PAUSE.0;
        let mut reclaimer = Reclaimer::new(self.options.memtable_bytes, &self.tree);
        let mut next_look = Instant::now() + reclaim::EVERY;
        loop {
            let mut orders = self.orders.lock();
            while !orders.closing && !orders.compact && Instant::now() < next_look {
                self.changed.wait_until(&mut orders, next_look);
            }
            if orders.closing {
                return Ok(());
            }
            let is_ordered = std::mem::take(&mut orders.compact);
            drop(orders);
            if is_ordered && self.compact_levels(&mut pause)? {
                return Ok(());
            }
            if Instant::now() >= next_look {
                let is_urgent = || {
                    let orders = self.orders.lock();
                    orders.closing || orders.compact
                };
                let looked =
                    reclaimer.look(&self.tree, is_urgent, |number| self.enter_flushing(number));
                // Giving room back takes some at first; without it, the garbage stays.
                match looked {
                    Ok(()) | Err(StoreError::Full { .. }) => {}
                    Err(error) => return Err(error),
                }
                next_look = Instant::now() + reclaim::EVERY;
            }
        }
    }
}

impl Work {
    /// Notes durably that the tables may hold transactions of the newest segment up to this number, all
    /// of which are in the log.
    pub(crate) fn enter_flushing(&self, number: u64) -> Result<(), StoreError> {
        let tail = self.tail.lock().as_ref().map(Unsynced::again);
        tail.map_or(Ok(()), |tail| tail.sync())?;
        self.home.record(|contents| contents.flushing = contents.flushing.max(number))
    }
}

fn panicked() -> StoreError {
    let detail = "the storage engine panicked".to_owned();
    StoreError::Engine { action: "maintain the tables".into(), detail }
}
