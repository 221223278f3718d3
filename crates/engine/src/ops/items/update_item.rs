//! UpdateItem.

use keyloom_api::Fields;
use keyloom_api::items::{UpdateItemInput, WriteOutput};
use keyloom_core::Result;

use crate::database::{Database, Inner};
use crate::write::{Edit, Origin, Write};

use super::collection::CollectionMetrics;
use super::write::{PlannedWrite, WriteAnswer};

impl Database {
    /// Updates an item, creating it if it does not exist.
    pub fn update_item(&self, input: UpdateItemInput) -> Result<WriteOutput> {
        plan(self.inner(), input)?.run(self.inner())
    }
}

pub(crate) fn plan_request(database: &Inner, fields: Fields<'_>) -> Result<PlannedWrite> {
    plan(database, UpdateItemInput::decode(&fields)?)
}

fn plan(database: &Inner, input: UpdateItemInput) -> Result<PlannedWrite> {
    let (update, condition) = input.expressions()?;
    let UpdateItemInput { table_name, key, returns, .. } = input;
    let table = database.catalog.table(&table_name)?;
    table.schema.check_key(&key)?;
    update
        .check_excludes_keys(table.key().attributes().map(|attribute| attribute.name.as_str()))?;
    let metrics = CollectionMetrics::wanted(returns.collection_metrics, &table, &key);
    let targets = update.targets().clone();
    let write = Write { table, key, condition, edit: Edit::Update(update), origin: Origin::User };
    let answer = WriteAnswer { table_name, returns, metrics, targets };
    Ok(PlannedWrite { write, answer })
}
