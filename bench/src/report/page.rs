//! The page with the tables.

use std::fmt::Write as _;

use super::Target;
use super::plots::Plot;
use crate::bench::Bench;
use crate::contender::Contender;
use crate::figures::{count, figure};
use crate::machine::Machine;
use crate::results::{Metric, Results, Section, Series};

/// The whole page, in Markdown.
pub(super) fn render(
    bench: &Bench,
    machine: &Machine,
    targets: &[Target],
    plots: &[Plot],
) -> String {
    let mut page = String::from(
        "# Benchmarks\n\nWritten by `scripts/bench`; do not edit. Keyloom, its peers and the \
         limits of the machine, measured side by side: each round measures every contender once, \
          starting with a different one each time. Figures are medians of the rounds, with \
          minimum and maximum in brackets. *Keyloom is* gives the factor by which Keyloom's \
          figure is better. The raw results are in [`results.json`](results.json).\n\n",
    );
    page.push_str(&conditions(bench, machine));
    page.push_str("\n## Targets\n\n| what | target | measured | |\n|---|---|---|---|\n");
    for target in targets {
        let measured = target.measured.as_deref().unwrap_or("–");
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| {} | {} | {measured} | {} |",
            target.what,
            target.bound,
            target.verdict()
        );
    }
    page.push_str("\n## Plots\n\n");
    for plot in plots {
        let _ = writeln!(page, "![{}]({})\n", plot.title, plot.file);
    }
    for (section, title, note) in SECTIONS {
        page.push_str(&table(&bench.results, section, title, note));
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn conditions(bench: &Bench, machine: &Machine) -> String {
    let settings = &bench.settings;
    let mut text = String::new();
    if settings.is_quick {
        text.push_str(
            "**A quick run: fewer and shorter rounds and smaller tables than the full one. Its \
             figures are for a first look.**\n\n",
        );
    }
    let mut row = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {name} | {value} |");
    };
    row("", "");
    row("---", "---");
    row("date", &machine.date);
    row("command", &format!("`{}`", machine.command));
    row("machine", &format!("{}, {} cores, {}", machine.processor, machine.cores, machine.memory));
    row("system", &format!("{}, {}", machine.system, machine.file_system));
    row("load average before", &machine.load);
    let sample = settings.sample.as_millis();
    row("rounds", &format!("{}, {sample} ms for each contender and case", settings.rounds));
    row(
        "sizes",
        &format!(
            "{} items of 1 KB in the small tables; partitions of {} items in the large one",
            count(settings.items),
            settings.partitions.iter().map(|size| count(*size)).collect::<Vec<_>>().join(" / ")
        ),
    );
    for (name, version) in &machine.versions {
        row(name, version);
    }
    for absent in &bench.results.absent {
        row("**absent**", absent);
    }
    text
}

const SECTIONS: [(Section, &str, &str); 12] = [
    (
        Section::HttpMemory,
        "HTTP, in memory",
        "Servers are separate processes, started as a user would; client and server share the \
         cores. CPU is the server's, from `/proc`. The echo server is bare hyper that reads the \
         same requests and sends Keyloom's responses; the generator's own CPU per operation \
         shows how much of a core the client uses.",
    ),
    (
        Section::HttpDisk,
        "HTTP, on disk",
        "Keyloom and dynoxide sync before they respond; *relaxed* and dynalite do not. The limit \
         is writing the bytes of one item to a preallocated file, and `fdatasync`.",
    ),
    (
        Section::EmbeddedMemory,
        "Embedded, in memory",
        "One calling thread. Typed requests are built for each call, and responses are decoded \
         to values; *JSON* uses the wire protocol's requests and responses.",
    ),
    (
        Section::EmbeddedDisk,
        "Embedded, on disk",
        "One calling thread, so each durable write waits for its own sync; CPU is the calling \
         thread's.",
    ),
    (Section::Syncs, "Syncs for one durable call", "As counted by the store."),
    (
        Section::PartitionsMemory,
        "One page, by the size of the partition, in memory",
        "Embedded, in JSON; each page begins at a random item.",
    ),
    (Section::PartitionsDisk, "One page, by the size of the partition, on disk", ""),
    (
        Section::Scan,
        "Scan of everything",
        "Embedded, in JSON, page by page, from the first item to this one.",
    ),
    (
        Section::WriteDuringScan,
        "Writes during a scan",
        "The slowest PutItem call of one thread, which makes one every 0.3 ms while another \
         thread scans continuously. Time lost to the scheduler counts, too: compare with the \
         figure without a scan.",
    ),
    (Section::Start, "Cold start", "The files are in the page cache."),
    (
        Section::Memory,
        "Memory of the server",
        "Resident memory of a server with an in-memory \
     database.",
    ),
    (Section::Disk, "Disk", "The allocated blocks of all files, log included."),
];

/// The metrics of a row, in this order.
const METRICS: [Metric; 10] = [
    Metric::Rate,
    Metric::CpuMicros,
    Metric::MedianMicros,
    Metric::P99Micros,
    Metric::GeneratorMicros,
    Metric::Millis,
    Metric::MicrosPerItem,
    Metric::SyncsPerCall,
    Metric::Megabytes,
    Metric::BytesPerItem,
];

fn table(results: &Results, section: Section, title: &str, note: &str) -> String {
    let all: Vec<&Series> = results.of(section).collect();
    let metrics: Vec<Metric> = METRICS
        .into_iter()
        .filter(|metric| all.iter().any(|series| series.key.metric == *metric))
        .collect();
    let Some(first) = metrics.first().copied() else { return String::new() };
    let mut text = format!("## {title}\n\n");
    if !note.is_empty() {
        text.push_str(note);
        text.push_str("\n\n");
    }
    let units: Vec<&str> = metrics.iter().map(|metric| metric.unit()).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "| case | | contender | {} | Keyloom is |", units.join(" | "));
    let _ = writeln!(text, "|---|---|---|{}---|", "--:|".repeat(units.len()));
    let mut rows: Vec<&Series> =
        all.iter().copied().filter(|series| series.key.metric == first).collect();
    // Stable: cases and settings stay in the order in which they were measured.
    let place = |series: &Series| {
        let same = |other: &&Series| {
            other.key.case == series.key.case && other.key.setting == series.key.setting
        };
        all.iter().position(same)
    };
    rows.sort_by_key(|series| (place(series), series.key.contender));
    for row in rows {
        let cells: Vec<String> = metrics.iter().map(|metric| cell(results, row, *metric)).collect();
        let (key, factor) = (&row.key, factor(results, row));
        let name = key.contender.label();
        let (case, setting) = (&key.case, &key.setting);
        let _ =
            writeln!(text, "| {case} | {setting} | {name} | {} | {factor} |", cells.join(" | "));
    }
    text.push('\n');
    text
}

fn cell(results: &Results, row: &Series, metric: Metric) -> String {
    let key = &row.key;
    let found = results.find(key.section, &key.case, &key.setting, key.contender, metric);
    let Some(series) = found else { return "–".into() };
    let median = figure(series.median());
    if series.values.len() < 2 || metric == Metric::GeneratorMicros {
        return median;
    }
    format!("{median} ({}–{})", figure(series.least()), figure(series.most()))
}

/// By what factor Keyloom's figure is better than that of this row.
fn factor(results: &Results, row: &Series) -> String {
    let key = &row.key;
    let ours = results.median(key.section, &key.case, &key.setting, Contender::Keyloom, key.metric);
    let Some(ours) = ours.filter(|_| key.contender != Contender::Keyloom) else {
        return String::new();
    };
    let theirs = row.median();
    let factor = if key.metric.is_rate() { ours / theirs } else { theirs / ours };
    if factor.is_finite() { format!("{} ×", figure(factor)) } else { String::new() }
}
