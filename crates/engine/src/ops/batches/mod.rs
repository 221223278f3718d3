//! BatchGetItem and BatchWriteItem.

pub(super) mod batch_get_item;
pub(super) mod batch_write_item;
