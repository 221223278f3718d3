//! `keyloom check`: a proof for each access pattern, or the reason and the fix.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom_design::{CheckReport, report};

use crate::design_file::{check_file, prices};
use crate::output::{Failure, Output};

/// Prove every access pattern of a design file, and find what raises no error.
///
/// Each pattern is one GetItem, one Query, several Queries, a read in two steps, or is refused. What
/// would return wrong, missing or foreign rows comes with items that show it. The exit code is 1 if
/// anything is wrong at error level.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom check tasks.toml
  keyloom check designs/*.toml --format sarif > findings.sarif")]
pub(crate) struct Check {
    /// The design files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How the report is written.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// A price list instead of the built-in one (us-east-1).
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

/// Forms of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text with source excerpts.
    Human,
    /// JSON, for programs.
    Json,
    /// SARIF 2.1.0, for code hosts.
    Sarif,
    /// Markdown, for pull requests.
    Markdown,
}

impl Check {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let prices = prices(self.prices.as_deref())?;
        let mut reports: Vec<CheckReport> = Vec::with_capacity(self.files.len());
        for file in &self.files {
            reports.push(check_file(file, &prices)?);
        }
        match self.format {
            Format::Human => {
                for (at, report) in reports.iter().enumerate() {
                    if at > 0 {
                        output.line("")?;
                    }
                    let text = report::human(report);
                    output.line(text.trim_end())?;
                }
            }
            Format::Json => output.line(format_args!("{:#}", report::json(&reports)))?,
            Format::Sarif => output.line(format_args!("{:#}", report::sarif(&reports)))?,
            Format::Markdown => output.line(report::markdown(&reports).trim_end())?,
        }
        let wrong = reports.iter().any(CheckReport::has_errors);
        Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
