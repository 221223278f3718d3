//! Transactions of reads and of writes.

pub(super) mod transact_get_items;
pub(super) mod transact_write_items;
