//! DeleteTable.

use keyloom_core::Result;
use keyloom_core::error::request;

use crate::catalog::record::Status;
use crate::database::Inner;
use crate::wire::{Constraints, Fields, JsonWriter};

use super::{description, parameters::required_table};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = required_table(&fields)?;
    let mut constraints = Constraints::new();
    constraints.table_name(Some(name));
    constraints.finish()?;
    let change = database.catalog.change(database.store.as_ref());
    let table = database.catalog.described_table(name)?;
    if table.record.deletion_protection {
        return Err(request::deletion_protected());
    }
    if table.record.status != Status::Active {
        return Err(request::table_being_changed(table.name(), table.record.status.as_str()));
    }
    change.remove(&table)?;
    drop(change);
    database.background.wake();
    let mut json = JsonWriter::object();
    description::write(&mut json, "TableDescription", database, &table, Status::Deleting);
    Ok(json.finish())
}
