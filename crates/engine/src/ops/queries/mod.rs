//! Query, Scan, SearchVectors, and the embedded database's scan over partitions.

pub(crate) mod page;
pub(super) mod query;
pub(super) mod scan;
mod scan_partitions;
pub(super) mod search_vectors;

pub use scan_partitions::PartitionPrefixInput;
