//! The operations, one file each: decode the input, check it, plan it, run it, encode the output.

pub(crate) mod backups;
mod batch_execute_statement;
mod batch_get_item;
pub(crate) mod batch_write_item;
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
mod streams;
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

use keyloom_api::{Fields, Operation};
use keyloom_core::Result;

pub use batch_execute_statement::{
    BatchExecuteStatementInput, BatchExecuteStatementOutput, StatementOutcome,
};
pub use batch_get_item::{BatchGetItemInput, BatchGetItemOutput, KeysOfTable};
pub use batch_write_item::{BatchWriteItemInput, BatchWriteItemOutput, WriteRequest};
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

/// Whether records of this kind are kept.
pub(crate) fn is_resource(kind: &str) -> bool {
    kind == backups::StoredBackup::KIND
        || settings::RESOURCES.contains(&kind)
        || transfers::RESOURCES.contains(&kind)
}

/// How an operation answers a request.
pub(crate) enum Handler {
    /// Runs it to its end.
    Run(fn(&Inner, Fields<'_>) -> Result<Vec<u8>>),
    /// Plans the write of one item, which can then be submitted without waiting for the disk.
    Write(fn(&Inner, Fields<'_>) -> Result<PlannedWrite>),
    /// Reads the body by rules of its own and runs to its end.
    Body(fn(&Inner, &[u8]) -> Result<Vec<u8>>),
}

/// The handler of an operation.
pub(crate) fn handler(operation: Operation) -> Handler {
    Handler::Run(match operation {
        Operation::DeleteItem => return Handler::Write(delete_item::plan_request),
        Operation::PutItem => return Handler::Write(put_item::plan_request),
        Operation::UpdateItem => return Handler::Write(update_item::plan_request),
        Operation::SearchVectors => return Handler::Body(search_vectors::call),
        Operation::BatchExecuteStatement => batch_execute_statement::call,
        Operation::BatchGetItem => batch_get_item::call,
        Operation::BatchWriteItem => batch_write_item::call,
        Operation::CancelBulkOperation => transfers::bulk::cancel,
        Operation::CreateBackup => backups::create_backup::call,
        Operation::CreateGlobalTable => settings::global_tables::create,
        Operation::CreateTable => create_table::call,
        Operation::DeleteBackup => backups::delete_backup::call,
        Operation::DeleteResourcePolicy => settings::policies::delete,
        Operation::DeleteTable => delete_table::call,
        Operation::DescribeBackup => backups::describe_backup::call,
        Operation::DescribeBulkOperation => transfers::bulk::describe,
        Operation::DescribeContinuousBackups => backups::continuous::describe,
        Operation::DescribeContributorInsights => settings::insights::describe,
        Operation::DescribeEndpoints => describe_endpoints::call,
        Operation::DescribeExport => transfers::export::describe,
        Operation::DescribeGlobalTable => settings::global_tables::describe,
        Operation::DescribeGlobalTableSettings => settings::global_tables::describe_settings,
        Operation::DescribeImport => transfers::import::describe,
        Operation::DescribeKinesisStreamingDestination => settings::kinesis::describe,
        Operation::DescribeLimits => describe_limits::call,
        Operation::DescribeStream => streams::describe_stream::call,
        Operation::DescribeTable => describe_table::call,
        Operation::DescribeTableReplicaAutoScaling => settings::auto_scaling::describe,
        Operation::DescribeTimeToLive => describe_time_to_live::call,
        Operation::DisableKinesisStreamingDestination => settings::kinesis::disable,
        Operation::EnableKinesisStreamingDestination => settings::kinesis::enable,
        Operation::ExecuteStatement => execute_statement::call,
        Operation::ExecuteTransaction => execute_transaction::call,
        Operation::ExportTableToPointInTime => transfers::export::start,
        Operation::GetItem => get_item::call,
        Operation::GetRecords => streams::get_records::call,
        Operation::GetResourcePolicy => settings::policies::get,
        Operation::GetShardIterator => streams::get_shard_iterator::call,
        Operation::ImportTable => transfers::import::start,
        Operation::ListBackups => backups::list_backups::call,
        Operation::ListBulkOperations => transfers::bulk::list,
        Operation::ListContributorInsights => settings::insights::list,
        Operation::ListExports => transfers::export::list,
        Operation::ListGlobalTables => settings::global_tables::list,
        Operation::ListImports => transfers::import::list,
        Operation::ListStreams => streams::list_streams::call,
        Operation::ListTables => list_tables::call,
        Operation::ListTagsOfResource => list_tags_of_resource::call,
        Operation::PutResourcePolicy => settings::policies::put,
        Operation::Query => query::call,
        Operation::RestoreTableFromBackup => backups::restore_from_backup::call,
        Operation::RestoreTableToPointInTime => backups::restore_to_point::call,
        Operation::Scan => scan::call,
        Operation::StartBulkPutItems => transfers::bulk::start,
        Operation::TagResource => tag_resource::call,
        Operation::TransactGetItems => transact_get_items::call,
        Operation::TransactWriteItems => transact_write_items::call,
        Operation::UntagResource => untag_resource::call,
        Operation::UpdateContinuousBackups => backups::continuous::update,
        Operation::UpdateContributorInsights => settings::insights::update,
        Operation::UpdateGlobalTable => settings::global_tables::update,
        Operation::UpdateGlobalTableSettings => settings::global_tables::update_settings,
        Operation::UpdateKinesisStreamingDestination => settings::kinesis::update,
        Operation::UpdateTable => update_table::call,
        Operation::UpdateTableReplicaAutoScaling => settings::auto_scaling::update,
        Operation::UpdateTimeToLive => update_time_to_live::call,
    })
}
