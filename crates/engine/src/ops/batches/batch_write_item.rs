//! BatchWriteItem.

use keyloom_api::batches::{BatchWriteItemInput, BatchWriteItemOutput, WriteRequest};
use keyloom_api::{Fields, parameters};
use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::error::request;
use keyloom_core::schema::KeyContext;
use keyloom_core::{Error, Result};

use crate::database::{Database, Inner};
use crate::ops::items::collection::CollectionMetrics;
use crate::write::{self, Write};

impl Database {
    /// Puts and deletes up to 25 items, each for itself.
    pub fn batch_write_item(&self, input: BatchWriteItemInput) -> Result<BatchWriteItemOutput> {
        self.inner().on_current_tables_with(input, run)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = BatchWriteItemInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    Ok(run(database, input)?.encode(shown))
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
    let mut collections = Vec::new();
    let results = write::each(database, writes)?;
    for ((request, written), metrics) in input.requests.into_iter().zip(results).zip(metrics) {
        let Some(written) = written else {
            output.unprocessed.push(request);
            continue;
        };
        let cost = parameters::consumed(&request.0, written.cost);
        add_cost(&mut output.consumed_capacity, cost);
        CollectionMetrics::add(&mut collections, metrics);
    }
    output.collections = CollectionMetrics::measure_all(collections, database)?;
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
