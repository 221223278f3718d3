//! DescribeTable.

use keyloom_core::Result;

use crate::database::Inner;
use crate::wire::{Fields, JsonWriter};

use super::{description, parameters::described_table};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let table = database.catalog.described_table(name)?;
    database.counted.wait();
    let mut json = JsonWriter::object();
    description::write(&mut json, "Table", database, &table, table.record.status);
    Ok(json.finish())
}
