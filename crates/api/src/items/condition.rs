//! The condition of a write, in both its forms: `ConditionExpression`, and the legacy `Expected`.

use keyloom_core::expr::{
    Bindings, Condition, ExpressionKind, Parameters, Update, undecodable_value,
};
use keyloom_core::legacy::{
    self as lowering, AttributeUpdate, ConditionalOperator, ExpectedAttribute,
};
use keyloom_core::{AttributeValue, Result, Str, json};

use crate::expression::ExpressionWriter;
use crate::{Constraints, Expression, Fields, JsonWriter};

use super::legacy;

/// The expression parameters of a write.
#[derive(Clone, Debug, Default)]
pub struct ConditionInput {
    /// `ConditionExpression`.
    pub expression: Option<Expression<Condition>>,
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
    /// Decodes everything but the attribute values.
    pub fn decode(fields: &Fields<'_>, constraints: &mut Constraints) -> Result<Self> {
        Ok(Self {
            expression: fields.string("ConditionExpression").map(Expression::from),
            names: fields.string_map("ExpressionAttributeNames"),
            values: None,
            expected: legacy::expected(fields, constraints)?,
            operator: legacy::conditional_operator(fields, constraints),
        })
    }

    /// Reads the attribute values, which come after the model's constraints.
    pub fn decode_values(&mut self, fields: &Fields<'_>) -> Result<()> {
        self.values = expression_values(fields, self.names.as_deref())?;
        Ok(())
    }

    /// Checks which parameters go together in a request whose only expression this is.
    pub fn check_parameters(&self, fields: &Fields<'_>) -> Result<()> {
        let expressions = [(ExpressionKind::Condition, self.expression.is_some())];
        let legacy = self.legacy_parameters();
        Parameters {
            expressions: &expressions,
            legacy: &legacy,
            names: self.names.is_some(),
            values: fields.has("ExpressionAttributeValues"),
        }
        .check()
    }

    /// The legacy parameters, each with whether the request has it.
    pub fn legacy_parameters(&self) -> [(&'static str, bool); 2] {
        [("Expected", self.expected.is_some()), ("ConditionalOperator", self.operator.is_some())]
    }

    /// The condition of a request that has no other expression.
    pub fn alone(self) -> Result<Option<Condition>> {
        if self.expression.is_none() {
            return self.legacy_condition();
        }
        self.bind(None).map(|(_, condition)| condition)
    }

    /// The update of UpdateItem, in either of its forms, and the condition.
    pub fn with_update(
        self,
        update: Option<Expression<Update>>,
        legacy: Option<Vec<(Str, AttributeUpdate)>>,
    ) -> Result<(Update, Option<Condition>)> {
        if update.is_none() && self.expression.is_none() {
            let update = lowering::attribute_updates(legacy.unwrap_or_default())?;
            return Ok((update, self.legacy_condition()?));
        }
        let (update, condition) = self.bind(update.as_ref())?;
        Ok((update.unwrap_or_default(), condition))
    }

    /// The update and the condition, which share names and values, in the order in which AWS reads them.
    pub(crate) fn bind(
        self,
        update: Option<&Expression<Update>>,
    ) -> Result<(Option<Update>, Option<Condition>)> {
        let mut bindings = Bindings::new(self.names, self.values)?;
        let update = update.map(|one| one.update(&mut bindings)).transpose()?;
        let condition = self.expression.map(|one| one.condition(&mut bindings)).transpose()?;
        bindings.finish()?;
        Ok((update, condition))
    }

    /// The condition that the legacy parameters state.
    fn legacy_condition(self) -> Result<Option<Condition>> {
        lowering::check_conditional_operator(self.operator, self.expected.as_ref().map(Vec::len))?;
        match self.expected {
            Some(expected) => lowering::expected(expected, self.operator),
            None => Ok(None),
        }
    }

    /// Writes the condition, and beside it the update that shares its names and values.
    pub(crate) fn write_members(&self, json: &mut JsonWriter, update: Option<&Expression<Update>>) {
        let mut writer = ExpressionWriter::new(json, self.names.as_ref(), self.values.as_ref());
        writer.update(update);
        writer.condition(ExpressionKind::Condition, self.expression.as_ref());
        writer.finish();
    }
}

/// `ExpressionAttributeValues`, in the order of the request, which also has these `ExpressionAttributeNames`.
pub(crate) fn expression_values(
    fields: &Fields<'_>,
    names: Option<&[(Str, Str)]>,
) -> Result<Option<Vec<(Str, AttributeValue)>>> {
    let Some(entries) = fields.entries("ExpressionAttributeValues") else { return Ok(None) };
    let mut values: Vec<(Str, AttributeValue)> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let value = json::value_from(value).map_err(|reason| {
            let earlier = values.iter().map(|(key, _)| key.as_str());
            undecodable_value(names, &earlier.chain([key]).collect::<Vec<_>>(), &reason)
        })?;
        values.push((Str::from(key), value));
    }
    Ok(Some(values))
}
