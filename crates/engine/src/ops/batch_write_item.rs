//! BatchWriteItem.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::error::request;
use keyloom_core::schema::KeyContext;
use keyloom_core::{Error, Item, Result, limits};

use crate::database::{Database, Inner};
use crate::write::{self, Write};

use super::collection::{CollectionMetrics, write_collections};
use super::parameters::{self, ReturnConsumedCapacity, wants_collection_metrics};

/// What BatchWriteItem is asked.
#[derive(Clone, Debug, Default)]
pub struct BatchWriteItemInput {
    /// What to write, each with the table's name or ARN.
    pub requests: Vec<(String, WriteRequest)>,
    /// What to say of the capacity.
    pub return_consumed_capacity: ReturnConsumedCapacity,
    /// Whether to say how large the item collections are.
    pub return_collection_metrics: bool,
}

/// One write of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteRequest {
    /// Put this item.
    Put(Item),
    /// Delete the item with this key.
    Delete(Item),
}

/// What BatchWriteItem answers.
#[derive(Debug, Default)]
pub struct BatchWriteItemOutput {
    /// What was not written and should be tried again.
    pub unprocessed: Vec<(String, WriteRequest)>,
    /// What it cost, table by table.
    pub consumed_capacity: Vec<ConsumedCapacity>,
    pub(crate) collections: Vec<CollectionMetrics>,
}

impl Database {
    /// Puts and deletes up to 25 items, each for itself.
    pub fn batch_write_item(&self, input: BatchWriteItemInput) -> Result<BatchWriteItemOutput> {
        run(self.inner(), input)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = BatchWriteItemInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    let output = run(database, input)?;
    let mut json = JsonWriter::object();
    json.structure("UnprocessedItems", |json| write_requests(json, &output.unprocessed));
    write_collections(&mut json, &output.collections);
    shown.write_list(&mut json, &output.consumed_capacity);
    Ok(json.finish())
}

impl BatchWriteItemInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Result<Self> {
        let entries = fields.entries("RequestItems").unwrap_or_default();
        if entries.is_empty() {
            return Err(request::request_items_missing("BatchWriteItem"));
        }
        let mut constraints = Constraints::new();
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        let return_collection_metrics = wants_collection_metrics(fields, &mut constraints);
        for (name, _) in &entries {
            constraints.table_name_at(Some(name), "requestItems");
        }
        constraints.finish()?;
        let tables = fields.structure("RequestItems");
        let mut requests = Vec::new();
        for (name, _) in entries {
            let list = tables.as_ref().and_then(|tables| tables.structures(name));
            let list = list.unwrap_or_default();
            if list.is_empty() || list.len() > limits::MAX_BATCH_WRITE_REQUESTS {
                return Err(request::batch_write_count(name, list.len()));
            }
            for element in &list {
                requests.push((name.to_owned(), WriteRequest::decode(element)?));
            }
        }
        if requests.len() > limits::MAX_BATCH_WRITE_REQUESTS {
            return Err(request::too_many_batch_writes());
        }
        Ok(Self { requests, return_consumed_capacity, return_collection_metrics })
    }
}

impl WriteRequest {
    fn decode(fields: &Fields<'_>) -> Result<Self> {
        let put = fields.structure("PutRequest");
        let delete = fields.structure("DeleteRequest");
        match (put, delete) {
            (Some(put), None) => Ok(Self::Put(put.item("Item")?.unwrap_or_default())),
            (None, Some(delete)) => Ok(Self::Delete(delete.item("Key")?.unwrap_or_default())),
            _ => Err(request::write_request_ambiguous()),
        }
    }

    fn write_members(&self, json: &mut JsonWriter) {
        match self {
            Self::Put(item) => json.structure("PutRequest", |json| json.item("Item", item)),
            Self::Delete(key) => json.structure("DeleteRequest", |json| json.item("Key", key)),
        }
    }
}

/// Requests grouped by table, as the wire has them.
fn write_requests(json: &mut JsonWriter, requests: &[(String, WriteRequest)]) {
    let mut names: Vec<&str> = requests.iter().map(|(name, _)| name.as_str()).collect();
    names.dedup();
    for name in names {
        let of_table = requests.iter().filter(|(table, _)| table == name);
        json.list(name, of_table, |json, (_, request)| {
            json.nested(|json| request.write_members(json));
        });
    }
}

fn run(database: &Inner, input: BatchWriteItemInput) -> Result<BatchWriteItemOutput> {
    let mut writes = Vec::with_capacity(input.requests.len());
    for (name, request) in &input.requests {
        writes.push(plan(database, name, request.clone())?);
    }
    check_distinct(&writes)?;
    let wanted = input.return_collection_metrics;
    let metrics: Vec<Option<CollectionMetrics>> =
        writes.iter().map(|write| CollectionMetrics::wanted(wanted, write)).collect();
    let mut output = BatchWriteItemOutput::default();
    let results = write::each(database, writes)?;
    for ((request, written), metrics) in input.requests.into_iter().zip(results).zip(metrics) {
        let Some(written) = written else {
            output.unprocessed.push(request);
            continue;
        };
        let cost = parameters::consumed(&request.0, written.cost);
        add_cost(&mut output.consumed_capacity, cost);
        CollectionMetrics::add(&mut output.collections, metrics);
    }
    for collection in &mut output.collections {
        *collection = collection.clone().measure(database)?;
    }
    Ok(output)
}

fn plan(database: &Inner, name: &str, request: WriteRequest) -> Result<Write> {
    let table = database.catalog.table(name)?;
    match request {
        WriteRequest::Put(item) => {
            table.schema.check_item(&item, KeyContext::BatchPut)?;
            Write::put(table, item, None)
        }
        WriteRequest::Delete(key) => {
            table.schema.check_key(&key)?;
            Write::delete(table, key, None)
        }
    }
}

/// No two writes of a batch may touch one item.
fn check_distinct(writes: &[Write]) -> Result<(), Error> {
    let mut keys: Vec<&[u8]> = writes.iter().map(|write| write.store_key.as_slice()).collect();
    keys.sort_unstable();
    if keys.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err(request::duplicate_keys());
    }
    Ok(())
}

/// Adds a cost to the account of its table.
pub(crate) fn add_cost(accounts: &mut Vec<ConsumedCapacity>, cost: ConsumedCapacity) {
    match accounts.iter_mut().find(|account| account.table_name == cost.table_name) {
        Some(account) => account.merge(cost),
        None => accounts.push(cost),
    }
}
