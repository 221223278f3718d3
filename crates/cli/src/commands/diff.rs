//! `keyloom diff`: what changes from one version of a design to another.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom_design::diff::{self, DesignDiff, PatternChange, PatternDiff};

use crate::design_file::{check_file, design_of, prices};
use crate::output::{Failure, Output, complain};

/// Compare two versions of a design: stored items, tables and indexes, access patterns, cost.
///
/// Entity by entity it says what must happen to the items that are stored already: nothing, a rewrite in
/// place, or a new primary key. Index changes are listed in the order in which DynamoDB takes them, one at a
/// time. A `!` marks what must be decided first: a key that needs a value no stored item has, or two items
/// that would get the same key.
///
/// Exit codes: 0 compared; 1 a file is not a usable design, or the change has something that --deny names.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom diff old.toml new.toml
  git show main:tasks.toml | keyloom diff - tasks.toml --format markdown
  keyloom diff old.toml new.toml --deny hazards --deny lost")]
pub(crate) struct Diff {
    /// The design in use; `-` reads standard input.
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The design to come; `-` reads standard input.
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Exit with 1 if the change has these.
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Vec<Deny>,
    /// Price list to use instead of the built-in one (us-east-1).
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for a terminal.
    Human,
    /// JSON.
    Json,
    /// Markdown, for pull requests.
    Markdown,
}

/// Changes that fail the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Deny {
    /// Values that stored items do not have, and keys that could collide.
    Hazards,
    /// Patterns that are removed or no longer proven.
    Lost,
    /// Patterns that cost more per call.
    Dearer,
}

impl Diff {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let prices = prices(self.prices.as_deref())?;
        let old = check_file(&self.old, &prices)?;
        let new = check_file(&self.new, &prices)?;
        design_of(&old)?;
        design_of(&new)?;
        let diff = diff::compare(&old, &new, &prices);
        match self.format {
            Format::Human => output.prose(diff::human(&diff).trim_end())?,
            Format::Json => output.line(format_args!("{:#}", diff::json(&diff)))?,
            Format::Markdown => output.line(diff::markdown(&diff).trim_end())?,
        }
        output.flush()?;
        let denied = self.denied(&diff);
        for reason in &denied {
            complain(&Failure::refused(reason));
        }
        Ok(if denied.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Why `--deny` fails the run, if it does.
    fn denied(&self, diff: &DesignDiff) -> Vec<String> {
        let mut denied = Vec::new();
        if self.deny.contains(&Deny::Hazards) && diff.has_hazards() {
            let names = diff.entities.iter().filter(|entity| !entity.hazards.is_empty());
            let names: Vec<&str> = names.map(|entity| entity.name.as_str()).collect();
            denied.push(format!("hazards are denied: {}", names.join(", ")));
        }
        let patterns = [
            (Deny::Lost, PatternChange::Lost, "lost"),
            (Deny::Dearer, PatternChange::Dearer, "dearer"),
        ];
        for (deny, change, word) in patterns {
            let named = |pattern: &&PatternDiff| pattern.change == change;
            let names: Vec<&str> =
                diff.patterns.iter().filter(named).map(|pattern| pattern.name.as_str()).collect();
            if self.deny.contains(&deny) && !names.is_empty() {
                denied.push(format!("{word} patterns are denied: {}", names.join(", ")));
            }
        }
        denied
    }
}
