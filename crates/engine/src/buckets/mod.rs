//! Object storage for exports, imports and bulk operations.
//!
//! [`Folder`] uses directories as buckets. `keyloom::remote::S3Buckets` implements [`Buckets`] for S3 and compatible
//! servers.

mod folder;

use std::fmt;
use std::io::{Read, Write};
use std::sync::Weak;

use crate::database::Inner;

pub use folder::Folder;
pub use keyloom_api::transfers::{Encryption, Failure};

/// Buckets by name.
pub trait Buckets: fmt::Debug + Send + Sync {
    /// The bucket that a request names. Whether it exists may turn out only when it is used.
    fn open(&self, access: &Access<'_>) -> Result<Box<dyn Bucket>, Failure>;

    /// Whether objects are encrypted.
    fn encrypts(&self) -> bool;

    /// Whether keys of new objects can begin so.
    fn takes_prefix(&self, prefix: &str) -> bool;
}

/// A bucket, and how a request uses it.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The name of the bucket, which the API model has checked.
    pub bucket: &'a str,
    /// The account that must own it; any, without one.
    pub owner: Option<&'a str>,
    /// The account of the database.
    pub account: &'a str,
    /// How new objects are encrypted; as the bucket does it, without one.
    pub encryption: Option<&'a Encryption>,
    /// Whether the database is being closed meanwhile.
    pub closing: &'a Closing,
}

/// Whether a database is being closed. That waits for what uses a bucket, so a bucket that may keep its user waiting asks
/// now and then, and gives up.
#[derive(Clone)]
pub struct Closing(Option<Weak<Inner>>);

impl Closing {
    /// For a bucket that no database uses.
    pub const NEVER: Self = Self(None);

    pub(crate) fn of(database: &Inner) -> Self {
        Self(Some(Weak::clone(&database.me)))
    }

    /// Whether the database is being closed now.
    pub fn is_closing(&self) -> bool {
        let Some(database) = &self.0 else { return false };
        database.upgrade().is_none_or(|database| database.background.is_ending())
    }
}

impl fmt::Debug for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Closing").field(&self.is_closing()).finish()
    }
}

/// A bucket: named objects, read and written whole.
pub trait Bucket: Send {
    /// The objects whose keys begin with a prefix, in the order of their keys, but not more than so many.
    fn list(&self, prefix: &str, most: usize) -> Result<Vec<Object>, Failure>;

    /// The content of an object that was listed.
    fn read(&self, object: &Object) -> Result<Box<dyn Read>, Failure>;

    /// Begins a new object, which takes the place of one with the same key when it is finished.
    fn create(&self, key: &str) -> Result<Box<dyn Upload>, Failure>;
}

/// An object that exists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// The object's key.
    pub key: String,
    /// The object's size in bytes.
    pub bytes: u64,
    /// The tag of its content, if the bucket has such.
    pub etag: Option<String>,
}

/// An object that is being written. If it is dropped before it is finished, nothing is stored.
pub trait Upload: Write {
    /// Makes the object durable; the tag of its content, if the bucket has such.
    fn finish(self: Box<Self>) -> Result<Option<String>, Failure>;
}
