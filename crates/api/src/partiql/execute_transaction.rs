//! ExecuteTransaction: statements that are all done, or none.

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::image::Row;
use keyloom_core::{Item, Result, limits};

use crate::parameters::ReturnConsumedCapacity;
use crate::{Constraints, Fields, JsonWriter};

use super::StatementInput;

/// The input of ExecuteTransaction.
#[derive(Clone, Debug, Default)]
pub struct ExecuteTransactionInput {
    /// Up to 100 statements, all reads or all writes.
    pub statements: Vec<StatementInput>,
    /// An idempotency token: retries of a writing transaction with the same token commit once.
    pub client_request_token: Option<String>,
    /// How much of the consumed capacity the reply states.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

impl ExecuteTransactionInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let list = fields.structures("TransactStatements");
        let mut constraints = Constraints::new();
        constraints.required(list.is_some(), "transactStatements");
        if let Some(list) = &list {
            let maximum = limits::MAX_TRANSACTION_ACTIONS;
            let shown = match list.len() {
                0 => "[]".to_owned(),
                count => format!("[{count} statements]"),
            };
            constraints.count(list.len(), &shown, "transactStatements", 1, maximum);
        }
        let token = fields.owned_string("ClientRequestToken");
        if let Some(token) = &token {
            let maximum = limits::MAX_CLIENT_TOKEN_CHARS;
            constraints.length(token, "clientRequestToken", 1, maximum);
        }
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        let mut statements = Vec::new();
        let list = list.unwrap_or_default();
        for (position, fields) in list.iter().enumerate() {
            let path = format!("transactStatements.{}.member.", position + 1);
            statements.push(StatementInput::decode(fields, &mut constraints, &path));
        }
        constraints.finish()?;
        for (statement, fields) in statements.iter_mut().zip(&list) {
            statement.decode_parameters(fields)??;
        }
        Ok(Self { statements, client_request_token: token, return_consumed_capacity })
    }
}

/// The output of ExecuteTransaction.
#[derive(Debug, Default)]
pub struct ExecuteTransactionOutput {
    /// What the reads found, in the order of the statements; nothing for writes.
    pub responses: Vec<Option<Row>>,
    /// The consumed capacity, by table.
    pub consumed_capacity: Vec<ConsumedCapacity>,
}

impl ExecuteTransactionOutput {
    /// The reply's body.
    pub fn encode(&self, shown: ReturnConsumedCapacity) -> Result<Vec<u8>> {
        let mut json = JsonWriter::object();
        json.optional_rows("Responses", &self.responses)?;
        shown.write_list(&mut json, &self.consumed_capacity);
        Ok(json.finish())
    }

    /// What the reads found, in the order of the statements; nothing for writes.
    pub fn into_items(self) -> Result<Vec<Option<Item>>> {
        self.responses.into_iter().map(|row| row.map(Row::into_item).transpose()).collect()
    }
}
