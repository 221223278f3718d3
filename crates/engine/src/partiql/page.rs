//! Reads one page across all key ranges of a statement.

use keyloom_core::capacity::{ConsumedCapacity, Units};
use keyloom_core::error::message::partiql as message;
use keyloom_core::image::Row;
use keyloom_core::image::Stored;
use keyloom_core::partiql::Column;
use keyloom_core::{Item, Operation, Result, limits};
use keyloom_store::{KeyRange, Snapshot};

use crate::database::Inner;
use crate::observe::{self, Ended};
use crate::ops::queries::page::{observed, page_cost, page_units};
use crate::read::{self, Page, ReadPlan};
use crate::store_error;

use super::position::Position;
use super::select::{ReadRange, Reading};

/// What a statement found.
#[derive(Debug)]
pub(crate) struct StatementPage {
    pub(crate) rows: Vec<Row>,
    /// Where the next page starts; none after the last.
    pub(crate) next: Option<Position>,
    pub(crate) consumed: ConsumedCapacity,
}

impl Reading {
    /// Reads a page of at most `limit` entries and 1 MB.
    pub(crate) fn run(
        self,
        database: &Inner,
        limit: Option<usize>,
        start: Option<Position>,
    ) -> Result<StatementPage> {
        let mut start = start.unwrap_or(Position { read: 0, after: None });
        let mut page = StatementPage {
            rows: Vec::new(),
            next: None,
            consumed: ConsumedCapacity::new(self.table_name.clone()),
        };
        // A single item needs no snapshot.
        let snapshot = match self.ranges.as_slice() {
            [ReadRange { item_key: Some(_), .. }] => None,
            _ => Some(database.store.snapshot().map_err(store_error)?),
        };
        let (mut rows_left, mut bytes_left) = (limit, limits::MAX_PAGE_BYTES);
        let last = self.ranges.len().saturating_sub(1);
        for (number, range) in self.ranges.iter().enumerate().skip(start.read) {
            let plan = self.range_plan(range, rows_left, start.after.take())?;
            let read = || range_page(database, snapshot.as_deref(), range, &plan, bytes_left);
            let mut found = self.observed(database, range, &plan, read)?;
            let cost = page_cost(&plan, &found, &self.table_name, self.mode);
            page.consumed.merge(cost);
            page.rows.append(&mut found.rows);
            rows_left = rows_left.map(|rows| rows.saturating_sub(found.scanned));
            bytes_left = bytes_left.saturating_sub(found.bytes);
            if let Some(key) = found.last_key {
                page.next = Some(Position { read: number, after: Some(key) });
                break;
            }
            if number < last && (rows_left == Some(0) || bytes_left == 0) {
                page.next = Some(Position { read: number + 1, after: None });
                break;
            }
        }
        let rows = std::mem::take(&mut page.rows).into_iter();
        let shown = rows.map(|row| self.shown(row));
        page.rows = shown.collect::<Result<_>>()?;
        Ok(page)
    }

    fn range_plan(
        &self,
        range: &ReadRange,
        limit: Option<usize>,
        after: Option<Item>,
    ) -> Result<ReadPlan> {
        let mut plan = ReadPlan {
            table: self.table.clone(),
            index: self.index,
            range: range.range.clone(),
            direction: self.direction,
            limit,
            filter: range.filter.clone(),
            projection: None,
            fetch_base: self.fetch_base,
            filter_entry: self.fetch_base,
            segment: None,
            count_only: false,
            condition: range.condition.clone(),
            is_continued: after.is_some(),
        };
        if let Some(after) = after {
            plan.range = after_key(&plan, &after)?;
        }
        Ok(plan)
    }

    /// Reads one range; it is observed as the Query or Scan that it amounts to.
    fn observed(
        &self,
        database: &Inner,
        range: &ReadRange,
        plan: &ReadPlan,
        read: impl FnOnce() -> Result<Page>,
    ) -> Result<Page> {
        let Some(key) = &range.item_key else {
            return observed(database, plan, (self.columns.is_some(), self.mode), read);
        };
        let Some(observing) = database.observe(Operation::GetItem) else { return read() };
        let asked = Ended::of_read(self.columns.is_some(), self.mode);
        observing.admit_read(&[observe::lookup(&self.table, key, Units::ZERO, 0)], asked)?;
        let page = read()?;
        let (units, _) = page_units(&page, self.mode);
        let ended = Ended {
            returned: page.count,
            expired: crate::ttl::expired(database, &self.table, &page.rows),
            ..asked
        };
        observing.done(&[observe::lookup(&self.table, key, units, page.bytes)], ended);
        Ok(page)
    }

    /// A row as its columns show it.
    fn shown(&self, row: Row) -> Result<Row> {
        match (&self.columns, row) {
            (Some(columns), Row::Stored(stored)) => {
                Ok(Row::Item(projected(columns, stored.item()?)))
            }
            (_, row) => Ok(row),
        }
    }
}

/// The part of a plan's range behind a key, which a token gave.
fn after_key(plan: &ReadPlan, after: &Item) -> Result<KeyRange> {
    let invalid = message::next_token_invalid;
    let key = read::check_start_key(&plan.table, plan.index(), after).map_err(|_| invalid())?;
    if !plan.range.contains(&key) {
        return Err(invalid());
    }
    Ok(read::resume_after(plan.range.clone(), key, plan.direction))
}

fn range_page(
    database: &Inner,
    snapshot: Option<&dyn Snapshot>,
    range: &ReadRange,
    plan: &ReadPlan,
    max_bytes: usize,
) -> Result<Page> {
    match (&range.item_key, snapshot) {
        (Some(key), _) if !plan.range.contains(key) => Ok(Page::default()),
        (Some(key), None) => plan.page_of(read::lookup(database, key)?),
        (Some(key), Some(snapshot)) => {
            plan.page_of(snapshot.get(key).map_err(store_error)?.map(Stored::new))
        }
        (None, Some(snapshot)) => plan.run_within(snapshot, max_bytes),
        (None, None) => plan.run(database),
    }
}

/// The columns of an item; what is not there is left out.
pub(crate) fn projected(columns: &[Column], item: &Item) -> Item {
    let columns = columns.iter().filter_map(|column| {
        let value = column.path.get(item)?;
        Some((column.name.clone(), value.clone()))
    });
    columns.collect()
}

/// An item of a batch or transaction as its columns show it.
pub(crate) fn shown(stored: Stored, columns: Option<&[Column]>) -> Result<Row> {
    match columns {
        Some(columns) => Ok(Row::Item(projected(columns, stored.item()?))),
        None => Ok(Row::Stored(stored)),
    }
}
