//! A forecast as one page that needs nothing else.

use std::fmt::Write as _;

use super::plot::{Line, Plot, escape};
use super::text::{self, Table};
use super::times;
use crate::costs::{Way, costs};
use crate::forecast::Forecast;

/// The plots by file name.
pub fn pictures(
    forecast: &Forecast,
    prices: &keyloom_design::cost::Prices,
) -> Vec<(String, String)> {
    let mut pictures = Vec::new();
    for scale in &forecast.scales {
        let label = times(scale.multiple);
        let heat = forecast.workload.places.iter().zip(&scale.outcome.places).enumerate().map(
            |(colour, (place, it))| Line { name: place.name(), colour, points: minutes(&it.heat) },
        );
        let title = format!("Hottest partition at {label}");
        let plot = Plot {
            title: &title,
            x: "minutes",
            y: "load / what a partition takes",
            logarithmic: false,
            mark: Some(1.0),
            lines: heat.collect(),
        };
        pictures.push((format!("heat-{}.svg", scale.multiple), plot.svg()));
        let flows = forecast.workload.flows.iter().zip(&scale.outcome.flows).enumerate();
        let refused = flows.filter(|(_, (_, it))| it.worst_refused > 0.0);
        let lines: Vec<Line> = refused
            .map(|(colour, (flow, it))| {
                let points = minutes(&it.series);
                Line { name: flow.name.clone(), colour, points }
            })
            .collect();
        if !lines.is_empty() {
            let title = format!("Refused requests at {label}");
            let plot = Plot {
                title: &title,
                x: "minutes",
                y: "share refused",
                logarithmic: false,
                mark: None,
                lines,
            };
            pictures.push((format!("refused-{}.svg", scale.multiple), plot.svg()));
        }
    }
    pictures.push(("cost.svg".to_owned(), cost(forecast, prices)));
    pictures
}

fn minutes(values: &[f64]) -> Vec<(f64, f64)> {
    values.iter().enumerate().map(|(minute, value)| (minute as f64, *value)).collect()
}

fn cost(forecast: &Forecast, prices: &keyloom_design::cost::Prices) -> String {
    let greatest = forecast.options.scales.iter().copied().fold(10.0, f64::max);
    let steps: Vec<f64> = (0..=40).map(|step| greatest.powf(f64::from(step) / 40.0)).collect();
    let all: Vec<(f64, crate::costs::Costs)> = steps
        .into_iter()
        .map(|scale| (scale, costs(&forecast.workload, scale, &forecast.options, prices)))
        .collect();
    let lines = Way::ALL.into_iter().enumerate().map(|(colour, way)| Line {
        name: way.as_str().to_owned(),
        colour,
        points: all.iter().map(|(scale, costs)| (*scale, costs.of(way))).collect(),
    });
    Plot {
        title: "Dollars a month",
        x: "times the declared load",
        y: "$",
        logarithmic: true,
        mark: None,
        lines: lines.collect(),
    }
    .svg()
}

const STYLE: &str = ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;\
padding:0 1rem}table{border-collapse:collapse;margin:.6rem 0 1.6rem;font-size:14px}td,th{padding:.25rem .7rem;text-align:left;\
border-bottom:1px solid #8884}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}figure{margin:0}svg{width:100%;height:auto;margin:.4rem 0}\
.first{font-size:1.15rem;border-left:4px solid #c62828;padding-left:.8rem}pre{background:#8881;padding:.7rem;overflow:auto}\
.wide{overflow-x:auto}code{font-size:.92em}.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(24rem,1fr));gap:1rem}";

/// One page with tables and plots, without scripts or anything from elsewhere.
pub fn html(forecast: &Forecast, prices: &keyloom_design::cost::Prices) -> String {
    let name = escape(&forecast.name);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{name}: forecast</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\n<h1>{name}</h1>\n\
         <p class=\"first\">{}</p>\n",
        prose(&text::headline(forecast))
    );
    let tables = text::tables(forecast);
    if let Some(limits) = tables.first() {
        draw(limits, &mut page);
    }
    advice(forecast, &mut page);
    page.push_str("<h2>Load, refusals and cost</h2><div class=\"grid\">\n");
    for (_, picture) in pictures(forecast, prices) {
        let _ = writeln!(page, "<figure>{picture}</figure>");
    }
    page.push_str("</div>\n");
    tables.iter().skip(1).for_each(|table| draw(table, &mut page));
    let _ = writeln!(page, "<p>Cheapest: {}</p>", text::cheapest(forecast));
    let notes = text::notes_of(forecast);
    if !notes.is_empty() {
        page.push_str("<h2>Notes</h2>\n<ul>\n");
        for note in notes {
            let _ = writeln!(page, "<li>{}</li>", prose(&note));
        }
        page.push_str("</ul>\n");
    }
    page.push_str("</body></html>\n");
    page
}

/// A text in which backticks mark names.
fn prose(text: &str) -> String {
    let text = escape(text);
    let parts: Vec<&str> = text.split('`').collect();
    // An odd one belongs to a key or value.
    if parts.len().is_multiple_of(2) {
        return text;
    }
    let marked = parts.iter().enumerate().map(|(at, part)| {
        if at % 2 == 1 { format!("<code>{part}</code>") } else { (*part).to_owned() }
    });
    marked.collect()
}

fn draw(table: &Table, page: &mut String) {
    let class = |column: usize| if table.is_wordy(column) { "" } else { " class=\"n\"" };
    let _ = write!(page, "<h2>{}</h2>\n<div class=\"wide\"><table><tr>", escape(table.title));
    for (at, column) in table.columns.iter().enumerate() {
        let _ = write!(page, "<th{}>{}</th>", class(at), escape(column));
    }
    page.push_str("</tr>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let _ = write!(page, "<td{}>{}</td>", class(at), prose(cell));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
}

fn advice(forecast: &Forecast, page: &mut String) {
    let Some(advice) = &forecast.advice else { return };
    let after = advice.after.map_or_else(|| "no limit".to_owned(), times);
    let _ = writeln!(
        page,
        "<h2>The change that moves the limit from {} to {after}</h2>\n<p>{}</p>\n",
        times(advice.before),
        escape(&advice.text)
    );
    if !advice.diff.is_empty() {
        page.push_str("<pre>\n");
        for (sign, line) in &advice.diff {
            let _ = writeln!(page, "{sign} {}", escape(line));
        }
        page.push_str("</pre>\n");
    }
    for dearer in &advice.dearer {
        let _ = writeln!(page, "<p>Price: {}</p>", escape(dearer));
    }
}
