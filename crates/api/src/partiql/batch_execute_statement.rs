//! BatchExecuteStatement: statements that are independent of each other.

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::error::request;
use keyloom_core::image::Row;
use keyloom_core::json::{self, Json};
use keyloom_core::{Error, Item, Result, Str, limits};

use crate::error::statement_error;
use crate::parameters::ReturnConsumedCapacity;
use crate::{Constraints, Fields, JsonWriter};

use super::StatementInput;

/// The input of BatchExecuteStatement.
#[derive(Clone, Debug, Default)]
pub struct BatchExecuteStatementInput {
    /// Up to 25 statements, all reads or all writes.
    pub statements: Vec<StatementInput>,
    /// How much of the consumed capacity the reply states.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

/// The statements, or why their parameters cannot be read.
pub type Statements = Vec<Result<StatementInput>>;

impl BatchExecuteStatementInput {
    /// Decodes the request; each statement whose parameters cannot be decoded carries its error.
    pub fn decode_each(fields: &Fields<'_>) -> Result<(Statements, ReturnConsumedCapacity)> {
        let list = fields.structures("Statements");
        let mut constraints = Constraints::new();
        constraints.required(list.is_some(), "statements");
        if let Some(list) = &list {
            let maximum = limits::MAX_BATCH_STATEMENTS;
            let shown = if list.is_empty() {
                "[]".to_owned()
            } else {
                format!("[{} statements]", list.len())
            };
            constraints.count(list.len(), &shown, "statements", 1, maximum);
        }
        let capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        let mut statements = Vec::new();
        for (position, fields) in list.into_iter().flatten().enumerate() {
            let path = format!("statements.{}.member.", position + 1);
            statements.push((StatementInput::decode(&fields, &mut constraints, &path), fields));
        }
        constraints.finish()?;
        let statements = statements.into_iter().map(|(mut statement, fields)| {
            Ok(statement.decode_parameters(&fields)?.map(|()| statement))
        });
        Ok((statements.collect::<Result<_>>()?, capacity))
    }

    /// The statements; one whose parameters cannot be read is empty, so that the others keep their places.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let (statements, return_consumed_capacity) = Self::decode_each(fields)?;
        let statements = statements.into_iter().map(Result::unwrap_or_default).collect();
        Ok(Self { statements, return_consumed_capacity })
    }
}

/// The output of BatchExecuteStatement.
#[derive(Debug, Default)]
pub struct BatchExecuteStatementOutput {
    /// The outcome of each statement, in their order.
    pub outcomes: Vec<StatementOutcome>,
    /// What the statements cost, table by table; nothing for a table where all of them failed.
    pub consumed_capacity: Vec<ConsumedCapacity>,
}

/// The outcome of one statement of a batch.
#[derive(Debug)]
pub struct StatementOutcome {
    /// The table, if the statement got as far as that.
    pub table_name: Option<Str>,
    /// The row that the statement read or returned, or why it failed.
    pub row: Result<Option<Row>>,
}

impl StatementOutcome {
    /// The row that the statement read or returned, or why it failed.
    pub fn into_item(self) -> Result<Option<Item>> {
        self.row?.map(Row::into_item).transpose()
    }

    /// A statement that was refused before it ran.
    pub fn refused(error: Error) -> Self {
        Self { table_name: None, row: Err(error) }
    }
}

fn write_outcome(json: &mut JsonWriter, outcome: &StatementOutcome) -> Result<()> {
    json.optional_string("TableName", outcome.table_name.as_deref());
    match &outcome.row {
        Ok(None) => Ok(()),
        Ok(Some(row)) => json.row("Item", row),
        Err(error) => {
            json.structure("Error", |json| {
                json.string("Code", error_code(error));
                json.string("Message", &error.message());
            });
            Ok(())
        }
    }
}

/// The code that an error has as the outcome of a statement.
fn error_code(error: &Error) -> &'static str {
    match error {
        Error::InternalServer(_) => "InternalServerError",
        Error::AccessDenied(_) => "AccessDenied",
        Error::RequestLimitExceeded(_) => "RequestLimitExceeded",
        other => request::cancellation_code(other).as_str(),
    }
}

impl BatchExecuteStatementOutput {
    /// The reply's body.
    pub fn encode(&self, shown: ReturnConsumedCapacity) -> Result<Vec<u8>> {
        let mut json = JsonWriter::object();
        json.try_list("Responses", &self.outcomes, |json, outcome| {
            json.try_nested(|json| write_outcome(json, outcome))
        })?;
        if !self.consumed_capacity.is_empty() {
            shown.write_list(&mut json, &self.consumed_capacity);
        }
        Ok(json.finish())
    }
}

/// Why statements of a BatchExecuteStatement failed, in the order of the request; none for those that did not.
pub fn statement_errors(body: &[u8]) -> Vec<Option<Error>> {
    let Ok(Json::Object(answer)) = json::parse(body) else { return Vec::new() };
    let Some(Json::Array(responses)) = answer.get("Responses") else { return Vec::new() };
    let error = |response: &Json<'_>| match response {
        Json::Object(response) => match response.get("Error") {
            Some(Json::Object(error)) => Some(statement_error(error)),
            _ => None,
        },
        _ => None,
    };
    responses.iter().map(error).collect()
}
