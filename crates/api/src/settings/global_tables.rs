//! The first version of global tables (2017.11.29), of which there are none here: names are checked, nothing is found.

use keyloom_core::Result;
use keyloom_core::schema::model::check_new_name;

use crate::{Constraints, Fields, JsonWriter};

/// Decodes `GlobalTableName`.
pub fn decode_name<'a>(fields: &Fields<'a>) -> Result<&'a str> {
    let mut constraints = Constraints::new();
    let name = fields.string("GlobalTableName");
    match name {
        None => constraints.required(false, "globalTableName"),
        Some(name) => check_new_name(name, "globalTableName", constraints.violations()),
    }
    constraints.finish()?;
    Ok(name.unwrap_or_default())
}

/// Checks the input of ListGlobalTables.
pub fn check_list(fields: &Fields<'_>) -> Result<()> {
    let mut constraints = Constraints::new();
    constraints.range(fields.integer("Limit"), "limit", 1, i64::MAX);
    constraints.finish()
}

/// The output of ListGlobalTables: none.
pub fn list_answer() -> Vec<u8> {
    let mut json = JsonWriter::object();
    json.strings("GlobalTables", std::iter::empty::<&str>());
    json.finish()
}
