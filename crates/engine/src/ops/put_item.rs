//! PutItem.

use keyloom_core::error::request;
use keyloom_core::schema::KeyContext;
use keyloom_core::size::item_size;
use keyloom_core::{Item, Result, limits};

use crate::database::{Database, Inner};
use crate::wire::{Constraints, Fields};
use crate::write::{self, Edit, Origin, Write};

use super::collection::CollectionMetrics;
use super::conditional::ConditionInput;
use super::parameters::{self, ReturnValues, item_table};
use super::writing::{WriteOutput, WriteReturns};

/// What PutItem is asked.
#[derive(Clone, Debug, Default)]
pub struct PutItemInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The item.
    pub item: Item,
    /// When to do it.
    pub condition: ConditionInput,
    /// What to return.
    pub returns: WriteReturns,
}

impl Database {
    /// Puts an item, replacing any with the same key.
    pub fn put_item(&self, input: PutItemInput) -> Result<WriteOutput> {
        run(self.inner(), input)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = PutItemInput::decode(&fields)?;
    let returns = input.returns;
    Ok(run(database, input)?.encode(returns))
}

impl PutItemInput {
    fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        fields.check_item("Item")?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Item"), "item");
        let returns = WriteReturns::decode(fields, &mut constraints)?;
        let mut condition = ConditionInput::decode(fields, &mut constraints)?;
        constraints.finish()?;
        condition.check_parameters(fields)?;
        let item = fields.item("Item")?.unwrap_or_default();
        condition.decode_values(fields)?;
        if !matches!(returns.values, ReturnValues::None | ReturnValues::AllOld) {
            return Err(request::return_values_not_allowed());
        }
        Ok(Self { table_name: table_name.to_owned(), item, condition, returns })
    }
}

fn run(database: &Inner, input: PutItemInput) -> Result<WriteOutput> {
    let PutItemInput { table_name, item, condition, .. } = input;
    let condition = condition.alone()?;
    let table = database.catalog.table(&table_name)?;
    table.schema.check_item(&item, KeyContext::Put)?;
    if item_size(&item) > limits::MAX_ITEM_BYTES {
        return Err(request::item_too_large());
    }
    let key = table.schema.key_of(&item)?;
    let metrics = CollectionMetrics::wanted(input.returns.collection_metrics, &table, &key);
    let write = Write { table, key, condition, edit: Edit::Put(item.into()), origin: Origin::User };
    let written = write::one(database, write, input.returns.item_on_failure)?;
    let old = written.old.filter(|_| input.returns.values == ReturnValues::AllOld);
    Ok(WriteOutput {
        attributes: old.map(crate::image::Stored::into_item).transpose()?,
        consumed_capacity: parameters::consumed(&table_name, written.cost),
        collection: metrics.map(|metrics| metrics.measure(database)).transpose()?,
    })
}
