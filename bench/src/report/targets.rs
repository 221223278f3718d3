//! The targets, judged by the run.

use serde::Serialize;

use crate::cases::{
    AFTER_COMPACTION, DURABLE, DURING_SCAN, EMPTY, FILLED, IDLE, IN_MEMORY, ON_DISK, ONE_THREAD,
    PAGES, connections_label, first_items_label, partition_label,
};
use crate::contender::Contender::{Dynoxide, Echo, Fdatasync, Keyloom};
use crate::figures::{count, figure};
use crate::results::{Metric, Results, Section};
use crate::workload::{ITEM_BYTES, Operation};

/// One target.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Target {
    pub(crate) what: String,
    pub(crate) bound: String,
    /// Nothing if it was not measured.
    pub(crate) measured: Option<String>,
    pub(crate) is_met: Option<bool>,
}

impl Target {
    /// Shows an unknown measurement as such.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.is_met {
            Some(true) => "met",
            Some(false) => "**not met**",
            None => "not measured",
        }
    }
}

/// A figure that must be this large at least.
fn at_least(what: String, unit: &str, least: f64, measured: Option<f64>) -> Target {
    Target {
        what,
        bound: format!("≥ {}{unit}", figure(least)),
        measured: measured.map(|measured| format!("{}{unit}", figure(measured))),
        is_met: measured.map(|measured| measured >= least),
    }
}

/// A figure that must be this large at most.
fn at_most(what: String, unit: &str, most: f64, measured: Option<f64>) -> Target {
    Target {
        what,
        bound: format!("≤ {}{unit}", figure(most)),
        measured: measured.map(|measured| format!("{}{unit}", figure(measured))),
        is_met: measured.map(|measured| measured <= most),
    }
}

/// All targets. `partitions` are the sizes that were measured.
pub(crate) fn judge(results: &Results, partitions: &[usize]) -> Vec<Target> {
    let mut targets = embedded(results);
    targets.extend(http(results));
    targets.extend(durable(results));
    targets.extend(flat(results, partitions));
    targets.extend(scan(results, partitions.iter().sum()));
    targets.extend(footprint(results, partitions.iter().sum()));
    targets
}

const CENTRAL: [Operation; 3] = [Operation::Get, Operation::Put, Operation::Query];

fn embedded(results: &Results) -> Vec<Target> {
    let target = |operation: Operation| {
        let rate = |contender| {
            let section = Section::EmbeddedMemory;
            results.median(section, operation.label(), ONE_THREAD, contender, Metric::Rate)
        };
        let what = format!("embedded, memory: {}, rate against dynoxide", operation.label());
        at_least(what, " ×", 10.0, ratio(rate(Keyloom), rate(Dynoxide)))
    };
    CENTRAL.into_iter().map(target).collect()
}

fn http(results: &Results) -> Vec<Target> {
    let setting = connections_label(16);
    let median = |operation: Operation, contender, metric| {
        results.median(Section::HttpMemory, operation.label(), &setting, contender, metric)
    };
    let mut targets = Vec::new();
    for (operation, least) in CENTRAL.into_iter().zip([3.0, 4.0, 8.0]) {
        let cpu = |contender| median(operation, contender, Metric::CpuMicros);
        let what = format!("HTTP, 16 connections: {}, CPU against dynoxide", operation.label());
        targets.push(at_least(what, " ×", least, ratio(cpu(Dynoxide), cpu(Keyloom))));
    }
    for operation in CENTRAL {
        let rate = |contender| median(operation, contender, Metric::Rate);
        let what = format!("HTTP, 16 connections: {}, rate of an echo server", operation.label());
        targets.push(at_least(what, " %", 70.0, percent(rate(Keyloom), rate(Echo))));
    }
    targets
}

fn durable(results: &Results) -> Vec<Target> {
    let put = Operation::Put.label();
    let rate = |connections, contender| {
        let setting = connections_label(connections);
        results.median(Section::HttpDisk, put, &setting, contender, Metric::Rate)
    };
    let mut targets = Vec::new();
    for (connections, least) in [(16, 20.0), (128, 60.0)] {
        let what = format!("durable PutItem, {connections} connections, rate against dynoxide");
        let measured = ratio(rate(connections, Keyloom), rate(connections, Dynoxide));
        targets.push(at_least(what, " ×", least, measured));
    }
    let what = "durable PutItem, one connection, rate of bare fdatasync".to_owned();
    targets.push(at_least(what, " %", 70.0, percent(rate(1, Keyloom), rate(1, Fdatasync))));
    for operation in [Operation::Batch, Operation::Transact] {
        let case = operation.label();
        let measured = results.median(Section::Syncs, case, DURABLE, Keyloom, Metric::SyncsPerCall);
        targets.push(Target {
            what: format!("durable {case}, syncs per call"),
            bound: "1".into(),
            measured: measured.map(figure),
            // None at all would mean that nothing was written.
            is_met: measured.map(|measured| (measured - 1.0).abs() < 0.005),
        });
    }
    targets
}

fn flat(results: &Results, partitions: &[usize]) -> Vec<Target> {
    let mut targets = Vec::new();
    let sections = [(Section::PartitionsMemory, "memory"), (Section::PartitionsDisk, "disk")];
    for (section, place) in sections {
        for (page, _) in PAGES {
            // A partition of ten items has no such page.
            let costs: Option<Vec<f64>> = partitions
                .iter()
                .filter(|size| **size >= 10_000)
                .map(|size| {
                    let setting = partition_label(*size);
                    results.median(section, page, &setting, Keyloom, Metric::Millis)
                })
                .collect();
            let spread = costs.filter(|costs| !costs.is_empty()).map(|costs| {
                let most = costs.iter().copied().fold(0.0, f64::max);
                most / costs.iter().copied().fold(f64::INFINITY, f64::min)
            });
            let largest = count(partitions.iter().max().copied().unwrap_or_default());
            let what =
                format!("{place}: {page}, partitions of 10,000 to {largest}, dearest / cheapest");
            targets.push(at_most(what, " ×", 1.3, spread));
        }
    }
    targets
}

fn scan(results: &Results, items: usize) -> Vec<Target> {
    let mut targets = Vec::new();
    for place in [IN_MEMORY, ON_DISK] {
        let cost = |count| {
            let setting = first_items_label(count);
            results.median(Section::Scan, place, &setting, Keyloom, Metric::MicrosPerItem)
        };
        let what = format!(
            "Scan of {} items {place}, cost per item against the first tenth",
            count(items)
        );
        targets.push(at_most(what, " ×", 1.3, ratio(cost(items), cost(items / 10))));
        let section = Section::WriteDuringScan;
        let longest = results.find(section, DURING_SCAN, place, Keyloom, Metric::Millis);
        let longest = longest.map(crate::results::Series::most);
        targets.push(at_most(format!("{DURING_SCAN}, {place}"), " ms", 5.0, longest));
    }
    targets
}

fn footprint(results: &Results, items: usize) -> Vec<Target> {
    let median = |section, case: &str, setting: &str, metric| {
        results.median(section, case, setting, Keyloom, metric)
    };
    let items = count(items);
    let setting = format!("{items} items");
    let bytes = median(Section::Disk, AFTER_COMPACTION, &setting, Metric::BytesPerItem);
    vec![
        at_most(
            format!("cold start to the first answer, {EMPTY}"),
            " ms",
            10.0,
            median(Section::Start, EMPTY, "", Metric::Millis),
        ),
        at_most(
            "idle memory".to_owned(),
            " MB",
            8.0,
            median(Section::Memory, IDLE, "", Metric::Megabytes),
        ),
        at_most(
            format!("cold start to the first answer, {FILLED}: {items}"),
            " ms",
            150.0,
            median(Section::Start, FILLED, &setting, Metric::Millis),
        ),
        at_most(
            format!("disk, {items} {AFTER_COMPACTION}, against the items"),
            " ×",
            1.1,
            bytes.map(|bytes| bytes / ITEM_BYTES as f64),
        ),
    ]
}

fn ratio(ours: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    ours.zip(theirs).filter(|(_, theirs)| *theirs > 0.0).map(|(ours, theirs)| ours / theirs)
}

fn percent(ours: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    ratio(ours, theirs).map(|ratio| ratio * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::Contender;
    use crate::results::Key;

    fn results(contenders: &[(Contender, f64)]) -> Results {
        let mut results = Results::default();
        for (contender, rate) in contenders {
            let (case, setting) = (Operation::Get.label().into(), ONE_THREAD.into());
            let (section, metric) = (Section::EmbeddedMemory, Metric::Rate);
            results.add(Key { section, case, setting, contender: *contender, metric }, *rate);
        }
        results
    }

    #[test]
    fn a_target_is_met_missed_or_not_measured() {
        let first = |contenders: &[_]| judge(&results(contenders), &[10]).remove(0).is_met;
        assert_eq!(first(&[(Keyloom, 10.0), (Dynoxide, 1.0)]), Some(true));
        assert_eq!(first(&[(Keyloom, 9.0), (Dynoxide, 1.0)]), Some(false));
        assert_eq!(first(&[(Keyloom, 9.0)]), None);
    }
}
