//! `keyloom deploy`: a design's tables, created or written for other tools.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom::remote::{Endpoint, Remote};
use keyloom_design::cost::Prices;
use keyloom_design::model::Table;
use keyloom_design::{CheckReport, Design, emit};

use crate::deployment::{prepare, table_request};
use crate::design_file::{check_file, design_of};
use crate::nearest::nearest;
use crate::output::{Failure, Output};

/// Create the tables of a design, or write them for other tools.
///
/// With --to, tables and indexes that are missing at a DynamoDB endpoint are created, one index after another;
/// what would lose data is refused, and then nothing is changed at all.
///
/// With --emit, CreateTable requests are JSON documents, one after another, as `aws dynamodb create-table
/// --cli-input-json` takes them. CloudFormation is YAML, Terraform HCL, CDK a construct in TypeScript.
///
/// A new provisioned table and its indexes get the units that the design's rates ask for, at least one of each kind.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom deploy tasks.toml --to http://localhost:8000
  keyloom deploy tasks.toml --to aws --region eu-central-1 --dry-run
  keyloom deploy tasks.toml --emit cloudformation > template.yaml
  keyloom deploy tasks.toml --emit create-table > table.json
  aws dynamodb create-table --cli-input-json file://table.json --endpoint-url http://localhost:8000")]
pub(crate) struct Deploy {
    /// The design file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The endpoint: a URL, or `aws` for AWS itself.
    #[arg(long, value_name = "URL", conflicts_with = "emit", required_unless_present = "emit")]
    to: Option<String>,
    /// Only say what would be done.
    #[arg(long, requires = "to")]
    dry_run: bool,
    /// The AWS region; from the environment if absent.
    #[arg(long, value_name = "NAME", requires = "to")]
    region: Option<String>,
    /// The profile in ~/.aws; from the environment if absent.
    #[arg(long, value_name = "NAME", requires = "to")]
    profile: Option<String>,
    /// What to write.
    #[arg(long, value_enum, value_name = "FORM")]
    emit: Option<Form>,
    /// Only this table (for create-table).
    #[arg(long, value_name = "NAME", requires = "emit")]
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
        match (&self.to, self.emit) {
            (Some(to), _) => self.deploy(&report, design, to, output),
            (None, Some(form)) => self.write(&report, design, form, output),
            (None, None) => {
                Err(Failure::refused("say where to with --to, or what to write with --emit"))
            }
        }
    }

    /// Makes the tables of an endpoint those of the design, as far as nothing is lost.
    fn deploy(
        &self,
        report: &CheckReport,
        design: &Design,
        to: &str,
        output: &mut Output,
    ) -> Result<ExitCode, Failure> {
        let mut endpoint = if to == "aws" { Endpoint::aws() } else { Endpoint::url(to) };
        if let Some(region) = &self.region {
            endpoint = endpoint.region(region);
        }
        if let Some(profile) = &self.profile {
            endpoint = endpoint.profile(profile);
        }
        let said = |error: &dyn std::fmt::Display| Failure::refused(format_args!("{to}: {error}"));
        let remote = Remote::new(endpoint).map_err(|error| said(&error))?;
        let deployment = prepare(report, design, &remote).map_err(|error| said(&error))?;
        for name in &deployment.settled {
            output.line(format_args!("table `{name}` is as designed"))?;
        }
        for note in &deployment.notes {
            output.line(format_args!("note: {note}"))?;
        }
        if !deployment.refusals.is_empty() {
            return Err(Failure::refused(format_args!(
                "nothing was changed, because not everything can be:\n  {}",
                deployment.refusals.join("\n  ")
            )));
        }
        for change in &deployment.changes {
            if self.dry_run {
                output.line(format_args!("would {}", change.describe()))?;
                continue;
            }
            output.line(format_args!("{} …", change.describe()))?;
            output.flush()?;
            if let Some(note) = change.make(&remote).map_err(|error| said(&error))? {
                output.line(format_args!("note: {note}"))?;
            }
        }
        if !self.dry_run && !deployment.changes.is_empty() {
            output.line("done")?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn write(
        &self,
        report: &CheckReport,
        design: &Design,
        form: Form,
        output: &mut Output,
    ) -> Result<ExitCode, Failure> {
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
