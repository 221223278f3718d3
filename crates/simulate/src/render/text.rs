//! A forecast as text and as Markdown: one set of tables, which the page draws, too.

use std::fmt::Write as _;

use super::{dollars, milliseconds, percent, short, times};
use crate::costs::Way;
use crate::forecast::{Forecast, Scale};
use crate::limits::blamed;

/// A heading, the columns of a table, and its rows.
pub(super) struct Table {
    pub(super) title: &'static str,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// Whether a column has words, which stand to the left.
    pub(super) fn is_wordy(&self, column: usize) -> bool {
        column == 0 || self.columns.get(column).is_some_and(|name| name == "because")
    }
}

/// Text for a terminal.
pub fn human(forecast: &Forecast) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}: {}", forecast.name, headline(forecast));
    for table in tables(forecast) {
        let _ = writeln!(text, "\n{}", table.title);
        draw(&table, &mut text);
    }
    let _ = writeln!(text, "\ncheapest: {}", cheapest(forecast));
    advice(forecast, "", &mut text);
    notes(forecast, "", &mut text);
    text
}

/// The forecast as Markdown.
pub fn markdown(forecast: &Forecast) -> String {
    let mut text =
        format!("# {}: the future of the design\n\n{}\n", forecast.name, headline(forecast));
    for table in tables(forecast) {
        let _ = writeln!(text, "\n## {}\n", table.title);
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        text.push_str(&line(&table.columns));
        text.push_str(&line(&vec!["---".to_owned(); table.columns.len()]));
        table.rows.iter().for_each(|row| text.push_str(&line(row)));
    }
    let _ = writeln!(text, "\nCheapest: {}", cheapest(forecast));
    advice(forecast, "```", &mut text);
    notes(forecast, "\n", &mut text);
    text
}

/// What there is to know first.
pub(super) fn headline(forecast: &Forecast) -> String {
    match forecast.first_break() {
        Some(first) => {
            let multiple = first.multiple.map(times).unwrap_or_default();
            format!(
                "first limit at {multiple} the declared load, `{}`: {}",
                first.flow, first.reason
            )
        }
        None if forecast.workload.flows.is_empty() => {
            "nothing to simulate: no pattern or write declares a rate".to_owned()
        }
        None => "no limit within a million times the declared load".to_owned(),
    }
}

pub(super) fn tables(forecast: &Forecast) -> Vec<Table> {
    if forecast.workload.flows.is_empty() {
        return Vec::new();
    }
    vec![limits(forecast), refusals(forecast), places(forecast), money(forecast)]
}

fn limits(forecast: &Forecast) -> Table {
    let mut breaks: Vec<_> = forecast.breaks.iter().collect();
    breaks.sort_by(|a, b| {
        a.multiple.unwrap_or(f64::INFINITY).total_cmp(&b.multiple.unwrap_or(f64::INFINITY))
    });
    let rows = breaks.into_iter().map(|it| {
        let multiple = it.multiple.map_or_else(|| "–".to_owned(), times);
        vec![it.flow.clone(), multiple, it.reason.clone()]
    });
    let columns = ["pattern", "fails at", "because"].map(str::to_owned).to_vec();
    Table { title: "Where each pattern first fails", columns, rows: rows.collect() }
}

fn refusals(forecast: &Forecast) -> Table {
    let mut columns = vec!["pattern".to_owned(), "calls/s".to_owned()];
    columns.extend(forecast.scales.iter().map(|scale| times(scale.multiple)));
    let rows = forecast.workload.flows.iter().enumerate().map(|(position, flow)| {
        let cells = forecast.scales.iter().map(|scale| refusal(forecast, scale, position));
        [flow.name.clone(), short(flow.peak)].into_iter().chain(cells).collect()
    });
    let title =
        "Refused requests; calls that fail for good, and the wait at p50 / p99 that retries add";
    Table { title, columns, rows: rows.collect() }
}

fn refusal(forecast: &Forecast, scale: &Scale, position: usize) -> String {
    let Some(outcome) = scale.outcome.flows.get(position) else { return String::new() };
    let refused = outcome.refused_share();
    let wait = |quantile| milliseconds(outcome.added_ms(forecast.options.retries, quantile));
    match outcome.failed_share() {
        _ if refused <= 0.0 => percent(refused),
        failed if failed < 0.001 => format!("{}; {} / {}", percent(refused), wait(0.5), wait(0.99)),
        failed => format!(
            "{}, {} fail; {} / {}",
            percent(refused),
            percent(failed),
            wait(0.5),
            wait(0.99)
        ),
    }
}

fn places(forecast: &Forecast) -> Table {
    let mut columns = vec!["table or index".to_owned()];
    for scale in &forecast.scales {
        columns.push(format!("{} partitions", times(scale.multiple)));
        columns.push("hottest".to_owned());
    }
    let rows = forecast.workload.places.iter().enumerate().map(|(position, place)| {
        let mut row = vec![place.name()];
        for scale in &forecast.scales {
            let outcome = scale.outcome.places.get(position);
            row.push(outcome.map_or_else(String::new, |it| short(it.partitions)));
            let hottest =
                outcome.and_then(|it| it.heat.iter().copied().reduce(f64::max)).unwrap_or(0.0);
            row.push(percent(hottest));
        }
        row
    });
    Table {
        title: "Partitions, and the hottest one's load as a share of what it takes",
        columns,
        rows: rows.collect(),
    }
}

fn money(forecast: &Forecast) -> Table {
    let mut columns = vec!["load".to_owned(), "storage".to_owned()];
    columns.extend(Way::ALL.map(|way| way.as_str().to_owned()));
    let rows = forecast.scales.iter().map(|scale| {
        let mut row =
            vec![times(scale.multiple), format!("{}B", short(scale.bytes).replace(" k", " K"))];
        row.extend(scale.costs.dollars.map(dollars));
        row
    });
    Table { title: "Dollars a month", columns, rows: rows.collect() }
}

pub(super) fn cheapest(forecast: &Forecast) -> String {
    let mut parts = forecast.cheapest.iter();
    let mut text = parts.next().map_or_else(String::new, |(_, way)| way.as_str().to_owned());
    for (multiple, way) in parts {
        let _ = write!(text, "; from {} on {}", times(*multiple), way.as_str());
    }
    text
}

fn advice(forecast: &Forecast, fence: &str, text: &mut String) {
    let Some(advice) = &forecast.advice else { return };
    let after = advice.after.map_or_else(|| "no limit".to_owned(), times);
    let _ = writeln!(
        text,
        "\nto move the limit from {} to {after}: {}",
        times(advice.before),
        advice.text
    );
    let fence = if advice.diff.is_empty() { "" } else { fence };
    if !fence.is_empty() {
        let _ = writeln!(text, "\n{fence}diff");
    }
    for (sign, line) in &advice.diff {
        let _ = writeln!(text, "{}{sign} {line}", if fence.is_empty() { "    " } else { "" });
    }
    if !fence.is_empty() {
        let _ = writeln!(text, "{fence}\n");
    }
    for dearer in &advice.dearer {
        let _ = writeln!(text, "  price: {dearer}");
    }
}

fn notes(forecast: &Forecast, gap: &str, text: &mut String) {
    for note in notes_of(forecast) {
        let _ = writeln!(text, "{gap}{note}");
    }
}

/// What was assumed, what was left out, and what refuses most at the greatest multiple.
pub(super) fn notes_of(forecast: &Forecast) -> Vec<String> {
    let mut notes = Vec::new();
    for unknown in &forecast.workload.unknown {
        notes.push(format!(
            "assumed: the values of {unknown} share its load evenly; declare `distinct` or `top_share`"
        ));
    }
    for (name, reason) in &forecast.workload.left_out {
        notes.push(format!("left out: {name}: {reason}"));
    }
    let worst = forecast.scales.last().and_then(|scale| {
        let flow = (0..forecast.workload.flows.len())
            .find(|flow| blamed(&forecast.workload, *flow, &scale.outcome.bottlenecks).is_some())?;
        Some((scale.multiple, blamed(&forecast.workload, flow, &scale.outcome.bottlenecks)?))
    });
    if let Some((multiple, bottleneck)) = worst {
        notes.push(format!(
            "at {}: {}, from minute {} on",
            times(multiple),
            crate::limits::describe(&forecast.workload, &bottleneck),
            bottleneck.since
        ));
    }
    notes
}

/// Columns as wide as they need to be; numbers to the right.
fn draw(table: &Table, text: &mut String) {
    let rows = || std::iter::once(&table.columns).chain(&table.rows);
    let width = |column: usize| {
        rows().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    for row in rows() {
        let mut line = String::from(" ");
        for (column, cell) in row.iter().enumerate() {
            let width = widths.get(column).copied().unwrap_or(0);
            let fill = " ".repeat(width - cell.chars().count());
            let cell = if table.is_wordy(column) {
                format!("{cell}{fill}")
            } else {
                format!("{fill}{cell}")
            };
            let _ = write!(line, " {cell} ");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
