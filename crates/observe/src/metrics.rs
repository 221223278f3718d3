//! Reports in the Prometheus text format.
//!
//! Key values are never included: label values are stored indefinitely.

use std::fmt::Write as _;

use crate::partitions::PlaceHeat;
use crate::report::{Pattern, PlaceReport, Report};

/// Upper bounds of the latency buckets, in nanoseconds.
const BOUNDS: [u64; 12] = [
    10_000,
    50_000,
    100_000,
    500_000,
    1_000_000,
    5_000_000,
    10_000_000,
    50_000_000,
    100_000_000,
    500_000_000,
    1_000_000_000,
    10_000_000_000,
];

/// Appends the metrics of a report: requests, units and latencies by table, index and operation, and
/// how heavy the heaviest key of each is. Of what was not followed, nothing is said.
pub fn prometheus(report: &Report, page: &mut String) {
    if !report.places.is_empty() {
        places(&report.places, page);
    }
    if !report.partitions.is_empty() {
        partitions(&report.partitions, page);
    }
}

/// The load of tables and indexes.
fn places(places: &[PlaceReport], page: &mut String) {
    let places: Vec<(String, &PlaceReport)> =
        places.iter().map(|place| (labels(place), place)).collect();
    let mut metric = |name: &str, kind: &str, help: &str, value: &dyn Fn(&PlaceReport) -> f64| {
        describe(page, name, kind, help);
        for (labels, place) in &places {
            let _ = writeln!(page, "{name}{{{labels}}} {}", value(place));
        }
    };
    metric("keyloom_read_units_total", "counter", "Read units.", &|place| place.reads);
    metric("keyloom_write_units_total", "counter", "Write units.", &|place| place.writes);
    metric("keyloom_partition_keys", "gauge", "Distinct partition keys.", &|place| {
        place.distinct_keys.round()
    });
    metric("keyloom_top_key_share", "gauge", "Share of the load on the heaviest key.", &|place| {
        place.keys.first().map_or(0.0, |key| key.share)
    });
    metric(
        "keyloom_top_key_peak_read_units",
        "gauge",
        "Read units per second of the heaviest key in its busiest window.",
        &|place| place.keys.iter().map(|key| key.peak_reads).fold(0.0, f64::max),
    );
    metric(
        "keyloom_top_key_peak_write_units",
        "gauge",
        "Write units per second of the heaviest key in its busiest window.",
        &|place| place.keys.iter().map(|key| key.peak_writes).fold(0.0, f64::max),
    );
    throttles(&places, page);
    operations(&places, page);
}

/// What the partitions of AWS would make of the load.
fn partitions(places: &[PlaceHeat], page: &mut String) {
    let labels = |place: &PlaceHeat| {
        format!(
            "table=\"{}\",index=\"{}\"",
            place.table,
            place.index.as_deref().unwrap_or_default()
        )
    };
    let mut metric = |name: &str, kind: &str, help: &str, value: &dyn Fn(&PlaceHeat) -> f64| {
        describe(page, name, kind, help);
        for place in places {
            let _ = writeln!(page, "{name}{{{}}} {}", labels(place), value(place));
        }
    };
    metric("keyloom_virtual_partitions", "gauge", "Partitions AWS would have.", &|place| {
        place.partitions.len() as f64
    });
    metric(
        "keyloom_virtual_partition_splits_total",
        "counter",
        "Partitions AWS would have split because they were hot.",
        &|place| place.splits_for_heat as f64,
    );
    metric(
        "keyloom_hottest_partition_utilisation",
        "gauge",
        "Load of the hottest partition, as a share of 3,000 reads or 1,000 writes per second.",
        &|place| place.hottest().map_or(0.0, |partition| partition.utilisation),
    );
    let name = "keyloom_virtual_throttles_total";
    describe(page, name, "counter", "Requests AWS would have refused, or that were, by reason.");
    for place in places {
        for (reason, count) in &place.throttled {
            let _ = writeln!(page, "{name}{{{},reason=\"{reason}\"}} {count}", labels(place));
        }
    }
}

fn throttles(places: &[(String, &PlaceReport)], page: &mut String) {
    let name = "keyloom_throttles_total";
    describe(page, name, "counter", "Requests refused for throughput, by reason.");
    for (labels, place) in places {
        for (reason, count) in &place.throttled {
            let _ = writeln!(page, "{name}{{{labels},reason=\"{reason}\"}} {count}");
        }
    }
}

fn operations(places: &[(String, &PlaceReport)], page: &mut String) {
    let name = "keyloom_operation_duration_seconds";
    describe(page, name, "histogram", "Time in the engine, by table, index and operation.");
    let mut items = String::new();
    for (labels, place) in places {
        let mut names: Vec<&str> =
            place.patterns.iter().map(|pattern| pattern.operation.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for operation in names {
            let of = |pattern: &&Pattern| pattern.operation == operation;
            let patterns: Vec<&Pattern> = place.patterns.iter().filter(of).collect();
            let labels = format!("{labels},operation=\"{operation}\"");
            for bound in BOUNDS {
                let below: u64 = patterns.iter().map(|p| p.latency.at_most(bound)).sum();
                let seconds = bound as f64 / 1e9;
                let _ = writeln!(page, "{name}_bucket{{{labels},le=\"{seconds}\"}} {below}");
            }
            let count: u64 = patterns.iter().map(|p| p.latency.count()).sum();
            let sum: u64 = patterns.iter().map(|p| p.latency.sum()).sum();
            let _ = writeln!(page, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
            let _ = writeln!(page, "{name}_sum{{{labels}}} {}", sum as f64 / 1e9);
            let _ = writeln!(page, "{name}_count{{{labels}}} {count}");
            for (what, count) in [
                ("scanned", patterns.iter().map(|p| p.scanned).sum::<u64>()),
                ("returned", patterns.iter().map(|p| p.returned).sum()),
            ] {
                let _ = writeln!(items, "keyloom_items_total{{{labels},kind=\"{what}\"}} {count}");
            }
        }
    }
    describe(page, "keyloom_items_total", "counter", "Items scanned and returned.");
    page.push_str(&items);
}

/// Table and index names have no character that would need an escape.
fn labels(place: &PlaceReport) -> String {
    let index = place.index.as_deref().unwrap_or_default();
    format!("table=\"{}\",index=\"{index}\"", place.table)
}

fn describe(page: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
}
