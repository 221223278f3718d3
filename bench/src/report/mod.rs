//! What a run leaves behind: a page with tables, plots, and the raw results.

mod axis;
mod bars;
mod lines;
mod page;
mod plots;
mod targets;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::bench::Bench;
use crate::machine::Machine;

pub(crate) use targets::Target;

/// Writes everything into a directory.
pub(crate) fn write(bench: &Bench, machine: &Machine, directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("create {}", directory.display()))?;
    let targets = targets::judge(&bench.results, &bench.settings.partitions);
    let plots = plots::draw(bench);
    for plot in &plots {
        save(&directory.join(plot.file), plot.svg.as_bytes())?;
    }
    let page = page::render(bench, machine, &targets, &plots);
    save(&directory.join("README.md"), page.as_bytes())?;
    let raw = json!({"machine": machine, "targets": targets, "results": bench.results});
    save(&directory.join("results.json"), serde_json::to_string_pretty(&raw)?.as_bytes())
}

fn save(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| format!("write {}", path.display()))
}

/// A number with three digits that mean something.
fn figure(value: f64) -> String {
    let size = value.abs();
    if size >= 1000.0 {
        // Whole numbers, rounded to three digits, in groups of three.
        let unit = 10_f64.powf(size.log10().floor() - 2.0);
        return grouped((value / unit).round() * unit);
    }
    let decimals = match size {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.to_owned()
}

fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_have_three_digits() {
        let table = [
            (1_234_567.0, "1,230,000"),
            (12_345.0, "12,300"),
            (999.6, "1000"),
            (123.4, "123"),
            (12.34, "12.3"),
            (1.0, "1"),
            (1.3, "1.3"),
            (0.0512, "0.051"),
            (0.0, "0"),
        ];
        for (value, text) in table {
            assert_eq!(figure(value), text);
        }
    }
}
