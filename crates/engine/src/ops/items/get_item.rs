//! GetItem.

use keyloom_api::Fields;
use keyloom_api::items::{GetItemInput, GetItemOutput};
use keyloom_core::capacity::{Arm, ConsumedCapacity, ReadMode, Units, read_units};
use keyloom_core::expr::Projection;
use keyloom_core::image::{Row, Stored};
use keyloom_core::{Operation, Result};

use crate::catalog::Table;
use crate::database::{Database, Inner};
use crate::observe::{self, Ended};
use crate::read;
use crate::ttl;

impl Database {
    /// Gets an item by its primary key.
    pub fn get_item(&self, input: GetItemInput) -> Result<GetItemOutput> {
        self.inner().on_current_tables_with(input, run)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = GetItemInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    run(database, input)?.encode(shown)
}

fn run(database: &Inner, input: GetItemInput) -> Result<GetItemOutput> {
    let projection = input.projection.alone()?;
    let table = database.catalog.table(&input.table_name)?;
    table.schema.check_key(&input.key)?;
    table.check_paths(projection.iter().flat_map(Projection::paths))?;
    let key = table.item_key(&input.key)?;
    let mode = if input.consistent_read { ReadMode::Strong } else { ReadMode::Eventual };
    let (stored, units) = observed_lookup(database, &table, &key, mode, projection.is_some())?;
    let mut consumed_capacity = ConsumedCapacity::new(input.table_name);
    consumed_capacity.add_table(Arm::new(units));
    let row = stored.map(|stored| row(stored, projection.as_ref())).transpose()?;
    Ok(GetItemOutput { row, consumed_capacity })
}

/// Looks up one item of a table by its store key; returns the item with its cost.
pub(crate) fn observed_lookup(
    database: &Inner,
    table: &Table,
    key: &[u8],
    mode: ReadMode,
    is_projected: bool,
) -> Result<(Option<Stored>, Units)> {
    let observing = database.observe(Operation::GetItem);
    let asked = Ended::of_read(is_projected, mode);
    if let Some(observing) = &observing {
        observing.admit_read(&[observe::lookup(table, key, Units::ZERO, 0)], asked)?;
    }
    let stored = read::lookup(database, key)?;
    let size = stored.as_ref().map_or(Ok(0), Stored::size_bytes)?;
    let units = read_units(size, mode);
    if let Some(observing) = observing {
        let ended = Ended {
            returned: usize::from(stored.is_some()),
            expired: observing
                .expired(|| usize::from(ttl::has_expired(database, table, stored.as_ref()))),
            ..asked
        };
        observing.done(&[observe::lookup(table, key, units, size)], ended);
    }
    Ok((stored, units))
}

/// A stored item as a request sees it through its projection.
pub(crate) fn row(stored: Stored, projection: Option<&Projection>) -> Result<Row> {
    Ok(match projection {
        Some(projection) => Row::Item(projection.apply(stored.item()?)),
        None => Row::Stored(stored),
    })
}
