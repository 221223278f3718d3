//! ListTables.

use keyloom_core::limits;

use crate::{Fields, JsonWriter};

/// The input of ListTables.
#[derive(Clone, Copy, Debug)]
pub struct ListTablesInput<'a> {
    /// The table after which the list continues.
    pub exclusive_start_table_name: Option<&'a str>,
    /// How many names to list at most.
    pub limit: usize,
}

impl<'a> ListTablesInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        Self {
            exclusive_start_table_name: fields.string("ExclusiveStartTableName"),
            limit: fields.count("Limit").unwrap_or(limits::MAX_LIST_TABLES),
        }
    }
}

/// The output of ListTables.
#[derive(Clone, Debug)]
pub struct ListTablesOutput<'a> {
    /// The names of this page.
    pub table_names: Vec<&'a str>,
    /// Whether there are more.
    pub more: bool,
}

impl ListTablesOutput<'_> {
    /// The reply's body.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.strings("TableNames", &self.table_names);
        let last = self.table_names.last().filter(|_| self.more);
        json.optional_string("LastEvaluatedTableName", last.copied());
        json.finish()
    }
}
