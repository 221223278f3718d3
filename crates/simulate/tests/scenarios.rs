//! What AWS documents of partitions, bursts, splits and back-pressure, reproduced. Pages named `guide/…` are of the DynamoDB
//! Developer Guide; the blog is AWS's "Scaling DynamoDB: How partitions, hot keys, and split for heat impact performance".
#![expect(clippy::indexing_slicing, reason = "a panic is how a test fails")]

use keyloom_design::model::{Billing, TableClass};
use keyloom_simulate::run::{Limit, Outcome, run};
use keyloom_simulate::workload::{Flow, Place, Stock, Touch};
use keyloom_simulate::{
    Capacity, Course, Lanes, NoSplit, Options, Profile, Retries, Spread, Workload,
};

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
    let touches = places
        .iter()
        .map(|place| Touch { place: *place, spread: 0, units: 1.0, is_range: false })
        .collect();
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

/// guide/warm-throughput: a table takes its warm throughput at once. guide/warm-throughput-scenarios: a hot key is throttled
/// before that.
#[test]
fn warm_throughput() {
    let cold = Options { burst_seconds: 1.0, ..launched(20) };
    let warm = Options {
        warm: Lanes { read: 30_000.0, write: 10_000.0 },
        burst_seconds: 1.0,
        ..launched(20)
    };
    for (is_write, rate) in [(true, 10_000.0), (false, 30_000.0)] {
        assert!(run(&table(even(), is_write, rate), 1.0, &warm).flows[0].refused <= 0.0);
        assert!((refused(&run(&table(even(), is_write, rate), 1.0, &cold), 1) - 0.6).abs() < 0.01);
    }
    let hot = Spread::new("K".to_owned(), Some(1e6), Some(0.5), None);
    let hot = Spread { no_split: Some(NoSplit::OneItem), ..hot };
    let outcome = run(&table(hot, true, 4_000.0), 1.0, &warm);
    assert!((0.24..0.3).contains(&refused(&outcome, 19)), "{}", refused(&outcome, 19));
}

/// guide/on-demand-capacity-mode-max-throughput: requests beyond the maximum of a table or index are throttled.
/// guide/AutoScaling: nor does auto scaling buy more than its maximum.
#[test]
fn maximum_throughput() {
    let most = Lanes { read: None, write: Some(500.0) };
    for capacity in [Capacity::OnDemand, Capacity::Provisioned { target: 0.7 }] {
        let options = Options { most, capacity, profile: Profile::Constant, ..launched(90) };
        let outcome = run(&table(even(), true, 2_000.0), 1.0, &options);
        assert!((refused(&outcome, 89) - 0.75).abs() < 0.01, "{}", refused(&outcome, 89));
        assert_eq!(outcome.bottlenecks[0].limit, Limit::Whole);
    }
}

/// guide/AutoScaling and the quotas of DynamoDB: capacity is lowered four times a day at any time, and then once an hour.
#[test]
fn auto_scaling_lowers_rarely() {
    let options = Options {
        capacity: Capacity::Provisioned { target: 0.7 },
        profile: Profile::Daily { trough: 0.1 },
        ..Options::default()
    };
    let outcome = run(&table(even(), true, 50_000.0), 1.0, &options);
    let paid = outcome.places[0].provisioned_minutes.write / (24.0 * 60.0);
    let needed = outcome.places[0].units.write / (24.0 * 3600.0) / 0.7;
    assert!((1.02..1.25).contains(&(paid / needed)), "{paid} {needed}");
}

/// guide/burst-adaptive-capacity: up to 300 seconds of unused capacity are kept, however long nothing uses it.
#[test]
fn five_minutes_of_burst() {
    // Half of 200 units is used for half an hour; auto scaling may not buy more.
    let workload = table(even(), true, 100.0);
    let served = |times| {
        let options = Options {
            capacity: Capacity::Provisioned { target: 0.5 },
            most: Lanes { read: None, write: Some(200.0) },
            profile: Profile::Spike { times, minutes: 20.0 },
            retries: Retries { attempts: 1, ..Retries::default() },
            ..Options::default()
        };
        run(&workload, 1.0, &options).flows[0].series.clone()
    };
    // Twice the capacity empties 300 seconds of it in five minutes, three times the capacity in two and a half.
    for (times, expected) in [
        (4.0, [0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5]),
        (6.0, [0.0, 0.0, 1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]),
    ] {
        let refused = served(times);
        for (minute, expected) in expected.into_iter().enumerate() {
            let real = refused[30 + minute];
            assert!((real - expected).abs() < 1e-3, "{times} times, minute {minute}: {real}");
        }
    }
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

/// guide/burst-adaptive-capacity: a table with 400 write units on four partitions, of which one gets 150 where its share is 100,
/// is not throttled while the table as a whole stays below 400.
#[test]
fn adaptive_capacity() {
    let spread = Spread::new("K".to_owned(), Some(4.0), Some(0.5), None);
    let mut workload = table(spread, true, 300.0);
    workload.places[0].stock = vec![Stock { bytes: 35e9, course: Course::default() }];
    // Nothing is saved that could help instead.
    let options = Options {
        capacity: Capacity::Provisioned { target: 0.75 },
        most: Lanes { read: None, write: Some(400.0) },
        burst_seconds: 1.0,
        retries: Retries { attempts: 1, ..Retries::default() },
        ..Options::default()
    };
    let outcome = run(&workload, 1.0, &options);
    assert!((outcome.places[0].partitions - 4.0).abs() < 1e-9);
    assert!(outcome.flows[0].refused <= 0.0, "{:?}", outcome.bottlenecks);
    let beyond = run(&workload, 5.0 / 3.0, &options);
    assert!((refused(&beyond, 60) - 0.2).abs() < 1e-3, "{}", refused(&beyond, 60));
    assert_eq!(beyond.bottlenecks[0].limit, Limit::Whole);
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
    // What the index refuses is not written to the table.
    let (table, index) = (outcome.places[0].units.write, outcome.places[1].units.write);
    assert!((table / index - 1.0).abs() < 1e-3, "{table} {index}");
    assert!((index - 60.0 * 60.0 * 1_000.0).abs() < 310_000.0, "{index}");
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
    // What was saved lasts for less than a minute.
    assert!(
        (31..34).all(|minute| refused(&outcome, minute) > 0.8),
        "{:?}",
        outcome.flows[0].series
    );
    // Refused requests are not consumption, so it is raised by what the target leaves, time and again.
    let raised = refused(&outcome, 35) / refused(&outcome, 33);
    assert!((0.9..0.98).contains(&raised), "{raised}");
    assert!(refused(&outcome, 60) < 0.01, "{}", refused(&outcome, 60));
}

/// guide/bp-partition-key-design: 10 GB a partition.
#[test]
fn partitions_hold_ten_gigabytes() {
    let mut workload = table(even(), true, 1.0);
    workload.places[0].stock = vec![Stock { bytes: 205e9, course: Course::default() }];
    assert!((run(&workload, 1.0, &Options::default()).places[0].partitions - 21.0).abs() < 1e-9);
}

/// The retry behaviour of AWS's SDKs, standard mode: three attempts; before each retry a random time up to a limit, which is a
/// second at first and doubles.
#[test]
fn clients_retry() {
    let workload = table(one(Some(NoSplit::OneItem)), true, 2_000.0);
    let options = Options { retries: Retries::default(), ..launched(120) };
    let outcome = run(&workload, 1.0, &options);
    let flow = &outcome.flows[0];
    // With a share p refused there are 2,000 (1 + p + p²) requests, of which 1,000 are served: p³ = 1/2.
    let p = 0.5f64.powf(1.0 / 3.0);
    assert!((refused(&outcome, 119) - p).abs() < 0.01, "{} {p}", refused(&outcome, 119));
    let late = flow.calls - 2_000.0 * 60.0 * 20.0;
    assert!((flow.requests / flow.calls - (1.0 + p + p * p)).abs() < 0.15 && late > 0.0);
    // Of those that waited twice, no one waited longer than a second and two.
    let most = flow.added_ms(options.retries, 1.0);
    assert!((2_500.0..=3_000.0).contains(&most), "{most}");
}

/// Seconds that this thread has been on a processor.
fn cpu_seconds() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = told.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// A month of a million requests per second over ten thousand partitions in less than ten seconds of one core; the same twice.
/// This crate is optimised in every build.
#[test]
fn a_month_of_a_large_table() {
    let mut workload =
        table(Spread::new("K".to_owned(), Some(1e8), None, Some(1.0)), false, 1_000_000.0);
    workload.places[0].stock = vec![Stock { bytes: 100e12, course: Course::default() }];
    let month = |seed| Options {
        profile: Profile::Daily { trough: 0.3 },
        minutes: Some(30 * 24 * 60),
        growth: 0.05,
        seed,
        ..Options::default()
    };
    let start = cpu_seconds();
    let first = run(&workload, 1.0, &month(1));
    let seconds = cpu_seconds().zip(start).map(|(end, start)| end - start);
    eprintln!("a month over {} partitions: {seconds:?} s of CPU time", first.places[0].partitions);
    assert!(first.places[0].partitions >= 10_000.0 && first.places[0].heat.len() == 43_200);
    assert!(seconds.is_none_or(|seconds| seconds < 10.0), "{seconds:?}");
    // A million requests a second at the peak, as many as the profile says.
    let asked = first.flows[0].calls / (43_200.0 * 60.0);
    assert!((0.65e6..0.68e6).contains(&asked), "{asked}");
    let again = run(&workload, 1.0, &month(1));
    assert_eq!((&first.flows, &first.places), (&again.flows, &again.places));
    // Elsewhere keys lie elsewhere.
    let other = run(&workload, 1.0, &Options { minutes: Some(60), ..month(2) });
    assert_ne!(first.places[0].heat[..60], other.places[0].heat[..]);
}
