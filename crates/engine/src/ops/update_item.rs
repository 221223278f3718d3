//! UpdateItem.

use std::sync::Arc;

use keyloom_core::expr::{Bindings, Condition, ExpressionKind, Parameters, Projection, Update};
use keyloom_core::legacy::{self, AttributeUpdate};
use keyloom_core::{Item, Result, Str};

use crate::database::{Database, Inner};
use crate::image::Stored;
use crate::wire::{Constraints, Fields};
use crate::write::{self, Edit, Origin, Write, Written};

use super::collection::CollectionMetrics;
use super::conditional::ConditionInput;
use super::parameters::{self, ReturnValues, item_table};
use super::writing::{WriteOutput, WriteReturns};

/// What UpdateItem is asked.
#[derive(Clone, Debug, Default)]
pub struct UpdateItemInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The item's primary key.
    pub key: Item,
    /// `UpdateExpression`.
    pub update: Option<String>,
    /// The legacy `AttributeUpdates`.
    pub attribute_updates: Option<Vec<(Str, AttributeUpdate)>>,
    /// When to do it; its names and values serve the update, too.
    pub condition: ConditionInput,
    /// What to return.
    pub returns: WriteReturns,
}

impl Database {
    /// Updates an item, creating it if it does not exist.
    pub fn update_item(&self, input: UpdateItemInput) -> Result<WriteOutput> {
        run(self.inner(), input)
    }
}

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = UpdateItemInput::decode(&fields)?;
    let returns = input.returns;
    Ok(run(database, input)?.encode(returns))
}

impl UpdateItemInput {
    fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        fields.check_item("Key")?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Key"), "key");
        let returns = WriteReturns::decode(fields, &mut constraints)?;
        let mut condition = ConditionInput::decode(fields, &mut constraints)?;
        let update = fields.owned_string("UpdateExpression")?;
        let attribute_updates = super::legacy_input::attribute_updates(fields, &mut constraints)?;
        constraints.finish()?;
        let [expected, operator] = condition.legacy_parameters();
        Parameters {
            expressions: &[
                (ExpressionKind::Update, update.is_some()),
                (ExpressionKind::Condition, condition.expression.is_some()),
            ],
            legacy: &[("AttributeUpdates", attribute_updates.is_some()), expected, operator],
            names: condition.names.is_some(),
            values: fields.has("ExpressionAttributeValues"),
        }
        .check()?;
        let key = fields.item("Key")?.unwrap_or_default();
        condition.decode_values(fields)?;
        Ok(Self {
            table_name: table_name.to_owned(),
            key,
            update,
            attribute_updates,
            condition,
            returns,
        })
    }

    /// The update and the condition, in the order in which AWS reads them.
    fn expressions(&self) -> Result<(Update, Option<Condition>)> {
        if self.update.is_none() && self.condition.expression.is_none() {
            let update =
                legacy::attribute_updates(self.attribute_updates.clone().unwrap_or_default())?;
            return Ok((update, self.condition.legacy_condition()?));
        }
        let ConditionInput { names, values, expression, .. } = &self.condition;
        let mut bindings = Bindings::new(names.clone(), values.clone())?;
        let update = match &self.update {
            Some(text) => bindings.update(text)?,
            None => Update::default(),
        };
        let condition = expression.as_ref().map(|text| bindings.condition(text)).transpose()?;
        bindings.finish()?;
        Ok((update, condition))
    }
}

fn run(database: &Inner, input: UpdateItemInput) -> Result<WriteOutput> {
    let (update, condition) = input.expressions()?;
    let table = database.catalog.table(&input.table_name)?;
    table.schema.check_key(&input.key)?;
    update
        .check_excludes_keys(table.key().attributes().map(|attribute| attribute.name.as_str()))?;
    let metrics = CollectionMetrics::wanted(input.returns.collection_metrics, &table, &input.key);
    let targets = update.targets().clone();
    let write = Write {
        table,
        key: input.key,
        condition,
        edit: Edit::Update(update),
        origin: Origin::User,
    };
    let mut written = write::one(database, write, input.returns.item_on_failure)?;
    let cost = std::mem::take(&mut written.cost);
    Ok(WriteOutput {
        attributes: returned(written, input.returns.values, &targets)?,
        consumed_capacity: parameters::consumed(&input.table_name, cost),
        collection: metrics.map(|metrics| metrics.measure(database)).transpose()?,
    })
}

/// The attributes that `ReturnValues` asks for.
pub(crate) fn returned(
    written: Written,
    return_values: ReturnValues,
    targets: &Projection,
) -> Result<Option<Item>> {
    let old = || written.old.clone().map(Stored::into_item).transpose();
    let part = |item: &Item| Some(targets.apply(item)).filter(|part| !part.is_empty());
    Ok(match return_values {
        ReturnValues::None => None,
        ReturnValues::AllOld => old()?,
        ReturnValues::UpdatedOld => old()?.as_ref().and_then(part),
        ReturnValues::AllNew => written.new.map(Arc::unwrap_or_clone),
        ReturnValues::UpdatedNew => written.new.as_deref().and_then(part),
    })
}
