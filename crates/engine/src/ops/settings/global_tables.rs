//! The first version of global tables (2017.11.29): CreateGlobalTable, UpdateGlobalTable, DescribeGlobalTable,
//! ListGlobalTables, and their settings.
//!
//! It is not served; AWS advises against it, too. What exists are tables of version 2019.11.21, which these operations
//! do not find on AWS either.

use keyloom_api::settings::{global_table_name, no_global_tables};
use keyloom_api::{Fields, Operation};
use keyloom_core::Result;
use keyloom_core::error::{resource as message, table};

use crate::database::Inner;

/// The kind of records that an earlier release stored.
pub(super) const KIND: &str = "global-table";

pub(crate) fn create(_: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    global_table_name(Operation::CreateGlobalTable, &fields)?;
    let reason = "version 2017.11.29 of global tables is not served; add replicas with UpdateTable's ReplicaUpdates";
    Err(table::not_served("CreateGlobalTable", reason))
}

pub(crate) fn update(_: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    not_found(Operation::UpdateGlobalTable, &fields)
}

pub(crate) fn describe(_: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    not_found(Operation::DescribeGlobalTable, &fields)
}

pub(crate) fn describe_settings(_: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    not_found(Operation::DescribeGlobalTableSettings, &fields)
}

pub(crate) fn update_settings(_: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    not_found(Operation::UpdateGlobalTableSettings, &fields)
}

pub(crate) fn list(_: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    no_global_tables(&fields)
}

fn not_found(operation: Operation, fields: &Fields<'_>) -> Result<Vec<u8>> {
    Err(message::global_table_not_found(global_table_name(operation, fields)?))
}
