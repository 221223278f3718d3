//! `keyloom check`: a proof for each access pattern, or the reason and the fix.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom_design::cost::Prices;
use keyloom_design::lint::Finding;
use keyloom_design::{CheckReport, Code, Severity, report, unreadable};

use crate::config::Config;
use crate::design_file::{self, checked, is_input, name_of, prices};
use crate::output::{Failure, Output, complain};

/// Prove every access pattern of a design file, and report mistakes that DynamoDB accepts silently.
///
/// Each pattern is proven to be one GetItem, one BatchGetItem, one Query, several Queries or a two-step
/// read, or it is refused. Anything a pattern requires that is not proven is an error, unless the design
/// allows it by name with a reason. A pattern that would return wrong, missing or foreign rows comes with
/// a counter-example.
///
/// Exit codes: 0 no errors; 1 errors, or findings denied with --deny; 2 a file could not be read. Every file is reported,
/// whatever is wrong with the others. `keyloom rule ID` explains a rule.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom check tasks.toml
  keyloom check                  # the designs of keyloom.toml
  keyloom check - < tasks.toml
  keyloom check designs/*.toml --format sarif > findings.sarif
  keyloom check tasks.toml --deny warnings --deny unproven")]
pub(crate) struct Check {
    /// Design files; `-` reads standard input. Those of keyloom.toml by default.
    #[arg(value_name = "FILE")]
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
        let reports = match self.reports() {
            Ok(reports) => reports,
            Err(Failure::Refused(reason)) => return Ok(cannot_read(&reason)),
            Err(failure) => return Err(failure),
        };
        self.write(&reports, output)?;
        output.flush()?;
        let mut code = ExitCode::SUCCESS;
        for report in &reports {
            let denied = self.denied(report);
            if report.has_errors() || !denied.is_empty() {
                code = ExitCode::FAILURE;
            }
            for denied in denied {
                complain(&Failure::refused(format_args!("{}: {denied}", report.source.name())));
            }
        }
        for finding in reports.iter().filter_map(unread) {
            code = cannot_read(&finding.message);
        }
        Ok(code)
    }

    fn reports(&self) -> Result<Vec<CheckReport>, Failure> {
        let prices = prices(self.prices.as_deref())?;
        let config = Config::find()?;
        let files = config.designs(&self.files)?;
        if files.iter().filter(|file| is_input(file)).count() > 1 {
            return Err(Failure::refused("standard input can be read only once"));
        }
        Ok(files.iter().map(|file| read(file, &prices, &config)).collect())
    }

    fn write(&self, reports: &[CheckReport], output: &mut Output) -> Result<(), Failure> {
        match self.format {
            Format::Human => {
                // What cannot be read is said on standard error.
                for (at, report) in reports.iter().filter(|r| unread(r).is_none()).enumerate() {
                    if at > 0 {
                        output.line("")?;
                    }
                    let text = report::human(report);
                    output.prose(text.trim_end())?;
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
            denied.push(format!(
                "{} denied",
                if warnings == 1 {
                    "1 warning is".to_owned()
                } else {
                    format!("{warnings} warnings are")
                }
            ));
        }
        let names: Vec<&str> = report.unproven().map(|plan| plan.name.as_str()).collect();
        if !names.is_empty() && self.deny.contains(&Deny::Unproven) {
            denied.push(format!("not proven, which is denied: {}", names.join(", ")));
        }
        denied
    }
}

fn read(file: &Path, prices: &Prices, config: &Config) -> CheckReport {
    let name = name_of(file);
    match design_file::read(file) {
        Ok(text) => checked(&name, &text, prices, config),
        Err(error) => unreadable(&name, &error.to_string()),
    }
}

/// Why a file could not be read, if so.
fn unread(report: &CheckReport) -> Option<&Finding> {
    report.findings.iter().find(|finding| finding.rule == Code::Unreadable.as_str())
}

/// Says what could not be read, for the exit code that stands for it.
fn cannot_read(reason: &str) -> ExitCode {
    complain(&Failure::refused(reason));
    ExitCode::from(2)
}
