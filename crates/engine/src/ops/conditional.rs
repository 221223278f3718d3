//! The condition of a write, in both its forms: `ConditionExpression`, and the legacy `Expected`.

use keyloom_core::error::request;
use keyloom_core::expr::{Bindings, Condition};
use keyloom_core::legacy::{self, ConditionalOperator, ExpectedAttribute, Parameter};
use keyloom_core::{AttributeValue, Result, Str, json};

use crate::wire::{Constraints, Fields};

use super::legacy_input;

/// The expression parameters of a write.
#[derive(Clone, Debug, Default)]
pub struct ConditionInput {
    /// `ConditionExpression`.
    pub expression: Option<String>,
    /// `ExpressionAttributeNames`.
    pub names: Option<Vec<(Str, Str)>>,
    /// `ExpressionAttributeValues`.
    pub values: Option<Vec<(Str, AttributeValue)>>,
    /// The legacy `Expected`.
    pub expected: Option<Vec<(Str, ExpectedAttribute)>>,
    /// The legacy `ConditionalOperator`.
    pub operator: Option<ConditionalOperator>,
}

impl ConditionInput {
    pub(crate) fn decode(fields: &Fields<'_>, constraints: &mut Constraints) -> Result<Self> {
        Ok(Self {
            expression: fields.owned_string("ConditionExpression")?,
            names: fields.string_map("ExpressionAttributeNames")?,
            values: None,
            expected: legacy_input::expected(fields, constraints)?,
            operator: legacy_input::conditional_operator(fields, constraints)?,
        })
    }

    /// Reads the attribute values, which come after the model's constraints.
    pub(crate) fn decode_values(&mut self, fields: &Fields<'_>) -> Result<()> {
        self.values = expression_values(fields)?;
        Ok(())
    }

    /// Refuses expressions beside legacy parameters. `others` are the request's further parameters
    /// of either kind that are present.
    pub(crate) fn check_not_mixed(&self, others: &[Parameter]) -> Result<()> {
        let own = [
            (self.expected.is_some(), Parameter::Legacy("Expected")),
            (self.operator.is_some(), Parameter::Legacy("ConditionalOperator")),
            (self.expression.is_some(), Parameter::Expression("ConditionExpression")),
        ];
        let present = own.iter().filter(|(present, _)| *present).map(|(_, parameter)| *parameter);
        legacy::check_not_mixed(&others.iter().copied().chain(present).collect::<Vec<_>>())
    }

    /// The condition of a request that has no other expression.
    pub(crate) fn alone(self) -> Result<Option<Condition>> {
        if self.expression.is_none() {
            self.check_no_bindings(&["ConditionExpression"])?;
            return self.legacy_condition();
        }
        let mut bindings = Bindings::new(self.names, self.values)?;
        let condition = self.expression.map(|text| bindings.condition(&text)).transpose()?;
        bindings.finish()?;
        Ok(condition)
    }

    /// Refuses names and values without an expression to use them.
    pub(crate) fn check_no_bindings(&self, expressions: &[&str]) -> Result<()> {
        if self.names.is_some() {
            return Err(request::names_without_expression());
        }
        if self.values.is_some() {
            return Err(request::values_without_expression(expressions));
        }
        Ok(())
    }

    /// The condition that the legacy parameters state.
    pub(crate) fn legacy_condition(&self) -> Result<Option<Condition>> {
        legacy::expected(self.expected.as_deref(), self.operator)
    }
}

/// `ExpressionAttributeValues`, in the order of the request.
pub(crate) fn expression_values(fields: &Fields<'_>) -> Result<Option<Vec<(Str, AttributeValue)>>> {
    let Some(entries) = fields.entries("ExpressionAttributeValues")? else { return Ok(None) };
    entries
        .into_iter()
        .map(|(name, value)| Ok((Str::from(name), json::value_from(value)?)))
        .collect::<Result<_>>()
        .map(Some)
}
