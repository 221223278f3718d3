//! Lookups that no thread waits for.

use std::any::Any;
use std::fmt;
use std::pin::Pin;

use bytes::Bytes;

use crate::{FirstPage, StoreError};

/// The values of keys that are being looked up, all of one moment.
pub type Lookup = Pin<Box<dyn Future<Output = Result<LookedUp, StoreError>> + Send>>;

/// The beginning of a range that is being read; see [`Store::first_page`](crate::Store::first_page).
pub type PageLookup = Pin<Box<dyn Future<Output = Result<Option<FirstPage>, StoreError>> + Send>>;

/// What a [`Lookup`] has found.
pub struct LookedUp {
    /// The values, in the order of the keys.
    pub values: Vec<Option<Bytes>>,
    /// What the store needs for a transaction that rests on them.
    pub kept: Box<dyn Any + Send>,
}

impl LookedUp {
    /// Values, and what the store wants back with [`Store::begin_with`](crate::Store::begin_with).
    pub fn new(values: Vec<Option<Bytes>>, kept: Box<dyn Any + Send>) -> Self {
        Self { values, kept }
    }
}

impl fmt::Debug for LookedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookedUp").field("values", &self.values).finish_non_exhaustive()
    }
}
