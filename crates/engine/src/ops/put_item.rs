//! PutItem.

use keyloom_api::{Constraints, Fields};
use keyloom_core::error::request;
use keyloom_core::expr::Projection;
use keyloom_core::schema::KeyContext;
use keyloom_core::{Item, Result};

use crate::database::{Database, Inner};
use crate::write::Write;

use super::collection::CollectionMetrics;
use super::conditional::ConditionInput;
use super::parameters::{ReturnValues, item_table};
use super::writing::{PlannedWrite, WriteAnswer, WriteOutput, WriteReturns};

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
        plan(self.inner(), input)?.run(self.inner())
    }
}

pub(crate) fn plan_request(database: &Inner, fields: Fields<'_>) -> Result<PlannedWrite> {
    plan(database, PutItemInput::decode(&fields)?)
}

impl PutItemInput {
    pub(super) fn decode(fields: &Fields<'_>) -> Result<Self> {
        let table_name = item_table(fields)?;
        let mut constraints = Constraints::new();
        constraints.required(fields.has("Item"), "item");
        let returns = WriteReturns::decode(fields, &mut constraints);
        let mut condition = ConditionInput::decode(fields, &mut constraints)?;
        constraints.finish()?;
        condition.check_parameters(fields)?;
        let item = fields.item("Item")?.unwrap_or_default();
        condition.decode_values(fields)?;
        Ok(Self { table_name: table_name.to_owned(), item, condition, returns })
    }
}

fn plan(database: &Inner, input: PutItemInput) -> Result<PlannedWrite> {
    let PutItemInput { table_name, item, condition, returns } = input;
    if !matches!(returns.values, ReturnValues::None | ReturnValues::AllOld) {
        return Err(request::return_values_not_allowed());
    }
    let condition = condition.alone()?;
    let table = database.catalog.table(&table_name)?;
    table.schema.check_item(&item, KeyContext::Put)?;
    let write = Write::put(table, item, condition)?;
    let metrics = CollectionMetrics::wanted(returns.collection_metrics, &write);
    let answer = WriteAnswer { table_name, returns, metrics, targets: Projection::default() };
    Ok(PlannedWrite { write, answer })
}
