//! Vector indexes: how their entries are stored, and the search over them.
//!
//! An entry lies under the value of the index's partition attribute, if there is one, and the item's own key. It
//! holds the vector as floats, ready to be compared, and the image of the attributes that the index projects. A
//! search reads every entry of its partition and keeps the best few: the result is exact, where AWS's is approximate.

mod distance;
mod entry;
mod search;

pub(crate) use distance::Query;
pub(crate) use entry::{EntryRef, encode, entry_key};
pub(crate) use search::{Hit, Search};
