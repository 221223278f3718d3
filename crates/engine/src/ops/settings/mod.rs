//! Operations on settings that AWS keeps beside tables: resource policies, Contributor Insights, Kinesis
//! destinations, replica auto scaling.
//!
//! A setting that would have no effect here is refused, not stored.

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
