//! ListTables.

use keyloom_api::Fields;
use keyloom_api::tables::{ListTablesInput, ListTablesOutput};
use keyloom_core::Result;

use crate::database::Inner;
use crate::ops::paging;

#[expect(clippy::unnecessary_wraps, reason = "every operation has this form")]
pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let ListTablesInput { exclusive_start_table_name: start, limit } =
        ListTablesInput::decode(&fields);
    let tables = database.catalog.all();
    let names = tables.keys().map(String::as_str);
    let (table_names, more) = paging::page(names, limit, |name| Some(*name) > start);
    Ok(ListTablesOutput { table_names, more }.encode())
}
