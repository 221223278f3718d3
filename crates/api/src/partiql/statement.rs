//! Statements as requests carry them.

use keyloom_core::partiql::parameter_from;
use keyloom_core::{AttributeValue, Error, Result, limits};

use crate::parameters::wants_item_on_failure;
use crate::{Constraints, Fields};

/// A statement with its parameters.
#[derive(Clone, Debug, Default)]
pub struct StatementInput {
    /// The text of the statement.
    pub statement: String,
    /// A value for every `?`.
    pub parameters: Vec<AttributeValue>,
    /// Whether a read is strongly consistent.
    pub consistent_read: bool,
    /// Whether a failed condition returns the item.
    pub return_item_on_failure: bool,
}

impl StatementInput {
    /// A statement without parameters.
    pub fn new(statement: impl Into<String>) -> Self {
        Self { statement: statement.into(), ..Self::default() }
    }

    /// Reads everything but the parameters, which come after the model's constraints. `path` is in front
    /// of the names of members in messages.
    pub fn decode(fields: &Fields<'_>, constraints: &mut Constraints, path: &str) -> Self {
        let statement = fields.owned_string("Statement");
        let name = format!("{path}statement");
        match &statement {
            Some(text) => constraints.length(text, &name, 1, limits::MAX_STATEMENT_CHARS),
            None => constraints.required(false, &name),
        }
        if fields.list("Parameters").is_some_and(<[_]>::is_empty) {
            constraints.count(0, "[]", &format!("{path}parameters"), 1, usize::MAX);
        }
        Self {
            statement: statement.unwrap_or_default(),
            parameters: Vec::new(),
            consistent_read: fields.boolean("ConsistentRead").unwrap_or(false),
            return_item_on_failure: wants_item_on_failure(fields, constraints),
        }
    }

    /// Reads the parameters. The outer error concerns the whole request, the inner one the statement.
    pub fn decode_parameters(&mut self, fields: &Fields<'_>) -> Result<Result<()>> {
        let parameters = fields.list("Parameters").unwrap_or_default();
        match parameters.iter().map(parameter_from).collect() {
            Ok(parameters) => {
                self.parameters = parameters;
                Ok(Ok(()))
            }
            Err(error @ Error::Serialization(_)) => Err(error),
            Err(error) => Ok(Err(error)),
        }
    }
}
