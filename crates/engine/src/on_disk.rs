//! Databases in a directory.

use std::path::Path;
use std::sync::Arc;

use keyloom_core::Result;
use keyloom_store::{BackupSource, DiskOptions, DiskStore, OpenReport};

use crate::database::{Database, Options, store_error};

impl Database {
    /// Opens the database in this directory, or makes one there. A write is durable when its call
    /// returns.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, DiskOptions::default(), Options::default())
    }

    /// Opens a database on disk with these settings.
    pub fn open_with(path: impl AsRef<Path>, disk: DiskOptions, options: Options) -> Result<Self> {
        let (store, report) = DiskStore::open(path.as_ref(), disk).map_err(store_error)?;
        let database = Self::on(Arc::new(store), options)?;
        // Set once, here.
        let _ = database.inner().open_report.set(report);
        Ok(database)
    }

    /// The recovery report of a database on disk; none for one in memory.
    pub fn open_report(&self) -> Option<&OpenReport> {
        self.inner().open_report.get()
    }

    /// Fixes the moment of a backup of all files, while the database is in use; none for one in memory.
    pub fn backup_source(&self) -> Option<Result<BackupSource>> {
        Some(self.inner().store.backup_source()?.map_err(store_error))
    }
}
