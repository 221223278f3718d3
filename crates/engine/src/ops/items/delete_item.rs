//! DeleteItem.

use keyloom_api::Fields;
use keyloom_api::items::{DeleteItemInput, WriteOutput};
use keyloom_api::parameters::ReturnValues;
use keyloom_core::Result;
use keyloom_core::error::request;

use crate::database::{Database, Inner};
use crate::write::Write;

use super::collection::CollectionMetrics;
use super::write::{PlannedWrite, WriteAnswer};

impl Database {
    /// Deletes an item, if it exists.
    pub fn delete_item(&self, input: DeleteItemInput) -> Result<WriteOutput> {
        let run = |database: &Inner, input| plan(database, input)?.run(database);
        self.inner().on_current_tables_with(input, run)
    }
}

pub(crate) fn plan_request(database: &Inner, fields: Fields<'_>) -> Result<PlannedWrite> {
    plan(database, DeleteItemInput::decode(&fields)?)
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
    let answer = WriteAnswer { table_name, returns, metrics, targets: None };
    Ok(PlannedWrite { write, answer })
}
