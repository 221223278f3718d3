//! Salvages the readable part of a damaged database into a new one.
//!
//! The store recovers entries ([`keyloom_store::repair_store`]); here the data derived from items is rebuilt
//! ([`mend`]), lost ranges are reported with readable keys ([`names`]), and the result is verified. The damaged
//! directory is not changed.

mod mend;
mod names;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyloom_core::{Error, Result};
use keyloom_store::{DiskOptions, DiskStore, Durability, Store, StoreError, repair_store};

use crate::verify::contents::Contents;
use crate::verify::{self, Report};
use crate::{layout, store_error};

pub use mend::Mended;
use names::Names;

/// The outcome of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Entries of the store that were saved, those of indexes included.
    pub entries: u64,
    /// Their keys and values, in bytes.
    pub bytes: u64,
    /// What could not be read, or cannot be ruled out to be missing.
    pub losses: Vec<Loss>,
    /// Files that were read completely, but may not belong to the database.
    pub doubts: Vec<String>,
    /// What else was found in the files, and cost nothing.
    pub notes: Vec<String>,
    /// What was rebuilt.
    pub mended: Mended,
    /// What a verification of the new database says.
    pub verification: Report,
}

/// A part of a database that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The damaged or missing file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub detail: String,
    /// The nearest keys before and behind what is lost, as people read them, where they are known.
    pub between: (Option<String>, Option<String>),
    /// How many entries are lost, where that is known; versions of a key and deletions count as one each.
    pub entries: Option<u64>,
    /// Whether deleted or overwritten values may have come back because of it.
    pub may_revive: bool,
}

impl Outcome {
    /// Whether everything was certainly saved and is consistent.
    pub fn is_complete(&self) -> bool {
        self.losses.is_empty()
            && self.doubts.is_empty()
            && self.mended.left_out.is_empty()
            && self.verification.is_clean()
    }
}

/// Saves what can be read of the database in `from` to `to`, which must be empty or missing. Nothing is
/// changed in `from`.
pub fn directory(from: &Path, to: &Path) -> Result<Outcome, StoreError> {
    let saved = repair_store(from, to)?;
    let report = saved.report.clone();
    let options = DiskOptions { durability: Durability::Relaxed, ..DiskOptions::default() };
    let (store, _) = DiskStore::open(saved.path(), options)?;
    let store = Arc::new(store);
    let failed = |error: Error| StoreError::Engine {
        action: "mend what was saved".into(),
        detail: error.message(),
    };
    // The items are counted when the database is opened.
    forget_counts(store.as_ref()).map_err(failed)?;
    let mended =
        if report.is_complete() { Mended::default() } else { mend::all(&store).map_err(failed)? };
    let verification = verify::store(store.as_ref()).map_err(failed)?;
    let snapshot = store.snapshot()?;
    let contents = Contents::read(snapshot.as_ref(), &mut Report::default());
    let names = Names::new(&contents);
    let losses = report.losses.into_iter().map(|loss| Loss {
        file: loss.file,
        detail: loss.detail,
        between: (
            loss.between.0.map(|key| names.show(&key)),
            loss.between.1.map(|key| names.show(&key)),
        ),
        entries: loss.entries,
        may_revive: loss.may_revive,
    });
    let outcome = Outcome {
        entries: report.entries,
        bytes: report.bytes,
        losses: losses.collect(),
        doubts: report.doubts,
        notes: report.notes,
        mended,
        verification,
    };
    drop(snapshot);
    if let Some(store) = Arc::into_inner(store) {
        store.close()?;
    }
    saved.put_in_place(to)?;
    Ok(outcome)
}

fn forget_counts(store: &dyn Store) -> Result<()> {
    let mut transaction = store.begin(&[]).map_err(store_error)?;
    transaction.delete(layout::COUNTS_KEY.into());
    transaction.commit().map_err(crate::commit_error)
}
