//! Batches of reads and of writes, each for itself.

mod batch_get_item;
mod batch_write_item;

pub use batch_get_item::{BatchGetItemInput, BatchGetItemOutput, KeysOfTable};
pub use batch_write_item::{BatchWriteItemInput, BatchWriteItemOutput, WriteRequest};
