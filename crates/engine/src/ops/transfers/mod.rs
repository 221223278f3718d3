//! Exports to, imports from, and bulk operations on files.
//!
//! A bucket is a directory of that name below `Options::bucket_root`. Without one, or without the
//! bucket, a transfer ends as it does on AWS when the bucket is missing: with the status `FAILED`.

mod bucket;
pub(super) mod bulk;
mod bulk_description;
pub(super) mod export;
mod export_files;
pub(super) mod import;
mod lines;
mod request;
mod transfer;

use keyloom_core::Result;

use crate::database::Inner;

use transfer::{Kind, Transfer};

/// What the records of transfers are kept under.
pub(crate) const RESOURCES: [&str; 3] =
    [export::Exported::NAME, import::Imported::NAME, bulk::BulkPut::NAME];

/// Ends what was under way when the database was closed.
pub(crate) fn resume(database: &Inner) -> Result<()> {
    Transfer::<export::Exported>::abandon(database)?;
    import::abandon(database)?;
    Transfer::<bulk::BulkPut>::abandon(database)
}
