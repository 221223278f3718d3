//! Computes the response for one rule from its windows.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use keyloom_core::observation::{Contributions, Contributor, InsightSpan, PeriodValues, Rank};

use super::window::{Key, Totals, Window};

/// A key in all windows of the answer.
struct Sum<'a> {
    key: &'a Key,
    value: u64,
    error: u64,
    /// By the start of the period.
    points: BTreeMap<u64, u64>,
}

impl Sum<'_> {
    fn rank(&self, by: Rank) -> u64 {
        match by {
            Rank::Sum => self.value,
            Rank::Maximum => self.points.values().copied().max().unwrap_or(0),
        }
    }
}

/// Answers from all windows that begin in the time that is asked for and lie in one period each. An hour
/// is no answer to a question about minutes: it would look like one minute with the load of sixty.
pub(super) fn answer(
    windows: &[Cow<'_, Window>],
    span: InsightSpan,
    name: impl Fn(&[u8], &[u8]) -> Vec<String>,
) -> Contributions {
    let period_ms = span.period_ms.max(1);
    let mut total = Totals::default();
    let mut periods: BTreeMap<u64, Totals> = BTreeMap::new();
    let mut sums: HashMap<u64, Sum<'_>> = HashMap::new();
    for window in windows.iter().filter(|window| is_asked(window, span)) {
        let period = window.start_ms - window.start_ms % period_ms;
        total.merge(&window.totals);
        periods.entry(period).or_default().merge(&window.totals);
        for listed in &window.listed {
            let new = Sum { key: listed.key.as_ref(), value: 0, error: 0, points: BTreeMap::new() };
            let sum = sums.entry(listed.key.hash).or_insert(new);
            sum.value += listed.value;
            sum.error += listed.error;
            *sum.points.entry(period).or_default() += listed.value;
        }
    }
    let mut sums: Vec<Sum<'_>> = sums.into_values().collect();
    let mut greatest: HashMap<u64, u64> = HashMap::new();
    for (period, value) in sums.iter().flat_map(|sum| &sum.points) {
        let known = greatest.entry(*period).or_default();
        *known = (*known).max(*value);
    }
    sums.sort_by_key(|sum| (std::cmp::Reverse(sum.rank(span.rank)), sum.key.hash));
    sums.truncate(span.count);
    Contributions {
        total: units(total.sum),
        distinct: total.distinct.estimate(),
        contributors: sums.into_iter().map(|sum| contributor(&sum, &name)).collect(),
        periods: periods
            .into_iter()
            .map(|(start_ms, totals)| {
                let greatest = greatest.get(&start_ms).copied().unwrap_or(0);
                period_values(start_ms, &totals, greatest)
            })
            .collect(),
    }
}

/// Whether a window begins in the time that is asked for and is told by such periods; the window in
/// which that time begins counts whole.
fn is_asked(window: &Window, span: InsightSpan) -> bool {
    let from_ms = span.from_ms - span.from_ms % window.width_ms;
    span.period_ms.is_multiple_of(window.width_ms)
        && (from_ms..span.until_ms).contains(&window.start_ms)
}

fn contributor(sum: &Sum<'_>, name: impl Fn(&[u8], &[u8]) -> Vec<String>) -> Contributor {
    let (partition, sort) = sum.key.parts();
    Contributor {
        keys: name(partition, sort),
        value: units(sum.value),
        error: units(sum.error),
        points: sum.points.iter().map(|(period, value)| (*period, units(*value))).collect(),
    }
}

fn period_values(start_ms: u64, totals: &Totals, greatest: u64) -> PeriodValues {
    PeriodValues {
        start_ms,
        distinct: totals.distinct.estimate(),
        greatest_contributor: units(greatest),
        samples: totals.samples as f64,
        sum: units(totals.sum),
        minimum: units(totals.minimum),
        maximum: units(totals.maximum),
    }
}

fn units(halves: u64) -> f64 {
    halves as f64 / 2.0
}
