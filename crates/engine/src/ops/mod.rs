//! The operations, one file each, in folders by topic: check the input against the tables, plan it, run it.
//!
//! `keyloom_api` decodes inputs and encodes outputs, in folders of the same names.

pub(crate) mod backups;
mod batches;
pub(crate) mod items;
mod paging;
mod partiql;
pub(crate) mod queries;
mod settings;
pub(crate) mod streams;
pub(crate) mod tables;
mod transactions;
pub(crate) mod transfers;

use keyloom_api::{Fields, Operation};
use keyloom_core::Result;

pub(crate) use items::{PlannedWrite, WriteAnswer};
pub use queries::PartitionPrefixInput;
pub(crate) use settings::resource_policy;

use crate::database::Inner;
use crate::replication;

/// Whether records of this kind are kept.
pub(crate) fn is_resource(kind: &str) -> bool {
    kind == backups::StoredBackup::KIND
        || settings::RESOURCES.contains(&kind)
        || replication::RESOURCES.contains(&kind)
        || transfers::RESOURCES.contains(&kind)
}

/// How an operation answers a request.
pub(crate) enum Handler {
    /// Runs it to its end.
    Run(fn(&Inner, Fields<'_>) -> Result<Vec<u8>>),
    /// Plans the write of one item, which can then be submitted without waiting for the disk.
    Write(fn(&Inner, Fields<'_>) -> Result<PlannedWrite>),
    /// Parses the body by its own rules and runs it to its end.
    Body(fn(&Inner, &[u8]) -> Result<Vec<u8>>),
}

/// The handler of an operation.
pub(crate) fn handler(operation: Operation) -> Handler {
    Handler::Run(match operation {
        Operation::DeleteItem => return Handler::Write(items::delete_item::plan_request),
        Operation::PutItem => return Handler::Write(items::put_item::plan_request),
        Operation::UpdateItem => return Handler::Write(items::update_item::plan_request),
        Operation::SearchVectors => return Handler::Body(queries::search_vectors::call),
        Operation::BatchExecuteStatement => partiql::batch_execute_statement::call,
        Operation::BatchGetItem => batches::batch_get_item::call,
        Operation::BatchWriteItem => batches::batch_write_item::call,
        Operation::CancelBulkOperation => transfers::bulk::cancel,
        Operation::CreateBackup => backups::create_backup::call,
        Operation::CreateGlobalTable => settings::global_tables::create,
        Operation::CreateTable => tables::create_table::call,
        Operation::DeleteBackup => backups::delete_backup::call,
        Operation::DeleteResourcePolicy => settings::resource_policy::delete,
        Operation::DeleteTable => tables::delete_table::call,
        Operation::DescribeBackup => backups::describe_backup::call,
        Operation::DescribeBulkOperation => transfers::bulk::describe,
        Operation::DescribeContinuousBackups => backups::continuous::describe,
        Operation::DescribeContributorInsights => settings::contributor_insights::describe,
        Operation::DescribeEndpoints => tables::account::endpoints,
        Operation::DescribeExport => transfers::export::describe,
        Operation::DescribeGlobalTable => settings::global_tables::not_found,
        Operation::DescribeGlobalTableSettings => settings::global_tables::not_found,
        Operation::DescribeImport => transfers::import::describe,
        Operation::DescribeKinesisStreamingDestination => settings::kinesis::describe,
        Operation::DescribeLimits => tables::account::limits,
        Operation::DescribeStream => streams::describe_stream::call,
        Operation::DescribeTable => tables::describe_table::call,
        Operation::DescribeTableReplicaAutoScaling => settings::replica_auto_scaling::describe,
        Operation::DescribeTimeToLive => tables::time_to_live::describe,
        Operation::DisableKinesisStreamingDestination => settings::kinesis::not_found,
        Operation::EnableKinesisStreamingDestination => settings::kinesis::enable,
        Operation::ExecuteStatement => partiql::execute_statement::call,
        Operation::ExecuteTransaction => partiql::execute_transaction::call,
        Operation::ExportTableToPointInTime => transfers::export::start,
        Operation::GetItem => items::get_item::call,
        Operation::GetRecords => streams::get_records::call,
        Operation::GetResourcePolicy => settings::resource_policy::get,
        Operation::GetShardIterator => streams::get_shard_iterator::call,
        Operation::ImportTable => transfers::import::start,
        Operation::ListBackups => backups::list_backups::call,
        Operation::ListBulkOperations => transfers::bulk::list,
        Operation::ListContributorInsights => settings::contributor_insights::list,
        Operation::ListExports => transfers::export::list,
        Operation::ListGlobalTables => settings::global_tables::list,
        Operation::ListImports => transfers::import::list,
        Operation::ListStreams => streams::list_streams::call,
        Operation::ListTables => tables::list_tables::call,
        Operation::ListTagsOfResource => tables::tags::list,
        Operation::PutResourcePolicy => settings::resource_policy::put,
        Operation::Query => queries::query::call,
        Operation::RestoreTableFromBackup => backups::restore_from_backup::call,
        Operation::RestoreTableToPointInTime => backups::restore_to_point::call,
        Operation::Scan => queries::scan::call,
        Operation::StartBulkPutItems => transfers::bulk::start,
        Operation::TagResource => tables::tags::tag,
        Operation::TransactGetItems => transactions::transact_get_items::call,
        Operation::TransactWriteItems => transactions::transact_write_items::call,
        Operation::UntagResource => tables::tags::untag,
        Operation::UpdateContinuousBackups => backups::continuous::update,
        Operation::UpdateContributorInsights => settings::contributor_insights::update,
        Operation::UpdateGlobalTable => settings::global_tables::create,
        Operation::UpdateGlobalTableSettings => settings::global_tables::not_found,
        Operation::UpdateKinesisStreamingDestination => settings::kinesis::not_found,
        Operation::UpdateTable => tables::update_table::call,
        Operation::UpdateTableReplicaAutoScaling => settings::replica_auto_scaling::update,
        Operation::UpdateTimeToLive => tables::time_to_live::update,
    })
}
