//! What AWS documents of partitions, bursts, splits and back-pressure, reproduced. Pages named `guide/…` are of the DynamoDB
//! Developer Guide; the blog is AWS's "Scaling DynamoDB: How partitions, hot keys, and split for heat impact performance".
#![expect(clippy::indexing_slicing, reason = "a panic is how a test fails")]

use keyloom_design::model::{Billing, TableClass};
use keyloom_simulate::run::{Limit, Outcome, run};
use keyloom_simulate::workload::{Flow, Place, Stock, Touch};
use keyloom_simulate::{Capacity, Course, NoSplit, Options, Profile, Retries, Spread, Workload};

fn even() -> Spread {
    Spread::new("K#{id}".to_owned(), Some(1e9), None, None)
}

fn one(no_split: Option<NoSplit>) -> Spread {
    Spread { no_split, ..Spread::new("K".to_owned(), Some(1.0), None, None) }
}

fn place(index: Option<&str>, spread: Spread) -> Place {
    Place {
        table: "t".to_owned(),
        index: index.map(str::to_owned),
        stock: Vec::new(),
        billing: Billing::OnDemand,
        class: TableClass::Standard,
        spreads: vec![spread],
    }
}

fn flow(name: &str, is_write: bool, rate: f64, places: &[usize]) -> Flow {
    let touches =
        places.iter().map(|place| Touch { place: *place, spread: 0, units: 1.0 }).collect();
    Flow { name: name.to_owned(), is_write, average: rate, peak: rate, touches }
}

fn table(spread: Spread, is_write: bool, rate: f64) -> Workload {
    Workload {
        places: vec![place(None, spread)],
        flows: vec![flow("f", is_write, rate, &[0])],
        ..Workload::default()
    }
}

/// A table that is new, under all of its load from the first minute on; clients do not retry.
fn launched(minutes: u32) -> Options {
    Options {
        profile: Profile::Launch { minutes: 1.0 },
        minutes: Some(minutes),
        retries: Retries { attempts: 1, ..Retries::default() },
        ..Options::default()
    }
}

fn refused(outcome: &Outcome, minute: usize) -> f64 {
    outcome.flows[0].series[minute]
}

/// guide/on-demand-capacity-mode: a new table serves up to 4,000 writes and 12,000 reads per second at once.
#[test]
fn a_new_on_demand_table() {
    for (is_write, rate) in [(true, 4_000.0), (false, 12_000.0)] {
        let outcome = run(&table(even(), is_write, rate), 1.0, &launched(60));
        assert!(outcome.flows[0].refused <= 0.0);
        let outcome = run(
            &table(even(), is_write, rate * 3.0),
            1.0,
            &Options { burst_seconds: 1.0, ..launched(20) },
        );
        assert!((refused(&outcome, 1) - 2.0 / 3.0).abs() < 0.01);
    }
}

/// guide/on-demand-capacity-mode: up to twice the previous peak at once; more than that within 30 minutes may be throttled.
#[test]
fn twice_the_previous_peak() {
    let workload = table(even(), false, 50_000.0);
    let spike = |times| Options {
        profile: Profile::Spike { times, minutes: 60.0 },
        burst_seconds: 1.0,
        retries: Retries { attempts: 1, ..Retries::default() },
        ..Options::default()
    };
    assert!(run(&workload, 1.0, &spike(2.0)).flows[0].refused <= 0.0);
    let outcome = run(&workload, 1.0, &spike(4.0));
    assert!((refused(&outcome, 31) - 0.5).abs() < 0.02, "{}", refused(&outcome, 31));
    // Half an hour later it is ready for that, too.
    assert!(refused(&outcome, 75) < 1e-6, "{}", refused(&outcome, 75));
}

/// guide/burst-adaptive-capacity: up to 300 seconds of unused capacity are kept.
#[test]
fn five_minutes_of_burst() {
    let workload = table(even(), true, 200.0);
    let options = Options {
        capacity: Capacity::Provisioned { target: 1.0 },
        profile: Profile::Spike { times: 2.0, minutes: 20.0 },
        retries: Retries { attempts: 1, ..Retries::default() },
        ..Options::default()
    };
    let outcome = run(&workload, 1.0, &options);
    // Twice the capacity empties 300 seconds of it in five minutes; auto scaling has not raised it before minute 34.
    assert!(refused(&outcome, 33) < 1e-6);
    assert!(refused(&outcome, 30) < 1e-6);
}

/// guide/bp-partition-key-design: one item is limited to 3,000 reads and 1,000 writes per second, on demand, too.
#[test]
fn one_item() {
    for (is_write, limit) in [(true, 1_000.0), (false, 3_000.0)] {
        let outcome =
            run(&table(one(Some(NoSplit::OneItem)), is_write, limit * 4.0), 1.0, &launched(120));
        assert!((refused(&outcome, 119) - 0.75).abs() < 1e-3);
        assert!(matches!(
            outcome.bottlenecks[0].limit,
            Limit::Key { no_split: Some(NoSplit::OneItem), .. }
        ));
    }
}

/// guide/burst-adaptive-capacity: a table with 400 write units and one partition that gets 150 of them where its share is 100 is
/// not throttled while the table as a whole stays below 400.
#[test]
fn adaptive_capacity() {
    let spread = Spread::new("K".to_owned(), Some(4.0), Some(0.5), None);
    let workload = table(spread, true, 300.0);
    let options =
        Options { capacity: Capacity::Provisioned { target: 0.75 }, ..Options::default() };
    let outcome = run(&workload, 1.0, &options);
    assert!(outcome.flows[0].refused <= 0.0);
}

/// The blog, part 2: a collection of many items that is read evenly is split for heat, and split again, until it is served.
#[test]
fn splits_for_heat() {
    let outcome = run(&table(one(None), false, 9_000.0), 1.0, &launched(60));
    assert!(
        refused(&outcome, 10) > 0.2 || refused(&outcome, 5) > 0.2,
        "{:?}",
        outcome.flows[0].series
    );
    assert!(refused(&outcome, 59) < 1e-6);
    assert!(outcome.places[0].splits >= 2.0);
}

/// guide/burst-adaptive-capacity: collections of tables with local indexes are not split. The blog, part 3: neither are those
/// whose sort key only grows.
#[test]
fn what_is_not_split() {
    for reason in [NoSplit::LocalIndex, NoSplit::MovingSortKey] {
        let outcome = run(&table(one(Some(reason)), true, 2_000.0), 1.0, &launched(120));
        assert!((refused(&outcome, 119) - 0.5).abs() < 1e-3);
        assert!(outcome.places[0].splits <= 0.0);
    }
}

/// guide/GSI: if writes to a global index are throttled, so are those to its table; reads are not.
#[test]
fn back_pressure_of_an_index() {
    let status = Spread {
        no_split: Some(NoSplit::MovingSortKey),
        ..Spread::new("STATUS".to_owned(), Some(1.0), None, None)
    };
    let workload = Workload {
        places: vec![place(None, even()), place(Some("by_status"), status)],
        flows: vec![flow("write", true, 3_000.0, &[0, 1]), flow("read", false, 3_000.0, &[0])],
        ..Workload::default()
    };
    let outcome = run(&workload, 1.0, &launched(60));
    assert!((refused(&outcome, 59) - 2.0 / 3.0).abs() < 0.01);
    assert_eq!(outcome.bottlenecks[0].place, 1);
    assert!(outcome.flows[1].refused <= 0.0);
    // What the index refuses does not reach the table.
    assert!((outcome.places[0].peak.write - 3_000.0).abs() < 1.0);
}

/// guide/AutoScaling: capacity follows after consumption was beyond its target for two minutes, so a sudden load is throttled
/// once the burst is used up, and served some minutes later.
#[test]
fn auto_scaling_follows() {
    let workload = table(even(), true, 500.0);
    let options = Options {
        capacity: Capacity::Provisioned { target: 0.7 },
        profile: Profile::Spike { times: 10.0, minutes: 40.0 },
        retries: Retries { attempts: 1, ..Retries::default() },
        ..Options::default()
    };
    let outcome = run(&workload, 1.0, &options);
    assert!(outcome.flows[0].worst_refused > 0.5, "{}", outcome.flows[0].worst_refused);
    assert!(refused(&outcome, 60) < 0.01, "{}", refused(&outcome, 60));
}

/// guide/bp-partition-key-design: 10 GB a partition.
#[test]
fn partitions_hold_ten_gigabytes() {
    let mut workload = table(even(), true, 1.0);
    workload.places[0].stock = vec![Stock { bytes: 205e9, course: Course::default() }];
    assert!((run(&workload, 1.0, &Options::default()).places[0].partitions - 21.0).abs() < 1e-9);
}

/// A month of a million requests per second over ten thousand partitions; the same twice.
#[test]
fn a_month_of_a_large_table() {
    let mut workload =
        table(Spread::new("K".to_owned(), Some(1e8), None, Some(1.0)), false, 1_000_000.0);
    workload.places[0].stock = vec![Stock { bytes: 100e12, course: Course::default() }];
    let options = Options {
        profile: Profile::Daily { trough: 0.3 },
        // A build that is not optimised takes an hour's worth; `cargo test --release` the month.
        minutes: Some(if cfg!(debug_assertions) { 60 } else { 30 * 24 * 60 }),
        growth: 0.05,
        ..Options::default()
    };
    let start = std::time::Instant::now();
    let first = run(&workload, 1.0, &options);
    eprintln!("a month over {} partitions: {:?}", first.places[0].partitions, start.elapsed());
    assert!(first.places[0].partitions >= 10_000.0);
    let again = run(&workload, 1.0, &options);
    assert_eq!(first.flows, again.flows);
    assert_eq!(first.places, again.places);
}
