//! Tests of windows, of what they keep, and of the responses computed from them.
#![expect(clippy::float_cmp, reason = "halves and small numbers are exact")]

use std::collections::HashMap;

use keyloom_core::capacity::Units;
use keyloom_core::observation::{InsightSpan, Rank, ThrottleLimit};
use keyloom_core::{KeyAttribute, KeySchema, ScalarType};

use super::*;
use crate::sketch::hash_of;

const PARTITIONS: InsightKind = InsightKind::AccessedPartitions;
const MINUTE_MS: u64 = 60_000;
/// The start of an hour.
const START_MS: u64 = 1_763_280_000_000;

/// When the rules were made.
const SINCE_MS: u64 = START_MS - 1;
const THROTTLED: InsightRules =
    InsightRules { throttled_since_ms: SINCE_MS, accessed_since_ms: None };
const BOTH: InsightRules = InsightRules { accessed_since_ms: Some(SINCE_MS), ..THROTTLED };

fn stats(rules: InsightRules) -> InsightStats {
    InsightStats::new("t", None, rules, false)
}

fn count(stats: &mut InsightStats, key: &str, at_ms: u64, weight: u64, event: Event) {
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

const BY_HOUR: InsightSpan = InsightSpan { period_ms: 60 * MINUTE_MS, ..ALL };

fn answer(stats: &InsightStats, kind: InsightKind, span: InsightSpan) -> Contributions {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let key = KeySchema::simple(KeyAttribute::new("k", ScalarType::S), None);
    let since_ms = SINCE_MS;
    let query = InsightQuery { table: "t", index: None, key: &key, kind, since_ms, span };
    stats.answer(&query, |partition, sort| vec![text(partition), text(sort)])
}

fn names(found: &Contributions) -> Vec<&str> {
    found.contributors.iter().filter_map(|one| one.keys.first().map(String::as_str)).collect()
}

#[test]
fn a_write_weighs_three_reads_and_looks_count_for_what_they_stand_for() {
    let mut stats = stats(BOTH);
    let write = Event::of(Work::Write(Units::whole(2)), Outcome::ConditionFailed, None);
    count(&mut stats, "a", START_MS + 1, 4, write);
    count(
        &mut stats,
        "b",
        START_MS + 2,
        1,
        Event::of(Work::Read(Units::HALF), Outcome::Done, None),
    );
    count(&mut stats, "b", START_MS + MINUTE_MS, 1, reads(7));
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
    let mut stats = stats(THROTTLED);
    for (key, event) in [("a", reads(1)), ("a", Event::Throttled), ("a/1", Event::Throttled)] {
        count(&mut stats, key, START_MS, 1, event);
    }
    let total = |stats: &InsightStats, kind| answer(stats, kind, ALL).total;
    let totals = InsightKind::ALL.map(|kind| total(&stats, kind));
    assert_eq!(totals, [0.0, 1.0, 0.0, 1.0]);
    stats.follow(BOTH);
    count(&mut stats, "a", START_MS, 1, reads(1));
    assert_eq!(InsightKind::ALL.map(|kind| total(&stats, kind)), [1.0, 1.0, 0.0, 1.0]);
    stats.follow(THROTTLED);
    count(&mut stats, "a", START_MS, 1, reads(1));
    assert_eq!(InsightKind::ALL.map(|kind| total(&stats, kind)), [0.0, 1.0, 0.0, 1.0]);
}

#[test]
fn times_periods_and_ranks_are_those_of_the_question() {
    let mut stats = stats(BOTH);
    for minute in 0..10 {
        count(&mut stats, "steady", START_MS + minute * MINUTE_MS, 1, reads(10));
    }
    count(&mut stats, "burst", START_MS + 7 * MINUTE_MS, 1, reads(60));
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
    let mut stats = stats(BOTH);
    for minute in 0..6 * 60 {
        count(&mut stats, "a", START_MS + minute * MINUTE_MS, 1, reads(1 + minute % 60));
        count(&mut stats, "b", START_MS + minute * MINUTE_MS, 1, reads(100));
    }
    let found = answer(&stats, PARTITIONS, BY_HOUR);
    assert!((found.total - 6.0 * 7830.0).abs() < 1e-9, "{}", found.total);
    assert_eq!(found.distinct.round(), 2.0);
    let starts: Vec<u64> = found.periods.iter().map(|period| period.start_ms - START_MS).collect();
    assert_eq!(starts, [0, 1, 2, 3, 4, 5].map(|hour| hour * 60 * MINUTE_MS));
    for period in &found.periods {
        assert_eq!((period.minimum, period.maximum), (1.0, 100.0), "of one event, not of a minute");
        assert_eq!((period.sum, period.greatest_contributor), (7830.0, 6000.0));
        assert_eq!(period.samples, 120.0);
    }
    // Much later, all of that is forgotten.
    for minute in [0, 1] {
        count(&mut stats, "a", START_MS + (100 * 60 + minute) * MINUTE_MS, 1, reads(1));
    }
    let all = InsightSpan { until_ms: u64::MAX, ..BY_HOUR };
    assert!((answer(&stats, PARTITIONS, all).total - 2.0).abs() < 1e-9);
}

#[test]
fn an_hour_does_not_look_like_a_minute() {
    let mut stats = stats(BOTH);
    for minute in 0..6 * 60 {
        count(&mut stats, "a", START_MS + minute * MINUTE_MS, 1, reads(1));
    }
    for period_ms in [MINUTE_MS, 20 * MINUTE_MS, 90 * MINUTE_MS] {
        let found = answer(&stats, PARTITIONS, InsightSpan { period_ms, ..ALL });
        assert_eq!(found.total, 180.0, "three hours");
        assert!(found.periods.iter().all(|period| period.sum <= (period_ms / MINUTE_MS) as f64));
        assert!(found.periods.iter().all(|period| period.start_ms >= START_MS + 90 * MINUTE_MS));
    }
    assert_eq!(answer(&stats, PARTITIONS, BY_HOUR).total, 360.0);
}

#[test]
fn ranks_by_maximum_are_those_of_the_periods_even_after_minutes_became_hours() {
    let mut stats = stats(BOTH);
    for hour in 0..6 {
        let start_ms = START_MS + hour * 60 * MINUTE_MS;
        for minute in 0..60 {
            count(&mut stats, "steady", start_ms + minute * MINUTE_MS, 1, reads(10));
        }
    }
    count(&mut stats, "late", START_MS + 6 * 60 * MINUTE_MS, 1, reads(700));
    let by_maximum = InsightSpan { rank: Rank::Maximum, ..BY_HOUR };
    assert_eq!(names(&answer(&stats, PARTITIONS, BY_HOUR)), ["steady", "late"]);
    assert_eq!(names(&answer(&stats, PARTITIONS, by_maximum)), ["late", "steady"]);
    let of_a_day = InsightSpan { period_ms: 24 * 60 * MINUTE_MS, ..by_maximum };
    assert_eq!(names(&answer(&stats, PARTITIONS, of_a_day)), ["steady", "late"]);
}

/// Tells of 25 keys in each minute: others than before, or always the same.
fn busy(is_small: bool, minutes: u64, are_new: bool, tail: &str) -> InsightStats {
    let mut stats = InsightStats::new("t", None, BOTH, is_small);
    for minute in 0..minutes {
        for key in 0..25 {
            let of = if are_new { minute } else { 0 };
            let name = format!("CUSTOMER#{of:05}#{key:05}{tail}");
            count(&mut stats, &name, START_MS + minute * MINUTE_MS, 1, reads(1 + key));
        }
    }
    stats
}

/// For how many minutes back a report by the minute has all values, and one by the hour.
fn reach(stats: &InsightStats, minutes: u64) -> (u64, u64) {
    let whole = (1..=25).sum::<u64>() as f64;
    let span = InsightSpan { until_ms: u64::MAX, ..ALL };
    let by_minute = answer(stats, PARTITIONS, span).periods;
    assert!(by_minute.iter().all(|period| period.sum == whole), "each minute is whole");
    let hours = answer(stats, PARTITIONS, InsightSpan { period_ms: BY_HOUR.period_ms, ..span });
    let first = hours.periods.first().map_or(u64::MAX, |period| period.start_ms);
    (by_minute.len() as u64, minutes - (first - START_MS) / MINUTE_MS)
}

#[test]
fn reports_reach_as_far_back_as_is_promised() {
    let long = "x".repeat(170);
    for (is_small, are_new, tail, by_minute, hours) in [
        (false, false, long.as_str(), 180, 72),
        (false, true, "", 130, 72),
        (false, true, long.as_str(), 40, 40),
        (true, false, "", 55, 50),
        (true, true, "", 25, 24),
    ] {
        let (minutes, by_hour) = ((hours + 2) * 60, hours * 60);
        let stats = busy(is_small, minutes, are_new, tail);
        let reached = reach(&stats, minutes);
        assert!(reached.0 >= by_minute && reached.1 >= by_hour, "{reached:?}");
        let bound = if is_small { series::SMALL_BYTES } else { series::BYTES };
        for series in stats.series.iter().flatten() {
            assert!(series.bytes() <= bound, "{}", series.bytes());
        }
        let last = InsightSpan { from_ms: START_MS + (minutes - 5) * MINUTE_MS, count: 25, ..ALL };
        let last = InsightSpan { until_ms: u64::MAX, ..last };
        assert_eq!(
            answer(&stats, PARTITIONS, last).contributors.len(),
            25,
            "old ones are cut first"
        );
    }
}

#[test]
fn a_clock_that_was_ahead_does_not_hold_what_comes_after() {
    let mut stats = stats(BOTH);
    let hour_ms = 60 * MINUTE_MS;
    count(&mut stats, "before", START_MS, 1, reads(1));
    count(&mut stats, "ahead", START_MS + 2 * hour_ms, 1, reads(1));
    for minute in 1..300 {
        count(&mut stats, "after", START_MS + minute * MINUTE_MS, 1, reads(1));
    }
    // A little late is no reason to go back.
    count(&mut stats, "late", START_MS + 297 * MINUTE_MS, 1, reads(1));
    let found = answer(&stats, PARTITIONS, BY_HOUR);
    assert_eq!(found.total, 302.0);
    let points = |key: &str| {
        let found =
            found.contributors.iter().find(|one| one.keys.first().is_some_and(|k| k == key));
        found.map(|one| one.points.clone()).unwrap_or_default()
    };
    assert_eq!(points("before"), [(START_MS, 1.0)]);
    assert_eq!(points("ahead"), [(START_MS + 2 * hour_ms, 1.0)]);
    let sums = [59.0, 60.0, 60.0, 60.0, 60.0];
    let hours = (0..5).map(|hour| START_MS + hour * hour_ms).zip(sums);
    assert_eq!(points("after"), hours.collect::<Vec<_>>());
    let late = answer(&stats, PARTITIONS, ALL);
    let late = late.contributors.iter().find(|one| one.keys.first().is_some_and(|k| k == "late"));
    assert_eq!(late.map(|one| one.points.clone()), Some(vec![(START_MS + 299 * MINUTE_MS, 1.0)]));
}

#[test]
fn a_new_rule_begins_with_nothing_even_before_anybody_comes() {
    let mut stats = stats(BOTH);
    count(&mut stats, "a", START_MS, 1, reads(1));
    count(&mut stats, "a", START_MS, 1, Event::Throttled);
    let key = KeySchema::simple(KeyAttribute::new("k", ScalarType::S), None);
    let total = |stats: &InsightStats, kind, since_ms| {
        let query = InsightQuery { table: "t", index: None, key: &key, kind, since_ms, span: ALL };
        stats.answer(&query, |_, _| Vec::new()).total
    };
    assert_eq!(total(&stats, PARTITIONS, SINCE_MS), 1.0);
    assert_eq!(total(&stats, PARTITIONS, SINCE_MS + 1), 0.0);
    // Only the rules of units are new.
    stats.follow(InsightRules { accessed_since_ms: Some(SINCE_MS + 1), ..BOTH });
    count(&mut stats, "b", START_MS, 1, reads(5));
    assert_eq!(total(&stats, PARTITIONS, SINCE_MS + 1), 5.0);
    assert_eq!(total(&stats, PARTITIONS, SINCE_MS), 0.0);
    assert_eq!(total(&stats, InsightKind::ThrottledPartitions, SINCE_MS), 1.0);
}

#[test]
fn the_heaviest_keys_are_within_their_error_and_memory_within_its_bound() {
    let mut stats = stats(BOTH);
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
        count(&mut stats, &key, at_ms, 1, reads(1));
        if let Some((partition, _)) = key.split_once('/') {
            count(&mut stats, partition, at_ms, 1, reads(1));
        }
        *truth.entry(key).or_default() += 1;
    }
    let found = answer(&stats, PARTITIONS, InsightSpan { count: 7, ..BY_HOUR });
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
        assert!(series.bytes() <= series::BYTES, "{}", series.bytes());
    }
}
