//! Recovers what can be read from a damaged store into a new one.
//!
//! The damaged directory is not changed. All intact blocks of its tables ([`table`]) and all intact
//! records of its log ([`log`]) are merged by key, the newest version of each wins, and the result
//! is written to a new store ([`merge`]). The unit of loss is a block in a table and a group of
//! transactions in the log.
//!
//! What could not be read is reported, with the neighbouring keys where known. It may have held
//! newer values or tombstones of keys that were recovered: then an older value is back, and the
//! list of losses says so ([`report`]).

mod files;
mod log;
mod merge;
mod report;
mod table;

use std::path::Path;

pub use report::{Loss, RepairReport};

use super::backup::target::{PartialCopy, is_vacant, refuse_inside, refuse_nested};
use super::directory::DirectoryLock;
use super::{DiskOptions, DiskStore, Durability};
use crate::{Store, StoreError};

/// A store recovered from a damaged one. It is in a temporary directory until
/// [`RepairedStore::put_in_place`], so that a caller that knows the meaning of the entries can
/// repair them first.
#[derive(Debug)]
pub struct RepairedStore {
    partial: PartialCopy,
    /// What was recovered, and what was lost.
    pub report: RepairReport,
}

/// Recovers what can be read of the store in `from`, which is not changed, for a new store at `to`,
/// which must be empty or missing.
pub fn repair_store(from: &Path, to: &Path) -> Result<RepairedStore, StoreError> {
    let lock = DirectoryLock::take_to_read(from)?;
    refuse_inside(to, from)?;
    refuse_nested(to)?;
    if !is_vacant(to)? {
        let detail = "the directory for the repaired store must be empty or missing";
        return Err(StoreError::Format { path: to.to_owned(), detail: detail.into() });
    }
    let mut report = RepairReport::default();
    let found = files::find(from, &mut report)?;
    let tables = table::open_all(&found, &mut report);
    let log = log::read(&found, &tables, &mut report)?;
    let partial = PartialCopy::beside(to)?;
    let options = DiskOptions { durability: Durability::Relaxed, ..DiskOptions::default() };
    let (store, _) = DiskStore::open(&partial.path, options)?;
    merge::write(&store, tables, log, &mut report)?;
    store.settle()?;
    let verification = store.verify()?;
    store.close()?;
    drop(lock);
    if let Some(damage) = verification.damage.first() {
        let detail = format!("the repaired store is damaged: {damage}");
        return Err(StoreError::Engine { action: "repair the store".into(), detail });
    }
    Ok(RepairedStore { partial, report })
}

impl RepairedStore {
    /// The temporary directory of the store, which is closed and may be opened.
    pub fn path(&self) -> &Path {
        &self.partial.path
    }

    /// Moves the store to `to`, durably. It must be closed.
    pub fn put_in_place(self, to: &Path) -> Result<RepairReport, StoreError> {
        self.partial.put_in_place(to)?;
        Ok(self.report.clone())
    }
}
