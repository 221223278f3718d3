//! TransactGetItems and TransactWriteItems.

pub(super) mod transact_get_items;
pub(super) mod transact_write_items;
