//! The first version of global tables (2017.11.29): CreateGlobalTable, UpdateGlobalTable, DescribeGlobalTable,
//! ListGlobalTables, and their settings.
//!
//! It is not served; AWS advises against it, too. What exists are tables of version 2019.11.21, which these operations
//! do not find on AWS either.

use keyloom_api::Fields;
use keyloom_api::settings::global_tables as api;
use keyloom_core::error::{resource as message, table};
use keyloom_core::Result;

use crate::database::Inner;

/// The kind of records that an earlier release stored.
pub(super) const KIND: &str = "global-table";

pub(crate) fn create(_: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    api::decode_name(&fields)?;
    let reason = "version 2017.11.29 of global tables is not served; add replicas with UpdateTable's ReplicaUpdates";
    Err(table::not_served("CreateGlobalTable", reason))
}

/// UpdateGlobalTable, DescribeGlobalTable, DescribeGlobalTableSettings and UpdateGlobalTableSettings.
pub(crate) fn not_found(_: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = api::decode_name(&fields)?;
    Err(message::global_table_not_found(name))
}

pub(crate) fn list(_: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    api::check_list(&fields)?;
    Ok(api::list_answer())
}
