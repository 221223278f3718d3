//! UpdateItem.

use keyloom_api::Fields;
use keyloom_api::items::{UpdateItemInput, WriteOutput};
use keyloom_core::Result;

use crate::database::{Database, Inner};
use crate::write::Write;

use super::collection::CollectionMetrics;
use super::write::{PlannedWrite, WriteAnswer};

impl Database {
    /// Updates an item, creating it if it does not exist.
    pub fn update_item(&self, input: UpdateItemInput) -> Result<WriteOutput> {
        let run = |database: &Inner, input| plan(database, input)?.run(database);
        self.inner().on_current_tables_with(input, run)
    }
}

pub(crate) fn plan_request(database: &Inner, fields: Fields<'_>) -> Result<PlannedWrite> {
    plan(database, UpdateItemInput::decode(&fields)?)
}

fn plan(database: &Inner, input: UpdateItemInput) -> Result<PlannedWrite> {
    let UpdateItemInput { table_name, key, update, attribute_updates, condition, returns } = input;
    let (update, condition) = condition.with_update(update, attribute_updates)?;
    let table = database.catalog.table(&table_name)?;
    table.schema.check_key(&key)?;
    let targets = returns.values.shows_changes().then(|| update.targets());
    let write = Write::update(table, key, condition, update)?;
    let metrics = CollectionMetrics::wanted(returns.collection_metrics, &write);
    let answer = WriteAnswer { table_name, returns, metrics, targets };
    Ok(PlannedWrite { write, answer })
}
