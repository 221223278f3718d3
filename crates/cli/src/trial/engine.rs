//! An embedded database with a design's tables and items in it.

use std::fmt;

use keyloom_core::capacity::Units;
use keyloom_core::json::{self, Json, JsonObject, item_from, write_item};
use keyloom_core::limits::MAX_BATCH_WRITE_REQUESTS;
use keyloom_core::{AttributeValue, Item};
use keyloom_design::Design;
use keyloom_design::emit::create_table;
use keyloom_design::evaluate::Row;
use keyloom_engine::{BatchWriteItemInput, Database, Options, WriteRequest};

/// A database in memory that holds what a design describes.
pub(crate) struct Engine {
    database: Database,
}

/// What DynamoDB says when it refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The error's name, such as `ValidationException`.
    pub(crate) code: String,
    /// Its message.
    pub(crate) message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// What one read request returned.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) items: Vec<Item>,
    pub(crate) units: Units,
    /// Where the next page begins.
    pub(crate) last_key: Option<Item>,
}

impl Engine {
    /// A database without a table, whose new indexes fill up by themselves.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        Self { database: Database::memory_with(Options::default()) }
    }

    /// An empty database with the tables of a design.
    pub(crate) fn with_tables(design: &Design) -> Result<Self, Refusal> {
        Self::with_options(design, Options { background: false, ..Options::default() })
    }

    /// As [`Engine::with_tables`], with a database of these settings.
    pub(crate) fn with_options(design: &Design, options: Options) -> Result<Self, Refusal> {
        let engine = Self { database: Database::memory_with(options) };
        for table in design.tables() {
            engine.call("CreateTable", &create_table(table))?;
        }
        Ok(engine)
    }

    /// The database itself, for whoever serves it.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// Writes rows in batches; `written` hears after each how many are in.
    pub(crate) fn load(&self, rows: &[Row], written: &mut dyn FnMut(usize)) -> Result<(), Refusal> {
        let mut count = 0;
        for batch in rows.chunks(MAX_BATCH_WRITE_REQUESTS) {
            let put = |row: &Row| (row.entity.table.name.clone(), WriteRequest::Put(row.item()));
            let mut requests: Vec<_> = batch.iter().map(put).collect();
            while !requests.is_empty() {
                let input = BatchWriteItemInput { requests, ..BatchWriteItemInput::default() };
                let answer = self.database.batch_write_item(input).map_err(|error| Refusal {
                    code: error.code().to_owned(),
                    message: error.message(),
                })?;
                requests = answer.unprocessed;
            }
            count += batch.len();
            written(count);
        }
        Ok(())
    }

    /// Makes one call; the body of the answer, or the refusal.
    pub(crate) fn call(
        &self,
        operation: &str,
        body: &serde_json::Value,
    ) -> Result<Vec<u8>, Refusal> {
        let target = format!("DynamoDB_20120810.{operation}");
        let reply = self.database.call(&target, body.to_string().as_bytes());
        if reply.status == 200 {
            return Ok(reply.body);
        }
        let answer: serde_json::Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let text = |name: &str| answer.get(name).and_then(|value| value.as_str()).unwrap_or("");
        let code = text("__type").rsplit('#').next().unwrap_or_default().to_owned();
        Err(Refusal { code, message: text("message").to_owned() })
    }

    /// Makes one read request and takes its answer apart.
    pub(crate) fn read(&self, operation: &str, body: &serde_json::Value) -> Result<Page, Refusal> {
        let answer = self.call(operation, body)?;
        Ok(page_of(&answer).unwrap_or_default())
    }
}

/// An item as DynamoDB JSON.
pub(crate) fn wire_item(item: &Item) -> serde_json::Value {
    let mut bytes = Vec::new();
    write_item(item, &mut bytes);
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// The answers of GetItem, Query and BatchGetItem as one kind of page.
fn page_of(answer: &[u8]) -> Option<Page> {
    let Ok(Json::Object(answer)) = json::parse(answer) else { return None };
    let mut page = Page { units: units_of(&answer), ..Page::default() };
    page.items.extend(answer.get("Item").and_then(|item| item_from(item).ok()));
    if let Some(Json::Array(items)) = answer.get("Items") {
        page.items.extend(items.iter().filter_map(|item| item_from(item).ok()));
    }
    if let Some(Json::Object(tables)) = answer.get("Responses") {
        for (_, items) in tables.iter() {
            let Json::Array(items) = items else { continue };
            page.items.extend(items.iter().filter_map(|item| item_from(item).ok()));
        }
    }
    page.last_key = answer.get("LastEvaluatedKey").and_then(|key| item_from(key).ok());
    Some(page)
}

fn units_of(answer: &JsonObject) -> Units {
    let one = |consumed: &Json| match consumed {
        Json::Object(consumed) => match consumed.get("CapacityUnits") {
            Some(Json::Number(number)) => {
                Units::halves((number.as_f64().unwrap_or(0.0) * 2.0).round() as u64)
            }
            _ => Units::ZERO,
        },
        _ => Units::ZERO,
    };
    match answer.get("ConsumedCapacity") {
        Some(Json::Array(list)) => list.iter().map(one).sum(),
        Some(consumed) => one(consumed),
        None => Units::ZERO,
    }
}

/// A value as DynamoDB JSON.
pub(crate) fn wire_value(value: &AttributeValue) -> serde_json::Value {
    let mut bytes = Vec::new();
    json::write_value(value, &mut bytes);
    serde_json::from_slice(&bytes).unwrap_or_default()
}
