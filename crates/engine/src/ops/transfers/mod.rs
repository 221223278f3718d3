//! Exports to buckets, imports from them, and bulk operations on their objects.
//!
//! `Options::buckets` provides the buckets. If it is not set, or the bucket does not exist, a transfer ends with the
//! status `FAILED`, as on AWS.

pub(super) mod bulk;
#[cfg(feature = "transfers")]
mod compress;
#[cfg(feature = "transfers")]
mod decompress;
mod error_log;
pub(super) mod export;
mod export_files;
mod export_items;
mod export_rows;
pub(crate) mod folder_export;
pub(super) mod import;
mod objects;
mod pace;
mod transfer;
#[cfg(not(feature = "transfers"))]
mod without_codecs;

/// Compression and checksums of objects.
pub(crate) mod codecs {
    #[cfg(feature = "transfers")]
    pub(super) use super::compress::{Compressed, checksum};
    #[cfg(feature = "transfers")]
    pub use super::decompress::content;
    #[cfg(not(feature = "transfers"))]
    pub use super::without_codecs::content;
    #[cfg(not(feature = "transfers"))]
    pub(super) use super::without_codecs::{Compressed, checksum};
}

use keyloom_api::transfers::{Destination, Failure, Source};
use keyloom_core::Result;
use keyloom_core::error::transfer as message;

use crate::buckets::{Access, Bucket, Closing};
use crate::database::Inner;

use transfer::{Kind, Transfer};

/// What the records of transfers are kept under.
pub(crate) const RESOURCES: [&str; 3] =
    [export::Exported::NAME, import::Imported::NAME, bulk::BulkPut::NAME];

/// Ends what was under way on servers that have ended; exports go on here.
pub(crate) fn resume(database: &Inner) -> Result<()> {
    export::resume(database)?;
    import::abandon(database)?;
    Transfer::<bulk::BulkPut>::abandon(database)
}

pub(crate) use import::is_importing;

/// Refuses a destination that the database's buckets cannot have.
fn check_destination(database: &Inner, destination: &Destination, parameter: &str) -> Result<()> {
    let Some(buckets) = &database.options.buckets else { return Ok(()) };
    if !buckets.takes_prefix(&destination.prefix) {
        return Err(message::object_key_invalid(parameter, &destination.prefix));
    }
    if destination.encryption.is_some() && !buckets.encrypts() {
        return Err(message::encryption_not_available("S3SseAlgorithm"));
    }
    Ok(())
}

fn open(database: &Inner, access: Access<'_>) -> Result<Box<dyn Bucket>, Failure> {
    let Some(buckets) = &database.options.buckets else {
        let hint = "this database has no buckets; start it with --bucket-root or --s3-endpoint, or set \
                    Options::buckets";
        return Err(Failure::no_such_bucket(hint));
    };
    buckets.open(&access)
}

/// The bucket to write to.
fn open_destination(database: &Inner, to: &Destination) -> Result<Box<dyn Bucket>, Failure> {
    let (owner, encryption) = (to.owner.as_deref(), to.encryption.as_ref());
    let account = &database.options.account;
    let closing = &Closing::of(database);
    open(database, Access { bucket: &to.bucket, owner, account, encryption, closing })
}

/// The bucket to read from.
fn open_source(database: &Inner, from: &Source) -> Result<Box<dyn Bucket>, Failure> {
    let account = &database.options.account;
    let owner = from.owner.as_deref();
    let closing = &Closing::of(database);
    open(database, Access { bucket: &from.bucket, owner, account, encryption: None, closing })
}

/// A prefix joined with what follows it: `S3Prefix` may end with a slash, or not.
fn below(prefix: &str, rest: &str) -> String {
    if prefix.is_empty() {
        rest.to_owned()
    } else {
        format!("{}/{rest}", prefix.trim_end_matches('/'))
    }
}
