//! `keyloom deploy`: a design's tables, created or written for other tools.

use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom::remote::Remote;
use keyloom_design::cost::Prices;
use keyloom_design::model::Table;
use keyloom_design::{CheckReport, Design, emit};
use serde_json::json;

use crate::config::Config;
use crate::deployment::{Deployment, prepare, table_request};
use crate::design_file::{check_file, design_of};
use crate::endpoint::Reach;
use crate::nearest::nearest;
use crate::output::{Failure, Format, Output};

/// Create the tables of a design, or emit them for other tools.
///
/// With --to, missing tables and indexes are created at a DynamoDB endpoint, one index at a time, and time to live,
/// billing, streams and the table class become those of the design. If any change would lose data, nothing is
/// changed. If the command is interrupted, run it again: it continues where it stopped.
///
/// With --to and --check, nothing is changed: differences between the design and the tables are reported, and
/// the exit code is 1 if there are any.
///
/// With --emit, CreateTable requests are JSON documents for `aws dynamodb create-table --cli-input-json`;
/// CloudFormation is YAML, Terraform is HCL, CDK is a TypeScript construct.
///
/// New provisioned tables and indexes get the capacity that the design's rates require, at least one unit.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom deploy tasks.toml --to http://localhost:8000
  keyloom deploy tasks.toml --to aws --region eu-central-1 --dry-run
  keyloom deploy tasks.toml --to http://localhost:8000 --format json
  keyloom deploy tasks.toml --to aws --check
  keyloom deploy tasks.toml --emit cloudformation > template.yaml
  keyloom deploy tasks.toml --emit create-table > table.json
  aws dynamodb create-table --cli-input-json file://table.json --endpoint-url http://localhost:8000")]
pub(crate) struct Deploy {
    /// The design file; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Endpoint URL, or `aws`. That of keyloom.toml by default.
    #[arg(long, value_name = "URL", conflicts_with = "emit")]
    to: Option<String>,
    /// Only print the changes.
    #[arg(long, conflicts_with = "emit")]
    dry_run: bool,
    /// Only report what differs from the design; exit with 1 if anything does.
    #[arg(long, conflicts_with_all = ["emit", "dry_run"])]
    check: bool,
    #[command(flatten)]
    reach: Reach,
    /// Output format of --to.
    #[arg(long, value_enum, default_value_t = Format::Human, conflicts_with = "emit")]
    format: Format,
    /// Format to emit.
    #[arg(long, value_enum, value_name = "FORM")]
    emit: Option<Form>,
    /// Only this table (for create-table).
    #[arg(long, value_name = "NAME", conflicts_with = "to")]
    table: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// CreateTable requests.
    CreateTable,
    /// A CloudFormation template.
    #[value(name = "cloudformation")]
    CloudFormation,
    /// Terraform resources.
    Terraform,
    /// A CDK construct.
    Cdk,
}

impl Deploy {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let report = check_file(&self.file, &Prices::default())?;
        let design = design_of(&report)?;
        if let Some(form) = self.emit {
            return self.write(&report, design, form, output);
        }
        match Config::endpoint(self.to.as_deref())? {
            Some(to) => self.deploy(&report, design, &to, output),
            None => Err(Failure::refused("say where to with --to, or what to write with --emit")),
        }
    }

    /// Changes the tables of an endpoint to those of the design, as far as no data is lost.
    fn deploy(
        &self,
        report: &CheckReport,
        design: &Design,
        to: &str,
        output: &mut Output,
    ) -> Result<ExitCode, Failure> {
        let remote = self.reach.connect(to)?;
        let deployment = prepare(report, design, &remote).map_err(|error| said(to, error))?;
        match self.format {
            Format::Human if self.check => tell_drift(&deployment, output)?,
            Format::Human => self.tell(&deployment, to, &remote, output)?,
            Format::Json => self.record(&deployment, to, &remote, output)?,
        }
        let drifted = self.check && deployment.differs();
        Ok(if drifted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Makes the changes and reports each.
    fn tell(
        &self,
        deployment: &Deployment,
        to: &str,
        remote: &Remote,
        output: &mut Output,
    ) -> Result<(), Failure> {
        for name in &deployment.settled {
            output.prose(format_args!("table `{name}` is as designed"))?;
        }
        for note in &deployment.notes {
            output.prose(format_args!("note: {note}"))?;
        }
        possible(deployment)?;
        for change in &deployment.changes {
            if self.dry_run {
                output.prose(format_args!("would {}", change.describe()))?;
                continue;
            }
            output.prose(format_args!("{} …", change.describe()))?;
            output.flush()?;
            if let Some(note) = change.make(remote).map_err(|error| said(to, error))? {
                output.prose(format_args!("note: {note}"))?;
            }
        }
        if !self.dry_run && !deployment.changes.is_empty() {
            output.line("done")?;
        }
        Ok(())
    }

    /// Makes the changes and writes one document about them, also when one of them fails.
    fn record(
        &self,
        deployment: &Deployment,
        to: &str,
        remote: &Remote,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let mut notes = deployment.notes.clone();
        let mut made = Vec::new();
        let mut outcome = if self.check { Ok(()) } else { possible(deployment) };
        if outcome.is_ok() && !self.dry_run && !self.check {
            for change in &deployment.changes {
                match change.make(remote) {
                    Ok(note) => {
                        made.push(note.is_none());
                        notes.extend(note);
                    }
                    Err(error) => {
                        outcome = Err(said(to, error));
                        break;
                    }
                }
            }
        }
        let changes = deployment.changes.iter().enumerate().map(|(at, change)| {
            let (operation, request) = change.request();
            json!({
                "change": change.describe(),
                "operation": operation.name(),
                "request": request,
                "made": made.get(at).is_some_and(|made| *made),
            })
        });
        let document = json!({
            "endpoint": to,
            "dry_run": self.dry_run || self.check,
            "differs": deployment.differs(),
            "as_designed": deployment.settled,
            "changes": changes.collect::<Vec<_>>(),
            "notes": notes,
            "refusals": deployment.refusals,
        });
        output.line(format_args!("{document:#}"))?;
        outcome
    }

    fn write(
        &self,
        report: &CheckReport,
        design: &Design,
        form: Form,
        output: &mut Output,
    ) -> Result<ExitCode, Failure> {
        if self.reach.is_stated() {
            return Err(Failure::refused("--region and --profile are for --to, not for --emit"));
        }
        if self.table.is_some() && form != Form::CreateTable {
            return Err(Failure::refused(
                "--table is for --emit create-table; the others emit all tables",
            ));
        }
        match form {
            Form::CreateTable => {
                let names: Vec<&str> = design.tables().iter().map(|t| t.name.as_str()).collect();
                if let Some(name) = self.table.as_deref().filter(|name| !names.contains(name)) {
                    let hint = nearest(name, &names);
                    return Err(Failure::refused(format_args!("there is no table `{name}`{hint}")));
                }
                let wanted = |table: &&std::sync::Arc<Table>| {
                    self.table.as_ref().is_none_or(|n| *n == table.name)
                };
                for table in design.tables().iter().filter(wanted) {
                    output.line(format_args!("{:#}", table_request(report, table)))?;
                }
            }
            Form::CloudFormation => {
                output.line(emit::cloudformation(report, design).trim_end())?;
            }
            Form::Terraform => output.line(emit::terraform(report, design).trim_end())?,
            Form::Cdk => output.line(emit::cdk(report, design).trim_end())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Reports how the tables of an endpoint differ from the design.
fn tell_drift(deployment: &Deployment, output: &mut Output) -> Result<(), Failure> {
    for name in &deployment.settled {
        output.prose(format_args!("table `{name}` is as designed"))?;
    }
    for change in &deployment.changes {
        output.prose(format_args!("not deployed: {}", change.describe()))?;
    }
    for difference in deployment.refusals.iter().chain(&deployment.notes) {
        output.prose(format_args!("differs: {difference}"))?;
    }
    Ok(())
}

/// What an endpoint answered that stops the work.
fn said(endpoint: &str, error: impl Display) -> Failure {
    Failure::refused(format_args!("{endpoint}: {error}"))
}

/// All changes are possible, or none is made.
fn possible(deployment: &Deployment) -> Result<(), Failure> {
    if deployment.refusals.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(format_args!(
        "nothing was changed, because not everything can be:\n  {}",
        deployment.refusals.join("\n  ")
    )))
}
