//! BatchWriteItem.

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::error::request;
use keyloom_core::json::Json;
use keyloom_core::{Item, Result, limits};

use crate::collection::write_collections;
use crate::json::answer::{document, entries, item, list, object};
use crate::parameters::{ReturnConsumedCapacity, wants_collection_metrics};
use crate::{
    Constraints, Fields, ItemCollectionMetrics, JsonWriter, Malformed, Operation, Request,
};

/// The input of BatchWriteItem.
#[derive(Clone, Debug, Default)]
pub struct BatchWriteItemInput {
    /// The writes, each with the table's name or ARN.
    pub requests: Vec<(String, WriteRequest)>,
    /// How much of the consumed capacity the reply states.
    pub return_consumed_capacity: ReturnConsumedCapacity,
    /// Whether the reply states the sizes of the item collections.
    pub return_collection_metrics: bool,
}

impl BatchWriteItemInput {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        let entries: Vec<_> = fields.entries("RequestItems").into_iter().flatten().collect();
        if entries.is_empty() {
            return Err(request::request_items_missing("BatchWriteItem"));
        }
        let mut constraints = Constraints::new();
        for (name, _) in &entries {
            constraints.table_name_at(Some(name), "requestItems");
        }
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        let return_collection_metrics = wants_collection_metrics(fields, &mut constraints);
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

/// One write of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteRequest {
    /// Puts this item, replacing any with the same key.
    Put(Item),
    /// Deletes the item with this key.
    Delete(Item),
}

impl WriteRequest {
    /// A request that a reply sends back.
    fn decode_reply(request: &Json<'_>) -> Result<Self, Malformed> {
        let request = object(request)?;
        let member = |request: &Json<'_>, name: &str| {
            let member = object(request)?.get(name).map(item).transpose()?;
            member.ok_or_else(|| Malformed::new(format!("a write without its {name}")))
        };
        match (request.get("PutRequest"), request.get("DeleteRequest")) {
            (Some(put), _) => Ok(Self::Put(member(put, "Item")?)),
            (None, Some(delete)) => Ok(Self::Delete(member(delete, "Key")?)),
            (None, None) => Err(Malformed::new("a write that is neither put nor delete")),
        }
    }

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

/// The output of BatchWriteItem.
#[derive(Debug, Default)]
pub struct BatchWriteItemOutput {
    /// Writes that were throttled and should be retried.
    pub unprocessed: Vec<(String, WriteRequest)>,
    /// The consumed capacity, by table.
    pub consumed_capacity: Vec<ConsumedCapacity>,
    /// The item collections that were touched, if that was asked for.
    pub collections: Vec<ItemCollectionMetrics>,
}

impl BatchWriteItemOutput {
    /// The reply's body.
    pub fn encode(&self, shown: ReturnConsumedCapacity) -> Vec<u8> {
        let mut json = JsonWriter::object();
        write_requests(&mut json, "UnprocessedItems", &self.unprocessed);
        write_collections(&mut json, &self.collections);
        shown.write_list(&mut json, &self.consumed_capacity);
        json.finish()
    }
}

impl Request for BatchWriteItemInput {
    type Output = BatchWriteItemOutput;

    const OPERATION: Operation = Operation::BatchWriteItem;

    fn decode_reply(body: &[u8]) -> Result<Self::Output, Malformed> {
        let document = document(body)?;
        let mut output = BatchWriteItemOutput::default();
        for (table, requests) in entries(&document, "UnprocessedItems")? {
            for request in list(requests)? {
                output.unprocessed.push((table.to_owned(), WriteRequest::decode_reply(request)?));
            }
        }
        Ok(output)
    }

    fn write_members(&self, json: &mut JsonWriter) {
        write_requests(json, "RequestItems", &self.requests);
    }
}

/// Writes requests grouped by table, as the wire has them.
fn write_requests(json: &mut JsonWriter, name: &str, requests: &[(String, WriteRequest)]) {
    let mut tables: Vec<&str> = Vec::new();
    for (table, _) in requests {
        if !tables.contains(&table.as_str()) {
            tables.push(table);
        }
    }
    json.structure(name, |json| {
        for table in tables {
            let of_table = requests.iter().filter(|(name, _)| name == table);
            json.list(table, of_table, |json, (_, request)| {
                json.nested(|json| request.write_members(json));
            });
        }
    });
}
