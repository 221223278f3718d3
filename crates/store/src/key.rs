//! The key of an entry that was read.

use std::fmt;
use std::ops::Deref;

use bytes::Bytes;

/// The key of an entry in a scan. Few readers keep keys, so a store that has them in memory lends
/// them: counting the owners of each would be a good part of the work of a scan.
#[derive(Clone)]
pub enum Key<'a> {
    /// The store's own.
    Lent(&'a Bytes),
    /// Made for the reader.
    Own(Bytes),
}

impl Key<'_> {
    /// The key, to be kept.
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
