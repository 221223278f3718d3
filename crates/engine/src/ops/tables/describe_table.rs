//! DescribeTable.

use keyloom_api::Fields;
use keyloom_api::parameters::control_table;
use keyloom_core::Result;

use crate::database::Inner;

use super::description;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let table = database.catalog.described_table(control_table(&fields))?;
    database.count(&table)?;
    let status = table.record.status_at(database.clock.now_ms());
    Ok(description::of(database, &table, status).encode("Table"))
}
