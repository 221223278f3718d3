//! ListTables.

use keyloom_api::tables::ListTablesInput;
use keyloom_api::{Fields, JsonWriter};
use keyloom_core::Result;

use crate::catalog::table_name;
use crate::database::Inner;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let ListTablesInput { exclusive_start_table_name: start, limit } =
        ListTablesInput::decode(&fields)?;
    let tables = database.catalog.all();
    let after = start.map(table_name).unwrap_or_default();
    let mut names: Vec<&String> =
        tables.keys().filter(|name| name.as_str() > after).take(limit + 1).collect();
    let more = names.len() > limit;
    names.truncate(limit);

    let mut json = JsonWriter::object();
    json.strings("TableNames", &names);
    if let Some(last) = names.last().filter(|_| more) {
        json.string("LastEvaluatedTableName", last);
    }
    Ok(json.finish())
}
