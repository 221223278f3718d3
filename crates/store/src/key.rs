//! The key of a scanned entry.

use std::fmt;
use std::ops::Deref;

use bytes::Bytes;

/// The key of an entry in a scan. Few readers keep keys, so the memory store lends them:
/// incrementing each key's reference count would be a large part of the cost of a scan.
#[derive(Clone)]
pub enum Key<'a> {
    /// Borrowed from the store.
    Lent(&'a Bytes),
    /// Owned by the reader.
    Own(Bytes),
}

impl Key<'_> {
    /// The key as owned bytes.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Lent(key) => key.clone(),
            Self::Own(key) => key,
        }
    }
}

impl Deref for Key<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Lent(key) => key,
            Self::Own(key) => key,
        }
    }
}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.clone().into_bytes().fmt(f)
    }
}
