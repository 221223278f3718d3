//! `keyloom check`: a proof for each access pattern, or the reason and the fix.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom_design::cost::Prices;
use keyloom_design::{CheckReport, Severity, check_text, report};

use crate::design_file::{check_file, prices};
use crate::output::{Failure, Output, complain};

/// Prove every access pattern of a design file, and report mistakes that DynamoDB accepts silently.
///
/// Each pattern is proven to be one GetItem, one BatchGetItem, one Query, several Queries or a two-step
/// read, or it is refused. Anything a pattern requires that is not proven is an error, unless the design
/// allows it by name with a reason. A pattern that would return wrong, missing or foreign rows comes with
/// a counter-example.
///
/// Exit codes: 0 no errors; 1 errors, or findings denied with --deny; 2 a file could not be read.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom check tasks.toml
  keyloom check - < tasks.toml
  keyloom check designs/*.toml --format sarif > findings.sarif
  keyloom check tasks.toml --deny warnings --deny unproven")]
pub(crate) struct Check {
    /// Design files; `-` reads standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Exit with 1 for these findings as well.
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Vec<Deny>,
    /// Price list to use instead of the built-in one (us-east-1).
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

/// Findings that fail the run besides errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Deny {
    /// Warnings.
    Warnings,
    /// Patterns that are not fully proven, even where the design allows it.
    Unproven,
}

/// Output formats of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text with source excerpts.
    Human,
    /// JSON.
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
        let mut unread: Vec<Failure> = Vec::new();
        for file in &self.files {
            match read(file, &prices) {
                Ok(report) => reports.push(report),
                Err(failure) => unread.push(failure),
            }
        }
        self.write(&reports, output)?;
        output.flush()?;
        for failure in &unread {
            complain(failure);
        }
        for (report, denied) in reports
            .iter()
            .flat_map(|report| self.denied(report).into_iter().map(move |denied| (report, denied)))
        {
            complain(&Failure::refused(format_args!("{}: {denied}", report.source.name())));
        }
        if !unread.is_empty() {
            return Ok(ExitCode::from(2));
        }
        let wrong = |report: &CheckReport| report.has_errors() || !self.denied(report).is_empty();
        Ok(if reports.iter().any(wrong) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn write(&self, reports: &[CheckReport], output: &mut Output) -> Result<(), Failure> {
        match self.format {
            Format::Human => {
                for (at, report) in reports.iter().enumerate() {
                    if at > 0 {
                        output.line("")?;
                    }
                    let text = report::human(report);
                    output.line(text.trim_end())?;
                }
                Ok(())
            }
            Format::Json => output.line(format_args!("{:#}", report::json(reports))),
            Format::Sarif => output.line(format_args!("{:#}", report::sarif(reports))),
            Format::Markdown => output.line(report::markdown(reports).trim_end()),
        }
    }

    /// Why `--deny` fails the run, if it does.
    fn denied(&self, report: &CheckReport) -> Vec<String> {
        let mut denied = Vec::new();
        let warnings =
            report.findings.iter().filter(|finding| finding.severity == Severity::Warn).count();
        if warnings > 0 && self.deny.contains(&Deny::Warnings) {
            denied.push(format!("{warnings} warnings are denied"));
        }
        let names: Vec<&str> = report.unproven().map(|plan| plan.name.as_str()).collect();
        if !names.is_empty() && self.deny.contains(&Deny::Unproven) {
            denied.push(format!("not proven, which is denied: {}", names.join(", ")));
        }
        denied
    }
}

fn read(file: &Path, prices: &Prices) -> Result<CheckReport, Failure> {
    if file != Path::new("-") {
        return check_file(file, prices);
    }
    let mut text = String::new();
    match std::io::stdin().read_to_string(&mut text) {
        Ok(_) => Ok(check_text("standard input", &text, prices)),
        Err(error) => Err(Failure::refused(format_args!("standard input cannot be read: {error}"))),
    }
}
