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
