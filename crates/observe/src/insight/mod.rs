//! Contributor Insights: the heaviest keys of each minute, for tables and indexes that have it enabled.
//!
//! A table's four rules are four [`Series`] of windows. Each window keeps the 25 heaviest keys, as many as AWS
//! reports, taken from a sketch that exists for its minute; so memory is bounded whatever the traffic, and nothing is
//! kept where insights are disabled. A minute is kept for three hours, then as part of its hour for three days. If
//! that exceeds the memory limit, old windows keep only 10 keys, and minutes are merged into hours sooner. A key is
//! stored once however many windows contain it, so if most keys recur, everything fits; with 20-byte keys that are
//! all new in every minute, two hours of minutes and three days of hours fit. Tables beyond the first 16 have a
//! quarter of the memory: 55 minutes and two days, or 25 minutes and a day.
//!
//! Hours are reported only for periods of an hour: see [`answer`].

mod answer;
mod places;
mod series;
mod touched;
mod window;

use keyloom_core::observation::{
    Contributions, InsightKind, InsightQuery, InsightRules, Outcome, ThrottleReason, Work,
};

pub(crate) use self::places::InsightPlaces;
use self::series::Series;
use crate::sketch::{Load, Seen};

/// What one sampled touch of a key means for the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// It took these units.
    Accessed(Load),
    /// It was refused.
    Throttled,
    /// Nothing: it cost nothing, or was refused for another key's sake.
    Nothing,
}

impl Event {
    /// What is counted for a key that a request touched; `throttle` if it was refused at this key.
    fn of(work: Work, outcome: Outcome, throttle: Option<ThrottleReason>) -> Self {
        let halves = work.units().as_halves();
        match (throttle, outcome) {
            // AWS does not count what an index refuses on behalf of its table.
            (Some(reason), _) if reason.is_index && reason.is_write => Self::Nothing,
            (Some(_), _) => Self::Throttled,
            (None, Outcome::Throttled(..)) => Self::Nothing,
            (None, _) if halves == 0 => Self::Nothing,
            (None, _) if work.is_write() => {
                Self::Accessed(Load { read_halves: 0, write_halves: halves })
            }
            (None, _) => Self::Accessed(Load { read_halves: halves, write_halves: 0 }),
        }
    }
}

/// What is kept for the rules of one table or index.
#[derive(Debug)]
struct InsightStats {
    table: Box<str>,
    index: Option<Box<str>>,
    rules: InsightRules,
    is_small: bool,
    /// By the place of their kind in [`InsightKind::ALL`]; none until something is counted.
    series: [Option<Box<Series>>; InsightKind::ALL.len()],
}

impl InsightStats {
    fn new(table: &str, index: Option<&str>, rules: InsightRules, is_small: bool) -> Self {
        let index = index.map(Into::into);
        Self { table: table.into(), index, rules, is_small, series: Default::default() }
    }

    /// Counts for these rules from now on, and forgets what others have found.
    fn follow(&mut self, rules: InsightRules) {
        if self.rules == rules {
            return;
        }
        for (kind, series) in InsightKind::ALL.into_iter().zip(&mut self.series) {
            if rules.since_ms(kind) != self.rules.since_ms(kind) {
                *series = None;
            }
        }
        self.rules = rules;
    }

    /// Counts one sampled touch: of an item if there is a sort key, otherwise of a partition.
    fn count(&mut self, seen: &Seen<'_>, event: Event) {
        let is_item = !seen.sort.is_empty();
        let (kind, one) = match (event, is_item) {
            (Event::Nothing, _) => return,
            (Event::Accessed(load), false) => (InsightKind::AccessedPartitions, load),
            (Event::Accessed(load), true) => (InsightKind::AccessedItems, load),
            (Event::Throttled, false) => (InsightKind::ThrottledPartitions, ONE_REFUSAL),
            (Event::Throttled, true) => (InsightKind::ThrottledItems, ONE_REFUSAL),
        };
        if self.rules.since_ms(kind).is_none() {
            return;
        }
        let is_small = self.is_small;
        if let Some(series) = self.series.get_mut(kind as usize) {
            let series = series.get_or_insert_with(|| Box::new(Series::new(is_small)));
            series.add(seen, one);
        }
    }

    /// Answers a question about one rule; `name` gives the text of an encoded partition and sort key.
    fn answer(
        &self,
        query: &InsightQuery<'_>,
        name: impl Fn(&[u8], &[u8]) -> Vec<String>,
    ) -> Contributions {
        // No request since the rule was created.
        if self.rules.since_ms(query.kind) != Some(query.since_ms) {
            return Contributions::default();
        }
        match self.series.get(query.kind as usize) {
            Some(Some(series)) => answer::answer(&series.windows(), query.span, name),
            _ => Contributions::default(),
        }
    }
}

/// A refusal counts one, in halves like units.
const ONE_REFUSAL: Load = Load { read_halves: 2, write_halves: 0 };

#[cfg(test)]
mod tests;
