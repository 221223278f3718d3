//! Transactions of reads and of writes.

mod transact_get_items;
mod transact_write_items;

use keyloom_core::limits;

pub use transact_get_items::{TransactGet, TransactGetItemsInput, TransactGetItemsOutput};
pub use transact_write_items::{
    TransactAction, TransactEdit, TransactWriteItemsInput, TransactWriteItemsOutput,
};

use crate::{Constraints, Fields};

/// The members of `TransactItems`, whose number is checked.
fn transact_items<'a>(fields: &Fields<'a>, constraints: &mut Constraints) -> Vec<Fields<'a>> {
    let list = fields.structures("TransactItems");
    constraints.required(list.is_some(), "transactItems");
    let Some(list) = list else { return Vec::new() };
    // AWS prints the whole list here, as its Java classes do; the number says as much.
    let shown = if list.is_empty() { "[]".to_owned() } else { format!("[{} items]", list.len()) };
    let maximum = limits::MAX_TRANSACTION_ACTIONS;
    constraints.count(list.len(), &shown, "transactItems", 1, maximum);
    list
}
