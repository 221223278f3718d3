//! ListTables.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::{Result, limits};

use crate::catalog::table_name;
use crate::database::Inner;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let start = fields.string("ExclusiveStartTableName");
    let limit = fields.integer("Limit");
    let mut constraints = Constraints::new();
    if start.is_some() {
        constraints.table_name_at(start, "exclusiveStartTableName");
    }
    constraints.range(limit, "limit", 1, limits::MAX_LIST_TABLES as i64);
    constraints.finish()?;

    let limit = limit.map_or(limits::MAX_LIST_TABLES, |limit| limit as usize);
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
