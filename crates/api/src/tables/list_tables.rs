//! ListTables.

use keyloom_core::{Result, limits};

use crate::{Constraints, Fields};

/// The input of ListTables.
#[derive(Clone, Copy, Debug)]
pub struct ListTablesInput<'a> {
    /// The table behind which the list goes on, by name or ARN.
    pub exclusive_start_table_name: Option<&'a str>,
    /// How many names to list at most.
    pub limit: usize,
}

impl<'a> ListTablesInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Result<Self> {
        let start = fields.string("ExclusiveStartTableName");
        let limit = fields.integer("Limit");
        let mut constraints = Constraints::new();
        if start.is_some() {
            constraints.table_name_at(start, "exclusiveStartTableName");
        }
        constraints.range(limit, "limit", 1, limits::MAX_LIST_TABLES as i64);
        constraints.finish()?;
        let limit = limit.map_or(limits::MAX_LIST_TABLES, |limit| limit as usize);
        Ok(Self { exclusive_start_table_name: start, limit })
    }
}
