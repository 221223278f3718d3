//! GetItem.

use keyloom_core::capacity::{Arm, ConsumedCapacity, ReadMode, read_units};
use keyloom_core::expr::Projection;
use keyloom_core::{Item, Result};

use crate::database::{Database, Inner};
use crate::image::Stored;
use crate::read::{self, Row};
use crate::wire::{Constraints, Fields, JsonWriter};

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
    let mut json = JsonWriter::object();
    if let Some(row) = &output.row {
        json.key("Item");
        row.write_json(json.buffer())?;
    }
    shown.write(&mut json, &output.consumed_capacity);
    Ok(json.finish())
}

impl GetItemInput {
    fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        fields.check_item("Key")?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Key"), "key");
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints)?;
        let projection = ProjectionInput::decode(fields, &mut constraints)?;
        constraints.finish()?;
        projection.check_parameters()?;
        Ok(Self {
            table_name: table_name.to_owned(),
            key: fields.item("Key")?.unwrap_or_default(),
            consistent_read: fields.boolean("ConsistentRead")?.unwrap_or(false),
            projection,
            return_consumed_capacity,
        })
    }
}

fn run(database: &Inner, input: GetItemInput) -> Result<GetItemOutput> {
    let projection = input.projection.alone()?;
    let table = database.catalog.table(&input.table_name)?;
    table.schema.check_key(&input.key)?;
    let stored = read::lookup(database, &table.item_key(&input.key)?)?;
    let size = stored.as_ref().map_or(Ok(0), Stored::size_bytes)?;
    let mode = if input.consistent_read { ReadMode::Strong } else { ReadMode::Eventual };
    let mut consumed_capacity = ConsumedCapacity::new(input.table_name);
    consumed_capacity.add_table(Arm::new(read_units(size, mode)));
    let row = stored.map(|stored| row(stored, projection.as_ref())).transpose()?;
    Ok(GetItemOutput { row, consumed_capacity })
}

/// A stored item as a request sees it through its projection.
pub(crate) fn row(stored: Stored, projection: Option<&Projection>) -> Result<Row> {
    Ok(match projection {
        Some(projection) => Row::Item(projection.apply(stored.item()?)),
        None => Row::Stored(stored),
    })
}
