//! The first version of global tables (2017.11.29), of which there are none here.

use crate::{Fields, JsonWriter};

/// The global table that a request names.
pub fn global_table_name<'a>(fields: &Fields<'a>) -> &'a str {
    fields.string("GlobalTableName").unwrap_or_default()
}

/// The answer of ListGlobalTables.
pub fn no_global_tables() -> Vec<u8> {
    let mut json = JsonWriter::object();
    json.strings("GlobalTables", std::iter::empty::<&str>());
    json.finish()
}
