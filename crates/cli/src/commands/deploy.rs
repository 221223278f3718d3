//! `keyloom deploy`: a design's tables, created or written for other tools.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom_design::cost::Prices;
use keyloom_design::emit;
use keyloom_design::model::Table;

use crate::design_file::{check_file, design_of};
use crate::nearest::nearest;
use crate::output::{Failure, Output};

/// Write the tables of a design for other tools.
///
/// CreateTable requests are JSON documents, one after another, as `aws dynamodb create-table
/// --cli-input-json` takes them. CloudFormation is YAML, Terraform HCL, CDK a construct in TypeScript.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom deploy tasks.toml --emit cloudformation > template.yaml
  keyloom deploy tasks.toml --emit create-table > table.json
  aws dynamodb create-table --cli-input-json file://table.json --endpoint-url http://localhost:8000")]
pub(crate) struct Deploy {
    /// The design file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What to write.
    #[arg(long, value_enum, value_name = "FORM")]
    emit: Form,
    /// Only this table (for create-table).
    #[arg(long, value_name = "NAME")]
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
        match self.emit {
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
                    output.line(format_args!("{:#}", emit::create_table(table)))?;
                }
            }
            Form::CloudFormation => {
                output.line(emit::cloudformation(&report, design).trim_end())?;
            }
            Form::Terraform => output.line(emit::terraform(&report, design).trim_end())?,
            Form::Cdk => output.line(emit::cdk(&report, design).trim_end())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
