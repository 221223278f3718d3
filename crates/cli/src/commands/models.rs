//! `keyloom import-model` and `keyloom export-model`: models of other tools.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use keyloom_design::cost::Prices;
use keyloom_design::counted;
use keyloom_design::exchange::{Imported, Lost, ModelFormat, export, import, import_document};
use serde_json::json;

use crate::design_file::{check_file, design_of, name_of, text_of};
use crate::output::{Failure, Format, Output};
use crate::yaml;

/// Make a design of another tool's model.
///
/// Reads NoSQL Workbench models (3.x), OneTable schemas (1.1, as JSON), the files of AWS's dynamodb-mcp-server, CloudFormation
/// and SAM templates (JSON or YAML), CreateTable requests and answers of DescribeTable. The content tells the format. What a design cannot
/// carry is listed on standard error, line by line; what is not certain is a comment in the file.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom import-model workbench.json > app.toml
  keyloom import-model schema.json --from onetable --table app > app.toml
  aws dynamodb describe-table --table-name orders | keyloom import-model - > orders.toml")]
pub(crate) struct ImportModel {
    /// The model; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Its format; otherwise the content tells.
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<Kind>,
    /// Name of the table, where the model does not say it.
    #[arg(long, value_name = "NAME", default_value = "table")]
    table: String,
    /// Output format; JSON has the design and what was lost.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

/// Write a design as another tool's model.
///
/// What the format cannot carry is listed on standard error, line by line, and with --lost in a file.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  keyloom export-model app.toml --format workbench > workbench.json
  keyloom export-model app.toml --format onetable --lost lost.json > schema.json")]
pub(crate) struct ExportModel {
    /// The design file; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The format.
    #[arg(long, value_enum)]
    format: Kind,
    /// Keep what the format cannot carry in a file, as JSON.
    #[arg(long, value_name = "FILE")]
    lost: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// NoSQL Workbench, data model 3.x.
    Workbench,
    /// OneTable schema 1.1.
    Onetable,
    /// `dynamodb_data_model.json` of dynamodb-mcp-server.
    McpModel,
    /// `schema.json` of dynamodb-mcp-server.
    McpSchema,
    /// CreateTable requests; DescribeTable is read too.
    CreateTable,
    /// CloudFormation and SAM templates: JSON and YAML are read, YAML is written.
    Cloudformation,
}

impl From<Kind> for ModelFormat {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Workbench => Self::Workbench,
            Kind::Onetable => Self::OneTable,
            Kind::McpModel => Self::McpModel,
            Kind::McpSchema => Self::McpSchema,
            Kind::CreateTable => Self::CreateTable,
            Kind::Cloudformation => Self::CloudFormation,
        }
    }
}

impl ImportModel {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let source = text_of(&self.file)?;
        let imported = self.import(&source).map_err(|reason| {
            Failure::refused(format_args!("{}: {reason}", name_of(&self.file)))
        })?;
        match self.format {
            Format::Human => {
                output.line(imported.text.trim_end())?;
                output.flush()?;
                list(imported.format, &imported.lost);
            }
            Format::Json => output.line(json!({
                "format": imported.format.name(),
                "design": imported.text,
                "lost": as_json(&imported.lost),
            }))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl ImportModel {
    /// Reads JSON, and YAML where it is not.
    fn import(&self, source: &str) -> Result<Imported, String> {
        let from = self.from.map(Into::into);
        if source.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        let is_json = source.trim_start().starts_with(['{', '[']);
        if is_json {
            return import(source, from, &self.table);
        }
        let document = yaml::read(source)
            .map_err(|reason| format!("it is no JSON, and as YAML it is wrong in {reason}"))?;
        import_document(&document, from, &self.table)
    }
}

impl ExportModel {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let report = check_file(&self.file, &Prices::default())?;
        let design = design_of(&report)?;
        let (text, lost) = export(&report, design, self.format.into());
        output.line(text.trim_end())?;
        output.flush()?;
        list(self.format.into(), &lost);
        if let Some(path) = &self.lost {
            keep(path, &lost)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn as_json(lost: &[Lost]) -> serde_json::Value {
    lost.iter().map(|one| json!({ "what": one.what, "why": one.why })).collect()
}

fn keep(path: &Path, lost: &[Lost]) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&as_json(lost)).unwrap_or_default();
    std::fs::write(path, format!("{text}\n")).map_err(|error| {
        Failure::refused(format_args!("{} cannot be written: {error}", path.display()))
    })
}

/// Says on standard error what was not carried over.
fn list(format: ModelFormat, lost: &[Lost]) {
    let mut text = String::new();
    if !lost.is_empty() {
        text = format!("{} not carried over ({}):\n", counted(lost.len(), "thing"), format.name());
    }
    for one in lost {
        text.extend(["  ", &one.what, ": ", &one.why, "\n"]);
    }
    // A closed standard error is no reason to fail.
    drop(std::io::stderr().write_all(text.as_bytes()));
}
