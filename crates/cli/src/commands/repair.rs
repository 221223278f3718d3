//! `keyloom repair`: what can be read of a damaged database, saved to a new one.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use keyloom_design::counted;
use keyloom_engine::repair::{self, Loss, Outcome};

use crate::output::{Failure, Output, Paint, complain};

/// The exit code if nothing could be saved.
const COULD_NOT: u8 = 2;

/// Salvage a damaged database to a new directory, and list what is lost.
///
/// The damaged directory is not changed. The newest readable version of every key is saved, indexes are
/// rebuilt, and the new database is verified. Where a lost block may have held newer values or deletions,
/// older values may reappear; the report says so. Prefer a backup if there is one.
///
/// Exit codes: 0 nothing lost; 1 data is lost or may be, or is doubtful; 2 could not repair.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  keyloom repair ./keyloom-data --to ./keyloom-saved")]
pub(crate) struct Repair {
    /// Damaged data directory; no server may have it open.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// New data directory: empty or missing.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl Repair {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let outcome = match repair::directory(&self.directory, &self.to) {
            Ok(outcome) => outcome,
            Err(error) => {
                complain(&Failure::refused(error));
                return Ok(ExitCode::from(COULD_NOT));
            }
        };
        for line in lines(&outcome, output.paint()) {
            output.line(line)?;
        }
        output.line(format_args!("saved to {}", self.to.display()))?;
        Ok(ExitCode::from(u8::from(!outcome.is_complete())))
    }
}

fn lines(outcome: &Outcome, paint: Paint) -> Vec<String> {
    let mut lines =
        vec![format!("{}, {}", counted(outcome.entries, "entry"), counted(outcome.bytes, "byte"))];
    lines.extend(outcome.notes.iter().map(|note| format!("  {note}")));
    for loss in &outcome.losses {
        lines.push(format!("{} {}", paint.bad("lost"), lost(loss)));
    }
    lines.extend(outcome.doubts.iter().map(|doubt| format!("{} {doubt}", paint.bad("doubtful"))));
    for left_out in &outcome.mended.left_out {
        lines.push(format!("{} {left_out}", paint.bad("left out")));
    }
    let mended = &outcome.mended;
    if mended.indexes > 0 {
        let (indexes, entries) = (mended.indexes, mended.index_entries);
        lines.push(format!(
            "  {} made anew, with {}",
            counted(indexes, "index"),
            counted(entries, "entry")
        ));
    }
    for finding in &outcome.verification.findings {
        lines.push(format!("{} {finding}", paint.bad("✗")));
    }
    lines.push(if outcome.is_complete() {
        format!("{} nothing is lost", paint.good("✓"))
    } else if outcome.losses.is_empty() && !outcome.doubts.is_empty() {
        let advice = "check the values, or restore a backup";
        format!("{} a file may not belong to this database; {advice}", paint.warn("!"))
    } else if outcome.losses.iter().any(|loss| loss.may_revive) {
        let back = "values that had been overwritten or deleted in a lost part may be back";
        format!("{} something is or may be lost; {back}", paint.warn("!"))
    } else {
        format!("{} something is or may be lost", paint.warn("!"))
    });
    lines
}

fn lost(loss: &Loss) -> String {
    let entries = loss.entries.map(|entries| format!("; {entries} entries")).unwrap_or_default();
    let place = match &loss.between {
        (Some(after), Some(before)) => format!("; between {after} and {before}"),
        (Some(after), None) => format!("; behind {after}"),
        (None, Some(before)) => format!("; before {before}"),
        (None, None) => String::new(),
    };
    format!("{}: {}{entries}{place}", loss.file.display(), loss.detail)
}
