//! Models of other tools, read into a design and written from one.
//!
//! | format | has |
//! |---|---|
//! | `workbench` | NoSQL Workbench, data model 3.x: tables, facets with aliases of keys, sample items |
//! | `onetable` | OneTable schema 1.1: indexes, models with value templates |
//! | `mcp-model` | `dynamodb_data_model.json` of AWS's dynamodb-mcp-server: tables, items, commands |
//! | `mcp-schema` | its `schema.json`: tables, entities with templates, access patterns |
//! | `create-table` | CreateTable requests and answers of DescribeTable |
//! | `cloudformation` | templates of CloudFormation and SAM, with their functions as far as they can be calculated |
//!
//! What a format cannot carry is reported line by line ([`Lost`]), never dropped in silence.

mod cloudformation;
mod export;
mod intrinsics;
mod mcp;
mod onetable;
mod table;
mod template;
mod workbench;

use keyloom_core::Item;
use keyloom_core::json::{self, Json as CoreJson};
use serde_json::Value as Json;

use crate::diagnostic::{Diagnostic, Severity};
use crate::draft::print::{Notes, print};
use crate::draft::{Draft, TableDraft};
use crate::infer::{self, Observed, Sampler};
use crate::model::Design;

pub use export::export;

/// A format of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFormat {
    /// NoSQL Workbench, data model 3.x.
    Workbench,
    /// OneTable schema 1.1.
    OneTable,
    /// `dynamodb_data_model.json` of dynamodb-mcp-server.
    McpModel,
    /// `schema.json` of dynamodb-mcp-server.
    McpSchema,
    /// CreateTable or DescribeTable.
    CreateTable,
    /// A CloudFormation template.
    CloudFormation,
}

impl ModelFormat {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workbench => "NoSQL Workbench",
            Self::OneTable => "OneTable",
            Self::McpModel => "dynamodb_data_model.json",
            Self::McpSchema => "schema.json of dynamodb-mcp-server",
            Self::CreateTable => "CreateTable",
            Self::CloudFormation => "CloudFormation",
        }
    }

    /// The format that a document has, by its members.
    fn of(document: &Json) -> Option<Self> {
        let has = |member: &str| document.get(member).is_some();
        let first = list(document, "tables").next();
        let one = document.as_array().and_then(|all| all.first()).unwrap_or(document);
        if has("DataModel") {
            Some(Self::Workbench)
        } else if text(document, "format").is_some_and(|format| format.starts_with("onetable"))
            || has("models") && has("indexes")
        {
            Some(Self::OneTable)
        } else if first.is_some_and(|table| table.get("table_config").is_some()) {
            Some(Self::McpSchema)
        } else if first.is_some_and(|table| table.get("KeySchema").is_some()) {
            Some(Self::McpModel)
        } else if cloudformation::is_template(document) {
            Some(Self::CloudFormation)
        } else if one.get("KeySchema").is_some() || one.get("Table").is_some() {
            Some(Self::CreateTable)
        } else {
            None
        }
    }
}

/// Something that the other side has no word for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// What it is.
    pub what: String,
    /// Why it is not carried over.
    pub why: String,
}

impl Lost {
    fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

/// A model that was read.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The format that it had.
    pub format: ModelFormat,
    /// The design file.
    pub text: String,
    /// What is not in it.
    pub lost: Vec<Lost>,
}

/// Reads a model in JSON; `table` names the table where the format does not.
pub fn import(source: &str, format: Option<ModelFormat>, table: &str) -> Result<Imported, String> {
    let document: Json =
        serde_json::from_str(source).map_err(|error| format!("it is no JSON: {error}"))?;
    import_document(&document, format, table)
}

/// Reads a model that has been parsed, whatever it was written in.
pub fn import_document(
    document: &Json,
    format: Option<ModelFormat>,
    table: &str,
) -> Result<Imported, String> {
    let format = format.or_else(|| ModelFormat::of(document)).ok_or(
        "its content tells no format: there is no DataModel, no models, no tables, no Resources and no KeySchema; say it with --from",
    )?;
    let mut reading = Reading::default();
    match format {
        ModelFormat::Workbench => workbench::read(document, &mut reading),
        ModelFormat::OneTable => onetable::read(document, table, &mut reading),
        ModelFormat::McpModel => mcp::read_model(document, &mut reading),
        ModelFormat::McpSchema => mcp::read_schema(document, &mut reading),
        ModelFormat::CreateTable => read_requests(document, table, &mut reading),
        ModelFormat::CloudFormation => cloudformation::read(document, &mut reading),
    }
    if reading.draft.tables.is_empty() {
        return Err(format!("there is no table in it, as {} has them", format.name()));
    }
    Ok(reading.finish(format))
}

/// A model on its way.
#[derive(Default)]
struct Reading {
    draft: Draft,
    notes: Notes,
    lost: Vec<Lost>,
}

impl Reading {
    /// Finds the entities of a table in sample items.
    fn infer(&mut self, table: TableDraft, items: &[Item]) {
        let names = table.partition_key.iter().chain(&table.sort_key);
        let keys: Vec<String> = names
            .map(|key| key.value.trim_end_matches(":N").trim_end_matches(":B").to_owned())
            .collect();
        let mut sampler = Sampler::new(&keys);
        for item in items.iter().filter(|item| keys.iter().all(|key| item.contains_key(key))) {
            sampler.add(item);
        }
        let name = table.name.value.clone();
        let observed = Observed { table, sample: sampler.finish(), items: None };
        let (found, notes) = infer::find(std::slice::from_ref(&observed));
        self.notes.merge(notes);
        self.notes.add(
            &["table", &name],
            format!(
                "Entities were found in {} sample items; counts and sizes are theirs.",
                items.len()
            ),
        );
        self.draft.tables.extend(found.tables);
        self.draft.entities.extend(found.entities);
    }

    /// The file, with keys as they are where a template cannot be stated.
    fn finish(mut self, format: ModelFormat) -> Imported {
        self.notes.add(&[], format!("Imported from {} by `keyloom import-model`.", format.name()));
        let parts = &self.draft;
        let most = parts.entities.len() + parts.accesses.len() + parts.writes.len();
        for _ in 0..=most {
            let text = print(&self.draft, &self.notes);
            let (_, problems) = Design::read("imported.toml", &text);
            let wrong: Vec<&Diagnostic> =
                problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
            let mut dropped = Vec::new();
            if wrong.is_empty()
                || !infer::mend(&mut self.draft, &mut self.notes, &wrong, &mut dropped)
            {
                break;
            }
            self.lost
                .extend(dropped.into_iter().map(|line| Lost::new(line, "it cannot be stated")));
        }
        Imported { format, text: print(&self.draft, &self.notes), lost: self.lost }
    }
}

fn read_requests(document: &Json, name: &str, reading: &mut Reading) {
    let one = std::slice::from_ref(document);
    for entry in document.as_array().map_or(one, Vec::as_slice) {
        let body = entry.get("Table").or_else(|| entry.get("TableDescription")).unwrap_or(entry);
        reading.draft.tables.extend(table::table(body, name, &mut reading.lost));
    }
    without_entities(reading);
}

fn without_entities(reading: &mut Reading) {
    for table in &reading.draft.tables {
        reading.notes.add(
            &["table", &table.name.value],
            "The source has no entities: `keyloom infer` finds them in items, or they are written here.",
        );
    }
}

/// A member that is a text.
fn text<'j>(json: &'j Json, member: &str) -> Option<&'j str> {
    json.get(member).and_then(Json::as_str)
}

/// The elements of a member that is a list.
fn list<'j>(json: &'j Json, member: &str) -> impl Iterator<Item = &'j Json> {
    json.get(member).and_then(Json::as_array).into_iter().flatten()
}

/// An item of DynamoDB JSON.
fn item(json: &Json) -> Option<Item> {
    let text = json.to_string();
    let parsed: CoreJson<'_> = json::parse(text.as_bytes()).ok()?;
    json::item_from(&parsed).ok()
}

/// A table from a CreateTable request or the answer of DescribeTable; none if it has no keys.
pub fn described_table(description: &Json) -> Option<TableDraft> {
    table::table(description, "table", &mut Vec::new())
}
