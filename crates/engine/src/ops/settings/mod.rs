//! Operations on what AWS keeps beside a table: policies, insights, destinations, replicas, scaling.
//!
//! What cannot be honoured is refused.

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
    let change = database.change()?;
    let mut record = find()?.record.clone();
    let result = edit(&mut record)?;
    Ok((change.put(record, Alongside::default())?, result))
}
