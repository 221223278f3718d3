//! Transactions of reads and of writes.

mod transact_get_items;
mod transact_write_items;

use keyloom_core::limits;

pub use transact_get_items::{TransactGet, TransactGetItemsInput, TransactGetItemsOutput};
pub use transact_write_items::{
    TransactAction, TransactEdit, TransactWriteItemsInput, TransactWriteItemsOutput,
};

use crate::Constraints;

/// The number of actions of a transaction.
fn check_count(constraints: &mut Constraints, count: usize) {
    // AWS prints the whole list here, as its Java classes do; the number says as much.
    let shown = if count == 0 { "[]".to_owned() } else { format!("[{count} items]") };
    let maximum = limits::MAX_TRANSACTION_ACTIONS;
    constraints.count(count, &shown, "transactItems", 1, maximum);
}
