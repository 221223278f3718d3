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
         each time beginning with another one. Figures are medians of the rounds, with the least \
         and the most in brackets. *Keyloom is* says by what factor Keyloom's figure is the better \
         one. The raw results are in [`results.json`](results.json).\n\n",
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
        "Servers are processes of their own, started as a user would; client and server share the \
         cores. CPU is the server's, from `/proc`. The echo server is bare hyper that reads the \
         same requests and sends Keyloom's answers; the generator's own CPU per operation shows \
         how much of a core the client leaves.",
    ),
    (
        Section::HttpDisk,
        "HTTP, on disk",
        "Keyloom and dynoxide sync before they answer; *relaxed* and dynalite do not. The limit is \
         the bytes of one item written to a file that was filled before, and `fdatasync`.",
    ),
    (
        Section::EmbeddedMemory,
        "Embedded, in memory",
        "One thread calls. Typed requests are built anew for each call, and answers become values; \
         *JSON* has requests and answers as the wire protocol does.",
    ),
    (
        Section::EmbeddedDisk,
        "Embedded, on disk",
        "One thread calls, so each durable write waits for a sync of its own; CPU is the calling \
         thread's.",
    ),
    (Section::Syncs, "Syncs for one durable call", "As the store counts them."),
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
        "The longest of the PutItem calls that one thread makes, every 0.3 ms, while another scans \
         without end. What the system takes away from a thread counts, too: compare with the \
         figure without a scan.",
    ),
    (Section::Start, "Cold start", "The files are in the page cache."),
    (Section::Memory, "Memory of the server", "Resident, of a server in memory."),
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
