//! PutItem.

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::error::request;
use keyloom_core::schema::KeyContext;
use keyloom_core::size::item_size;
use keyloom_core::{Item, Result, limits};

use crate::database::{Database, Inner};
use crate::wire::{Constraints, Fields, JsonWriter};
use crate::write::{self, Edit, Origin, Write};

use super::collection::CollectionMetrics;
use super::conditional::ConditionInput;
use super::parameters::{
    self, ReturnConsumedCapacity, ReturnValues, item_table, wants_collection_metrics,
    wants_item_on_failure,
};

/// What PutItem is asked.
#[derive(Clone, Debug, Default)]
pub struct PutItemInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The item.
    pub item: Item,
    /// When to do it.
    pub condition: ConditionInput,
    /// What to return: nothing, or the item before.
    pub return_values: ReturnValues,
    /// Whether a failed condition returns the item.
    pub return_item_on_failure: bool,
    /// What to say of the capacity.
    pub return_consumed_capacity: ReturnConsumedCapacity,
    /// Whether to say how large the item collection is.
    pub return_collection_metrics: bool,
}

/// What PutItem answers.
#[derive(Clone, Debug, Default)]
pub struct PutItemOutput {
    /// The item before, if it was asked for and there was one.
    pub attributes: Option<Item>,
    /// What it cost.
    pub consumed_capacity: ConsumedCapacity,
    pub(crate) collection: Option<CollectionMetrics>,
}

impl Database {
    /// Puts an item, replacing any with the same key.
    pub fn put_item(&self, input: PutItemInput) -> Result<PutItemOutput> {
        run(self.inner(), input)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = PutItemInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    let output = run(database, input)?;
    let mut json = JsonWriter::object();
    json.optional_item("Attributes", output.attributes.as_ref());
    shown.write(&mut json, &output.consumed_capacity);
    CollectionMetrics::write(&mut json, output.collection.as_ref());
    Ok(json.finish())
}

impl PutItemInput {
    fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        fields.check_item("Item")?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Item"), "item");
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints)?;
        let return_collection_metrics = wants_collection_metrics(fields, &mut constraints)?;
        let return_values = ReturnValues::decode(fields, &mut constraints)?;
        let return_item_on_failure = wants_item_on_failure(fields, &mut constraints)?;
        let mut condition = ConditionInput::decode(fields, &mut constraints)?;
        constraints.finish()?;
        condition.check_parameters(fields)?;
        let item = fields.item("Item")?.unwrap_or_default();
        condition.decode_values(fields)?;
        if !matches!(return_values, ReturnValues::None | ReturnValues::AllOld) {
            return Err(request::return_values_not_allowed());
        }
        Ok(Self {
            table_name: table_name.to_owned(),
            item,
            condition,
            return_values,
            return_item_on_failure,
            return_consumed_capacity,
            return_collection_metrics,
        })
    }
}

fn run(database: &Inner, input: PutItemInput) -> Result<PutItemOutput> {
    let PutItemInput { table_name, item, condition, .. } = input;
    let condition = condition.alone()?;
    let table = database.catalog.table(&table_name)?;
    table.schema.check_item(&item, KeyContext::Put)?;
    if item_size(&item) > limits::MAX_ITEM_BYTES {
        return Err(request::item_too_large());
    }
    let key = table.schema.key_of(&item)?;
    let metrics = CollectionMetrics::wanted(input.return_collection_metrics, &table, &key);
    let write = Write { table, key, condition, edit: Edit::Put(item.into()), origin: Origin::User };
    let written = write::one(database, write, input.return_item_on_failure)?;
    let old = written.old.filter(|_| input.return_values == ReturnValues::AllOld);
    Ok(PutItemOutput {
        attributes: old.map(crate::image::Stored::into_item).transpose()?,
        consumed_capacity: parameters::consumed(&table_name, written.cost),
        collection: metrics.map(|metrics| metrics.measure(database)).transpose()?,
    })
}
