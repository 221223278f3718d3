//! What DynamoDB means, in the most naive code.
//!
//! The model takes the same JSON requests as the engine and answers what the engine must answer. A
//! table is a sorted map of items. An index is not stored: each read of it projects and sorts the
//! whole table. Expressions are evaluated by `keyloom_core`, which has its own tests; nothing is
//! shared with the engine's planner, executors or key codec. It knows what [`crate::workload`]
//! generates and no more.

mod answer;
mod cost;
mod data;
mod read;
mod transact;
mod write;

use std::collections::BTreeMap;

use keyloom_core::{Item, Result, TableSchema};
use serde_json::{Value, json};

use crate::lockstep::Answer;
use data::{Key, item_value};

/// The tables of the model.
#[derive(Clone, Debug, Default)]
pub struct Model {
    tables: BTreeMap<String, Table>,
    /// Client tokens of transactions that were done, with their requests.
    tokens: BTreeMap<String, Value>,
}

/// One table: its items in the order of their keys.
#[derive(Clone, Debug)]
pub struct Table {
    /// Keys and indexes.
    pub schema: TableSchema,
    items: BTreeMap<Key, Item>,
}

impl Model {
    /// A model without tables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an empty table.
    pub fn create(&mut self, schema: TableSchema) {
        let table = Table { schema, items: BTreeMap::new() };
        self.tables.insert(table.schema.name.to_string(), table);
    }

    /// Changes the indexes of a table.
    pub fn set_schema(&mut self, schema: TableSchema) {
        if let Some(table) = self.tables.get_mut(schema.name.as_str()) {
            table.schema = schema;
        }
    }

    /// The answer to a request.
    pub fn call(&mut self, operation: &str, body: &Value) -> Answer {
        let result = match operation {
            "PutItem" | "UpdateItem" | "DeleteItem" => self.write_item(operation, body),
            "GetItem" => self.get_item(body),
            "Query" => self.query(body),
            "BatchGetItem" => self.batch_get_item(body),
            "BatchWriteItem" => self.batch_write_item(body),
            "TransactWriteItems" => self.transact_write_items(body),
            "TransactGetItems" => self.transact_get_items(body),
            _ => unreachable!("the model does not know {operation}"),
        };
        match result {
            Ok(body) => Answer { status: 200, body },
            Err(error) => answer::of_error(&error),
        }
    }

    /// The table with this name, which must exist.
    pub fn table(&self, name: &str) -> &Table {
        let table = self.tables.get(name);
        table.unwrap_or_else(|| unreachable!("the workload names the table {name} that it made"))
    }

    fn table_of(&self, body: &Value) -> &Table {
        self.table(data::text(body, "TableName"))
    }
}

impl Table {
    /// All items as JSON, in key order.
    pub fn items(&self) -> Vec<Value> {
        self.items.values().map(item_value).collect()
    }

    /// All entries of an index as JSON, in the order of the index.
    pub fn entries(&self, index: &str) -> Vec<Value> {
        let source = self.source(Some(index));
        source.into_iter().map(|entry| item_value(&entry.projected)).collect()
    }

    /// The number of items and their size, as DescribeTable shows them.
    pub fn counts(&self) -> (usize, usize) {
        let sizes = self.items.values().map(keyloom_core::size::item_size);
        (self.items.len(), sizes.sum())
    }

    /// The item with this key.
    fn get(&self, key: &Item) -> Result<Option<&Item>> {
        self.check_key(key)?;
        Ok(self.items.get(&Key::of(&self.schema.key, key)))
    }

    /// Puts the item in the place of the old one, or removes it.
    fn set(&mut self, key: &Item, new: Option<Item>) {
        let key = Key::of(&self.schema.key, key);
        match new {
            Some(item) => self.items.insert(key, item),
            None => self.items.remove(&key),
        };
    }
}

/// Whether two answers mean the same. Errors are compared by code and payload, not by their words.
pub fn agree(expected: &Answer, actual: &Answer) -> bool {
    if expected.status != actual.status {
        return false;
    }
    if expected.status == 200 {
        return answer::without_order(&expected.body) == answer::without_order(&actual.body);
    }
    let payload = |answer: &Answer| {
        let reasons = answer.body.get("CancellationReasons").and_then(Value::as_array);
        let reason = |reason: &Value| json!([reason.get("Code"), reason.get("Item")]);
        let reasons: Option<Vec<Value>> = reasons.map(|list| list.iter().map(reason).collect());
        (answer.code().to_owned(), answer.body.get("Item").cloned(), reasons)
    };
    payload(expected) == payload(actual)
}
