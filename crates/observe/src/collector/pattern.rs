//! Statistics of one access pattern of one table or index.

use keyloom_core::capacity::Units;
use keyloom_core::observation::{Observation, Outcome, Work};

use crate::report::Pattern;

/// Filter attributes that are kept.
const MAX_ATTRIBUTES: usize = 8;
/// Calls that are "the first" or "the last" when pages are compared.
const PAGED_CALLS: u64 = 256;

/// What is known of one kind of request. The report's own form, plus what only counting needs.
#[derive(Debug, Default)]
pub(super) struct PatternStats {
    pub(super) row: Pattern,
    read_halves: u64,
    write_halves: u64,
    first: Paging,
    now: Paging,
    before: Paging,
}

/// Calls and the further pages they took.
#[derive(Clone, Copy, Debug, Default)]
struct Paging {
    calls: u64,
    further: u64,
}

impl Paging {
    fn per_call(self) -> f64 {
        if self.calls == 0 { 0.0 } else { 1.0 + self.further as f64 / self.calls as f64 }
    }
}

impl PatternStats {
    /// The shapes are the one with constants and the one without.
    pub(super) fn new(
        operation: &str,
        name: Option<String>,
        [shape, bare_shape]: [String; 2],
        entity: Option<String>,
    ) -> Self {
        let operation = operation.to_owned();
        let row = Pattern { operation, name, shape, bare_shape, entity, ..Pattern::default() };
        Self { row, ..Self::default() }
    }

    /// Counts one request.
    pub(super) fn add(&mut self, observation: &Observation<'_>, weight: u64) {
        let row = &mut self.row;
        row.requests += weight;
        row.latency.add(observation.latency.as_nanos() as u64, weight);
        let (mut reads, mut writes, mut bytes) = (Units::ZERO, Units::ZERO, 0);
        for touch in observation.touches {
            match touch.work {
                Work::Read(units) => reads += units,
                Work::Write(units) => writes += units,
            }
            bytes += touch.bytes as u64;
        }
        let writing = observation.operation.writes_items();
        if writing {
            // Only the item itself: its copies in indexes are not part of the request.
            bytes = observation.touches.first().map_or(0, |touch| touch.bytes as u64);
        }
        let is_throttled = matches!(observation.outcome, Outcome::Throttled(..));
        if !is_throttled {
            self.read_halves += reads.as_halves() * weight;
            self.write_halves += writes.as_halves() * weight;
            row.max_units = row.max_units.max((reads + writes).as_f64());
            row.bytes += bytes * weight;
        }
        row.returned += observation.returned as u64 * weight;
        row.expired += observation.expired as u64 * weight;
        let done = observation.outcome == Outcome::Done;
        if !writing && done && observation.returned == 0 {
            row.empty += weight;
        }
        let flags = [
            (&mut row.condition_failed, observation.outcome == Outcome::ConditionFailed),
            (&mut row.conflicts, observation.outcome == Outcome::Conflict),
            (&mut row.throttled, is_throttled),
            (&mut row.retries, observation.is_retry),
            (&mut row.failed, observation.outcome == Outcome::Failed),
            (&mut row.projected, observation.is_projected),
            (&mut row.consistent, observation.is_consistent),
        ];
        for (count, holds) in flags {
            *count += if holds { weight } else { 0 };
        }
        self.question(observation, weight);
    }

    fn question(&mut self, observation: &Observation<'_>, weight: u64) {
        let Some(question) = &observation.question else { return };
        let row = &mut self.row;
        row.scanned += question.scanned as u64 * weight;
        row.limited += if question.limit.is_some() { weight } else { 0 };
        if let Some(filter) = question.filter {
            row.filtered += weight;
            for path in filter.paths() {
                let known = row.filter_attributes.iter().any(|known| *known == path.attribute);
                if !known && row.filter_attributes.len() < MAX_ATTRIBUTES {
                    row.filter_attributes.push(path.attribute.to_string());
                }
            }
        }
        let further = u64::from(question.is_continued);
        row.continued += further * weight;
        if self.first.calls < PAGED_CALLS {
            self.first.calls += 1 - further;
            self.first.further += further;
        }
        if self.now.calls == PAGED_CALLS {
            self.before = std::mem::take(&mut self.now);
        }
        self.now.calls += 1 - further;
        self.now.further += further;
    }

    pub(super) fn report(&self) -> Pattern {
        let late = Paging {
            calls: self.now.calls + self.before.calls,
            further: self.now.further + self.before.further,
        };
        Pattern {
            reads: self.read_halves as f64 / 2.0,
            writes: self.write_halves as f64 / 2.0,
            early_pages: self.first.per_call(),
            late_pages: late.per_call(),
            ..self.row.clone()
        }
    }
}
