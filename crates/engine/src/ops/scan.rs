//! Scan.

use std::sync::Arc;

use keyloom_api::{Constraints, Fields};
use keyloom_core::error::{message, request};
use keyloom_core::expr::{Condition, ExpressionKind, Parameters, Projection};
use keyloom_core::{Result, limits};
use keyloom_store::{Direction, KeyRange};

use crate::catalog::Table;
use crate::database::{Database, Inner};
use crate::layout;
use crate::read::{self, ReadPlan};

use super::parameters::item_table;
use super::query::check_paths;
use super::reading::{PageOutput, ReadInput, Select};

/// What Scan is asked.
#[derive(Clone, Debug, Default)]
pub struct ScanInput {
    /// What it shares with Query.
    pub read: ReadInput,
    /// The part of a parallel scan: segment and total.
    pub segment: Option<(u32, u32)>,
}

impl Database {
    /// Reads one page of a table or an index.
    pub fn scan(&self, input: &ScanInput) -> Result<PageOutput> {
        run(self.inner(), input)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ScanInput::decode(&fields)?;
    run(database, &input)?.encode(input.read.return_consumed_capacity)
}

impl ScanInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        let mut constraints = Constraints::new();
        let filter = ("ScanFilter", "scanFilter");
        let read = ReadInput::decode(fields, table_name, &mut constraints, filter)?;
        constraints.range(fields.integer("Limit"), "limit", 1, i64::MAX);
        let segment = fields.integer("Segment");
        let total = fields.integer("TotalSegments");
        constraints.range(segment, "segment", 0, limits::MAX_SCAN_SEGMENTS - 1);
        constraints.range(total, "totalSegments", 1, limits::MAX_SCAN_SEGMENTS);
        constraints.finish()?;
        let mut input = Self { read, segment: check_segment(segment, total)? };
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
            ],
            legacy: &[
                ("AttributesToGet", projection.attributes_to_get.is_some()),
                ("ScanFilter", self.read.legacy_filter.is_some()),
                ("ConditionalOperator", self.read.conditional_operator.is_some()),
            ],
            names: projection.names.is_some(),
            values: fields.has("ExpressionAttributeValues"),
        }
        .check()
    }
}

fn check_segment(segment: Option<i64>, total: Option<i64>) -> Result<Option<(u32, u32)>> {
    match (segment, total) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(request::segment_missing()),
        (Some(_), None) => Err(request::total_segments_missing()),
        (Some(segment), Some(total)) if segment >= total => {
            Err(request::segment_out_of_range(segment, total))
        }
        (Some(segment), Some(total)) => Ok(Some((segment as u32, total as u32))),
    }
}

fn run(database: &Inner, input: &ScanInput) -> Result<PageOutput> {
    let read = &input.read;
    read.check_select()?;
    let (filter, projection) = read.filter_and_projection()?;
    let table = database.catalog.table(&read.table_name)?;
    let plan = plan(input, filter, projection, table)?;
    PageOutput::read(database, &plan, &read.table_name, read.read_mode())
}

fn plan(
    input: &ScanInput,
    filter: Option<Condition>,
    projection: Option<Projection>,
    table: Arc<Table>,
) -> Result<ReadPlan> {
    let read = &input.read;
    read.refuse_vector_index(&table, message::vector::scan_not_supported)?;
    let index = read.index_position(&table)?;
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
    plan.fetch_base = read.shape(&plan.table, plan.index(), plan.projection.as_ref())?;
    plan.range = KeyRange::prefix(&layout::entries(plan.keyspace()));
    if let Some(start) = &read.exclusive_start_key {
        let key = read::check_start_key(&plan.table, plan.index(), start)?;
        if plan.is_outside_segment(&key) {
            return Err(request::start_key_outside_segment());
        }
        plan.range = read::resume_after(plan.range, key, plan.direction);
    }
    Ok(plan)
}
