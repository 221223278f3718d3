//! Scan.

use std::sync::Arc;

use keyloom_api::Fields;
use keyloom_api::queries::{PageOutput, ScanInput, Select};
use keyloom_core::Result;
use keyloom_core::error::{message, request};
use keyloom_core::expr::{Condition, Projection};
use keyloom_store::{Direction, KeyRange};

use crate::catalog::Table;
use crate::database::{Database, Inner};
use crate::layout;
use crate::read::{self, ReadPlan};

use super::page::{fetches_base, index_position, read_page, refuse_vector_index};
use super::query::check_paths;

impl Database {
    /// Reads one page of a table or an index.
    pub fn scan(&self, input: &ScanInput) -> Result<PageOutput> {
        self.inner().on_current_tables(true, || run(self.inner(), input))
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ScanInput::decode(&fields)?;
    run(database, &input)?.encode(input.read.return_consumed_capacity)
}

fn run(database: &Inner, input: &ScanInput) -> Result<PageOutput> {
    let read = &input.read;
    read.check_select()?;
    let (filter, projection) = read.filter_and_projection()?;
    let table = database.catalog.table(&read.table_name)?;
    let plan = plan(input, filter, projection, table)?;
    read_page(database, &plan, &read.table_name, read.read_mode())
}

fn plan(
    input: &ScanInput,
    filter: Option<Condition>,
    projection: Option<Projection>,
    table: Arc<Table>,
) -> Result<ReadPlan> {
    let read = &input.read;
    refuse_vector_index(read, &table, message::vector::scan_not_supported)?;
    let index = index_position(read, &table)?;
    let mut plan = ReadPlan {
        table,
        index,
        range: KeyRange::all(),
        direction: Direction::Forward,
        limit: read.limit,
        filter,
        projection,
        fetch_base: false,
        filter_entry: false,
        segment: input.segment,
        count_only: read.select == Some(Select::Count),
        condition: None,
        is_continued: read.exclusive_start_key.is_some(),
    };
    check_paths(&plan)?;
    plan.fetch_base = fetches_base(read, &plan.table, plan.index(), plan.projection.as_ref())?;
    plan.range = KeyRange::prefix(&layout::entries(plan.keyspace()));
    if let Some(start) = &read.exclusive_start_key {
        let key = read::check_start_key(&plan.table, plan.index(), start)?;
        if let Some((segment, total)) = plan.segment.filter(|_| plan.is_outside_segment(&key)) {
            return Err(request::start_key_outside_segment(segment, total));
        }
        plan.range = read::resume_after(plan.range, key, plan.direction);
    }
    Ok(plan)
}
