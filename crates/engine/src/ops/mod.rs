//! The operations, one file each: decode the input, check it, plan it, run it, encode the output.

pub(crate) mod collection;
pub(crate) mod conditional;
mod create_table;
mod delete_item;
mod delete_table;
mod describe_table;
mod description;
mod get_item;
mod legacy_input;
mod list_tables;
pub(crate) mod parameters;
pub(crate) mod projected;
mod put_item;
mod query;
mod reading;
mod scan;
mod stream_setting;
mod table_input;
mod tags;
mod update_item;

use keyloom_core::Result;

pub use conditional::ConditionInput;
pub use delete_item::{DeleteItemInput, DeleteItemOutput};
pub use get_item::{GetItemInput, GetItemOutput};
pub use parameters::{ReturnConsumedCapacity, ReturnValues};
pub use projected::ProjectionInput;
pub use put_item::{PutItemInput, PutItemOutput};
pub use query::QueryInput;
pub use reading::{PageOutput, ReadInput, Select};
pub use scan::ScanInput;
pub use update_item::{UpdateItemInput, UpdateItemOutput};

use crate::database::Inner;
use crate::wire::Fields;

/// Runs an operation on the fields of its request.
pub(crate) type Handler = fn(&Inner, Fields<'_>) -> Result<Vec<u8>>;

/// The operation that a target such as `DynamoDB_20120810.PutItem` names.
pub(crate) fn handler(target: &str) -> Option<Handler> {
    let (service, operation) = target.split_once('.')?;
    match service {
        "DynamoDB_20120810" => database_operation(operation),
        _ => None,
    }
}

fn database_operation(operation: &str) -> Option<Handler> {
    Some(match operation {
        "CreateTable" => create_table::call,
        "DeleteItem" => delete_item::call,
        "DeleteTable" => delete_table::call,
        "DescribeTable" => describe_table::call,
        "GetItem" => get_item::call,
        "ListTables" => list_tables::call,
        "PutItem" => put_item::call,
        "Query" => query::call,
        "Scan" => scan::call,
        "UpdateItem" => update_item::call,
        _ => return None,
    })
}
