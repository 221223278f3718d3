//! The operations, one file each: decode the input, check it, plan it, run it, encode the output.

pub(crate) mod backups;
mod batch_execute_statement;
mod batch_get_item;
pub(crate) mod batch_write_item;
mod body;
pub(crate) mod collection;
pub(crate) mod conditional;
mod create_table;
mod delete_item;
mod delete_table;
mod describe_endpoints;
mod describe_limits;
mod describe_table;
mod describe_time_to_live;
mod description;
mod execute_statement;
mod execute_transaction;
mod get_item;
mod legacy_input;
mod list_tables;
mod list_tags_of_resource;
mod paging;
pub(crate) mod parameters;
pub(crate) mod projected;
mod put_item;
mod query;
pub(crate) mod reading;
mod scan;
mod scan_partitions;
mod search_vectors;
mod settings;
mod stream_setting;
pub(crate) mod streams;
mod table_input;
mod tag_resource;
mod tags;
mod transact_get_items;
pub(crate) mod transact_write_items;
pub(crate) mod transfers;
mod untag_resource;
pub(crate) mod update_item;
mod update_table;
mod update_time_to_live;
pub(crate) mod writing;

use keyloom_core::Result;

pub(crate) use settings::policies;

pub use batch_execute_statement::{
    BatchExecuteStatementInput, BatchExecuteStatementOutput, StatementOutcome,
};
pub use batch_get_item::{BatchGetItemInput, BatchGetItemOutput, KeysOfTable};
pub use batch_write_item::{BatchWriteItemInput, BatchWriteItemOutput, WriteRequest};
pub use body::FromBody;
pub use conditional::ConditionInput;
pub use delete_item::DeleteItemInput;
pub use execute_statement::{ExecuteStatementInput, ExecuteStatementOutput};
pub use execute_transaction::{ExecuteTransactionInput, ExecuteTransactionOutput};
pub use get_item::{GetItemInput, GetItemOutput};
pub use parameters::{ReturnConsumedCapacity, ReturnValues};
pub use projected::ProjectionInput;
pub use put_item::PutItemInput;
pub use query::QueryInput;
pub use reading::{PageOutput, ReadInput, Select};
pub use scan::ScanInput;
pub use scan_partitions::PartitionPrefixInput;
pub use search_vectors::{SearchResult, SearchVectorsInput, SearchVectorsOutput};
pub use transact_get_items::{TransactGet, TransactGetItemsInput, TransactGetItemsOutput};
pub use transact_write_items::{
    TransactAction, TransactEdit, TransactWriteItemsInput, TransactWriteItemsOutput,
};
pub use update_item::UpdateItemInput;
pub(crate) use writing::{PlannedWrite, WriteAnswer};
pub use writing::{WriteOutput, WriteReturns};

use crate::database::Inner;
use crate::wire::Fields;

/// Whether records of this kind are kept.
pub(crate) fn is_resource(kind: &str) -> bool {
    kind == backups::StoredBackup::KIND
        || settings::RESOURCES.contains(&kind)
        || transfers::RESOURCES.contains(&kind)
}

/// Runs an operation on the fields of its request.
pub(crate) type Handler = fn(&Inner, Fields<'_>) -> Result<Vec<u8>>;

/// The operation that a target such as `DynamoDB_20120810.PutItem` names.
pub(crate) fn handler(target: &str) -> Option<Handler> {
    let (service, operation) = target.split_once('.')?;
    match service {
        "DynamoDB_20120810" => database_operation(operation),
        "DynamoDBStreams_20120810" => streams::operation(operation),
        _ => None,
    }
}

/// The member that is an item, of a request that is about one: it is read while the body is parsed.
pub(crate) fn item_member(target: &str) -> Option<&'static str> {
    match target {
        "DynamoDB_20120810.PutItem" => Some("Item"),
        "DynamoDB_20120810.GetItem"
        | "DynamoDB_20120810.UpdateItem"
        | "DynamoDB_20120810.DeleteItem" => Some("Key"),
        _ => None,
    }
}

/// Whether the reply to this target shows item counts of tables that were there before, and so waits until
/// they are counted.
pub(crate) fn shows_counts(target: &str) -> bool {
    matches!(
        target,
        "DynamoDB_20120810.CreateBackup"
            | "DynamoDB_20120810.DeleteTable"
            | "DynamoDB_20120810.DescribeTable"
            | "DynamoDB_20120810.UpdateTable"
    )
}

/// An operation that reads its request itself.
pub(crate) type BodyHandler = fn(&Inner, &[u8]) -> Result<Vec<u8>>;

/// The operation that a target names, if it is one that reads its request itself.
pub(crate) fn body_handler(target: &str) -> Option<BodyHandler> {
    match target {
        "DynamoDB_20120810.SearchVectors" => Some(search_vectors::call),
        _ => None,
    }
}

/// Plans a write of one item.
pub(crate) type WritePlanner = fn(&Inner, Fields<'_>) -> Result<PlannedWrite>;

/// The planner of the operation that a target names, and that target, if it writes one item.
pub(crate) fn write_planner(target: &str) -> Option<(&'static str, WritePlanner)> {
    Some(match target {
        "DynamoDB_20120810.PutItem" => ("DynamoDB_20120810.PutItem", put_item::plan_request),
        "DynamoDB_20120810.UpdateItem" => {
            ("DynamoDB_20120810.UpdateItem", update_item::plan_request)
        }
        "DynamoDB_20120810.DeleteItem" => {
            ("DynamoDB_20120810.DeleteItem", delete_item::plan_request)
        }
        _ => return None,
    })
}

fn database_operation(operation: &str) -> Option<Handler> {
    Some(match operation {
        "BatchExecuteStatement" => batch_execute_statement::call,
        "BatchGetItem" => batch_get_item::call,
        "BatchWriteItem" => batch_write_item::call,
        "CreateTable" => create_table::call,
        "DeleteItem" => delete_item::call,
        "DeleteTable" => delete_table::call,
        "DescribeEndpoints" => describe_endpoints::call,
        "DescribeLimits" => describe_limits::call,
        "DescribeTable" => describe_table::call,
        "DescribeTimeToLive" => describe_time_to_live::call,
        "ExecuteStatement" => execute_statement::call,
        "ExecuteTransaction" => execute_transaction::call,
        "GetItem" => get_item::call,
        "ListTables" => list_tables::call,
        "ListTagsOfResource" => list_tags_of_resource::call,
        "PutItem" => put_item::call,
        "Query" => query::call,
        "Scan" => scan::call,
        "TransactGetItems" => transact_get_items::call,
        "TransactWriteItems" => transact_write_items::call,
        "TagResource" => tag_resource::call,
        "UntagResource" => untag_resource::call,
        "UpdateItem" => update_item::call,
        "UpdateTable" => update_table::call,
        "UpdateTimeToLive" => update_time_to_live::call,
        _ => {
            return settings::operation(operation)
                .or_else(|| backups::operation(operation))
                .or_else(|| transfers::operation(operation));
        }
    })
}
