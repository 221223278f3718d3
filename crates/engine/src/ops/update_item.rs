//! UpdateItem.

use keyloom_api::{Constraints, Fields};
use keyloom_core::expr::{Bindings, Condition, ExpressionKind, Parameters, Update};
use keyloom_core::legacy::{self, AttributeUpdate};
use keyloom_core::{Item, Result, Str};

use crate::database::{Database, Inner};
use crate::write::Write;

use super::collection::CollectionMetrics;
use super::conditional::ConditionInput;
use super::parameters::item_table;
use super::writing::{PlannedWrite, WriteAnswer, WriteOutput, WriteReturns};

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
        plan(self.inner(), input)?.run(self.inner())
    }
}

pub(crate) fn plan_request(database: &Inner, fields: Fields<'_>) -> Result<PlannedWrite> {
    plan(database, UpdateItemInput::decode(&fields)?)
}

impl UpdateItemInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Key"), "key");
        let returns = WriteReturns::decode(fields, &mut constraints);
        let mut condition = ConditionInput::decode(fields, &mut constraints)?;
        let update = fields.owned_string("UpdateExpression");
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

fn plan(database: &Inner, input: UpdateItemInput) -> Result<PlannedWrite> {
    let (update, condition) = input.expressions()?;
    let UpdateItemInput { table_name, key, returns, .. } = input;
    let table = database.catalog.table(&table_name)?;
    table.schema.check_key(&key)?;
    let targets = update.targets().clone();
    let write = Write::update(table, key, condition, update)?;
    let metrics = CollectionMetrics::wanted(returns.collection_metrics, &write);
    let answer = WriteAnswer { table_name, returns, metrics, targets };
    Ok(PlannedWrite { write, answer })
}
