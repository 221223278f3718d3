//! Query.

use keyloom_api::Fields;
use keyloom_api::queries::{PageOutput, QueryExpressions, QueryInput, Select};
use keyloom_core::Result;
use keyloom_core::error::{message, request};
use keyloom_core::expr::{Condition, Projection, check_keys_are_scalars};
use keyloom_store::Direction;

use crate::catalog::Table;
use crate::database::{Database, Inner};
use crate::read::{self, ReadPlan};

use super::page::{check_filter, fetches_base, index_position, read_page, refuse_vector_index};

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

fn run(database: &Inner, input: &QueryInput) -> Result<PageOutput> {
    let read = &input.read;
    read.check_select()?;
    let expressions = input.expressions()?;
    let table = database.catalog.table(&read.table_name)?;
    let plan = plan(input, expressions, table)?;
    read_page(database, &plan, &read.table_name, read.read_mode())
}

fn plan(
    input: &QueryInput,
    expressions: QueryExpressions,
    table: std::sync::Arc<Table>,
) -> Result<ReadPlan> {
    let read = &input.read;
    refuse_vector_index(read, &table, message::vector::query_not_supported)?;
    let index = index_position(read, &table)?;
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
    plan.fetch_base = fetches_base(read, &plan.table, plan.index(), plan.projection.as_ref())?;
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
