//! BatchGetItem.

use std::sync::Arc;

use keyloom_api::Fields;
use keyloom_api::batches::{BatchGetItemInput, BatchGetItemOutput, KeysOfTable};
use keyloom_core::capacity::{Arm, ConsumedCapacity, ReadMode, Units, read_units};
use keyloom_core::error::request;
use keyloom_core::expr::Projection;
use keyloom_core::image::Stored;
use keyloom_core::{Error, Operation, Result, limits};

use crate::catalog::Table;
use crate::database::{Database, Inner};
use crate::observe::{self, Ended};
use crate::ops::items::get_item;
use crate::read;
use crate::ttl;

impl Database {
    /// Gets up to 100 items by their primary keys.
    pub fn batch_get_item(&self, input: BatchGetItemInput) -> Result<BatchGetItemOutput> {
        self.inner().on_current_tables_with(input, run)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = BatchGetItemInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    run(database, input)?.encode(shown)
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
        // Refused keys are returned as unprocessed, unless every key was refused.
        Some(error) if is_nothing_read(&output) => Err(error),
        _ => Ok(output),
    }
}

fn plan(database: &Inner, input: KeysOfTable) -> Result<Planned> {
    let projection = input.projection.alone()?;
    let table = database.catalog.table(&input.table_name)?;
    for key in &input.keys {
        table.schema.check_key(key)?;
    }
    table.check_paths(projection.iter().flat_map(Projection::paths))?;
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
    let observing = database.observe(Operation::BatchGetItem);
    let mut throttled = None;
    let keys: Vec<&[u8]> = store_keys.iter().map(Vec::as_slice).collect();
    let mut touches = Vec::new();
    let mode = if input.consistent_read { ReadMode::Strong } else { ReadMode::Eventual };
    let asked = Ended::of_read(projection.is_some(), mode);
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
        if let Some(observing) = &observing {
            // Each key for itself: what one has taken is not there for the next.
            let touch = observe::lookup(&table, store_key, Units::ZERO, 0);
            if let Err(error) = observing.admit_read(&[touch], asked) {
                throttled = Some(error);
                unprocessed.push(key);
                continue;
            }
            let touch = observe::lookup(&table, store_key, units, size);
            observing.charge(&[touch]);
            touches.push(touch);
        }
        *budget -= size;
        consumed.add_table(Arm::new(units));
        if let Some(stored) = stored {
            rows.push(get_item::row(stored, projection.as_ref())?);
        }
    }
    if let Some(observing) = observing.filter(|_| !touches.is_empty()) {
        let ended = Ended {
            returned: rows.len(),
            expired: observing.expired(|| ttl::expired(database, &table, &rows)),
            ..asked
        };
        observing.observe(&touches, ended);
    }
    output.responses.push((input.table_name.clone(), rows));
    output.consumed_capacity.push(consumed);
    if !unprocessed.is_empty() {
        output.unprocessed.push(KeysOfTable { keys: unprocessed, ..input });
    }
    Ok(throttled)
}

/// Whether no key was looked up.
fn is_nothing_read(output: &BatchGetItemOutput) -> bool {
    output.consumed_capacity.iter().all(|consumed| consumed.table.total.is_zero())
}
