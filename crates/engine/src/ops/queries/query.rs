//! Query.

use keyloom_api::Fields;
use keyloom_api::queries::{PageOutput, QueryExpressions, QueryInput, Select};
use keyloom_core::Result;
use keyloom_core::error::message;
use keyloom_core::expr::{Condition, Projection};
use keyloom_store::Direction;

use crate::catalog::Table;
use crate::database::{Database, Inner};
use crate::read::{self, ReadPlan};

use super::page::{check_filter, fetches_base, index_position, read_page, refuse_vector_index};

impl Database {
    /// Reads one page of an item collection.
    pub fn query(&self, input: &QueryInput) -> Result<PageOutput> {
        self.inner().on_current_tables(true, || run(self.inner(), input))
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
    let mut page = read_page(database, &plan, &read.table_name, read.read_mode())?;
    if plan.is_of_one_item() {
        // No start key is accepted here, so there is no page after one that `Limit` ends.
        page.last_evaluated_key = None;
    }
    Ok(page)
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
    let start = read.exclusive_start_key.as_ref();
    start.map_or(Ok(()), |start| read::check_start_partition(&plan, start))?;
    let condition = expressions.key.resolve(&plan.key().hash, &plan.key().range)?;
    check_condition_values(&plan, &condition)?;
    let start = start.map(|start| read::check_start_in_query(&plan, &condition, start));
    let start = start.transpose()?;
    let parameter = if read.legacy_filter.is_some() { "QueryFilter" } else { "Filter Expression" };
    check_filter(plan.filter.as_ref(), parameter, plan.key())?;
    check_paths(&plan)?;
    plan.fetch_base = fetches_base(read, &plan.table, plan.index(), plan.projection.as_ref())?;
    plan.range = read::of_key_condition(plan.keyspace(), &condition)?;
    if let Some(start) = start {
        plan.range = read::resume_after(plan.range, start, plan.direction);
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

/// Refuses paths into key attributes in the filter and the projection.
pub(crate) fn check_paths(plan: &ReadPlan) -> Result<()> {
    let filter = plan.filter.as_ref().map(Condition::paths).unwrap_or_default();
    let projection = plan.projection.as_ref().map(Projection::paths).unwrap_or_default();
    plan.table.check_paths(filter.into_iter().chain(projection))
}
