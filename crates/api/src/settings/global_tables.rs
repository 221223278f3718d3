//! The first version of global tables (2017.11.29), of which there are none here: requests are checked, nothing is
//! found.

use keyloom_core::Result;

use crate::model::check_constraints;
use crate::{Fields, JsonWriter, Operation};

/// The global table that a request names.
pub fn global_table_name<'a>(operation: Operation, fields: &Fields<'a>) -> Result<&'a str> {
    check_constraints(operation, fields)?;
    Ok(fields.string("GlobalTableName").unwrap_or_default())
}

/// The answer of ListGlobalTables.
pub fn no_global_tables(fields: &Fields<'_>) -> Result<Vec<u8>> {
    check_constraints(Operation::ListGlobalTables, fields)?;
    let mut json = JsonWriter::object();
    json.strings("GlobalTables", std::iter::empty::<&str>());
    Ok(json.finish())
}
