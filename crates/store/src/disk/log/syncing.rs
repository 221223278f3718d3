//! A segment that one thread writes and another may sync meanwhile.
//!
//! Whoever syncs, a failure must reach everyone: the operating system tells of it once, and a second
//! sync of the same file may succeed although data is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::StoreError;
use crate::disk::log::storage::LogFile;

/// The file of a segment, and how far it is durable.
pub(crate) struct Segment {
    file: Box<dyn LogFile>,
    /// Everything before this offset is durable.
    durable_to: AtomicU64,
    /// Held during a sync.
    has_failed: Mutex<bool>,
    syncs: Arc<AtomicU64>,
}

impl Segment {
    /// A segment that is durable up to `durable_to`; `syncs` counts the syncs of all segments.
    pub(crate) fn new(file: Box<dyn LogFile>, durable_to: u64, syncs: Arc<AtomicU64>) -> Self {
        let durable_to = AtomicU64::new(durable_to);
        Self { file, durable_to, has_failed: Mutex::new(false), syncs }
    }

    /// The offset up to which everything is durable.
    pub(crate) fn durable_to(&self) -> u64 {
        self.durable_to.load(Ordering::Acquire)
    }

    /// Where syncs are counted.
    pub(crate) fn syncs(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.syncs)
    }

    /// Writes to the file; one thread at a time may do so.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        let written = self.file.write_at(bytes, offset);
        written.map_err(|error| StoreError::io("write the log", error))
    }

    /// Waits until everything before `to`, which has been written, is durable.
    pub(crate) fn sync_to(&self, to: u64) -> Result<(), StoreError> {
        if self.durable_to() >= to {
            return Ok(());
        }
        let mut has_failed = self.has_failed.lock();
        if *has_failed {
            let error = std::io::Error::other("an earlier sync failed");
            return Err(StoreError::io("sync the log", error));
        }
        if self.durable_to() < to {
            if let Err(error) = self.file.sync() {
                *has_failed = true;
                return Err(StoreError::io("sync the log", error));
            }
            self.syncs.fetch_add(1, Ordering::Relaxed);
            self.durable_to.store(to, Ordering::Release);
        }
        Ok(())
    }
}

/// A part of a segment that waits for a sync.
pub(crate) struct Unsynced {
    /// The segment.
    pub(crate) segment: Arc<Segment>,
    /// Where the part ends.
    pub(crate) to: u64,
}

impl Unsynced {
    /// Waits until it is durable.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.segment.sync_to(self.to)
    }
}
