//! ExecuteStatement.

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::image::Row;
use keyloom_core::{Item, Result};

use crate::parameters::ReturnConsumedCapacity;
use crate::{Constraints, Fields, JsonWriter};

use super::StatementInput;

/// The longest `NextToken`, as the API model has it.
const MAX_TOKEN_CHARS: usize = 32_768;

/// The input of ExecuteStatement.
#[derive(Clone, Debug, Default)]
pub struct ExecuteStatementInput {
    /// The statement with its parameters.
    pub statement: StatementInput,
    /// How many entries a read evaluates at most.
    pub limit: Option<usize>,
    /// Where a read continues.
    pub next_token: Option<String>,
    /// How much of the consumed capacity the reply states.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

impl ExecuteStatementInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let mut constraints = Constraints::new();
        let mut statement = StatementInput::decode(fields, &mut constraints, "");
        let limit = fields.integer("Limit");
        constraints.range(limit, "limit", 1, i64::MAX);
        let next_token = fields.owned_string("NextToken");
        if let Some(token) = &next_token {
            constraints.length(token, "nextToken", 1, MAX_TOKEN_CHARS);
        }
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        constraints.finish()?;
        statement.decode_parameters(fields)??;
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        Ok(Self { statement, limit, next_token, return_consumed_capacity })
    }
}

/// The output of ExecuteStatement.
#[derive(Debug, Default)]
pub struct ExecuteStatementOutput {
    /// The rows of a read, or what a write returns.
    pub rows: Vec<Row>,
    /// The key behind which the next page begins; none if this is the last.
    pub next_token: Option<String>,
    /// The last key that was read, if there is more.
    pub last_evaluated_key: Option<Item>,
    /// The consumed capacity.
    pub consumed_capacity: ConsumedCapacity,
}

impl ExecuteStatementOutput {
    /// The reply's body.
    pub fn encode(&self, shown: ReturnConsumedCapacity) -> Result<Vec<u8>> {
        let mut json = JsonWriter::object();
        json.rows("Items", &self.rows)?;
        json.optional_string("NextToken", self.next_token.as_deref());
        json.optional_item("LastEvaluatedKey", self.last_evaluated_key.as_ref());
        shown.write(&mut json, &self.consumed_capacity);
        Ok(json.finish())
    }

    /// The rows, decoded.
    pub fn into_items(self) -> Result<Vec<Item>> {
        self.rows.into_iter().map(Row::into_item).collect()
    }
}
