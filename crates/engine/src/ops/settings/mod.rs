//! Operations on what AWS keeps beside a table: policies, insights, destinations, replicas, scaling.
//!
//! Their settings are kept and shown, with the errors for what is missing. None of them makes this
//! database do anything by itself, except that insights make observers count.

pub(super) mod contributor_insights;
pub(super) mod global_tables;
pub(super) mod kinesis;
pub(super) mod replica_auto_scaling;
pub(crate) mod resource_policy;

use std::sync::Arc;

use keyloom_core::Result;

use crate::catalog::{Alongside, Table, TableRecord};
use crate::database::Inner;

/// What the records of settings that belong to no table are kept under.
pub(crate) const RESOURCES: [&str; 2] = [resource_policy::POLICY, global_tables::KIND];

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
