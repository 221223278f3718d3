//! Saving what can be read from a damaged store, into a new one.
//!
//! The damaged directory is not changed. All intact blocks of its tables ([`table`]) and all intact
//! records of its log ([`log`]) are merged by key, the newest version of each wins, and what is left is
//! written to a new store ([`merge`]). A block is the unit in which a table is damaged, a group of
//! transactions the one of the log.
//!
//! What could not be read is listed, with the keys between which it lay where that is known. It may have
//! held newer values or deletions of keys that were saved: then an older value is back, and the list of
//! losses is where that is said ([`report`]).

mod files;
mod log;
mod merge;
mod report;
mod table;

use std::path::Path;

pub use report::{Loss, RepairReport};

use super::backup::target::{Gathered, is_vacant, refuse_inside};
use super::home::Claim;
use super::{DiskOptions, DiskStore, Durability};
use crate::{Store, StoreError};

/// A store that was saved from a damaged one. It lies in a directory of its own until
/// [`RepairedStore::put_in_place`], so that whoever knows what the entries mean can mend them before.
#[derive(Debug)]
pub struct RepairedStore {
    gathered: Gathered,
    /// What was saved, and what was lost.
    pub report: RepairReport,
}

/// Saves what can be read of the store in `from`, which is not changed, for a new store at `to`, which
/// must be empty or missing.
pub fn repair_store(from: &Path, to: &Path) -> Result<RepairedStore, StoreError> {
    let claim = Claim::take_to_read(from)?;
    refuse_inside(to, from)?;
    if !is_vacant(to)? {
        let detail = "what is saved goes to a directory that is empty or missing; this one is not";
        return Err(StoreError::Format { path: to.to_owned(), detail: detail.into() });
    }
    let mut report = RepairReport::default();
    let found = files::look(from, &mut report)?;
    let tables = table::open_all(&found, &mut report);
    let log = log::read(&found, &tables, &mut report)?;
    let gathered = Gathered::beside(to)?;
    let options = DiskOptions { durability: Durability::Relaxed, ..DiskOptions::default() };
    let (store, _) = DiskStore::open(&gathered.path, options)?;
    merge::write(&store, tables, log, &mut report)?;
    store.settle()?;
    let verification = store.verify()?;
    store.close()?;
    drop(claim);
    if let Some(damage) = verification.damage.first() {
        let detail = format!("what was written cannot be read again: {damage}");
        return Err(StoreError::Engine { action: "save the store".into(), detail });
    }
    Ok(RepairedStore { gathered, report })
}

impl RepairedStore {
    /// Where the store is until it is put in place. It is closed, and may be opened.
    pub fn path(&self) -> &Path {
        &self.gathered.path
    }

    /// Gives the store its name, durably. It must be closed.
    pub fn put_in_place(self, to: &Path) -> Result<RepairReport, StoreError> {
        self.gathered.put_in_place(to)?;
        Ok(self.report.clone())
    }
}
