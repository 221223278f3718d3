//! DeleteItem.

use keyloom_api::{Constraints, Fields};
use keyloom_core::error::request;
use keyloom_core::expr::Projection;
use keyloom_core::{Item, Result};

use crate::database::{Database, Inner};
use crate::write::Write;

use super::collection::CollectionMetrics;
use super::conditional::ConditionInput;
use super::parameters::{ReturnValues, item_table};
use super::writing::{PlannedWrite, WriteAnswer, WriteOutput, WriteReturns};

/// What DeleteItem is asked.
#[derive(Clone, Debug, Default)]
pub struct DeleteItemInput {
    /// The table's name or ARN.
    pub table_name: String,
    /// The item's primary key.
    pub key: Item,
    /// When to do it.
    pub condition: ConditionInput,
    /// What to return.
    pub returns: WriteReturns,
}

impl Database {
    /// Deletes an item, if it exists.
    pub fn delete_item(&self, input: DeleteItemInput) -> Result<WriteOutput> {
        plan(self.inner(), input)?.run(self.inner())
    }
}

pub(crate) fn plan_request(database: &Inner, fields: Fields<'_>) -> Result<PlannedWrite> {
    plan(database, DeleteItemInput::decode(&fields)?)
}

impl DeleteItemInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Key"), "key");
        let returns = WriteReturns::decode(fields, &mut constraints);
        let mut condition = ConditionInput::decode(fields, &mut constraints)?;
        constraints.finish()?;
        condition.check_parameters(fields)?;
        let key = fields.item("Key")?.unwrap_or_default();
        condition.decode_values(fields)?;
        Ok(Self { table_name: table_name.to_owned(), key, condition, returns })
    }
}

fn plan(database: &Inner, input: DeleteItemInput) -> Result<PlannedWrite> {
    let DeleteItemInput { table_name, key, condition, returns } = input;
    if !matches!(returns.values, ReturnValues::None | ReturnValues::AllOld) {
        return Err(request::return_values_not_allowed());
    }
    let condition = condition.alone()?;
    let table = database.catalog.table(&table_name)?;
    table.schema.check_key(&key)?;
    let write = Write::delete(table, key, condition)?;
    let metrics = CollectionMetrics::wanted(returns.collection_metrics, &write);
    let answer = WriteAnswer { table_name, returns, metrics, targets: Projection::default() };
    Ok(PlannedWrite { write, answer })
}
