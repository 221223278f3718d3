//! Memory stays under its bound, whatever is asked.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::print_stdout, reason = "a test tells what it measured")]

use std::num::NonZeroU32;
use std::time::Duration;

use keyloom_core::capacity::Units;
use keyloom_core::observation::{
    InsightRules, Insights, Observation, Observer, Outcome, Place, Throughput, Touch, Work,
};
use keyloom_core::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, Operation, Projection, ScalarType,
};
use keyloom_observe::{Sampling, StatsCollector, StatsOptions};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// What the statistics of a table and four indexes may take.
const BOUND_BYTES: usize = 8 << 20;

/// Keys that come again and again among those that come once: one write in ten, the first of them twice
/// as often as the second, three times as often as the third, and so on.
const HEAVY: usize = 30;

/// All of them, since ever.
const RULES: InsightRules = InsightRules { throttled_since_ms: 0, accessed_since_ms: Some(0) };

/// Which key the write with this number is about, if it is a heavy one.
fn heavy(number: u64) -> Option<usize> {
    if !number.is_multiple_of(10) {
        return None;
    }
    let total: f64 = (1..=HEAVY).map(|rank| 1.0 / rank as f64).sum();
    // A low-discrepancy sequence: the shares are right at any length.
    let mut left = (number as f64 / 10.0 * 0.618_033_988_749_895).fract() * total;
    (0..HEAVY).find(|rank| {
        left -= 1.0 / (*rank as f64 + 1.0);
        left <= 0.0
    })
}

/// What a load of many keys led to.
struct Outcomes {
    used_bytes: usize,
    distinct_keys: f64,
    /// Least and greatest possible load of the keys that were found to be heaviest.
    found: Vec<(f64, f64)>,
    /// The loads that the heaviest keys really had.
    true_loads: Vec<f64>,
}

/// Tells of so many writes, most of them of an item and a partition of its own, to a table and its
/// indexes, whose insights are all enabled.
fn distinct_keys(keys: u64) -> Outcomes {
    let key = KeySchema::simple(
        KeyAttribute::new("PK", ScalarType::S),
        Some(KeyAttribute::new("SK", ScalarType::S)),
    );
    let indexes: Vec<IndexSchema> = (0..4)
        .map(|number| IndexSchema {
            name: format!("GSI{number}").into(),
            kind: IndexKind::Global,
            key: key.clone(),
            projection: Projection::All,
        })
        .collect();
    let before = ALLOCATED.current_usage();
    let options = StatsOptions { sampling: Sampling::All, ..StatsOptions::default() };
    let collector = StatsCollector::new(options);
    let mut partition = vec![b'x'; 200];
    let mut true_loads = vec![0.0; HEAVY];
    for number in 0..keys {
        let units = 1 + number % 7;
        let name = match heavy(number) {
            Some(rank) => {
                *true_loads.get_mut(rank).unwrap() += 3.0 * units as f64;
                1 << 40 | rank as u64
            }
            None => number,
        };
        partition.get_mut(..8).unwrap().copy_from_slice(&(name | 1 << 63).to_be_bytes());
        let place = |index| Place {
            table: "t",
            index,
            key: &key,
            throughput: Throughput::default(),
            has_local_indexes: false,
            size_bytes: 0,
            is_vector: false,
            insights: Insights::On(&RULES),
        };
        let touch = |index| Touch {
            place: place(index),
            partition: &partition,
            sort: &partition,
            work: Work::Write(Units::whole(units)),
            bytes: 500,
        };
        let touches: [Touch<'_>; 5] = std::array::from_fn(|at| match at {
            0 => touch(None),
            at => touch(indexes.get(at - 1)),
        });
        collector.observe(&Observation {
            operation: Operation::PutItem,
            at_ms: 1_700_000_000_000 + number * 3,
            touches: &touches,
            question: None,
            returned: 0,
            is_projected: false,
            is_consistent: false,
            is_retry: false,
            expired: 0,
            latency: Duration::from_micros(number % 100_000),
            outcome: Outcome::Done,
            weight: NonZeroU32::MIN,
        });
    }
    let used_bytes = ALLOCATED.current_usage() - before;
    let report = collector.snapshot();
    let place = report.place("t", None).unwrap();
    let found = place.keys.iter().map(|key| (key.load - key.error, key.load)).collect();
    true_loads.sort_by(|a, b| b.total_cmp(a));
    Outcomes { used_bytes, distinct_keys: place.distinct_keys, found, true_loads }
}

fn check(keys: u64) {
    let Outcomes { used_bytes: used, distinct_keys, found, true_loads } = distinct_keys(keys);
    assert!(used < BOUND_BYTES, "{used} bytes for {keys} keys");
    // One in ten is heavy, and not a key of its own.
    assert!((distinct_keys / (keys as f64 * 0.9) - 1.0).abs() < 0.05, "{distinct_keys} of {keys}");
    assert!(found.len() >= 10, "{}", found.len());
    for ((least, most), truth) in found.iter().zip(&true_loads).take(10) {
        assert!(least <= truth && truth <= most, "{truth} is not in {least}..{most}");
    }
    println!(
        "{:.2} MB for {keys} writes, nearly all of keys of their own, in a table and four indexes",
        used as f64 / 1_048_576.0
    );
}

#[test]
fn fifty_thousand_distinct_keys_fit() {
    check(50_000);
}

#[test]
#[ignore = "takes a minute: cargo test --release -p keyloom-observe --test memory -- --ignored --nocapture"]
fn ten_million_distinct_keys_fit() {
    check(11_200_000);
}
