//! TransactGetItems.

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

use super::batch_write_item::add_cost;
use super::get_item;
use super::parameters::ReturnConsumedCapacity;
use super::projected::ProjectionInput;
use super::transact_write_items::{all_or_cancelled, check_count, check_distinct};

/// What TransactGetItems is asked.
#[derive(Clone, Debug, Default)]
pub struct TransactGetItemsInput {
    /// The items to get, all as of one moment.
    pub gets: Vec<TransactGet>,
    /// What to say of the capacity.
    pub return_consumed_capacity: ReturnConsumedCapacity,
}

/// One item to get.
#[derive(Clone, Debug, Default)]
pub struct TransactGet {
    /// The table's name or ARN.
    pub table_name: String,
    /// The primary key.
    pub key: Item,
    /// Which attributes to return.
    pub projection: ProjectionInput,
}

/// What TransactGetItems answers.
#[derive(Debug, Default)]
pub struct TransactGetItemsOutput {
    responses: Vec<Option<Row>>,
    /// What it cost, table by table.
    pub consumed_capacity: Vec<ConsumedCapacity>,
}

impl TransactGetItemsOutput {
    /// The items in the order of the request; none for one that does not exist.
    pub fn into_items(self) -> Result<Vec<Option<Item>>> {
        self.responses.into_iter().map(|row| row.map(Row::into_item).transpose()).collect()
    }
}

impl Database {
    /// Gets up to 100 items as of one moment.
    pub fn transact_get_items(
        &self,
        input: TransactGetItemsInput,
    ) -> Result<TransactGetItemsOutput> {
        run(self.inner(), input)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = TransactGetItemsInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    let output = run(database, input)?;
    let mut outcome = Ok(());
    let mut json = JsonWriter::object();
    shown.write_list(&mut json, &output.consumed_capacity);
    json.list("Responses", &output.responses, |json, row| {
        json.nested(|json| {
            if let Some(row) = row {
                json.key("Item");
                if outcome.is_ok() {
                    outcome = row.write_json(json.buffer());
                }
            }
        });
    });
    outcome?;
    Ok(json.finish())
}

impl TransactGetItemsInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Result<Self> {
        let list = fields.structures("TransactItems");
        let mut constraints = Constraints::new();
        constraints.required(list.is_some(), "transactItems");
        let list = list.unwrap_or_default();
        if fields.has("TransactItems") {
            check_count(&mut constraints, list.len());
        }
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints);
        let mut gets = Vec::with_capacity(list.len());
        for (position, element) in list.iter().enumerate() {
            let path = format!("transactItems.{}.member.get", position + 1);
            let get = element.structure("Get");
            constraints.required(get.is_some(), &path);
            let Some(get) = get else { continue };
            let table_name = get.string("TableName");
            constraints.table_name_at(table_name, &format!("{path}.tableName"));
            constraints.required(get.has("Key"), &format!("{path}.key"));
            gets.push(TransactGet {
                table_name: table_name.unwrap_or_default().to_owned(),
                key: get.item("Key")?.unwrap_or_default(),
                projection: ProjectionInput::decode(&get, &mut constraints),
            });
        }
        constraints.finish()?;
        Ok(Self { gets, return_consumed_capacity })
    }
}

/// Looks up items by their tables and store keys, as of one moment; each with its price in a
/// transaction.
pub(crate) fn lookup_all(
    database: &Inner,
    lookups: Vec<(&Table, &[u8])>,
    is_projected: bool,
) -> Result<Vec<(Option<Stored>, Units)>> {
    let watching = database.watch(Operation::TransactGetItems);
    if let Some(watching) = watching.as_ref().filter(|watching| watching.is_gate()) {
        let touches: Vec<_> =
            lookups.iter().map(|(table, key)| watch::lookup(table, key, Units::ZERO, 0)).collect();
        all_or_cancelled(watching.admit_all(&touches))?;
    }
    let keys: Vec<&[u8]> = lookups.iter().map(|(_, key)| *key).collect();
    let mut found = Vec::with_capacity(keys.len());
    let mut touches = Vec::new();
    for (stored, (table, key)) in read::lookup_many(database, &keys)?.into_iter().zip(&lookups) {
        let size = stored.as_ref().map_or(Ok(0), Stored::size_bytes)?;
        let units = read_units(size, ReadMode::Transactional);
        if watching.is_some() {
            touches.push(watch::lookup(table, key, units, size));
        }
        found.push((stored, units));
    }
    if let Some(watching) = watching {
        let returned = found.iter().filter(|(stored, _)| stored.is_some()).count();
        let expired = watching.expired(|| {
            let items = found.iter().map(|(stored, _)| stored.as_ref()).zip(&lookups);
            items.filter(|(stored, (table, _))| ttl::has_expired(database, table, *stored)).count()
        });
        let ended = Ended { returned, expired, is_projected, ..Ended::with(Outcome::Done) };
        watching.done(&touches, ended);
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
    for get in &input.gets {
        let table = database.catalog.table(&get.table_name)?;
        // A key of the wrong shape cancels the transaction; an empty one refuses the request.
        let fits = table.key().has_types_of(&get.key) && get.key.len() == table.key().len();
        match table.schema.check_key(&get.key) {
            Err(error) if fits => return Err(error),
            Err(error) => keys.push(Err(error)),
            Ok(()) => keys.push(table.item_key(&get.key)),
        }
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
