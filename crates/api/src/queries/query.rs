//! Query.

use keyloom_core::error::request;
use keyloom_core::expr::{
    Bindings, Condition, ExpressionKind, KeyCondition, KeyConditionTree, Parameters, Projection,
};
use keyloom_core::legacy::{self, LegacyCondition};
use keyloom_core::{Result, Str};

use crate::items::{self, ProjectionInput};
use crate::parameters::item_table;
use crate::{Constraints, Expression, Fields, JsonWriter, Malformed, Operation, Request};

use super::{PageOutput, ReadInput};

/// The input of Query.
#[derive(Clone, Debug)]
pub struct QueryInput {
    /// What it shares with Scan.
    pub read: ReadInput,
    /// `KeyConditionExpression`.
    pub key_condition: Option<Expression<Condition>>,
    /// The legacy `KeyConditions`.
    pub key_conditions: Option<Vec<(Str, LegacyCondition)>>,
    /// Whether sort keys ascend.
    pub forward: bool,
}

impl Default for QueryInput {
    fn default() -> Self {
        Self {
            read: ReadInput::default(),
            key_condition: None,
            key_conditions: None,
            forward: true,
        }
    }
}

impl QueryInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        // Query has its own words for this one constraint.
        if fields.integer("Limit").is_some_and(|limit| limit < 1) {
            return Err(request::query_limit_too_small());
        }
        let mut constraints = Constraints::new();
        let mut read = ReadInput::decode(fields, table_name, &mut constraints);
        read.decode_select(fields, &mut constraints);
        read.projection = ProjectionInput::decode(fields, &mut constraints);
        let key_conditions =
            items::conditions(fields, &mut constraints, "KeyConditions", "keyConditions")?;
        read.decode_filter(fields, &mut constraints, ("QueryFilter", "queryFilter"))?;
        constraints.finish()?;
        let mut input = Self {
            read,
            key_condition: fields.string("KeyConditionExpression").map(Expression::from),
            key_conditions,
            forward: fields.boolean("ScanIndexForward").unwrap_or(true),
        };
        input.check_parameters(fields)?;
        input.read.decode_values(fields)?;
        Ok(input)
    }

    fn check_parameters(&self, fields: &Fields<'_>) -> Result<()> {
        let projection = &self.read.projection;
        Parameters {
            expressions: &[
                (ExpressionKind::Projection, projection.expression.is_some()),
                (ExpressionKind::Filter, self.read.filter.is_some()),
                (ExpressionKind::KeyCondition, self.key_condition.is_some()),
            ],
            legacy: &[
                ("AttributesToGet", projection.attributes_to_get.is_some()),
                ("QueryFilter", self.read.legacy_filter.is_some()),
                ("ConditionalOperator", self.read.conditional_operator.is_some()),
                ("KeyConditions", self.key_conditions.is_some()),
            ],
            names: projection.names.is_some(),
            values: fields.has("ExpressionAttributeValues"),
        }
        .check()
    }

    /// All expressions of the request, parsed in the order in which AWS reads them.
    pub fn expressions(&self) -> Result<QueryExpressions> {
        let read = &self.read;
        let mut bindings = Bindings::new(read.projection.names.clone(), read.values.clone())?;
        let key = self.key_condition.as_ref().map(|one| one.key_condition(&mut bindings));
        let key = key.transpose()?;
        let filter = read.filter.as_ref().map(|one| one.filter(&mut bindings)).transpose()?;
        let projection = read.projection.expression.as_ref();
        let projection = projection.map(|one| one.projection(&mut bindings)).transpose()?;
        bindings.finish()?;
        let key = match (key, &self.key_conditions) {
            (Some(tree), _) => KeyConditionTree::into_clauses(tree)?,
            (None, Some(conditions)) => legacy::key_conditions(conditions.clone())?,
            (None, None) => return Err(request::no_key_condition()),
        };
        let legacy_count = read.legacy_filter.as_ref().map(Vec::len);
        legacy::check_conditional_operator(read.conditional_operator, legacy_count)?;
        let filter = match (&read.legacy_filter, filter) {
            (Some(conditions), None) => {
                legacy::filter(conditions.clone(), read.conditional_operator)?
            }
            (_, filter) => filter,
        };
        let projection = match projection {
            Some(projection) => Some(projection),
            None => read.projection.legacy()?,
        };
        Ok(QueryExpressions { key, filter, projection })
    }
}

/// The bound expressions of a query.
#[derive(Clone, Debug)]
pub struct QueryExpressions {
    /// Which items of the partition are read.
    pub key: KeyCondition,
    /// Which of those are returned.
    pub filter: Option<Condition>,
    /// Which of their attributes are returned.
    pub projection: Option<Projection>,
}

impl Request for QueryInput {
    type Output = PageOutput;

    const OPERATION: Operation = Operation::Query;

    fn decode_reply(body: &[u8]) -> Result<Self::Output, Malformed> {
        PageOutput::decode(body)
    }

    fn write_members(&self, json: &mut JsonWriter) {
        self.read.write_members(json, self.key_condition.as_ref());
        if !self.forward {
            json.boolean("ScanIndexForward", false);
        }
    }
}
