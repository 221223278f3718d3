//! The report of a repair.

use std::path::{Path, PathBuf};

use bytes::Bytes;

/// What was recovered from a damaged store, and what was lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// How many entries were recovered.
    pub entries: u64,
    /// Their keys and values, in bytes.
    pub bytes: u64,
    /// What could not be read, or may be missing.
    pub losses: Vec<Loss>,
    /// Files that were read completely, but may not belong to the store.
    pub doubts: Vec<String>,
    /// Findings that caused no loss.
    pub notes: Vec<String>,
}

/// A part of a store that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The damaged or missing file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub detail: String,
    /// The nearest keys before and after the loss, where known. A loss in the log may affect any
    /// key.
    pub between: (Option<Bytes>, Option<Bytes>),
    /// The number of lost entries, where known: each version of a key and each tombstone counts as
    /// one.
    pub entries: Option<u64>,
    /// Whether deleted or overwritten values may have come back because of it.
    pub may_revive: bool,
}

impl Loss {
    /// A loss without further details.
    pub(super) fn new(file: &Path, detail: impl Into<String>) -> Self {
        let (file, detail) = (file.to_owned(), detail.into());
        Self { file, detail, between: (None, None), entries: None, may_revive: true }
    }
}

impl RepairReport {
    pub(super) fn lose(&mut self, file: &Path, detail: impl Into<String>) {
        self.losses.push(Loss::new(file, detail));
    }

    /// Whether it is certain that nothing was lost and nothing foreign was recovered.
    pub fn is_complete(&self) -> bool {
        self.losses.is_empty() && self.doubts.is_empty()
    }
}
