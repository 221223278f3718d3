//! Summaries of fixed size: percentiles, distinct counts, heaviest keys.
//!
//! They are implemented here rather than taken from a crate because each must support merging and a stable report
//! format, and each is only about a page long.

mod distinct;
mod histogram;
mod top;

pub use distinct::Distinct;
pub use histogram::Histogram;
pub(crate) use top::{Entry, Load, Seen, TopKeys};

/// The hash that stands for a key: stable, so that recordings of two processes can be merged.
pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// The number that stands for a table or an index.
pub(crate) fn place_id(table: &str, index: Option<&str>) -> u64 {
    let index = index.map_or(0, |name| hash_of(name.as_bytes()));
    joined(hash_of(table.as_bytes()), index)
}

/// One hash of two.
pub(crate) fn joined(a: u64, b: u64) -> u64 {
    (a.rotate_left(31) ^ b).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
