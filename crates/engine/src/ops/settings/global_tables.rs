//! The first version of global tables (2017.11.29): CreateGlobalTable, UpdateGlobalTable, DescribeGlobalTable,
//! ListGlobalTables, and their settings.
//!
//! This legacy version is not supported; AWS advises against it, too. Tables of version 2019.11.21 are supported, and
//! as on AWS these operations do not find them.

use keyloom_api::Fields;
use keyloom_api::settings::{global_table_name, no_global_tables};
use keyloom_core::Result;
use keyloom_core::error::resource as message;

use crate::database::Inner;

/// The kind of records that an earlier release stored.
pub(super) const KIND: &str = "global-table";

/// CreateGlobalTable and UpdateGlobalTable, which AWS refuses, too.
pub(crate) fn create(_: &Inner, _: Fields<'_>) -> Result<Vec<u8>> {
    Err(message::first_global_tables())
}

/// DescribeGlobalTable, UpdateGlobalTableSettings, DescribeGlobalTableSettings.
pub(crate) fn not_found(_: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    Err(message::global_table_not_found(global_table_name(&fields)))
}

#[expect(clippy::unnecessary_wraps, reason = "all handlers may fail")]
pub(crate) fn list(_: &Inner, _: Fields<'_>) -> Result<Vec<u8>> {
    Ok(no_global_tables())
}
