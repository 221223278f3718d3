//! Windows, what they keep, and the answers they give.
#![expect(clippy::float_cmp, reason = "halves and small numbers are exact")]

use std::collections::HashMap;

use keyloom_core::capacity::Units;
use keyloom_core::observation::{InsightSpan, Rank, ThrottleLimit};

use super::*;
use crate::sketch::hash_of;

const PARTITIONS: InsightKind = InsightKind::AccessedPartitions;
const MINUTE_MS: u64 = 60_000;
/// The start of an hour.
const START_MS: u64 = 1_763_280_000_000;

fn stats(wanted: Insights) -> InsightStats {
    let mut stats = InsightStats::new(false);
    stats.follow(wanted);
    stats
}

fn look(stats: &mut InsightStats, key: &str, at_ms: u64, weight: u64, event: Event) {
    let (partition, sort) = key.split_once('/').unwrap_or((key, ""));
    stats.count(
        &Seen {
            hash: hash_of(key.as_bytes()),
            partition: partition.as_bytes(),
            sort: sort.as_bytes(),
            load: Load::default(),
            weight,
            at_ms,
            is_throttled: false,
            written_bytes: 0,
        },
        event,
    );
}

fn reads(units: u64) -> Event {
    Event::of(Work::Read(Units::whole(units)), Outcome::Done, None)
}

/// A hundred hours.
const ALL: InsightSpan = InsightSpan {
    from_ms: START_MS,
    until_ms: START_MS + 100 * 60 * MINUTE_MS,
    period_ms: MINUTE_MS,
    rank: Rank::Sum,
    count: 10,
};

fn answer(stats: &InsightStats, kind: InsightKind, span: InsightSpan) -> Contributions {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let query = InsightQuery { table: "t", index: None, kind, span };
    stats.answer(&query, |partition, sort| vec![text(partition), text(sort)])
}

fn names(found: &Contributions) -> Vec<&str> {
    found.contributors.iter().filter_map(|one| one.keys.first().map(String::as_str)).collect()
}

#[test]
fn a_write_weighs_three_reads_and_looks_count_for_what_they_stand_for() {
    let mut stats = stats(Insights::AccessedAndThrottledKeys);
    let write = Event::of(Work::Write(Units::whole(2)), Outcome::ConditionFailed, None);
    look(&mut stats, "a", START_MS + 1, 4, write);
    look(&mut stats, "b", START_MS + 2, 1, Event::of(Work::Read(Units::HALF), Outcome::Done, None));
    look(&mut stats, "b", START_MS + MINUTE_MS, 1, reads(7));
    let found = answer(&stats, PARTITIONS, ALL);
    assert_eq!(names(&found), ["a", "b"]);
    let points: Vec<_> = found.contributors.iter().map(|one| one.points.clone()).collect();
    let minute = START_MS + MINUTE_MS;
    assert_eq!(points, [vec![(START_MS, 24.0)], vec![(START_MS, 0.5), (minute, 7.0)]]);
    assert!((found.total - 31.5).abs() < 1e-9 && found.distinct.round() == 2.0);
    let [first, second] = found.periods.as_slice() else { unreachable!("{found:?}") };
    assert_eq!((first.samples, first.sum, first.minimum, first.maximum), (5.0, 24.5, 0.5, 6.0));
    assert_eq!((second.start_ms, second.greatest_contributor), (minute, 7.0));
}

#[test]
fn refusals_count_where_aws_counts_them() {
    let reason = |is_index, is_write| ThrottleReason {
        is_index,
        is_write,
        limit: ThrottleLimit::Provisioned,
    };
    let event = |throttle: Option<ThrottleReason>, at| {
        let why = throttle.unwrap_or(reason(false, true));
        Event::of(Work::Write(Units::whole(1)), Outcome::Throttled(why, at), throttle)
    };
    assert_eq!(event(Some(reason(false, true)), 0), Event::Throttled);
    assert_eq!(event(Some(reason(true, false)), 0), Event::Throttled);
    assert_eq!(event(Some(reason(true, true)), 1), Event::Nothing, "an index refused a write");
    assert_eq!(event(None, 1), Event::Nothing, "another key of the request was refused");
    assert_eq!(Event::of(Work::Read(Units::ZERO), Outcome::Done, None), Event::Nothing);
}

#[test]
fn only_the_rules_that_are_on_are_kept() {
    let mut stats = stats(Insights::ThrottledKeys);
    for (key, event) in [("a", reads(1)), ("a", Event::Throttled), ("a/1", Event::Throttled)] {
        look(&mut stats, key, START_MS, 1, event);
    }
    let total = |stats: &InsightStats, kind| answer(stats, kind, ALL).total;
    let totals = InsightKind::ALL.map(|kind| total(&stats, kind));
    assert_eq!(totals, [0.0, 1.0, 0.0, 1.0]);
    stats.follow(Insights::AccessedAndThrottledKeys);
    look(&mut stats, "a", START_MS, 1, reads(1));
    assert_eq!(InsightKind::ALL.map(|kind| total(&stats, kind)), [1.0, 1.0, 0.0, 1.0]);
    stats.follow(Insights::Off);
    look(&mut stats, "a", START_MS, 1, reads(1));
    assert_eq!(InsightKind::ALL.map(|kind| total(&stats, kind)), [0.0; 4]);
}

#[test]
fn times_periods_and_ranks_are_those_of_the_question() {
    let mut stats = stats(Insights::AccessedAndThrottledKeys);
    for minute in 0..10 {
        look(&mut stats, "steady", START_MS + minute * MINUTE_MS, 1, reads(10));
    }
    look(&mut stats, "burst", START_MS + 7 * MINUTE_MS, 1, reads(60));
    assert_eq!(names(&answer(&stats, PARTITIONS, ALL)), ["steady", "burst"]);
    let by_maximum = InsightSpan { rank: Rank::Maximum, count: 1, ..ALL };
    assert_eq!(names(&answer(&stats, PARTITIONS, by_maximum)), ["burst"]);
    let some = InsightSpan {
        from_ms: START_MS + 2 * MINUTE_MS + 30_000,
        until_ms: START_MS + 7 * MINUTE_MS,
        period_ms: 5 * MINUTE_MS,
        ..ALL
    };
    let found = answer(&stats, PARTITIONS, some);
    assert_eq!(names(&found), ["steady"]);
    let sums: Vec<_> = found.periods.iter().map(|period| (period.start_ms, period.sum)).collect();
    assert_eq!(sums, [(START_MS, 30.0), (START_MS + 5 * MINUTE_MS, 20.0)]);
}

#[test]
fn old_minutes_become_hours_and_nothing_is_lost_for_three_days() {
    let mut stats = stats(Insights::AccessedAndThrottledKeys);
    for minute in 0..6 * 60 {
        look(&mut stats, "a", START_MS + minute * MINUTE_MS, 1, reads(1));
        look(&mut stats, "b", START_MS + minute * MINUTE_MS, 1, reads(2));
    }
    let found = answer(&stats, PARTITIONS, ALL);
    assert!((found.total - 3.0 * 360.0).abs() < 1e-9, "{}", found.total);
    assert_eq!(found.distinct.round(), 2.0);
    let starts: Vec<u64> = found.periods.iter().map(|period| period.start_ms - START_MS).collect();
    let minutes = |count: u64| count * MINUTE_MS;
    assert_eq!(starts.get(..4), Some(&[0, minutes(60), minutes(120), minutes(179)][..]));
    assert_eq!(starts.len(), 3 + 181, "three hours, the last of them not whole, then minutes");
    // Much later, all of that is forgotten.
    for minute in [0, 1] {
        look(&mut stats, "a", START_MS + minutes(100 * 60 + minute), 1, reads(1));
    }
    let all = InsightSpan { until_ms: u64::MAX, ..ALL };
    assert!((answer(&stats, PARTITIONS, all).total - 2.0).abs() < 1e-9);
}

#[test]
fn the_heaviest_keys_are_within_their_error_and_memory_within_its_bound() {
    let mut stats = stats(Insights::AccessedAndThrottledKeys);
    let mut truth: HashMap<String, u64> = HashMap::new();
    let mut state = 7_u64;
    let tail = "x".repeat(180);
    for step in 0..200_000_u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // One in three is one of seven, the first of them most often; the rest come once.
        let key = match (state >> 40) % 30 {
            hot @ 0..10 => format!("hot{}", hot * hot / 10),
            _ => format!("cold{step}{tail}/{step}{tail}"),
        };
        let at_ms = START_MS + step * 100;
        look(&mut stats, &key, at_ms, 1, reads(1));
        if let Some((partition, _)) = key.split_once('/') {
            look(&mut stats, partition, at_ms, 1, reads(1));
        }
        *truth.entry(key).or_default() += 1;
    }
    let found = answer(&stats, PARTITIONS, InsightSpan { count: 7, ..ALL });
    assert!((found.total - 200_000.0).abs() < 1e-9);
    assert_eq!(names(&found).first(), Some(&"hot0"));
    assert!(names(&found).iter().all(|name| name.starts_with("hot")), "{:?}", names(&found));
    for one in &found.contributors {
        let name = one.keys.first().map_or("", String::as_str);
        let truth = truth.get(name).copied().unwrap_or(0) as f64;
        assert!(one.value <= truth && truth <= one.value + one.error, "{truth} {one:?}");
        assert!(one.value >= 0.98 * truth, "{truth} {one:?}");
    }
    for series in stats.series.iter().flatten() {
        assert!(series.bytes() <= 256 << 10, "{}", series.bytes());
    }
}
