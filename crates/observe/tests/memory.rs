//! Memory stays under its bound, whatever is asked.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::print_stdout, reason = "a test tells what it measured")]

use std::num::NonZeroU32;
use std::time::Duration;

use keyloom_core::capacity::Units;
use keyloom_core::observation::{
    Observation, Observer, Operation, Outcome, Place, Throughput, Touch, Work,
};
use keyloom_core::{IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection, ScalarType};
use keyloom_observe::{Sampling, StatsCollector, StatsOptions};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// What the statistics of a table and four indexes may take.
const BOUND_BYTES: usize = 8 << 20;

/// Tells of so many writes, each of an item and a partition of its own, to a table and its indexes.
fn distinct_keys(keys: u64) -> (usize, f64) {
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
    for number in 0..keys {
        partition.get_mut(..8).unwrap().copy_from_slice(&(number | 1 << 63).to_be_bytes());
        let place = |index| Place {
            table: "t",
            index,
            key: &key,
            throughput: Throughput::default(),
            has_local_indexes: false,
            size_bytes: 0,
        };
        let touch = |index| Touch {
            place: place(index),
            partition: &partition,
            sort: &partition,
            work: Work::Write(Units::whole(1 + number % 7)),
            bytes: 500,
        };
        let touches: [Touch<'_>; 5] = std::array::from_fn(|at| match at {
            0 => touch(None),
            at => touch(indexes.get(at - 1)),
        });
        collector.observe(&Observation {
            operation: Operation::PutItem,
            at_ms: 1_700_000_000_000 + number / 10,
            touches: &touches,
            question: None,
            returned: 0,
            is_projected: false,
            is_consistent: false,
            latency: Duration::from_micros(number % 100_000),
            outcome: Outcome::Done,
            weight: NonZeroU32::MIN,
        });
    }
    let used = ALLOCATED.current_usage() - before;
    let report = collector.snapshot();
    (used, report.place("t", None).unwrap().distinct_keys)
}

fn check(keys: u64) {
    let (used, counted) = distinct_keys(keys);
    assert!(used < BOUND_BYTES, "{used} bytes for {keys} distinct keys");
    assert!((counted / keys as f64 - 1.0).abs() < 0.05, "{counted} of {keys} keys");
    println!(
        "{:.2} MB for {keys} distinct keys in a table and four indexes",
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
    check(10_000_000);
}
