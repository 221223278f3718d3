//! A forecast as one page that needs nothing else.

use std::fmt::Write as _;

use super::plot::{Line, Plot, escape};
use super::{dollars, percent, text, times};
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
        let heat = forecast
            .workload
            .places
            .iter()
            .zip(&scale.outcome.places)
            .map(|(place, it)| Line { name: place.name(), points: minutes(&it.heat) });
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
        let refused = forecast.workload.flows.iter().zip(&scale.outcome.flows);
        let refused = refused.filter(|(_, it)| it.worst_refused > 0.0);
        let lines: Vec<Line> = refused
            .map(|(flow, it)| Line { name: flow.name.clone(), points: minutes(&it.series) })
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
    let lines = Way::ALL.into_iter().map(|way| Line {
        name: way.as_str().to_owned(),
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
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(24rem,1fr));gap:1rem}";

/// One page with tables and plots, without scripts or anything from elsewhere.
pub fn html(forecast: &Forecast, prices: &keyloom_design::cost::Prices) -> String {
    let name = escape(&forecast.name);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{name}: forecast</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head><body>\n<h1>{name}</h1>\n\
         <p class=\"first\">{}</p>\n",
        escape(&text::headline(forecast))
    );
    breaks(forecast, &mut page);
    advice(forecast, &mut page);
    page.push_str("<h2>Load and refusals</h2><div class=\"grid\">\n");
    for (_, picture) in pictures(forecast, prices) {
        let _ = writeln!(page, "<figure>{picture}</figure>");
    }
    page.push_str("</div>\n<h2>Dollars a month</h2>\n<table><tr><th>load</th>");
    for way in Way::ALL {
        let _ = write!(page, "<th class=\"n\">{}</th>", way.as_str());
    }
    page.push_str("</tr>\n");
    for scale in &forecast.scales {
        let _ = write!(page, "<tr><td>{}</td>", times(scale.multiple));
        for amount in scale.costs.dollars {
            let _ = write!(page, "<td class=\"n\">{}</td>", dollars(amount));
        }
        page.push_str("</tr>\n");
    }
    let _ = writeln!(page, "</table><p>Cheapest: {}</p>\n</body></html>", text::cheapest(forecast));
    page
}

fn breaks(forecast: &Forecast, page: &mut String) {
    page.push_str("<h2>Where each pattern first fails</h2>\n<table><tr><th>pattern</th><th class=\"n\">fails at</th>");
    for scale in &forecast.scales {
        let _ = write!(page, "<th class=\"n\">{} refused</th>", times(scale.multiple));
    }
    page.push_str("<th>because</th></tr>\n");
    for (position, it) in forecast.breaks.iter().enumerate() {
        let multiple = it.multiple.map_or_else(|| "–".to_owned(), times);
        let _ = write!(page, "<tr><td>{}</td><td class=\"n\">{multiple}</td>", escape(&it.flow));
        for scale in &forecast.scales {
            let refused = scale
                .outcome
                .flows
                .get(position)
                .map_or(0.0, crate::run::FlowOutcome::refused_share);
            let _ = write!(page, "<td class=\"n\">{}</td>", percent(refused));
        }
        let _ = writeln!(page, "<td>{}</td></tr>", escape(&it.reason));
    }
    page.push_str("</table>\n");
}

fn advice(forecast: &Forecast, page: &mut String) {
    let Some(advice) = &forecast.advice else { return };
    let after = advice.after.map_or_else(|| "no limit".to_owned(), times);
    let _ = writeln!(
        page,
        "<h2>The change that moves the limit from {} to {after}</h2>\n<p>{}</p>\n<pre>",
        times(advice.before),
        escape(&advice.text)
    );
    for (sign, line) in &advice.diff {
        let _ = writeln!(page, "{sign} {}", escape(line));
    }
    page.push_str("</pre>\n");
    for dearer in &advice.dearer {
        let _ = writeln!(page, "<p>Price: {}</p>", escape(dearer));
    }
}
