//! The write-ahead log: its content is durable, whether or not the engine has applied it to tables.
//!
//! The log is a sequence of numbered segments. Groups of transactions are appended to the last one
//! as one record each; a segment is removed once its content has been flushed to tables.
//!
//! The file is preallocated: zeros are written in steps ahead of the records. Most syncs then
//! change neither the file's size nor its block list, which saves the file system a metadata write.

pub(crate) mod directory;
pub(crate) mod record;
pub(crate) mod recovery;
pub(crate) mod syncing;

#[cfg(test)]
mod power_loss_tests;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::StoreError;
use crate::disk::log::directory::LogDirectory;
use crate::disk::log::record::{SEGMENT_HEADER, SegmentHeader, encode_record};
use crate::disk::log::syncing::{Segment, Unsynced};
use crate::transaction::WriteSet;

/// How far the log is preallocated.
const AHEAD: u64 = 256 << 10;

const PAGE: u64 = 4096;

/// A buffer that grew larger than this for one group is not reused.
const BUFFER_KEPT: usize = 4 << 20;

/// The last segment, open for appending.
pub(crate) struct Log {
    directory: Arc<LogDirectory>,
    segment: Arc<Segment>,
    header: SegmentHeader,
    /// The offset of the next record.
    end: u64,
    /// Everything before this offset has been written, possibly with zeros.
    filled_to: u64,
    /// No record says yet that the whole log is durable.
    unsealed: bool,
    /// Reused for encoding records.
    buffer: Vec<u8>,
}

impl Log {
    /// Creates a new segment.
    pub(crate) fn create(
        directory: Arc<LogDirectory>,
        id: u64,
        previous_end: u64,
        syncs: Arc<AtomicU64>,
    ) -> Result<Self, StoreError> {
        let header = SegmentHeader { id, previous_end, salt: RandomState::new().hash_one(id) };
        let file = directory.create(id, &header.encode()).map_err(|error| {
            StoreError::io(format!("create {}", directory.name(id).display()), error)
        })?;
        let end = SEGMENT_HEADER as u64;
        Ok(Self {
            segment: Arc::new(Segment::new(file, directory.name(id), end, syncs)),
            directory,
            header,
            end,
            filled_to: end,
            unsealed: false,
            buffer: Vec::new(),
        })
    }

    /// The number of the segment.
    pub(crate) fn id(&self) -> u64 {
        self.header.id
    }

    /// Length of the header and all records.
    pub(crate) fn len(&self) -> u64 {
        self.end
    }

    /// Appends a group as one record, without syncing.
    pub(crate) fn append(&mut self, group: &[(u64, &WriteSet)]) -> Result<(), StoreError> {
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_KEPT);
        let durable_to = self.segment.durable_to();
        encode_record(&mut self.buffer, self.header.salt, self.end, durable_to, group);
        let record_end = self.end + self.buffer.len() as u64;
        if record_end > self.filled_to {
            let filled_to = (record_end + AHEAD).next_multiple_of(PAGE);
            self.buffer.resize((filled_to - self.end) as usize, 0);
            self.filled_to = filled_to;
        }
        self.segment.write_at(&self.buffer, self.end)?;
        self.end = record_end;
        self.unsealed |= !group.is_empty();
        Ok(())
    }

    /// Truncates what a failed [`Log::append`] may have left after the last record, durably. After
    /// that the end of the log is known again.
    pub(crate) fn cut_back(&mut self) -> Result<(), StoreError> {
        self.filled_to = self.end;
        self.segment.cut(self.end)
    }

    /// Waits until everything appended is durable.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        self.segment.sync_to(self.end)
    }

    /// What a sync now would make durable, so that another thread can run it.
    pub(crate) fn unsynced(&self) -> Unsynced {
        Unsynced { segment: Arc::clone(&self.segment), to: self.end }
    }

    /// The offset up to which the segment is durable.
    pub(crate) fn durable_to(&self) -> u64 {
        self.segment.durable_to()
    }

    /// The number of bytes that are not durable yet.
    pub(crate) fn unsynced_bytes(&self) -> u64 {
        self.end.saturating_sub(self.segment.durable_to())
    }

    /// Appends a seal, a record that says that the whole log is durable; call it after
    /// [`Log::sync`]. The seal itself need not be synced soon.
    pub(crate) fn seal(&mut self) -> Result<(), StoreError> {
        if std::mem::take(&mut self.unsealed) { self.append(&[]) } else { Ok(()) }
    }

    /// Creates the next segment, after making this one durable.
    pub(crate) fn next(&mut self) -> Result<Self, StoreError> {
        self.sync()?;
        let (directory, syncs) = (Arc::clone(&self.directory), self.segment.syncs());
        Self::create(directory, self.id() + 1, self.end, syncs)
    }
}
