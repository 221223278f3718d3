//! The contract of every store, as single guarantees and as random histories.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod contract;
mod epochs;
mod model;
mod numbers;
mod subjects;
