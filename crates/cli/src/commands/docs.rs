//! `keyloom docs`: a design as a page for people.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom_design::cost::Prices;
use keyloom_design::docs;

use crate::design_file::{check_file, design_of};
use crate::output::{Failure, Output};

/// Write the entity chart, the access patterns and a diagram of a design.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom docs tasks.toml > tasks.md
  keyloom docs tasks.toml --format html > tasks.html
  keyloom docs tasks.toml --format er-svg > entities.svg")]
pub(crate) struct Docs {
    /// The design file; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Markdown with a Mermaid diagram.
    Markdown,
    /// One HTML page with pictures.
    Html,
    /// The entity-relationship diagram as a picture.
    ErSvg,
    /// The keys of every table and index as a picture.
    KeyMapSvg,
}

impl Docs {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let report = check_file(&self.file, &Prices::default())?;
        let design = design_of(&report)?;
        let page = match self.format {
            Format::Markdown => docs::markdown(&report),
            Format::Html => docs::html(&report),
            Format::ErSvg => docs::er_svg(design),
            Format::KeyMapSvg => docs::key_map_svg(design),
        };
        output.line(page.trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}
