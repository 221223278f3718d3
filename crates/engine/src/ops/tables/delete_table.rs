//! DeleteTable.

use keyloom_api::Fields;
use keyloom_api::parameters::control_table;
use keyloom_core::Result;
use keyloom_core::error::{message, request, table as table_error};

use crate::catalog::record::{IndexRecord, Status};
use crate::catalog::{Alongside, Change, Table};
use crate::database::Inner;
use crate::ops::backups;
use crate::replication;

use super::{description, stream_setting};

/// Removes a table and everything that belongs to it. The regions of a global table are told that this one has it no
/// more.
pub(crate) fn remove(database: &Inner, change: &Change<'_>, table: &Table) -> Result<()> {
    let streams = stream_setting::ended(database, &table.record)?.into_iter().collect();
    let backup = backups::left_by(database, table)?;
    let keeps_items = backup.is_some();
    let mut resources = replication::departures_alongside(database, &table.record)?;
    resources.extend(backup);
    change.remove(table, Alongside { streams, keeps_items, resources, ..Alongside::default() })?;
    replication::departures_end(database, table.name(), table.record.replication.as_ref());
    database.observer.forget(table.name(), None);
    database.background.wake();
    Ok(())
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = control_table(&fields);
    if database.catalog.find(name).is_some_and(|table| table.recovery.is_some()) {
        // The backup that it leaves says how large the table was; before the change, so that others need not
        // wait with us. Where the items cannot be counted, that is not exact.
        let _ = database.counted.wait();
    }
    let change = database.change()?;
    let table = database.catalog.described_table(name)?;
    if table.record.deletion_protection {
        return Err(request::deletion_protected());
    }
    if !matches!(table.record.status, Status::Active | Status::Failed) {
        return Err(request::table_being_changed(table.name(), table.record.status.as_str()));
    }
    if !table.record.vector_indexes.is_empty()
        && table.record.index_in_the_making(database.clock.now_ms()).is_some()
    {
        return Err(message::vector::table_has_unfinished_index());
    }
    let building = |index: &&IndexRecord| index.status == Status::Creating;
    if let Some(index) = table.record.indexes.iter().find(building) {
        return Err(table_error::index_being_created(table.name(), &index.name));
    }
    remove(database, &change, &table)?;
    drop(change);
    // The deletion is done: if the items cannot be counted, the response omits the counts.
    let _ = database.count(&table);
    Ok(description::of(database, &table, Status::Deleting).encode("TableDescription"))
}
