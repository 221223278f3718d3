//! Messages about requests as a whole: tables, paging, batches and transactions.

use super::message::expression::Shown;
use super::{CancellationCode, Error};
use crate::limits::MAX_TRANSACTION_BYTES;
use crate::schema::{KeyAttribute, ScalarType};
use crate::value::{AttributeValue, Item};

/// A condition was false.
pub const CONDITIONAL_REQUEST_FAILED: &str = "The conditional request failed";

/// The target names no operation.
pub fn unknown_operation() -> Error {
    Error::UnknownOperation(String::new())
}

/// The table, index or stream of a data operation does not exist.
pub fn resource_not_found() -> Error {
    Error::ResourceNotFound("Requested resource not found".into())
}

/// The table of a control operation does not exist.
pub fn table_not_found(name: &str) -> Error {
    Error::ResourceNotFound(format!("Requested resource not found: Table: {name} not found"))
}

/// The ARN of a table in another region.
pub fn arn_of_other_region(arn: &str) -> Error {
    Error::Validation(format!("1 validation error detected: Invalid AWS region in '{arn}'"))
}

/// A new table's name is taken.
pub fn table_exists(name: &str) -> Error {
    Error::ResourceInUse(format!("Table already exists: {name}"))
}

/// The index of a read does not exist.
pub fn index_not_found(name: &str) -> Error {
    Error::validation(format!("The table does not have the specified index: {name}"))
}

/// The index of a read is still being built.
pub fn index_backfilling(name: &str) -> Error {
    Error::validation(format!("Cannot read from backfilling global secondary index: {name}"))
}

/// A required parameter is missing, in the framework's wording of some operations.
pub fn parameter_missing(name: &str) -> Error {
    Error::validation(format!(
        "The parameter '{name}' is required but was not present in the request"
    ))
}

/// A put item is too large.
pub fn item_too_large() -> Error {
    Error::validation("Item size has exceeded the maximum allowed size")
}

/// An update would make an item too large.
pub fn updated_item_too_large() -> Error {
    Error::validation("Item size to update has exceeded the maximum allowed size")
}

/// `ExclusiveStartKey` does not match the read.
pub fn start_key_invalid() -> Error {
    Error::validation("The provided starting key is invalid")
}

/// The table's key inside `ExclusiveStartKey` is wrong for this reason.
pub fn start_key_invalid_because(reason: &Error) -> Error {
    Error::validation(format!("The provided starting key is invalid: {}", reason.message()))
}

/// `ExclusiveStartKey` has a value that cannot be decoded. AWS says whose value it is, but not for numbers and
/// not for sets with duplicates.
pub fn start_key_undecodable(reason: Error) -> Error {
    let text = reason.message();
    let unnamed = ["number", "Number", "numeric value", "contains duplicates"];
    match reason {
        Error::Validation(_) if !unnamed.iter().any(|part| text.contains(part)) => {
            start_key_invalid_because(&reason)
        }
        reason => reason,
    }
}

/// The sort key in `ExclusiveStartKey` is not one that the key condition selects.
pub fn start_key_outside_predicate() -> Error {
    Error::validation("The provided starting key does not match the range key predicate")
}

/// The sort key in `ExclusiveStartKey` fits the key condition, and the partition key does not. AWS's words,
/// though the query may return many rows.
pub fn query_not_restartable() -> Error {
    Error::validation("The query can return at most one row and cannot be restarted")
}

/// A Query of a table without a sort key cannot continue: its partitions have one item.
pub fn start_key_of_hash_table(start: &Item) -> Error {
    let entries = start.iter().map(|(name, value)| format!("{name}={}", Shown(value)));
    Error::validation(format!(
        "The provided exclusive start key is invalid: ExclusiveStartKey: {{{}}}",
        entries.collect::<Vec<_>>().join(", ")
    ))
}

/// `ExclusiveStartKey` is outside the key condition.
pub fn start_key_outside_range() -> Error {
    Error::validation(
        "The provided starting key is outside query boundaries based on provided conditions",
    )
}

/// A strongly consistent read of a global index.
pub fn consistent_read_on_global_index() -> Error {
    Error::validation("Consistent reads are not supported on global secondary indexes")
}

/// A single write conflicts with a transaction.
pub fn transaction_conflict() -> Error {
    Error::TransactionConflict("Transaction is ongoing for the item".into())
}

/// The cancellation code of an error.
pub fn cancellation_code(error: &Error) -> CancellationCode {
    match error {
        Error::ConditionalCheckFailed { .. } => CancellationCode::ConditionalCheckFailed,
        Error::TransactionConflict(_) => CancellationCode::TransactionConflict,
        Error::DuplicateItem(_) => CancellationCode::DuplicateItem,
        Error::ResourceNotFound(_) => CancellationCode::ResourceNotFound,
        Error::ItemCollectionSizeLimitExceeded(_) => {
            CancellationCode::ItemCollectionSizeLimitExceeded
        }
        Error::ProvisionedThroughputExceeded(_) => CancellationCode::ProvisionedThroughputExceeded,
        Error::Throttling(_) | Error::RequestLimitExceeded(_) => CancellationCode::ThrottlingError,
        _ => CancellationCode::ValidationError,
    }
}

/// A table that is protected cannot be deleted.
pub fn deletion_protected() -> Error {
    Error::validation(
        "Resource cannot be deleted as it is currently protected against deletion. \
         Disable deletion protection first.",
    )
}

/// A table with a pending change cannot be changed again yet.
pub fn table_being_changed(name: &str, status: &str) -> Error {
    Error::ResourceInUse(format!(
        "Attempt to change a resource which is still in use: Table is being {}: {name}",
        being(status)
    ))
}

/// What is being done to a table with this status: it is CREATING, so it is being created.
pub(super) fn being(status: &str) -> String {
    let status = status.to_lowercase();
    status.strip_suffix("ing").map_or(status.clone(), |stem| format!("{stem}ed"))
}

/// `ReturnValues` that only UpdateItem supports. Captures of October 2026 put it after `1 validation error
/// detected: `; the older ones, and other projects' of the same year, have it alone.
pub fn return_values_not_allowed() -> Error {
    Error::validation("ReturnValues can only be ALL_OLD or NONE")
}

/// The account has reached its limit of tables.
pub fn too_many_tables() -> Error {
    Error::LimitExceeded(
        "Subscriber limit exceeded: Account exceeded the maximum number of tables".into(),
    )
}

/// A provisioned table without throughput.
pub fn throughput_missing() -> Error {
    Error::validation(
        "One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must \
         both be specified when BillingMode is PROVISIONED",
    )
}

/// An on-demand table with throughput.
pub fn throughput_on_demand() -> Error {
    Error::validation(
        "One or more parameter values were invalid: Neither ReadCapacityUnits nor \
         WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
    )
}

/// An index with throughput on an on-demand table.
pub fn index_throughput_on_demand(index: &str) -> Error {
    Error::validation(format!(
        "One or more parameter values were invalid: ProvisionedThroughput should not be specified \
         for index: {index} when BillingMode is PAY_PER_REQUEST"
    ))
}

/// An index without throughput on a provisioned table.
pub fn index_throughput_missing(index: &str) -> Error {
    Error::validation(format!(
        "One or more parameter values were invalid: ProvisionedThroughput must be specified for \
         index: {index}"
    ))
}

/// On-demand limits on a provisioned table.
pub fn on_demand_limit_on_provisioned() -> Error {
    Error::validation(
        "One or more parameter values were invalid: OnDemandThroughput cannot be specified when \
         BillingMode is PROVISIONED",
    )
}

/// A stream without a view type; `StreamViewType` was once called `UpdateViewType`.
pub fn stream_view_missing(is_new_table: bool) -> Error {
    Error::validation(if is_new_table {
        "One or more parameter values were invalid: Table is being created with a stream enabled, \
         UpdateViewType is required"
    } else {
        "One or more parameter values were invalid: If stream is being enabled then UpdateViewType \
         is required"
    })
}

/// A view type without a stream.
pub fn stream_view_without_stream(is_new_table: bool) -> Error {
    Error::validation(if is_new_table {
        "One or more parameter values were invalid: Table is being created with a stream disabled, \
         UpdateViewType should not be specified"
    } else {
        "One or more parameter values were invalid: If stream is being disabled, then UpdateViewType \
         must not be specified"
    })
}

/// `Limit` of a Query below one.
pub fn query_limit_too_small() -> Error {
    Error::validation(
        "1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must \
         have value greater than or equal to 1",
    )
}

/// A Query without a key condition in either form.
pub fn no_key_condition() -> Error {
    Error::validation(
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the \
         request.",
    )
}

/// A read by a prefix of the partition key with an unsuitable type. Not an AWS error: only the
/// embedded database has such reads.
pub fn partition_prefix_type(key: &KeyAttribute, prefix: &AttributeValue) -> Error {
    let (name, kind) = (&key.name, key.kind);
    Error::Validation(match kind {
        ScalarType::N => format!(
            "Partition key {name} is a number, and only strings and binaries have prefixes: use Scan"
        ),
        ScalarType::S | ScalarType::B => format!(
            "Partition key {name} has type {kind}, but the prefix has type {}: give a prefix of \
             type {kind}",
            prefix.attribute_type().as_str()
        ),
    })
}

/// `ALL_PROJECTED_ATTRIBUTES` without an index.
pub fn all_projected_without_index() -> Error {
    Error::validation("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
}

/// `SPECIFIC_ATTRIBUTES` without a projection.
pub fn specific_without_projection() -> Error {
    Error::validation(
        "Must specify the AttributesToGet or ProjectionExpression when choosing to get \
         SPECIFIC_ATTRIBUTES",
    )
}

/// A projection with a `Select` that excludes one.
pub fn projection_with_select(parameter: &str, select: &str) -> Error {
    let what = match select {
        "COUNT" => "only the Count",
        other => other,
    };
    Error::validation(format!("Cannot specify the {parameter} when choosing to get {what}"))
}

/// `ALL_ATTRIBUTES` on a global index that does not project them.
pub fn all_attributes_of_index(index: &str) -> Error {
    Error::validation(format!(
        "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for \
         global secondary index {index} because its projection type is not ALL"
    ))
}

/// A projection of attributes that a global index does not project.
pub fn attributes_not_projected(index: &str, attributes: &[String]) -> Error {
    Error::validation(format!(
        "One or more parameter values were invalid: Global secondary index {index} does not project \
         [{}]",
        attributes.join(", ")
    ))
}

/// `TotalSegments` without `Segment`.
pub fn segment_missing() -> Error {
    Error::validation(
        "The Segment parameter is required but was not present in the request when parameter \
         TotalSegments is present",
    )
}

/// `Segment` without `TotalSegments`.
pub fn total_segments_missing() -> Error {
    Error::validation(
        "The TotalSegments parameter is required but was not present in the request when Segment \
         parameter is present",
    )
}

/// A segment beyond the last.
pub fn segment_out_of_range(segment: i64, total: i64) -> Error {
    Error::validation(format!(
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: \
         Segment: {segment} is not less than TotalSegments: {total}"
    ))
}

/// `ExclusiveStartKey` belongs to another segment.
pub fn start_key_outside_segment(segment: u32, total: u32) -> Error {
    Error::validation(format!(
        "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use \
         ExclusiveStartKey with correct Segment. TotalSegments: {total} Segment: {segment}"
    ))
}

/// A batch without requests.
pub fn request_items_missing(operation: &str) -> Error {
    Error::validation(format!("The requestItems parameter is required for {operation}"))
}

/// More than 100 keys of one table in a BatchGetItem.
pub fn too_many_keys_of_table(table: &str) -> Error {
    Error::validation(format!(
        "1 validation error detected: Value at 'RequestItems.{table}.member.Keys' failed to satisfy \
         constraint: Member must have length less than or equal to 100"
    ))
}

/// More than 100 keys over all tables of a BatchGetItem.
pub fn too_many_keys() -> Error {
    Error::validation("Too many items requested for the BatchGetItem call")
}

/// No requests, or more than 25, for one table of a BatchWriteItem.
pub fn batch_write_count(table: &str, count: usize) -> Error {
    // AWS prints the whole list here, as its Java classes do; the number conveys as much.
    Error::validation(format!(
        "1 validation error detected: Value '{{{table}=[{count} requests]}}' at 'requestItems' \
         failed to satisfy constraint: Map value must satisfy constraint: [Member must have length \
         less than or equal to 25, Member must have length greater than or equal to 1]"
    ))
}

/// More than 25 requests over all tables of a BatchWriteItem.
pub fn too_many_batch_writes() -> Error {
    Error::validation("Too many items requested for the BatchWriteItem call")
}

/// A write request that is neither a put nor a delete, or both.
pub fn write_request_ambiguous() -> Error {
    Error::validation(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the \
         supported datatypes",
    )
}

/// A batch contains the same key twice.
pub fn duplicate_keys() -> Error {
    Error::validation("Provided list of item keys contains duplicates")
}

/// A transaction action without an operation.
pub fn transact_item_empty() -> Error {
    Error::validation(
        "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request",
    )
}

/// A transaction action with several operations.
pub fn transact_item_ambiguous() -> Error {
    Error::validation("TransactItems can only contain one of Check, Put, Update or Delete")
}

/// A transaction with two actions on one item.
pub fn transaction_repeats_item() -> Error {
    Error::validation("Transaction request cannot include multiple operations on one item")
}

/// A transaction with too much data. Of AWS's words only "payload" and "size cannot exceed" are on record.
pub fn transaction_too_large() -> Error {
    Error::validation(format!(
        "Transaction payload size cannot exceed {MAX_TRANSACTION_BYTES} bytes"
    ))
}

/// A request with the same token is being executed.
pub fn transaction_in_progress() -> Error {
    Error::TransactionInProgress(
        "The transaction with the given request token is already in progress.".into(),
    )
}

/// The same token was used with other parameters.
pub fn idempotent_parameter_mismatch() -> Error {
    Error::IdempotentParameterMismatch(
        "DynamoDB rejected the request because you retried a request with a different payload but \
         with an idempotent token that was already used."
            .into(),
    )
}
