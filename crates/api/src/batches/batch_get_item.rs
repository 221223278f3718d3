//! BatchGetItem.

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::error::request;
use keyloom_core::image::Row;
use keyloom_core::{Item, Result, json, limits};

use crate::items::ProjectionInput;
use crate::json::answer::{document, elements, entries, item, list, object, row};
use crate::parameters::ReturnConsumedCapacity;
use crate::{Constraints, Fields, JsonWriter, Malformed, Operation, Request};

/// The input of BatchGetItem.
#[derive(Clone, Debug, Default)]
pub struct BatchGetItemInput {
    /// The keys to get, by table.
    pub tables: Vec<KeysOfTable>,
    /// How much of the consumed capacity the reply states.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

impl BatchGetItemInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let entries: Vec<_> = fields.entries("RequestItems").into_iter().flatten().collect();
        if entries.is_empty() {
            return Err(request::request_items_missing("BatchGetItem"));
        }
        let mut constraints = Constraints::new();
        for (name, _) in &entries {
            constraints.table_name_at(Some(name), "requestItems");
        }
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        constraints.finish()?;
        let mut tables = Vec::with_capacity(entries.len());
        let mut total = 0;
        for (name, value) in entries {
            let fields = Fields::of(value);
            let keys = fields.list("Keys").unwrap_or_default();
            total += keys.len();
            if keys.len() > limits::MAX_BATCH_GET_KEYS {
                return Err(request::too_many_keys_of_table(name));
            }
            let mut constraints = Constraints::new();
            let path = format!("requestItems.{name}.member.keys");
            constraints.count(keys.len(), "[]", &path, 1, usize::MAX);
            let projection = ProjectionInput::decode(&fields, &mut constraints);
            constraints.finish()?;
            projection.check_parameters()?;
            tables.push(KeysOfTable {
                table_name: name.to_owned(),
                keys: keys.iter().map(json::item_from).collect::<Result<_>>()?,
                consistent_read: fields.boolean("ConsistentRead").unwrap_or(false),
                projection,
            });
        }
        if total > limits::MAX_BATCH_GET_KEYS {
            return Err(request::too_many_keys());
        }
        Ok(Self { tables, return_consumed_capacity })
    }
}

/// The items to get from one table.
#[derive(Clone, Debug, Default)]
pub struct KeysOfTable {
    /// The table's name or ARN.
    pub table_name: String,
    /// The primary keys.
    pub keys: Vec<Item>,
    /// Whether the reads are strongly consistent.
    pub consistent_read: bool,
    /// Which attributes to return.
    pub projection: ProjectionInput,
}

impl KeysOfTable {
    fn write_members(&self, json: &mut JsonWriter) {
        json.items("Keys", &self.keys);
        json.flag("ConsistentRead", self.consistent_read);
        self.projection.write_members(json);
    }
}

impl Request for BatchGetItemInput {
    type Output = BatchGetItemOutput;

    const OPERATION: Operation = Operation::BatchGetItem;

    fn decode_reply(body: &[u8]) -> Result<Self::Output, Malformed> {
        let document = document(body)?;
        let mut output = BatchGetItemOutput::default();
        for (table, rows) in entries(&document, "Responses")? {
            let rows = list(rows)?.iter().map(row).collect::<Result<_, _>>()?;
            output.responses.push((table.to_owned(), rows));
        }
        for (table, keys) in entries(&document, "UnprocessedKeys")? {
            let keys = elements(object(keys)?, "Keys")?.iter().map(item);
            output.unprocessed.push(KeysOfTable {
                table_name: table.to_owned(),
                keys: keys.collect::<Result<_, _>>()?,
                ..KeysOfTable::default()
            });
        }
        Ok(output)
    }

    fn write_members(&self, json: &mut JsonWriter) {
        write_tables(json, "RequestItems", &self.tables);
    }
}

fn write_tables(json: &mut JsonWriter, name: &str, tables: &[KeysOfTable]) {
    json.structure(name, |json| {
        for table in tables {
            json.structure(&table.table_name, |json| table.write_members(json));
        }
    });
}

/// The output of BatchGetItem.
#[derive(Debug, Default)]
pub struct BatchGetItemOutput {
    /// The items that were found, table by table.
    pub responses: Vec<(String, Vec<Row>)>,
    /// Keys that were not read: the reply would be too large, or they were throttled.
    pub unprocessed: Vec<KeysOfTable>,
    /// The consumed capacity, by table.
    pub consumed_capacity: Vec<ConsumedCapacity>,
}

impl BatchGetItemOutput {
    /// The items that were found, table by table; their order is not that of the keys.
    pub fn into_items(self) -> Result<Vec<(String, Vec<Item>)>> {
        let decode = |rows: Vec<Row>| rows.into_iter().map(Row::into_item).collect::<Result<_>>();
        self.responses.into_iter().map(|(name, rows)| Ok((name, decode(rows)?))).collect()
    }
}

impl BatchGetItemOutput {
    /// The reply's body.
    pub fn encode(&self, shown: ReturnConsumedCapacity) -> Result<Vec<u8>> {
        let mut outcome = Ok(());
        let mut json = JsonWriter::object();
        json.structure("Responses", |json| {
            outcome = self.responses.iter().try_for_each(|(name, rows)| json.rows(name, rows));
        });
        outcome?;
        write_tables(&mut json, "UnprocessedKeys", &self.unprocessed);
        shown.write_list(&mut json, &self.consumed_capacity);
        Ok(json.finish())
    }
}
