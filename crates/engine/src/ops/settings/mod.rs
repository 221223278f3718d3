//! Operations on what AWS keeps beside a table: policies, insights, destinations, replicas, scaling.
//!
//! Their settings are kept and shown, with the errors for what is missing. None of them makes this
//! database do anything by itself, except that insights make observers count.

mod auto_scaling;
mod global_tables;
mod insights;
mod kinesis;
pub(crate) mod policies;
mod scaling_settings;

use std::sync::Arc;

use keyloom_core::Result;

use crate::catalog::{Alongside, Table, TableRecord};
use crate::database::Inner;

use super::Handler;

/// What the records of settings that belong to no table are kept under.
pub(crate) const RESOURCES: [&str; 2] = [policies::POLICY, global_tables::KIND];

/// The operation of this name.
pub(crate) fn operation(name: &str) -> Option<Handler> {
    Some(match name {
        "CreateGlobalTable" => global_tables::create,
        "DeleteResourcePolicy" => policies::delete,
        "DescribeContributorInsights" => insights::describe,
        "DescribeGlobalTable" => global_tables::describe,
        "DescribeGlobalTableSettings" => global_tables::describe_settings,
        "DescribeKinesisStreamingDestination" => kinesis::describe,
        "DescribeTableReplicaAutoScaling" => auto_scaling::describe,
        "DisableKinesisStreamingDestination" => kinesis::disable,
        "EnableKinesisStreamingDestination" => kinesis::enable,
        "GetResourcePolicy" => policies::get,
        "ListContributorInsights" => insights::list,
        "ListGlobalTables" => global_tables::list,
        "PutResourcePolicy" => policies::put,
        "UpdateContributorInsights" => insights::update,
        "UpdateGlobalTable" => global_tables::update,
        "UpdateGlobalTableSettings" => global_tables::update_settings,
        "UpdateKinesisStreamingDestination" => kinesis::update,
        "UpdateTableReplicaAutoScaling" => auto_scaling::update,
        _ => return None,
    })
}

/// Changes a table's record; others wait.
pub(crate) fn change_table<R>(
    database: &Inner,
    find: impl FnOnce() -> Result<Arc<Table>>,
    edit: impl FnOnce(&mut TableRecord) -> Result<R>,
) -> Result<(Arc<Table>, R)> {
    let change = database.catalog.change(database.store.as_ref());
    let mut record = find()?.record.clone();
    let result = edit(&mut record)?;
    Ok((change.put(record, || Ok(Alongside::default()))?, result))
}
