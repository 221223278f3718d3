//! Query.

use keyloom_api::{Constraints, Fields};
use keyloom_core::error::{message, request};
use keyloom_core::expr::{
    Bindings, Condition, ExpressionKind, KeyCondition, KeyConditionTree, Parameters, Projection,
    check_keys_are_scalars,
};
use keyloom_core::legacy::{self, LegacyCondition};
use keyloom_core::{Result, Str};
use keyloom_store::Direction;

use crate::catalog::Table;
use crate::database::{Database, Inner};
use crate::read::{self, ReadPlan};

use super::legacy_input;
use super::parameters::item_table;
use super::reading::{PageOutput, ReadInput, Select, check_filter};

/// What Query is asked.
#[derive(Clone, Debug)]
pub struct QueryInput {
    /// What it shares with Scan.
    pub read: ReadInput,
    /// `KeyConditionExpression`.
    pub key_condition: Option<String>,
    /// The legacy `KeyConditions`.
    pub key_conditions: Option<Vec<(Str, LegacyCondition)>>,
    /// Whether the sort key rises.
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

impl Database {
    /// Reads one page of an item collection.
    pub fn query(&self, input: &QueryInput) -> Result<PageOutput> {
        run(self.inner(), input)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = QueryInput::decode(&fields)?;
    run(database, &input)?.encode(input.read.return_consumed_capacity)
}

impl QueryInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        // Query has its own words for this one constraint.
        if fields.integer("Limit").is_some_and(|limit| limit < 1) {
            return Err(request::query_limit_too_small());
        }
        let mut constraints = Constraints::new();
        let filter = ("QueryFilter", "queryFilter");
        let read = ReadInput::decode(fields, table_name, &mut constraints, filter)?;
        let key_conditions =
            legacy_input::conditions(fields, &mut constraints, "KeyConditions", "keyConditions")?;
        constraints.finish()?;
        let mut input = Self {
            read,
            key_condition: fields.owned_string("KeyConditionExpression"),
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
    fn expressions(&self) -> Result<Expressions> {
        let read = &self.read;
        let mut bindings = Bindings::new(read.projection.names.clone(), read.values.clone())?;
        let key = self.key_condition.as_ref().map(|text| bindings.key_condition(text));
        let key = key.transpose()?;
        let filter = read.filter.as_ref().map(|text| bindings.filter(text)).transpose()?;
        let projection = read.projection.expression.as_ref();
        let projection = projection.map(|text| bindings.projection(text)).transpose()?;
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
        Ok(Expressions { key, filter, projection })
    }
}

/// The parsed expressions of a query.
struct Expressions {
    key: KeyCondition,
    filter: Option<Condition>,
    projection: Option<Projection>,
}

fn run(database: &Inner, input: &QueryInput) -> Result<PageOutput> {
    let read = &input.read;
    read.check_select()?;
    let expressions = input.expressions()?;
    let table = database.catalog.table(&read.table_name)?;
    let plan = plan(input, expressions, table)?;
    PageOutput::read(database, &plan, &read.table_name, read.read_mode())
}

fn plan(
    input: &QueryInput,
    expressions: Expressions,
    table: std::sync::Arc<Table>,
) -> Result<ReadPlan> {
    let read = &input.read;
    read.refuse_vector_index(&table, message::vector::query_not_supported)?;
    let index = read.index_position(&table)?;
    let direction = if input.forward { Direction::Forward } else { Direction::Backward };
    let mut plan = ReadPlan {
        table,
        index,
        range: keyloom_store::KeyRange::all(),
        direction,
        limit: read.limit,
        filter: expressions.filter,
        projection: expressions.projection,
        fetch_base: false,
        filter_entry: false,
        segment: None,
        count_only: read.select == Some(Select::Count),
        condition: None,
        is_continued: read.exclusive_start_key.is_some(),
    };
    let condition = expressions.key.resolve(&plan.key().hash, &plan.key().range)?;
    check_condition_values(&plan, &condition)?;
    let parameter = if read.legacy_filter.is_some() { "QueryFilter" } else { "Filter Expression" };
    check_filter(plan.filter.as_ref(), parameter, plan.key())?;
    check_paths(&plan)?;
    plan.fetch_base = read.shape(&plan.table, plan.index(), plan.projection.as_ref())?;
    plan.range = read::of_key_condition(plan.keyspace(), &condition)?;
    if let Some(start) = &read.exclusive_start_key {
        let key = read::check_start_key(&plan.table, plan.index(), start)?;
        if !plan.range.contains(&key) {
            return Err(request::start_key_outside_range());
        }
        plan.range = read::resume_after(plan.range, key, plan.direction);
    }
    plan.condition = Some(condition);
    Ok(plan)
}

/// Keys that are searched for obey the same limits as keys that are stored.
fn check_condition_values(
    plan: &ReadPlan,
    condition: &keyloom_core::expr::ResolvedKeyCondition,
) -> Result<()> {
    let key = plan.key();
    for (attribute, value) in key.hash.iter().zip(&condition.hash) {
        key.check_value(&attribute.name, value)?;
    }
    for (attribute, value) in key.range.iter().zip(&condition.range_prefix) {
        key.check_value(&attribute.name, value)?;
    }
    if let (Some(attribute), Some(operator)) =
        (key.range.get(condition.range_prefix.len()), &condition.range)
    {
        for value in operator.values() {
            key.check_value(&attribute.name, value)?;
        }
    }
    Ok(())
}

/// No path may go inside an attribute that the table's or an index's key says is a scalar.
pub(crate) fn check_paths(plan: &ReadPlan) -> Result<()> {
    let filter = plan.filter.as_ref().map(Condition::paths).unwrap_or_default();
    let projection = plan.projection.as_ref().map(Projection::paths).unwrap_or_default();
    let paths: Vec<_> = filter.into_iter().chain(projection).collect();
    let table_key = plan.table.key().attributes().map(|key| key.name.as_str());
    let index_keys = plan.table.indexes.iter().flat_map(|index| index.schema.key.attributes());
    check_keys_are_scalars(&paths, table_key, index_keys.map(|key| key.name.as_str()))
}
