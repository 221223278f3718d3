//! A segment that one thread writes while another may sync it.
//!
//! Whichever thread syncs, every thread must see a failure: the operating system reports it once,
//! and a second sync of the same file may succeed although data is lost.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::StoreError;
use crate::disk::files::OpenFile;

/// The file of a segment, and how far it is durable.
pub(crate) struct Segment {
    file: Box<dyn OpenFile>,
    path: PathBuf,
    /// Everything before this offset is durable.
    durable_to: AtomicU64,
    /// Held during a sync.
    has_failed: Mutex<bool>,
    syncs: Arc<AtomicU64>,
}

impl Segment {
    /// A segment that is durable up to `durable_to`; `syncs` counts the syncs of all segments.
    pub(crate) fn new(
        file: Box<dyn OpenFile>,
        path: PathBuf,
        durable_to: u64,
        syncs: Arc<AtomicU64>,
    ) -> Self {
        let durable_to = AtomicU64::new(durable_to);
        Self { file, path, durable_to, has_failed: Mutex::new(false), syncs }
    }

    /// The offset up to which everything is durable.
    pub(crate) fn durable_to(&self) -> u64 {
        self.durable_to.load(Ordering::Acquire)
    }

    /// The counter of syncs.
    pub(crate) fn syncs(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.syncs)
    }

    /// Writes to the file; only one thread may do so.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        let written = self.file.write_at(bytes, offset);
        written.map_err(|error| StoreError::io("write the log", error))
    }

    /// Truncates the file to `to`, durably; only for the writing thread.
    pub(crate) fn cut(&self, to: u64) -> Result<(), StoreError> {
        let cut = self.file.set_length(to).and_then(|()| self.file.sync());
        cut.map_err(|error| {
            *self.has_failed.lock() = true;
            StoreError::lasting_io("truncate the log after a write failed on a full disk", error)
        })
    }

    /// Makes everything before `to`, which has been written, durable.
    pub(crate) fn sync_to(&self, to: u64) -> Result<(), StoreError> {
        if self.durable_to() >= to {
            return Ok(());
        }
        let mut has_failed = self.has_failed.lock();
        if *has_failed {
            let error = io::Error::other("an earlier sync failed");
            return Err(StoreError::lasting_io("sync the log", error));
        }
        if self.durable_to() < to {
            if let Err(error) = self.file.sync().and_then(|()| self.check_name()) {
                *has_failed = true;
                return Err(StoreError::lasting_io("sync the log", error));
            }
            self.syncs.fetch_add(1, Ordering::Relaxed);
            self.durable_to.store(to, Ordering::Release);
        }
        Ok(())
    }
}

impl Segment {
    /// Data synced to an unlinked file is not durable.
    fn check_name(&self) -> io::Result<()> {
        if self.file.has_name()? {
            return Ok(());
        }
        let gone = format!("{} was removed while the store was open", self.path.display());
        Err(io::Error::new(io::ErrorKind::NotFound, gone))
    }
}

/// A part of a segment that is to be synced.
pub(crate) struct Unsynced {
    /// The segment with records that are not synced.
    pub(crate) segment: Arc<Segment>,
    /// The end of the part.
    pub(crate) to: u64,
}

impl Unsynced {
    /// Another handle to the same part.
    pub(crate) fn again(&self) -> Self {
        Self { segment: Arc::clone(&self.segment), to: self.to }
    }

    /// Makes the part durable.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.segment.sync_to(self.to)
    }
}
