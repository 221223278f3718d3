//! What Query and Scan share: the index, the limit, the filter, the projection.

use keyloom_core::capacity::ReadMode;
use keyloom_core::error::request;
use keyloom_core::expr::{Bindings, Condition, ExpressionKind, Projection};
use keyloom_core::legacy::{self, ConditionalOperator, LegacyCondition};
use keyloom_core::{AttributeValue, Item, Result, Str};

use crate::expression::ExpressionWriter;
use crate::items::{self, ProjectionInput};
use crate::parameters::ReturnConsumedCapacity;
use crate::{Constraints, Expression, Fields, JsonWriter};

/// Which attributes a page returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// All attributes of the item.
    AllAttributes,
    /// All attributes that the index holds.
    AllProjected,
    /// Those of the projection.
    Specific,
    /// None, only their number.
    Count,
}

impl Select {
    fn name(self) -> &'static str {
        match self {
            Self::AllAttributes => "ALL_ATTRIBUTES",
            Self::AllProjected => "ALL_PROJECTED_ATTRIBUTES",
            Self::Specific => "SPECIFIC_ATTRIBUTES",
            Self::Count => "COUNT",
        }
    }
}

/// The parameters that Query and Scan share.
#[derive(Clone, Debug, Default)]
pub struct ReadInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The index to read.
    pub index_name: Option<String>,
    /// How many entries to evaluate at most.
    pub limit: Option<usize>,
    /// Which attributes to return.
    pub select: Option<Select>,
    /// The key behind which the page begins.
    pub exclusive_start_key: Option<Item>,
    /// Whether the read is strongly consistent.
    pub consistent_read: bool,
    /// `FilterExpression`.
    pub filter: Option<Expression<Condition>>,
    /// The projection, with the names that all expressions share.
    pub projection: ProjectionInput,
    /// `ExpressionAttributeValues`.
    pub values: Option<Vec<(Str, AttributeValue)>>,
    /// The legacy `QueryFilter` or `ScanFilter`.
    pub legacy_filter: Option<Vec<(Str, LegacyCondition)>>,
    /// The legacy `ConditionalOperator`.
    pub conditional_operator: Option<ConditionalOperator>,
    /// How much of the consumed capacity the reply states.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

impl ReadInput {
    /// Decodes what comes before the legacy conditions; violations are reported in the order of the API model.
    pub(super) fn decode(
        fields: &Fields<'_>,
        table_name: &str,
        constraints: &mut Constraints,
    ) -> Self {
        let index_name = fields.owned_string("IndexName");
        constraints.index_name(index_name.as_deref());
        Self {
            table_name: table_name.to_owned(),
            index_name,
            limit: fields.integer("Limit").and_then(|limit| usize::try_from(limit).ok()),
            consistent_read: fields.boolean("ConsistentRead").unwrap_or(false),
            filter: fields.string("FilterExpression").map(Expression::from),
            ..Self::default()
        }
    }

    /// Decodes the member `Select` of a request.
    pub(super) fn decode_select(&mut self, fields: &Fields<'_>, constraints: &mut Constraints) {
        let selects = [
            ("SPECIFIC_ATTRIBUTES", Select::Specific),
            ("COUNT", Select::Count),
            ("ALL_ATTRIBUTES", Select::AllAttributes),
            ("ALL_PROJECTED_ATTRIBUTES", Select::AllProjected),
        ];
        self.select = constraints.one_of(fields.string("Select"), "select", &selects);
    }

    /// Decodes the legacy filter of this name, and what comes after it but for the attribute values.
    pub(super) fn decode_filter(
        &mut self,
        fields: &Fields<'_>,
        constraints: &mut Constraints,
        (member, path): (&str, &str),
    ) -> Result<()> {
        self.legacy_filter = items::conditions(fields, constraints, member, path)?;
        self.conditional_operator = items::conditional_operator(fields, constraints);
        self.return_consumed_capacity = ReturnConsumedCapacity::decode(fields, constraints);
        Ok(())
    }

    /// Reads the attribute values.
    pub fn decode_values(&mut self, fields: &Fields<'_>) -> Result<()> {
        self.exclusive_start_key =
            fields.item("ExclusiveStartKey").map_err(request::start_key_undecodable)?;
        self.values = items::expression_values(fields, self.projection.names.as_deref())?;
        Ok(())
    }

    /// The filter and the projection of a read that has no other expression.
    pub fn filter_and_projection(&self) -> Result<(Option<Condition>, Option<Projection>)> {
        let legacy_count = self.legacy_filter.as_ref().map(Vec::len);
        legacy::check_conditional_operator(self.conditional_operator, legacy_count)?;
        if let Some(conditions) = &self.legacy_filter {
            let filter = legacy::filter(conditions.clone(), self.conditional_operator)?;
            return Ok((filter, self.projection.legacy()?));
        }
        let mut bindings = Bindings::new(self.projection.names.clone(), self.values.clone())?;
        let filter = self.filter.as_ref().map(|one| one.filter(&mut bindings)).transpose()?;
        let projection = self.projection.expression.as_ref();
        let projection = projection.map(|one| one.projection(&mut bindings)).transpose()?;
        bindings.finish()?;
        let projection = match projection {
            Some(projection) => Some(projection),
            None => self.projection.legacy()?,
        };
        Ok((filter, projection))
    }

    /// Refuses combinations of `Select` that can never work, whatever the table.
    pub fn check_select(&self) -> Result<()> {
        let projected =
            self.projection.expression.is_some() || self.projection.attributes_to_get.is_some();
        let parameter = if self.projection.expression.is_some() {
            "ProjectionExpression"
        } else {
            "AttributesToGet"
        };
        match self.select {
            Some(Select::AllProjected) if self.index_name.is_none() => {
                Err(request::all_projected_without_index())
            }
            Some(Select::Specific) if !projected => Err(request::specific_without_projection()),
            Some(select) if projected && select != Select::Specific => {
                Err(request::projection_with_select(parameter, select.name()))
            }
            _ => Ok(()),
        }
    }

    /// How strong the read is.
    pub fn read_mode(&self) -> ReadMode {
        if self.consistent_read { ReadMode::Strong } else { ReadMode::Eventual }
    }

    /// Writes the parameters; `key_condition` is that of a query.
    pub(crate) fn write_members(
        &self,
        json: &mut JsonWriter,
        key_condition: Option<&Expression<Condition>>,
    ) {
        json.string("TableName", &self.table_name);
        json.optional_string("IndexName", self.index_name.as_deref());
        if let Some(limit) = self.limit {
            json.integer("Limit", limit as u64);
        }
        json.optional_string("Select", self.select.map(Select::name));
        json.optional_item("ExclusiveStartKey", self.exclusive_start_key.as_ref());
        json.flag("ConsistentRead", self.consistent_read);
        let names = self.projection.names.as_ref();
        let mut writer = ExpressionWriter::new(json, names, self.values.as_ref());
        writer.condition(ExpressionKind::KeyCondition, key_condition);
        writer.condition(ExpressionKind::Filter, self.filter.as_ref());
        writer.projection(self.projection.expression.as_ref());
        writer.finish();
    }
}
