//! DescribeTable.

use keyloom_api::parameters::described_table;
use keyloom_api::{Fields, JsonWriter};
use keyloom_core::Result;

use crate::database::Inner;

use super::description;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let table = database.catalog.described_table(name)?;
    database.counted.wait_for(&table)?;
    let mut json = JsonWriter::object();
    let status = table.record.status_at(database.clock.now_ms());
    description::write(&mut json, "Table", database, &table, status);
    Ok(json.finish())
}
