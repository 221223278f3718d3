//! Backups: a copy of a store from one moment, made while the store is written.
//!
//! A backup is itself a store, cleanly closed: it opens as it is, though [`restore_backup`] is the way
//! to take one into use, because it gives the copy a name of its own. A file `BACKUP` beside the
//! manifest tells a backup from a store in use (see [`marker`]).
//!
//! 1. [`source`] fixes the moment: it opens the segments of the log, notes where the last one ends, and
//!    holds the tables. Writers wait only for that.
//! 2. [`target`] takes the files, here or at the other end of a connection ([`archive`]), next to the
//!    directory where the backup before is. Tables that this one has already are linked.
//! 3. Everything is compared with its checksums and synced; then the new backup takes the place of the
//!    one before in one step.

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

/// What a backup consists of, and what of it had to be copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// Tables that were copied.
    pub tables_copied: u64,
    /// Tables that the backup before had already.
    pub tables_linked: u64,
    /// Bytes that were copied, log included.
    pub bytes_copied: u64,
    /// Bytes of the linked tables.
    pub bytes_linked: u64,
    /// How long writers had to wait; zero if the store was not open.
    pub pause: Duration,
}

impl DiskStore {
    /// Copies the store as it is now to a directory, while it is read and written.
    ///
    /// `to` may be missing, empty, or hold an earlier backup of this store: that one stays as it is until
    /// the new one is complete and takes its place, and tables that both have are not copied again.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport, StoreError> {
        let target = BackupTarget::prepare(to.as_ref(), Some(self.home.path()))?;
        self.capture_source()?.copy_to(target)
    }
}
