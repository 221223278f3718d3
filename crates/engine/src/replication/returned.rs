//! Writes that come back from a region which did not make them.
//!
//! Each region sends its own writes, so a write that its region has lost, for example because it was restored from an
//! older backup, can only come back in the copy that another region sends it ([`lineage`](super::lineage)). The
//! regions that lack it, too, are then owed it, and nobody else need know that. So whoever finds a new write of a
//! third region in a copy notes that it owes the table to all other regions, before it applies the write, and copies
//! the table to them once. That ends: a region notes it only for a version that is greater than its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_core::Result;
use keyloom_store::Snapshot;
use parking_lot::MutexGuard;

use crate::catalog::record::Status;
use crate::catalog::{Table, TableRecord};
use crate::database::Inner;
use crate::layout;
use crate::write::Write;
use crate::{resource, store_error};

use super::link::position_name;
use super::version::StoredVersion;

/// The kind of the resources that hold which regions are owed a copy; each holds the table's group.
pub(super) const KIND: &str = "replica-owed";

/// Notes that the other regions are owed a copy, if one of these writes from `from` is new here. No such copy begins
/// until the guard is dropped.
pub(super) fn note<'a>(
    database: &'a Inner,
    table: &Arc<Table>,
    from: &str,
    writes: &BTreeMap<Vec<u8>, Write>,
) -> Result<Option<MutexGuard<'a, ()>>> {
    // A table that is being filled gets the same from every region that has it.
    if table.record.status == Status::Creating {
        return Ok(None);
    }
    let Some(replication) = &table.record.replication else { return Ok(None) };
    // Only copies contain writes of third regions.
    let by_third = |write: &&Write| write.arrived.as_ref().is_some_and(|it| it.region != from);
    let mut copied = writes.values().filter(by_third).peekable();
    let Some(_) = copied.peek() else { return Ok(None) };
    let owing = database.lineage.owing.lock();
    let snapshot = database.store.snapshot().map_err(store_error)?;
    let mut is_any_new = copied.map(|write| is_new(write, snapshot.as_ref()));
    if is_any_new.find(|it| !matches!(it, Ok(false))).transpose()?.is_none() {
        return Ok(None);
    }
    let others = replication.others(&database.options.region);
    for region in others.filter(|region| *region != from) {
        let name = position_name(table.name(), region);
        if group(database, &name)?.as_deref() != Some(&replication.group) {
            resource::put(database, KIND, &name, &replication.group)?;
        }
    }
    Ok(Some(owing))
}

fn is_new(write: &Write, snapshot: &dyn Snapshot) -> Result<bool> {
    let stored = snapshot.get(&layout::version(&write.store_key)).map_err(store_error)?;
    let stored = stored.as_deref().map(StoredVersion::decode).transpose()?;
    Ok(stored.map(|stored| stored.version) < write.arrived)
}

/// Calls `begin`, which stores that a copy begins, if the region is owed one; whether it was.
pub(super) fn repay(
    database: &Inner,
    record: &TableRecord,
    region: &str,
    begin: impl FnOnce() -> Result<()>,
) -> Result<bool> {
    let name = position_name(&record.name, region);
    let Some(replication) = &record.replication else { return Ok(false) };
    if group(database, &name)?.as_ref() != Some(&replication.group) {
        return Ok(false);
    }
    let _owing = database.lineage.owing.lock();
    begin()?;
    resource::delete(database, KIND, &name)?;
    Ok(true)
}

/// Nothing is owed to a region any more.
pub(super) fn forget(database: &Inner, table: &str, region: &str) -> Result<()> {
    resource::delete(database, KIND, &position_name(table, region))
}

fn group(database: &Inner, name: &str) -> Result<Option<String>> {
    resource::get(database, KIND, name)
}
