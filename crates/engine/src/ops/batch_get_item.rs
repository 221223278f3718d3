//! BatchGetItem.

use std::sync::Arc;

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::capacity::{Arm, ConsumedCapacity, ReadMode, Units, read_units};
use keyloom_core::error::request;
use keyloom_core::expr::Projection;
use keyloom_core::observation::{Operation, Outcome};
use keyloom_core::{Error, Item, Result, json, limits};

use crate::catalog::Table;
use crate::database::{Database, Inner};
use crate::read;
use crate::ttl;
use crate::watch::{self, Ended};
use keyloom_core::image::{Row, Stored};

use super::get_item;
use super::parameters::ReturnConsumedCapacity;
use super::projected::ProjectionInput;

/// What BatchGetItem is asked.
#[derive(Clone, Debug, Default)]
pub struct BatchGetItemInput {
    /// What to get, table by table.
    pub tables: Vec<KeysOfTable>,
    /// What to say of the capacity.
    pub return_consumed_capacity: ReturnConsumedCapacity,
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

/// What BatchGetItem answers.
#[derive(Debug, Default)]
pub struct BatchGetItemOutput {
    responses: Vec<(String, Vec<Row>)>,
    /// What was left for another request, because the answer would be too large.
    pub unprocessed: Vec<KeysOfTable>,
    /// What it cost, table by table.
    pub consumed_capacity: Vec<ConsumedCapacity>,
}

impl BatchGetItemOutput {
    /// The items that were found, table by table; their order is not that of the keys.
    pub fn into_items(self) -> Result<Vec<(String, Vec<Item>)>> {
        let decode = |rows: Vec<Row>| rows.into_iter().map(Row::into_item).collect::<Result<_>>();
        self.responses.into_iter().map(|(name, rows)| Ok((name, decode(rows)?))).collect()
    }
}

impl Database {
    /// Gets up to 100 items by their primary keys.
    pub fn batch_get_item(&self, input: BatchGetItemInput) -> Result<BatchGetItemOutput> {
        run(self.inner(), input)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = BatchGetItemInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    run(database, input)?.encode(shown)
}

impl BatchGetItemInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Result<Self> {
        let entries = fields.entries("RequestItems").unwrap_or_default();
        if entries.is_empty() {
            return Err(request::request_items_missing("BatchGetItem"));
        }
        let mut constraints = Constraints::new();
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        for (name, _) in &entries {
            constraints.table_name_at(Some(name), "requestItems");
        }
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

/// One table's part of the batch, checked.
struct Planned {
    input: KeysOfTable,
    projection: Option<Projection>,
    table: Arc<Table>,
    store_keys: Vec<Vec<u8>>,
}

fn run(database: &Inner, input: BatchGetItemInput) -> Result<BatchGetItemOutput> {
    let planned =
        input.tables.into_iter().map(|keys| plan(database, keys)).collect::<Result<Vec<_>>>()?;
    let mut output = BatchGetItemOutput::default();
    let mut budget = limits::MAX_BATCH_BYTES;
    let mut throttled = None;
    for part in planned {
        throttled = read_part(database, part, &mut budget, &mut output)?.or(throttled);
    }
    match throttled {
        // What was refused is left for another request, unless nothing else is there.
        Some(error) if output.is_nothing_read() => Err(error),
        _ => Ok(output),
    }
}

fn plan(database: &Inner, input: KeysOfTable) -> Result<Planned> {
    let projection = input.projection.alone()?;
    let table = database.catalog.table(&input.table_name)?;
    for key in &input.keys {
        table.schema.check_key(key)?;
    }
    let store_keys: Vec<Vec<u8>> =
        input.keys.iter().map(|key| table.item_key(key)).collect::<Result<_>>()?;
    let mut sorted: Vec<&Vec<u8>> = store_keys.iter().collect();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err(request::duplicate_keys());
    }
    Ok(Planned { input, projection, table, store_keys })
}

fn read_part(
    database: &Inner,
    part: Planned,
    budget: &mut usize,
    output: &mut BatchGetItemOutput,
) -> Result<Option<Error>> {
    let Planned { mut input, projection, table, store_keys } = part;
    let (mut rows, mut unprocessed) = (Vec::new(), Vec::new());
    let watching = database.watch(Operation::BatchGetItem);
    let mut throttled = None;
    let keys: Vec<&[u8]> = store_keys.iter().map(Vec::as_slice).collect();
    let mut touches = Vec::new();
    let mode = if input.consistent_read { ReadMode::Strong } else { ReadMode::Eventual };
    let mut consumed = ConsumedCapacity::new(input.table_name.as_str());
    let images = read::lookup_many(database, &keys)?;
    for ((key, store_key), stored) in input.keys.drain(..).zip(keys).zip(images) {
        let size = stored.as_ref().map_or(Ok(0), Stored::size_bytes)?;
        if size > *budget {
            *budget = 0;
            unprocessed.push(key);
            continue;
        }
        let units = read_units(size, mode);
        if let Some(watching) = &watching {
            // Each key for itself: what one has taken is not there for the next.
            let asked = watch::lookup(&table, store_key, Units::ZERO, 0);
            if let Err(error) = watching.admit_or_error(&[asked]) {
                throttled = Some(error);
                unprocessed.push(key);
                continue;
            }
            let touch = watch::lookup(&table, store_key, units, size);
            watching.charge(&[touch]);
            touches.push(touch);
        }
        *budget -= size;
        consumed.add_table(Arm::new(units));
        if let Some(stored) = stored {
            rows.push(get_item::row(stored, projection.as_ref())?);
        }
    }
    if let Some(watching) = watching.filter(|_| !touches.is_empty()) {
        let ended = Ended {
            returned: rows.len(),
            expired: watching.expired(|| ttl::expired(database, &table, &rows)),
            is_projected: projection.is_some(),
            is_consistent: input.consistent_read,
            ..Ended::with(Outcome::Done)
        };
        watching.observe(&touches, ended);
    }
    output.responses.push((input.table_name.clone(), rows));
    output.consumed_capacity.push(consumed);
    if !unprocessed.is_empty() {
        output.unprocessed.push(KeysOfTable { keys: unprocessed, ..input });
    }
    Ok(throttled)
}

impl BatchGetItemOutput {
    /// Whether not one key was looked up.
    fn is_nothing_read(&self) -> bool {
        self.consumed_capacity.iter().all(|consumed| consumed.table.total.is_zero())
    }

    fn encode(&self, shown: ReturnConsumedCapacity) -> Result<Vec<u8>> {
        let mut outcome = Ok(());
        let mut json = JsonWriter::object();
        json.structure("Responses", |json| {
            for (name, rows) in &self.responses {
                json.list(name, rows, |json, row| {
                    if outcome.is_ok() {
                        outcome = row.write_json(json.buffer());
                    }
                });
            }
        });
        outcome?;
        json.structure("UnprocessedKeys", |json| {
            for part in &self.unprocessed {
                json.structure(&part.table_name, |json| part.write_members(json));
            }
        });
        shown.write_list(&mut json, &self.consumed_capacity);
        Ok(json.finish())
    }
}

impl KeysOfTable {
    /// Writes the request back, for what was not processed.
    fn write_members(&self, json: &mut JsonWriter) {
        json.items("Keys", &self.keys);
        if self.consistent_read {
            json.boolean("ConsistentRead", true);
        }
        json.optional_string("ProjectionExpression", self.projection.expression.as_deref());
        if let Some(names) = &self.projection.names {
            json.structure("ExpressionAttributeNames", |json| {
                for (placeholder, name) in names {
                    json.string(placeholder, name);
                }
            });
        }
        if let Some(names) = &self.projection.attributes_to_get {
            json.strings("AttributesToGet", names);
        }
    }
}
