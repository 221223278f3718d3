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
use crate::disk::log::storage::LogStorage;
use crate::disk::log::syncing::Unsynced;
use crate::disk::options::{DiskOptions, Durability};
use crate::disk::reclaim::{self, Reclaimer};
use crate::disk::tree::Tree;
use crate::poison::Poison;

/// Writers wait while this many memtables are unflushed …
const UNFLUSHED_LIMIT: usize = 3;

/// … or this many layers of tables uncompacted: reads would become slow.
const UNCOMPACTED_LIMIT: usize = 20;

/// The threads of one store.
pub(crate) struct Background {
    work: Arc<Work>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads and the writers share.
pub(crate) struct Work {
    tree: Arc<Tree>,
    log: Arc<dyn LogStorage>,
    poison: Poison,
    memtable_bytes: u64,
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
    closing: bool,
}

impl Background {
    /// Starts the threads.
    pub(crate) fn start(
        tree: Arc<Tree>,
        log: Arc<dyn LogStorage>,
        poison: Poison,
        options: &DiskOptions,
    ) -> Result<Self, StoreError> {
        let orders = Mutex::new(Orders { compact: true, ..Orders::default() });
        let memtable_bytes = options.memtable_bytes;
        let changed = Condvar::new();
        let work = Arc::new(Work { tree, log, poison, memtable_bytes, orders, changed });
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
                work.poison.set(&error);
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

impl Drop for Background {
    fn drop(&mut self) {
        self.work.orders.lock().closing = true;
        self.work.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A panic has poisoned the store already.
            let _ = thread.join();
        }
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

    /// Waits while the threads are too far behind the writers.
    pub(crate) fn wait_for_room(&self) -> Result<(), StoreError> {
        while self.tree.unflushed() >= UNFLUSHED_LIMIT
            || self.tree.uncompacted() >= UNCOMPACTED_LIMIT
        {
            self.poison.check()?;
            self.changed.wait_for(&mut self.orders.lock(), Duration::from_millis(10));
        }
        self.poison.check()
    }

    fn flush_loop(&self) -> Result<(), StoreError> {
        loop {
            let mut orders = self.orders.lock();
            while orders.sealed_to == orders.flushed_to {
                if orders.closing {
                    return Ok(());
                }
                self.changed.wait(&mut orders);
            }
            let (from, to) = (orders.flushed_to, orders.sealed_to);
            drop(orders);
            self.tree.flush()?;
            self.remove_segments(from, to)?;
            let mut orders = self.orders.lock();
            orders.flushed_to = to;
            orders.compact = true;
            self.changed.notify_all();
        }
    }

    /// Removes segments whose content is in tables now, oldest first.
    fn remove_segments(&self, from: u64, to: u64) -> Result<(), StoreError> {
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

    fn compact_loop(&self) -> Result<(), StoreError> {
        let mut reclaimer = Reclaimer::new(self.memtable_bytes, &self.tree);
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
            while is_ordered && self.tree.compact()? {
                self.changed.notify_all();
                if self.orders.lock().closing {
                    return Ok(());
                }
            }
            if Instant::now() >= next_look {
                let is_urgent = || {
                    let orders = self.orders.lock();
                    orders.closing || orders.compact
                };
                reclaimer.look(&self.tree, is_urgent)?;
                next_look = Instant::now() + reclaim::EVERY;
            }
        }
    }
}

fn panicked() -> StoreError {
    let detail = "the storage engine panicked".to_owned();
    StoreError::Engine { action: "maintain the tables".into(), detail }
}
