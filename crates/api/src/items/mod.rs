//! The operations on one item, and the parameters that they share with others.

mod condition;
mod delete_item;
mod get_item;
mod legacy;
mod projection;
mod put_item;
mod update_item;
mod write;

pub use condition::ConditionInput;
pub(crate) use condition::expression_values;
pub use delete_item::DeleteItemInput;
pub use get_item::{GetItemInput, GetItemOutput};
pub(crate) use legacy::{conditional_operator, conditions};
pub use projection::ProjectionInput;
pub use put_item::PutItemInput;
pub use update_item::UpdateItemInput;
pub(crate) use write::write_item_on_failure;
pub use write::{WriteOutput, WriteReturns};
