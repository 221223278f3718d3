//! TransactGetItems.

use keyloom_api::Fields;
use keyloom_api::transactions::{TransactGetItemsInput, TransactGetItemsOutput};
use keyloom_core::capacity::{Arm, ConsumedCapacity, ReadMode, Units, read_units};
use keyloom_core::expr::Projection;
use keyloom_core::image::Stored;
use keyloom_core::observation::Outcome;
use keyloom_core::{Operation, Result};

use crate::catalog::Table;
use crate::database::{Database, Inner};
use crate::observe::{self, Ended};
use crate::ops::batches::batch_write_item::add_cost;
use crate::ops::items::get_item;
use crate::read;
use crate::ttl;

use super::transact_write_items::{all_or_cancelled, check_distinct};

impl Database {
    /// Gets up to 100 items as of one moment.
    pub fn transact_get_items(
        &self,
        input: TransactGetItemsInput,
    ) -> Result<TransactGetItemsOutput> {
        self.inner().on_current_tables_with(input, run)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = TransactGetItemsInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    run(database, input)?.encode(shown)
}

/// Looks up items by their tables and store keys, on one snapshot; each with its cost in a
/// transaction.
pub(crate) fn lookup_all(
    database: &Inner,
    lookups: Vec<(&Table, &[u8])>,
    is_projected: bool,
) -> Result<Vec<(Option<Stored>, Units)>> {
    let observing = database.observe(Operation::TransactGetItems);
    if let Some(observing) = observing.as_ref().filter(|observing| observing.is_gate()) {
        let touches: Vec<_> = lookups
            .iter()
            .map(|(table, key)| observe::lookup(table, key, Units::ZERO, 0))
            .collect();
        all_or_cancelled(observing.admit_all(&touches))?;
    }
    let keys: Vec<&[u8]> = lookups.iter().map(|(_, key)| *key).collect();
    let mut found = Vec::with_capacity(keys.len());
    let mut touches = Vec::new();
    for (stored, (table, key)) in read::lookup_many(database, &keys)?.into_iter().zip(&lookups) {
        let size = stored.as_ref().map_or(Ok(0), Stored::size_bytes)?;
        let units = read_units(size, ReadMode::Transactional);
        if observing.is_some() {
            touches.push(observe::lookup(table, key, units, size));
        }
        found.push((stored, units));
    }
    if let Some(observing) = observing {
        let returned = found.iter().filter(|(stored, _)| stored.is_some()).count();
        let expired = observing.expired(|| {
            let items = found.iter().map(|(stored, _)| stored.as_ref()).zip(&lookups);
            items.filter(|(stored, (table, _))| ttl::has_expired(database, table, *stored)).count()
        });
        let ended = Ended { returned, expired, is_projected, ..Ended::with(Outcome::Done) };
        observing.done(&touches, ended);
    }
    Ok(found)
}

fn run(database: &Inner, input: TransactGetItemsInput) -> Result<TransactGetItemsOutput> {
    let mut projections: Vec<Option<Projection>> = Vec::with_capacity(input.gets.len());
    for get in &input.gets {
        projections.push(get.projection.alone()?);
    }
    let mut keys: Vec<Result<Vec<u8>>> = Vec::with_capacity(input.gets.len());
    let mut tables = Vec::with_capacity(input.gets.len());
    for (get, projection) in input.gets.iter().zip(&projections) {
        let table = database.catalog.table(&get.table_name)?;
        // A key of the wrong shape cancels the transaction; an empty one refuses the request.
        let fits = table.key().has_types_of(&get.key) && get.key.len() == table.key().len();
        match table.schema.check_key(&get.key) {
            Err(error) if fits => return Err(error),
            Err(error) => keys.push(Err(error)),
            Ok(()) => keys.push(table.item_key(&get.key)),
        }
        table.check_paths(projection.iter().flat_map(Projection::paths))?;
        tables.push(table);
    }
    check_distinct(keys.iter().flatten())?;
    let keys = all_or_cancelled(keys)?;
    let mut output = TransactGetItemsOutput::default();
    let is_projected = projections.iter().any(Option::is_some);
    let lookups = tables.iter().map(AsRef::as_ref).zip(keys.iter().map(Vec::as_slice)).collect();
    let images = lookup_all(database, lookups, is_projected)?;
    for ((get, projection), (stored, units)) in input.gets.iter().zip(&projections).zip(images) {
        let mut cost = ConsumedCapacity::new(get.table_name.as_str());
        cost.add_table(Arm::transactional_read(units));
        add_cost(&mut output.consumed_capacity, cost);
        let row = stored.map(|stored| get_item::row(stored, projection.as_ref())).transpose()?;
        output.responses.push(row);
    }
    Ok(output)
}
