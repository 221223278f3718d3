//! Verification: whether a database is consistent.
//!
//! Checked beyond the store's own checksums: every key and value can be decoded, index = f(table) in both directions,
//! stream records form consistent chains, counts match, and every keyspace has an owner. Everything is checked on one
//! snapshot, so a database can be verified while it is in use, without blocking it. Memory is bounded: entries are
//! read in batches, and only the first of many findings are kept.

pub(crate) mod contents;
mod counts;
#[cfg(feature = "disk")]
mod directory;
mod histories;
mod report;
pub(crate) mod show;
mod streams;
mod tables;

use keyloom_core::{Error, Result};
use keyloom_store::{Snapshot, Store};

use crate::database::Database;
use crate::store_error;

use contents::Contents;
use counts::Expected;
#[cfg(feature = "disk")]
pub use directory::directory;
pub use report::{Finding, Kind, Report, Totals};

/// How many findings a report lists; it counts them all.
pub const MAX_FINDINGS: usize = 1000;

/// Verifies a store that no database is open on. Nothing is written.
///
/// ```
/// use keyloom_engine::verify;
/// use keyloom_store::MemoryStore;
///
/// let report = verify::store(&MemoryStore::new())?;
/// assert!(report.is_clean());
/// # Ok::<(), keyloom_engine::Error>(())
/// ```
pub fn store(store: &dyn Store) -> Result<Report> {
    let snapshot = store.snapshot().map_err(store_error)?;
    let expected = counts::noted(store)?;
    let mut verifier = Verifier::new(store, snapshot.as_ref())?;
    let real = verifier.run();
    expected.compare(&real, &mut verifier.report);
    Ok(verifier.report)
}

impl Database {
    /// Verifies the database while it is in use: see [`crate::verify`]. Counts are compared only if
    /// nothing is written for a moment; [`Totals::counts`] says how many were. There is one verification
    /// at a time.
    ///
    /// ```
    /// let database = keyloom_engine::Database::memory();
    /// assert!(database.verify()?.is_clean());
    /// # Ok::<(), keyloom_engine::Error>(())
    /// ```
    pub fn verify(&self) -> Result<Report> {
        let inner = self.inner();
        let Some(_one) = inner.verifying.try_lock() else {
            let message = "a verification is under way; ask again when it has ended";
            return Err(Error::ResourceInUse(message.into()));
        };
        let (snapshot, expected) = counts::quiet_moment(inner)?;
        let mut verifier = Verifier::new(inner.store.as_ref(), snapshot.as_ref())?;
        let real = verifier.run();
        let suspected = expected.differences(&real);
        verifier.report.totals.counts += expected.compared(&real) - suspected.len() as u64;
        counts::confirm(inner, &suspected, &mut verifier.report)?;
        Ok(verifier.report)
    }
}

/// One verification pass.
struct Verifier<'a> {
    snapshot: &'a dyn Snapshot,
    report: Report,
}

impl<'a> Verifier<'a> {
    /// Has the store verify itself.
    fn new(store: &dyn Store, snapshot: &'a dyn Snapshot) -> Result<Self> {
        let checked = store.verify().map_err(store_error)?;
        let mut report = Report::default();
        report.totals.entries = checked.entries;
        report.totals.bytes = checked.bytes;
        for damage in checked.damage {
            report.add(Finding::new(Kind::Damage, damage));
        }
        Ok(Self { snapshot, report })
    }

    /// Judges everything; how many items and bytes there are in each keyspace.
    fn run(&mut self) -> Expected {
        let contents = Contents::read(self.snapshot, &mut self.report);
        contents.check_owners(self.snapshot, &mut self.report);
        let mut real = Expected::default();
        for table in &contents.tables {
            tables::check(self.snapshot, table, &mut self.report, &mut real);
            histories::check(self.snapshot, table, &mut self.report);
        }
        for backup in &contents.backups {
            tables::check_backup(self.snapshot, backup, &mut self.report);
        }
        for stream in &contents.streams {
            streams::check(self.snapshot, stream, &contents, &mut self.report);
        }
        real
    }
}
