//! `keyloom verify`: whether a database is what it should be.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use keyloom_design::counted;
use keyloom_engine::DiskOptions;
use keyloom_engine::verify::{self, Report};

use crate::admin::{Keys, Question};
use crate::output::{Failure, Format, Output, Paint, complain};

/// The exit code if nothing could be verified.
const COULD_NOT: u8 = 2;

/// Check every checksum, every index against its table, streams and counts.
///
/// Reads everything and changes nothing. Exit codes: 0 intact; 1 problems found; 2 could not verify.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom verify ./keyloom-data
  keyloom verify ./keyloom-data --format json
  keyloom verify --online http://127.0.0.1:8000")]
pub(crate) struct Verify {
    /// Data directory; no server may have it open.
    #[arg(value_name = "DIR", default_value = "keyloom-data", conflicts_with = "online")]
    directory: PathBuf,
    /// Verify a running server instead, while it serves.
    #[arg(long, value_name = "URL")]
    online: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[command(flatten)]
    keys: Keys,
}

impl Verify {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let (name, report) = match self.report() {
            Ok(found) => found,
            Err(failure @ Failure::Refused(_)) => {
                complain(&failure);
                return Ok(ExitCode::from(COULD_NOT));
            }
            Err(failure) => return Err(failure),
        };
        match self.format {
            Format::Human => output.line(human(&name, &report, output.paint()))?,
            Format::Json => output.line(report.to_json())?,
        }
        Ok(ExitCode::from(u8::from(!report.is_clean())))
    }

    /// What was found, and where.
    fn report(&self) -> Result<(String, Report), Failure> {
        let Some(endpoint) = &self.online else {
            let name = self.directory.display().to_string();
            let report = offline(&self.directory)
                .map_err(|reason| Failure::refused(format_args!("{name}: {reason}")))?;
            return Ok((name, report));
        };
        let path = "/keyloom/verify";
        let question = Question { endpoint, method: "POST", path, patience: None };
        let missing = "cannot verify itself: it is another version, or it is not keyloom";
        let report = Report::from_json(&question.ask(&self.keys, missing)?).map_err(|error| {
            Failure::refused(format_args!("{endpoint} answers something else: {error}"))
        })?;
        Ok((endpoint.clone(), report))
    }
}

/// Verifies a directory, or says why that is not possible.
fn offline(directory: &std::path::Path) -> Result<Report, String> {
    if !directory.is_dir() {
        return Err("there is no such directory".into());
    }
    verify::directory(directory, DiskOptions::default()).map_err(|error| error.to_string())
}

fn human(name: &str, report: &Report, paint: Paint) -> String {
    let totals = &report.totals;
    let mut lines = vec![format!(
        "{name}: {}, {}\n  {} with {}, {} with {}\n  {} with {}, {}, {} with {}, {} compared",
        counted(totals.entries, "entry"),
        counted(totals.bytes, "byte"),
        counted(totals.tables, "table"),
        counted(totals.items, "item"),
        counted(totals.indexes, "index"),
        counted(totals.index_entries, "entry"),
        counted(totals.streams, "stream"),
        counted(totals.stream_records, "record"),
        counted(totals.history_records, "history record"),
        counted(totals.backups, "backup"),
        counted(totals.backup_items, "item"),
        counted(totals.counts, "count"),
    )];
    for finding in &report.findings {
        lines.push(format!("{} {finding}", paint.bad("✗")));
    }
    if report.is_clean() {
        lines.push(format!("{} all is well", paint.good("✓")));
    } else {
        let kinds: Vec<String> =
            report.found.iter().map(|(kind, count)| format!("{count} {}", kind.as_str())).collect();
        let total = report.total_found();
        let listed = report.findings.len() as u64;
        let rest = if listed < total { format!(" ({listed} listed)") } else { String::new() };
        lines.push(format!("{}{rest}: {}", counted(total, "finding"), kinds.join(", ")));
    }
    lines.join("\n")
}
