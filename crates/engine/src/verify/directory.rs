//! Verification of a directory that no database is open on.

use std::path::Path;

use keyloom_store::{DiskOptions, ReadOnlyStore, StoreError};

use super::{Finding, Kind, Report, store};

/// Verifies the database in a directory that nobody has open. Nothing in it is changed. Damage that keeps
/// the store from being opened is a finding, too; an error is whatever else keeps it from being judged.
pub fn directory(path: impl AsRef<Path>, options: DiskOptions) -> Result<Report, StoreError> {
    match ReadOnlyStore::open(path, options) {
        Ok((read, _)) => store(&read).map_err(|error| StoreError::Engine {
            action: "verify the store".into(),
            detail: error.message(),
        }),
        Err(error @ StoreError::Corrupt { .. }) => {
            let mut report = Report::default();
            report.add(Finding::new(Kind::Damage, error.to_string()));
            Ok(report)
        }
        Err(error) => Err(error),
    }
}
