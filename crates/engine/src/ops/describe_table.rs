//! DescribeTable.

use keyloom_core::Result;

use crate::database::Inner;
use crate::wire::{Constraints, Fields, JsonWriter};

use super::{description, parameters::required_table};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = required_table(&fields)?;
    let mut constraints = Constraints::new();
    constraints.table_name(Some(name));
    constraints.finish()?;
    let table = database.catalog.described_table(name)?;
    let mut json = JsonWriter::object();
    description::write(&mut json, "Table", database, &table, table.record.status);
    Ok(json.finish())
}
