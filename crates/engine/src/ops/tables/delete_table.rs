//! DeleteTable.

use keyloom_api::Fields;
use keyloom_api::parameters::control_table;
use keyloom_core::Result;
use keyloom_core::error::{message, request, table as table_error};

use crate::catalog::Alongside;
use crate::catalog::record::{IndexRecord, Status};
use crate::database::Inner;
use crate::ops::backups;

use super::{description, stream_setting};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let change = database.catalog.change(database.store.as_ref());
    let table = database.catalog.described_table(control_table(&fields))?;
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
    change.remove(&table, || {
        let streams = stream_setting::ended(database, &table.record)?.into_iter().collect();
        let backup = backups::left_by(database, &table)?;
        let keeps_items = backup.is_some();
        let resources = backup.into_iter().collect();
        Ok(Alongside { streams, keeps_items, resources, ..Alongside::default() })
    })?;
    drop(change);
    database.observer.forget(table.name(), None);
    database.background.wake();
    // It is done: if the items cannot be counted, the answer says nothing of them.
    let _ = database.counted.wait();
    Ok(description::of(database, &table, Status::Deleting).encode("TableDescription"))
}
