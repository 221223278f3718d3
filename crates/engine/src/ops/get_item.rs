//! GetItem.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::capacity::{Arm, ConsumedCapacity, ReadMode, Units, read_units};
use keyloom_core::expr::Projection;
use keyloom_core::observation::{Operation, Outcome};
use keyloom_core::{Item, Result};

use crate::catalog::Table;
use crate::database::{Database, Inner};
use crate::read;
use crate::ttl;
use crate::watch::{self, Ended};
use keyloom_core::image::{Row, Stored};

use super::parameters::{ReturnConsumedCapacity, item_table};
use super::projected::ProjectionInput;

/// What GetItem is asked.
#[derive(Clone, Debug, Default)]
pub struct GetItemInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The item's primary key.
    pub key: Item,
    /// Whether the read is strongly consistent. All reads here are; it only costs more.
    pub consistent_read: bool,
    /// Which attributes to return.
    pub projection: ProjectionInput,
    /// What to say of the capacity.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

/// What GetItem answers.
#[derive(Debug, Default)]
pub struct GetItemOutput {
    row: Option<Row>,
    /// What it cost.
    pub consumed_capacity: ConsumedCapacity,
}

impl GetItemOutput {
    /// The item, if it exists.
    pub fn into_item(self) -> Result<Option<Item>> {
        self.row.map(Row::into_item).transpose()
    }
}

impl Database {
    /// Gets an item by its primary key.
    pub fn get_item(&self, input: GetItemInput) -> Result<GetItemOutput> {
        run(self.inner(), input)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = GetItemInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    let output = run(database, input)?;
    let mut json = JsonWriter::object_of(output.row.as_ref().map_or(0, Row::estimated_json_bytes));
    if let Some(row) = &output.row {
        json.key("Item");
        row.write_json(json.buffer())?;
    }
    shown.write(&mut json, &output.consumed_capacity);
    Ok(json.finish())
}

impl GetItemInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Key"), "key");
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        let projection = ProjectionInput::decode(fields, &mut constraints);
        constraints.finish()?;
        projection.check_parameters()?;
        Ok(Self {
            table_name: table_name.to_owned(),
            key: fields.item("Key")?.unwrap_or_default(),
            consistent_read: fields.boolean("ConsistentRead").unwrap_or(false),
            projection,
            return_consumed_capacity,
        })
    }
}

fn run(database: &Inner, input: GetItemInput) -> Result<GetItemOutput> {
    let projection = input.projection.alone()?;
    let table = database.catalog.table(&input.table_name)?;
    table.schema.check_key(&input.key)?;
    let key = table.item_key(&input.key)?;
    let mode = if input.consistent_read { ReadMode::Strong } else { ReadMode::Eventual };
    let (stored, units) = watched_lookup(database, &table, &key, mode, projection.is_some())?;
    let mut consumed_capacity = ConsumedCapacity::new(input.table_name);
    consumed_capacity.add_table(Arm::new(units));
    let row = stored.map(|stored| row(stored, projection.as_ref())).transpose()?;
    Ok(GetItemOutput { row, consumed_capacity })
}

/// Looks up one item of a table by its store key; the item with its price.
pub(crate) fn watched_lookup(
    database: &Inner,
    table: &Table,
    key: &[u8],
    mode: ReadMode,
    is_projected: bool,
) -> Result<(Option<Stored>, Units)> {
    let watching = database.watch(Operation::GetItem);
    if let Some(watching) = &watching {
        watching.admit_or_error(&[watch::lookup(table, key, Units::ZERO, 0)])?;
    }
    let stored = read::lookup(database, key)?;
    let size = stored.as_ref().map_or(Ok(0), Stored::size_bytes)?;
    let units = read_units(size, mode);
    if let Some(watching) = watching {
        let ended = Ended {
            returned: usize::from(stored.is_some()),
            expired: watching
                .expired(|| usize::from(ttl::has_expired(database, table, stored.as_ref()))),
            is_projected,
            is_consistent: mode == ReadMode::Strong,
            ..Ended::with(Outcome::Done)
        };
        watching.done(&[watch::lookup(table, key, units, size)], ended);
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
