//! Which plots there are.

use super::bars::Bars;
use super::lines::Lines;
use crate::bench::Bench;
use crate::cases::{EMPTY, FILLED, ONE_THREAD, PAGES, connections_label, partition_label};
use crate::contender::Contender;
use crate::results::{Metric, Results, Section, Series};
use crate::workload::Operation;

/// A drawing and the file it goes to.
pub(super) struct Plot {
    pub(super) file: &'static str,
    pub(super) title: String,
    pub(super) svg: String,
}

/// Draws everything that was measured.
pub(super) fn draw(bench: &Bench) -> Vec<Plot> {
    let results = &bench.results;
    let sixteen = connections_label(16);
    let mut plots = vec![
        bars(
            "http-rate.svg",
            "HTTP, memory, 16 connections: throughput",
            "operations per second, more is better",
            by_operation(results, Section::HttpMemory, &sixteen, Metric::Rate),
        ),
        bars(
            "http-cpu.svg",
            "HTTP, memory, 16 connections: what the server spends",
            "CPU time of the server in µs per operation, less is better",
            by_operation(results, Section::HttpMemory, &sixteen, Metric::CpuMicros),
        ),
        bars(
            "durable-writes.svg",
            "HTTP, disk: PutItem 1 KB",
            "operations per second, more is better",
            by_connections(results, Section::HttpDisk, Operation::Put),
        ),
        bars(
            "embedded.svg",
            "Embedded, memory, one thread",
            "operations per second, more is better",
            by_operation(results, Section::EmbeddedMemory, ONE_THREAD, Metric::Rate),
        ),
        bars(
            "start.svg",
            "From the start of the process to the first answer",
            "milliseconds, less is better",
            starts(results),
        ),
    ];
    let files = [
        ["partitions-memory-1mb.svg", "partitions-memory-20.svg"],
        ["partitions-disk-1mb.svg", "partitions-disk-20.svg"],
    ];
    let sections = [(Section::PartitionsMemory, "memory"), (Section::PartitionsDisk, "disk")];
    for ((section, place), files) in sections.into_iter().zip(files) {
        for ((page, _), file) in PAGES.into_iter().zip(files) {
            let title = format!("Embedded, {place}: {page} of a partition");
            plots.push(partition_lines(
                results,
                &bench.settings.partitions,
                section,
                page,
                file,
                title,
            ));
        }
    }
    plots.into_iter().flatten().collect()
}

type Groups<'r> = Vec<(String, Vec<&'r Series>)>;

/// Nothing is drawn if nothing was measured.
fn bars(file: &'static str, title: &str, unit: &str, groups: Groups<'_>) -> Option<Plot> {
    let groups: Groups<'_> = groups.into_iter().filter(|(_, bars)| !bars.is_empty()).collect();
    if groups.is_empty() {
        return None;
    }
    let drawing = Bars { title: title.into(), unit: unit.into(), groups };
    Some(Plot { file, title: title.into(), svg: drawing.svg() })
}

fn by_operation<'r>(
    results: &'r Results,
    section: Section,
    setting: &str,
    metric: Metric,
) -> Groups<'r> {
    let group = |operation: Operation| {
        let case = operation.label();
        (case.to_owned(), matching(results, section, case, setting, metric))
    };
    Operation::ALL.into_iter().map(group).collect()
}

fn by_connections(results: &Results, section: Section, operation: Operation) -> Groups<'_> {
    let group = |connections| {
        let setting = connections_label(connections);
        let bars = matching(results, section, operation.label(), &setting, Metric::Rate);
        (setting, bars)
    };
    [1, 16, 128].into_iter().map(group).collect()
}

fn starts(results: &Results) -> Groups<'_> {
    let group = |case: &str| {
        let bars = results.of(Section::Start).filter(|series| series.key.case == case).collect();
        (case.to_owned(), sorted(bars))
    };
    [EMPTY, FILLED].into_iter().map(group).collect()
}

fn matching<'r>(
    results: &'r Results,
    section: Section,
    case: &str,
    setting: &str,
    metric: Metric,
) -> Vec<&'r Series> {
    let is_wanted = |series: &&Series| {
        let key = &series.key;
        key.case == case && key.setting == setting && key.metric == metric
    };
    sorted(results.of(section).filter(is_wanted).collect())
}

fn sorted(mut series: Vec<&Series>) -> Vec<&Series> {
    series.sort_by_key(|series| series.key.contender);
    series
}

fn partition_lines(
    results: &Results,
    sizes: &[usize],
    section: Section,
    page: &str,
    file: &'static str,
    title: String,
) -> Option<Plot> {
    let line = |contender: Contender| {
        let point = |size: &usize| {
            let setting = partition_label(*size);
            let series = results.find(section, page, &setting, contender, Metric::Millis)?;
            Some((*size as f64, series))
        };
        (contender, sizes.iter().filter_map(point).collect::<Vec<_>>())
    };
    let lines = [Contender::Keyloom, Contender::Dynoxide].map(line);
    let lines: Vec<_> = lines.into_iter().filter(|(_, points)| !points.is_empty()).collect();
    if lines.is_empty() {
        return None;
    }
    let drawing = Lines {
        title: title.clone(),
        unit: "milliseconds per page, less is better".into(),
        growing: "items in the partition".into(),
        curves: lines,
    };
    Some(Plot { file, title, svg: drawing.svg() })
}
