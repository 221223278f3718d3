//! `keyloom doctor`: what a running server's requests say about its design.

mod human;
pub(crate) mod source;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom_observe::{Finding, Judge, RecommendationEngine, Redaction, Report, Severity};
use serde_json::json;

use crate::admin::Keys;
use crate::config::{Config, DEFAULT_ENDPOINT};
use crate::design_file::{check_file, design_of, prices};
use crate::output::{Failure, Format, Output};

pub(crate) use human::render;

/// Report hot keys, anti-patterns and recommendations from observed requests.
///
/// Reads the statistics of a running `keyloom serve`, or a recording of them.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom doctor
  keyloom doctor --endpoint http://127.0.0.1:8000 --design tasks.toml
  keyloom doctor --save monday.json
  keyloom doctor --file monday.json --file tuesday.json --redact prefix --deny warning")]
pub(crate) struct Doctor {
    /// Server to read statistics from. [default: that of keyloom.toml, or http://127.0.0.1:8000]
    #[arg(long, value_name = "URL", conflicts_with = "file")]
    endpoint: Option<String>,
    /// Recording to analyse instead; several are merged.
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Design that the requests should follow; findings then propose changes to it.
    #[arg(long, value_name = "FILE")]
    design: Option<PathBuf>,
    /// Price list to use instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// How to show key values: in full (none), hashed, or cut to a prefix.
    #[arg(long, value_name = "none|hash|prefix", default_value = "none")]
    redact: Redaction,
    /// Exit with 1 for findings of this severity or worse.
    #[arg(long, value_enum)]
    deny: Option<Deny>,
    /// Number of keys and patterns to list.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Also save the statistics and the heat map to a file, for `--file` and the console.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    keys: Keys,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Deny {
    /// Warnings and errors.
    Warning,
    /// Errors.
    Error,
}

impl Doctor {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let prices = prices(self.prices.as_deref())?;
        let checked = self.design.as_deref().map(|path| check_file(path, &prices)).transpose()?;
        let design = checked.as_ref().map(design_of).transpose()?;
        let (name, mut report) = self.report()?;
        report.redact(self.redact);
        if let Some(path) = &self.save {
            std::fs::write(path, report.to_json()).map_err(|error| {
                Failure::refused(format_args!("{} cannot be written: {error}", path.display()))
            })?;
        }
        let judge = Judge::new(&report, design, &prices);
        let findings = RecommendationEngine::new(judge).diagnose();
        match self.format {
            Format::Human => {
                output.line(render(&name, &report, &findings, self.top, output.paint()))?;
            }
            Format::Json => {
                report.heat.clear();
                output.line(json!({ "report": report, "findings": findings }))?;
            }
        }
        Ok(self.code(&findings))
    }

    /// The statistics to analyse, and their source.
    fn report(&self) -> Result<(String, Report), Failure> {
        let Some((first, rest)) = self.file.split_first() else {
            let endpoint = Config::endpoint(self.endpoint.as_deref())?;
            let endpoint = endpoint.unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned());
            let report = source::ask(&endpoint, &self.keys, self.save.is_some())?;
            return Ok((endpoint, report));
        };
        let mut report = source::read(first)?;
        for path in rest {
            report.merge(&source::read(path)?);
        }
        let names: Vec<String> = self.file.iter().map(|path| path.display().to_string()).collect();
        Ok((names.join(", "), report))
    }

    fn code(&self, findings: &[Finding]) -> ExitCode {
        let denied = match self.deny {
            Some(Deny::Warning) => Severity::Warning,
            Some(Deny::Error) => Severity::Error,
            None => return ExitCode::SUCCESS,
        };
        ExitCode::from(u8::from(findings.iter().any(|finding| finding.severity >= denied)))
    }
}
