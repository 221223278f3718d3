//! The doctor's words: findings first, then the numbers.

use std::fmt::Write as _;

use keyloom_observe::report::{Pattern, PlaceReport};
use keyloom_observe::{Finding, PartitionHeat, Report, Severity};

use crate::output::Paint;

/// The widest that text columns become.
const MAX_WIDTH: usize = 44;
/// Where paragraphs of findings are broken.
const LINE: usize = 96;

/// Everything that the doctor says.
pub(crate) fn render(
    source: &str,
    report: &Report,
    findings: &[Finding],
    top: usize,
    paint: Paint,
) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{source}: {}", observed(report));
    if report.requests == 0 {
        out.push_str("Nothing was asked yet: run some load, then look again.\n");
        return out;
    }
    for finding in findings {
        write_finding(&mut out, finding, paint);
    }
    write_places(&mut out, report);
    if report.left_out > 0 {
        let times = number(report.left_out as f64);
        let _ = writeln!(out, "Further tables and indexes, used {times} times, were not counted.");
    }
    write_partitions(&mut out, report);
    write_patterns(&mut out, report, top);
    write_keys(&mut out, report, top);
    write_errors(&mut out, report);
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let counts = [
        (count(Severity::Error), "error"),
        (count(Severity::Warning), "warning"),
        (count(Severity::Info), "hint"),
    ];
    let counts = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}{}", if *count == 1 { "" } else { "s" }));
    let counts: Vec<String> = counts.collect();
    let summary = if counts.is_empty() { paint.good("nothing wrong") } else { counts.join(", ") };
    let _ = write!(out, "\n{summary}");
    out
}

fn observed(report: &Report) -> String {
    let seen = if report.sampled == report.requests {
        String::new()
    } else {
        let share = report.requests as f64 / report.sampled.max(1) as f64;
        format!(" (one in {share:.1} sampled)")
    };
    let design = match &report.design {
        Some(name) => format!(", design {name}"),
        None => String::new(),
    };
    let seconds = report.seconds();
    let span = match seconds {
        s if s >= 172_800.0 => format!("{:.1} days", s / 86_400.0),
        s if s >= 7200.0 => format!("{:.1} hours", s / 3600.0),
        s if s >= 120.0 => format!("{:.1} minutes", s / 60.0),
        s => format!("{s:.0} s"),
    };
    format!("{} requests in {span}{seen}{design}", number(report.requests as f64))
}

fn write_finding(out: &mut String, finding: &Finding, paint: Paint) {
    let word = match finding.severity {
        Severity::Error => paint.bad("error"),
        Severity::Warning => paint.warn("warning"),
        Severity::Info => "info".to_owned(),
    };
    let _ = writeln!(out, "\n{word}[{}]: {}: {}", finding.id, finding.place, finding.title);
    for evidence in &finding.evidence {
        paragraph(out, "", evidence);
    }
    if !finding.patterns.is_empty() {
        let shown: Vec<&str> = finding.patterns.iter().take(4).map(String::as_str).collect();
        let more = match finding.patterns.len() - shown.len() {
            0 => String::new(),
            rest => format!(" and {rest} more"),
        };
        paragraph(out, "patterns: ", &format!("{}{more}", shown.join("; ")));
    }
    paragraph(out, "fix: ", &finding.fix);
    for line in finding.diff.iter().flat_map(|diff| diff.lines()) {
        let line = match line.as_bytes().first() {
            Some(b'+') => paint.good(line),
            Some(b'-') => paint.bad(line),
            _ => line.to_owned(),
        };
        let _ = writeln!(out, "      {line}");
    }
    let mut outlook = Vec::new();
    outlook.extend(finding.headroom.filter(|times| *times < 1000.0).map(|times| {
        if times >= 10.0 {
            format!("room for {times:.0}× this load")
        } else {
            format!("room for {times:.1}× this load")
        }
    }));
    outlook.extend(
        finding.dollars_per_month.map(|dollars| format!("{} a month at this rate", money(dollars))),
    );
    outlook.push(format!("confidence {}", finding.confidence.as_str()));
    paragraph(out, "outlook: ", &outlook.join(", "));
    if !finding.at_ten.is_empty() {
        paragraph(out, "at 10×: ", &finding.at_ten);
    }
}

/// Text behind a label, broken between words, with lines that go on indented under it.
fn paragraph(out: &mut String, label: &str, text: &str) {
    let indent = label.chars().count();
    let mut line = format!("  = {label}");
    let mut width = line.chars().count();
    let mut first = true;
    for word in text.split(' ') {
        let length = word.chars().count() + 1;
        if !first && width + length > LINE {
            let _ = writeln!(out, "{}", line.trim_end());
            line = " ".repeat(4 + indent);
            width = line.chars().count();
        } else if !first {
            line.push(' ');
            width += 1;
        }
        line.push_str(word);
        width += length - 1;
        first = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

fn write_places(out: &mut String, report: &Report) {
    let mut table = Table::new(
        "Tables and indexes",
        &[
            "",
            "requests",
            "keys",
            "read units",
            "write units",
            "peak read/s",
            "peak write/s",
            "throttled",
        ],
    );
    for place in &report.places {
        let throttled: u64 = place.throttled.values().sum();
        table.row([
            place.name(),
            number(place.requests as f64),
            number(place.distinct_keys.round()),
            number(place.reads),
            number(place.writes),
            number(place.peak_reads),
            number(place.peak_writes),
            if throttled == 0 { "–".to_owned() } else { number(throttled as f64) },
        ]);
    }
    table.write(out);
}

fn write_partitions(out: &mut String, report: &Report) {
    let title = "Partitions that AWS would have";
    let head =
        ["", "partitions", "hottest now", "peak read/s", "peak write/s", "splits", "refused"];
    let mut table = Table::new(title, &head);
    for place in &report.partitions {
        let name = match &place.index {
            Some(index) => format!("{}.{index}", place.table),
            None => place.table.clone(),
        };
        let peak =
            |of: fn(&PartitionHeat) -> f64| place.partitions.iter().map(of).fold(0.0, f64::max);
        let refused = place.throttled_requests();
        table.row([
            name,
            place.partitions.len().to_string(),
            format!("{:.0} %", place.hottest().map_or(0.0, |heat| heat.utilisation) * 100.0),
            number(peak(|heat| heat.peak_read_rate)),
            number(peak(|heat| heat.peak_write_rate)),
            (place.splits_for_heat + place.splits_for_size + place.splits_for_growth).to_string(),
            if refused == 0 { "–".to_owned() } else { number(refused as f64) },
        ]);
    }
    table.write(out);
}

fn write_patterns(out: &mut String, report: &Report, top: usize) {
    let mut all: Vec<(&PlaceReport, &Pattern)> = report.patterns().collect();
    let units = |pattern: &Pattern| pattern.reads + 3.0 * pattern.writes;
    all.sort_by(|a, b| units(b.1).total_cmp(&units(a.1)));
    let title = format!("Patterns by units, {} of {}", top.min(all.len()), all.len());
    let mut table = Table::new(
        &title,
        &["", "operation", "at", "requests", "p50", "p99", "units each", "units", "returned"],
    );
    for (place, pattern) in all.into_iter().take(top) {
        let total = pattern.reads + pattern.writes;
        let returned = if pattern.scanned > pattern.returned {
            format!("{} of {}", number(pattern.returned as f64), number(pattern.scanned as f64))
        } else if pattern.writes > 0.0 {
            "–".to_owned()
        } else {
            number(pattern.returned as f64)
        };
        table.row([
            pattern.label().to_owned(),
            pattern.operation.clone(),
            place.name(),
            number(pattern.requests as f64),
            micros(pattern.micros(0.5)),
            micros(pattern.micros(0.99)),
            number(total / pattern.requests.max(1) as f64),
            number(total),
            returned,
        ]);
    }
    table.write(out);
}

fn write_keys(out: &mut String, report: &Report, top: usize) {
    let mut keys: Vec<_> = report
        .places
        .iter()
        .flat_map(|place| place.keys.iter().take(top).map(move |key| (place, key)))
        .collect();
    keys.sort_by(|a, b| b.1.load.total_cmp(&a.1.load));
    let title = "Heaviest partition keys; load in read units, a write unit counts as three";
    let mut table = Table::new(
        title,
        &[
            "",
            "at",
            "share",
            "load",
            "±",
            "read units",
            "write units",
            "peak read/s",
            "peak write/s",
            "throttled",
        ],
    );
    for (place, key) in keys.into_iter().take(top) {
        table.row([
            key.key.clone(),
            place.name(),
            format!("{:.1} %", key.share * 100.0),
            number(key.load),
            number(key.error),
            number(key.reads),
            number(key.writes),
            number(key.peak_reads),
            number(key.peak_writes),
            if key.throttled == 0 { "–".to_owned() } else { number(key.throttled as f64) },
        ]);
    }
    table.write(out);
}

fn write_errors(out: &mut String, report: &Report) {
    if report.errors.is_empty() {
        return;
    }
    let mut table = Table::new("Errors", &["", "code", "count"]);
    for error in &report.errors {
        table.row([error.operation.clone(), error.code.clone(), number(error.count as f64)]);
    }
    table.write(out);
}

/// Columns that fit their contents: the first and those of words to the left, numbers to the right.
struct Table<'t> {
    title: &'t str,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl<'t> Table<'t> {
    fn new(title: &'t str, head: &[&str]) -> Self {
        Self { title, head: head.iter().map(|&word| word.to_owned()).collect(), rows: Vec::new() }
    }

    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| cut(&cell)).collect());
    }

    fn write(&self, out: &mut String) {
        if self.rows.is_empty() {
            return;
        }
        let all = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| {
            let cells = all().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let is_text = |column: usize| {
            let name = self.head.get(column).map_or("", String::as_str);
            matches!(name, "" | "at" | "operation" | "code")
        };
        let _ = writeln!(out, "\n{}", self.title);
        for row in all() {
            let mut line = String::from(" ");
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if is_text(column) {
                    let _ = write!(line, " {cell:<width$} ");
                } else {
                    let _ = write!(line, " {cell:>width$} ");
                }
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MAX_WIDTH {
        return text.to_owned();
    }
    let kept: String = text.chars().take(MAX_WIDTH - 1).collect();
    format!("{kept}…")
}

/// A number with as many digits as people read.
fn number(value: f64) -> String {
    let size = value.abs();
    let (scaled, unit) = match size {
        s if s >= 1e9 => (value / 1e9, "G"),
        s if s >= 1e6 => (value / 1e6, "M"),
        s if s >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = if scaled.abs() >= 100.0 { format!("{scaled:.0}") } else { format!("{scaled:.1}") };
    format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
}

fn micros(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.1} s", v / 1e6),
        v if v >= 1e3 => format!("{:.1} ms", v / 1e3),
        v => format!("{v:.1} µs"),
    }
}

fn money(dollars: f64) -> String {
    if dollars >= 100.0 { format!("${dollars:.0}") } else { format!("${dollars:.2}") }
}
