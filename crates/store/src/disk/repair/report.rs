//! What was saved and what was lost.

use std::path::{Path, PathBuf};

use bytes::Bytes;

/// What became of a damaged store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// Entries that were saved.
    pub entries: u64,
    /// Their keys and values, in bytes.
    pub bytes: u64,
    /// What could not be read, or cannot be ruled out to be missing.
    pub losses: Vec<Loss>,
    /// What else was found, and cost nothing.
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
    /// The nearest keys before and behind the lost ones, where they are known. A loss of the log may
    /// concern any key.
    pub between: (Option<Bytes>, Option<Bytes>),
    /// How many entries are lost, where that is known: newer and older versions of a key, and deletions,
    /// count as one each.
    pub entries: Option<u64>,
    /// Whether deleted or overwritten values may have come back because of it.
    pub may_revive: bool,
}

impl Loss {
    /// A loss of which nothing more is known.
    pub(super) fn new(file: &Path, detail: impl Into<String>) -> Self {
        let (file, detail) = (file.to_owned(), detail.into());
        Self { file, detail, between: (None, None), entries: None, may_revive: true }
    }
}

impl RepairReport {
    pub(super) fn lose(&mut self, file: &Path, detail: impl Into<String>) {
        self.losses.push(Loss::new(file, detail));
    }

    /// Whether everything was saved, for certain.
    pub fn is_complete(&self) -> bool {
        self.losses.is_empty()
    }
}
