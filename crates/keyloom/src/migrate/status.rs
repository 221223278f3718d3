//! How far migrations are, by the items in which they keep their state.

use std::collections::BTreeMap;

use keyloom_core::Error as Refusal;

use super::Migration;
use super::backfill::Segment;
use super::service::Service;
use super::state::{Phase, Record, Side, State, TABLE, Told};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::retry::Retry;

/// How far a migration is.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The phase of the migration.
    pub phase: Phase,
    /// Which form programs use.
    pub side: Side,
    /// How often items were copied from the beginning: once, and again whenever the stream lost records.
    pub generation: u64,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// When its runner was last heard of.
    pub seen_ms: u64,
    /// When every item was last found right.
    pub verified_ms: Option<u64>,
    /// Items read by the backfill.
    pub items: u64,
    /// Segments of the backfill that are finished, and all.
    pub segments: (usize, usize),
    /// The tables whose items are copied.
    pub tables: Vec<CopiedTable>,
    /// What the runner said of its work when it was last heard of; none in its first seconds.
    pub told: Option<Told>,
}

/// A table whose items are copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedTable {
    /// The name of the entity.
    pub name: String,
    /// Items read so far.
    pub items: u64,
    /// Items that it had at the beginning, by its last count.
    pub of_items: u64,
    /// Segments that are finished, and all.
    pub segments: (usize, usize),
}

/// A migration of a database, as it is recorded there.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// What its items are called by; made from its two designs.
    pub id: String,
    /// How far it is.
    pub status: Status,
}

impl Status {
    fn of(state: State, segments: &[Segment]) -> Self {
        let mut tables: Vec<CopiedTable> = Vec::new();
        for segment in segments {
            if tables.last().is_none_or(|table| table.name != segment.table) {
                let name = segment.table.clone();
                let of_items = segment.table_items;
                tables.push(CopiedTable { name, items: 0, of_items, segments: (0, 0) });
            }
            if let Some(table) = tables.last_mut() {
                table.items += segment.items;
                table.segments.0 += usize::from(segment.is_done);
                table.segments.1 += 1;
            }
        }
        Self {
            phase: state.phase,
            side: state.side,
            generation: state.generation,
            started_ms: state.started_ms,
            seen_ms: state.seen_ms,
            verified_ms: state.verified_ms,
            items: segments.iter().map(|segment| segment.items).sum(),
            segments: (segments.iter().filter(|segment| segment.is_done).count(), segments.len()),
            tables,
            told: state.told,
        }
    }

    /// About how many items the backfill has still to read.
    pub fn remaining(&self) -> u64 {
        let unread = self.tables.iter().filter(|table| table.segments.0 < table.segments.1);
        unread.map(|table| table.of_items.saturating_sub(table.items)).sum()
    }

    /// About how many seconds the backfill will still take; none if it has ended, or its rate is unknown.
    pub fn remaining_s(&self) -> Option<u64> {
        let rate = self.told.as_ref()?.items_per_s?;
        (self.phase == Phase::Backfill && rate > 0).then(|| self.remaining().div_ceil(rate))
    }
}

impl Migration {
    /// How far it is; none if it was never begun.
    pub fn status(&self) -> Result<Option<Status>> {
        let Some(state) = self.record.load(&self.service)? else { return Ok(None) };
        let segments = Segment::load(&self.service, &self.record)?;
        Ok(Some(Status::of(state, &segments)))
    }

    /// All migrations that are recorded in a database, the newest first; their designs are not needed.
    pub fn recorded(backend: impl Into<Backend>) -> Result<Vec<Recorded>> {
        // A user waits for the answer.
        let service = Service { retry: Retry::default(), ..Service::new(backend.into()) };
        let mut found: BTreeMap<String, (Option<State>, Vec<Segment>)> = BTreeMap::new();
        let mut after = None;
        loop {
            let page = match service.scan(TABLE, None, after) {
                Ok(page) => page,
                Err(Error::Database(Refusal::ResourceNotFound(_))) => return Ok(Vec::new()),
                Err(error) => return Err(error),
            };
            for item in &page.items {
                let Some((id, name)) = Record::name_of(item) else { continue };
                if let Some(state) = State::of(name, item) {
                    found.entry(id.to_owned()).or_default().0 = Some(state);
                } else if let Some(segment) = Segment::of(name, item) {
                    found.entry(id.to_owned()).or_default().1.push(segment);
                }
            }
            after = page.last_key;
            if after.is_none() {
                break;
            }
        }
        let recorded = |(id, (state, segments)): (String, (Option<State>, Vec<Segment>))| {
            Some(Recorded { id, status: Status::of(state?, &segments) })
        };
        let mut all: Vec<Recorded> = found.into_iter().filter_map(recorded).collect();
        all.sort_by_key(|recorded| std::cmp::Reverse(recorded.status.started_ms));
        Ok(all)
    }
}
