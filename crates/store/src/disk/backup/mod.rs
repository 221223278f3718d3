//! Backups: a snapshot of a store's files, copied while the store is written.
//!
//! A backup is itself a cleanly closed store and can be opened as it is. [`restore_backup`] is the
//! way to put one into use, because it gives the copy its own store id. A file `BACKUP` beside the
//! manifest distinguishes a backup from a store in use (see [`marker`]).
//!
//! 1. [`source`] takes the snapshot: it opens the log segments, records the end of the last one,
//!    and holds the tables. Writers wait only for that.
//! 2. [`target`] receives the files, locally or over a connection ([`archive`]), in a directory
//!    beside the previous backup. Tables that the previous backup already has are hard-linked.
//! 3. Everything is verified against its checksums and synced; then the new backup atomically
//!    replaces the previous one.

#[cfg(feature = "archive")]
mod archive;
mod marker;
mod parts;
mod restore;
mod source;
pub(super) mod target;

use std::path::Path;
use std::time::Duration;

pub use marker::Inventory;
pub use restore::{Restored, restore_backup};
pub use source::BackupSource;
pub use target::BackupTarget;

use super::DiskStore;
use crate::StoreError;

/// What a backup consists of, and how much of it was copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// How many tables were copied.
    pub tables_copied: u64,
    /// Tables linked from the previous backup.
    pub tables_linked: u64,
    /// Bytes copied, log included.
    pub bytes_copied: u64,
    /// Bytes of the linked tables.
    pub bytes_linked: u64,
    /// How long writers were blocked; zero if the store was not open.
    pub pause: Duration,
}

impl DiskStore {
    /// Copies a snapshot of the store to a directory, while the store is read and written.
    ///
    /// `to` may be missing, empty, or hold an earlier backup of this store: that one stays
    /// unchanged until the new one is complete and replaces it, and tables that both have are not
    /// copied again.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport, StoreError> {
        let target = BackupTarget::prepare(to.as_ref(), Some(self.store_dir.path()))?;
        self.capture_source()?.copy_to(target)
    }
}
