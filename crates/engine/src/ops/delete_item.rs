//! DeleteItem.

use keyloom_core::capacity::ConsumedCapacity;
use keyloom_core::error::request;
use keyloom_core::{Item, Result};

use crate::database::{Database, Inner};
use crate::image::Stored;
use crate::wire::{Constraints, Fields, JsonWriter};
use crate::write::{self, Edit, Origin, Write};

use super::collection::CollectionMetrics;
use super::conditional::ConditionInput;
use super::parameters::{
    self, ReturnConsumedCapacity, ReturnValues, required_table, wants_collection_metrics,
    wants_item_on_failure,
};

/// What DeleteItem is asked.
#[derive(Clone, Debug, Default)]
pub struct DeleteItemInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The item's primary key.
    pub key: Item,
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

/// What DeleteItem answers.
#[derive(Clone, Debug, Default)]
pub struct DeleteItemOutput {
    /// The item before, if it was asked for and there was one.
    pub attributes: Option<Item>,
    /// What it cost.
    pub consumed_capacity: ConsumedCapacity,
    pub(crate) collection: Option<CollectionMetrics>,
}

impl Database {
    /// Deletes an item, if it exists.
    pub fn delete_item(&self, input: DeleteItemInput) -> Result<DeleteItemOutput> {
        run(self.inner(), input)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = DeleteItemInput::decode(&fields)?;
    let shown = input.return_consumed_capacity;
    let output = run(database, input)?;
    let mut json = JsonWriter::object();
    json.optional_item("Attributes", output.attributes.as_ref());
    shown.write(&mut json, &output.consumed_capacity);
    CollectionMetrics::write(&mut json, output.collection.as_ref());
    Ok(json.finish())
}

impl DeleteItemInput {
    fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = required_table(fields)?;
        fields.check_item("Key")?;
        Constraints::only_table_name(table_name)?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Key"), "key");
        let return_consumed_capacity = ReturnConsumedCapacity::decode(fields, &mut constraints)?;
        let return_collection_metrics = wants_collection_metrics(fields, &mut constraints)?;
        let return_values = ReturnValues::decode(fields, &mut constraints)?;
        let return_item_on_failure = wants_item_on_failure(fields, &mut constraints)?;
        let mut condition = ConditionInput::decode(fields, &mut constraints)?;
        constraints.finish()?;
        condition.check_parameters(fields)?;
        let key = fields.item("Key")?.unwrap_or_default();
        condition.decode_values(fields)?;
        if !matches!(return_values, ReturnValues::None | ReturnValues::AllOld) {
            return Err(request::return_values_not_allowed());
        }
        Ok(Self {
            table_name: table_name.to_owned(),
            key,
            condition,
            return_values,
            return_item_on_failure,
            return_consumed_capacity,
            return_collection_metrics,
        })
    }
}

fn run(database: &Inner, input: DeleteItemInput) -> Result<DeleteItemOutput> {
    let DeleteItemInput { table_name, key, condition, .. } = input;
    let condition = condition.alone()?;
    let table = database.catalog.table(&table_name)?;
    table.schema.check_key(&key)?;
    let metrics = CollectionMetrics::wanted(input.return_collection_metrics, &table, &key);
    let write = Write { table, key, condition, edit: Edit::Delete, origin: Origin::User };
    let written = write::one(database, write, input.return_item_on_failure)?;
    let old = written.old.filter(|_| input.return_values == ReturnValues::AllOld);
    Ok(DeleteItemOutput {
        attributes: old.map(Stored::into_item).transpose()?,
        consumed_capacity: parameters::consumed(&table_name, written.cost),
        collection: metrics.map(|metrics| metrics.measure(database)).transpose()?,
    })
}
