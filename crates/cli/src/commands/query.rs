//! `keyloom query`: an access pattern, run where the data is.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom::{PlanRunner, Retry};
use keyloom_design::cost::Prices;
use keyloom_design::report;

use crate::config::{Config, DEFAULT_ENDPOINT};
use crate::design_file::{check_file, design_of};
use crate::endpoint::Reach;
use crate::output::{Failure, Output, warn};
use crate::pattern::{find, read_inputs};
use crate::transfer::form::{Form, write_json};
use crate::transfer::place::Place;

/// Run an access pattern against an endpoint or a data directory, and print its rows.
///
/// The requests are those that `keyloom explain` shows, with paging, fan-out and second steps as the typed client does them. It only
/// reads.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom query tasks.toml \"tasks in a project\" --set project_id=01HM5KXJ8M0000000000000001
  keyloom query tasks.toml \"tasks in a project\" --set project_id=p1 --from aws --region eu-west-1")]
pub(crate) struct Query {
    /// The design file; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Pattern name.
    #[arg(value_name = "PATTERN")]
    pattern: String,
    /// Value of an input.
    #[arg(long = "set", value_name = "INPUT=VALUE")]
    values: Vec<String>,
    /// Where the data is: a URL, `aws`, or a data directory. [default: the endpoint of keyloom.toml, or http://127.0.0.1:8000]
    #[arg(long, value_name = "PLACE")]
    from: Option<String>,
    #[command(flatten)]
    reach: Reach,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Rows::Jsonl)]
    format: Rows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Rows {
    /// A plain JSON object per line.
    Jsonl,
    /// A line `{"Item": {…}}` with typed values.
    DynamodbJson,
}

impl Query {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let checked = check_file(&self.file, &Prices::default())?;
        let (access, plan) = find(design_of(&checked)?, &checked, &self.pattern)?;
        let inputs = read_inputs(access, plan, &self.values)?;
        let unproven = report::unproven(plan);
        if !unproven.is_empty() {
            warn(&format!(
                "{:?} is not proven: {}; `keyloom explain` says why",
                self.pattern,
                unproven.join(", ")
            ));
        }
        let from = Config::endpoint(self.from.as_deref())?;
        let from = from.as_deref().unwrap_or(DEFAULT_ENDPOINT);
        let place = Place::open(from, &self.reach, false)?;
        let retry = Retry::default();
        let answer = PlanRunner::new(place.backend(), &retry)
            .run(access, plan, &inputs)
            .map_err(|error| place.failed(&error))?;
        let form = match self.format {
            Rows::Jsonl => Form::Jsonl,
            Rows::DynamodbJson => Form::DynamodbJson,
        };
        let mut lines = Vec::new();
        for item in &answer.items {
            write_json(form, item, &mut lines);
        }
        if !lines.is_empty() {
            output.line(String::from_utf8_lossy(&lines).trim_end())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
