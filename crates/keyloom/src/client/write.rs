//! Writes of the untyped client: put, update, delete.

use keyloom_api::batches::WriteRequest;
use keyloom_api::items::{ConditionInput, DeleteItemInput, PutItemInput, UpdateItemInput};
use keyloom_api::parameters::ReturnValues;
use keyloom_core::Item;
use serde::Serialize;

use crate::backend::returning;
use crate::error::{Error, Result};
use crate::expression;
use crate::item::to_item;
use crate::table::{last_of_each, write_all};

use super::{Condition, ItemKey, Op, TableClient, Update};

/// A condition as requests carry it.
pub(super) fn condition_input(condition: Option<&Condition>) -> Result<ConditionInput> {
    let tree = condition.map(Condition::tree).transpose()?;
    Ok(expression::when(tree.flatten()))
}

impl TableClient {
    /// Writes an item, in place of any with the same key.
    pub fn put(&self, item: Item) -> Result<()> {
        self.put_if(item, None).map(drop)
    }

    /// Writes a struct, a map or a JSON value as an item, its keys included.
    pub fn put_value<T: Serialize>(&self, value: &T) -> Result<()> {
        self.put(to_item(value).map_err(|error| Error::Item { entity: "item", error })?)
    }

    /// Writes an item unless one with the same key exists; returns whether it did.
    pub fn put_if_absent(&self, item: Item) -> Result<bool> {
        match self.put_where(item, (self.keys.leading(), Op::Missing)) {
            Ok(_) => Ok(true),
            Err(error) if error.is_condition_failed() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes an item if the one with the same key satisfies the condition, and returns that one.
    pub fn put_where(&self, item: Item, condition: impl Into<Condition>) -> Result<Option<Item>> {
        self.put_if(item, Some(&condition.into()))
    }

    fn put_if(&self, item: Item, condition: Option<&Condition>) -> Result<Option<Item>> {
        let condition = condition_input(condition)?;
        self.retry.run("PutItem", condition.expression.is_none(), |_| {
            self.backend.put_item(PutItemInput {
                table_name: self.table.clone(),
                item: item.clone(),
                condition: condition.clone(),
                returns: returning(ReturnValues::AllOld),
            })
        })
    }

    /// Changes an item, or makes one, and returns it as it is then.
    pub fn update(&self, key: impl Into<ItemKey>, update: Update) -> Result<Item> {
        self.update_if(key.into(), update, None)
    }

    /// Changes an item if it satisfies the condition, and returns it as it is then.
    pub fn update_where(
        &self,
        key: impl Into<ItemKey>,
        update: Update,
        condition: impl Into<Condition>,
    ) -> Result<Item> {
        self.update_if(key.into(), update, Some(&condition.into()))
    }

    fn update_if(
        &self,
        key: ItemKey,
        update: Update,
        condition: Option<&Condition>,
    ) -> Result<Item> {
        let key = self.key(key)?;
        let repeatable = update.is_repeatable() && condition.is_none();
        let update = update.into_expression()?;
        let condition = condition_input(condition)?;
        let item = self.retry.run("UpdateItem", repeatable, |_| {
            self.backend.update_item(UpdateItemInput {
                table_name: self.table.clone(),
                key: key.clone(),
                update: update.clone(),
                condition: condition.clone(),
                returns: returning(ReturnValues::AllNew),
                ..UpdateItemInput::default()
            })
        })?;
        Ok(item.unwrap_or_default())
    }

    /// Deletes an item and returns it, if there was one.
    pub fn delete(&self, key: impl Into<ItemKey>) -> Result<Option<Item>> {
        self.delete_if(key.into(), None)
    }

    /// Deletes an item if it satisfies the condition, and returns it.
    pub fn delete_where(
        &self,
        key: impl Into<ItemKey>,
        condition: impl Into<Condition>,
    ) -> Result<Option<Item>> {
        self.delete_if(key.into(), Some(&condition.into()))
    }

    fn delete_if(&self, key: ItemKey, condition: Option<&Condition>) -> Result<Option<Item>> {
        let key = self.key(key)?;
        let condition = condition_input(condition)?;
        self.retry.run("DeleteItem", condition.expression.is_none(), |_| {
            self.backend.delete_item(DeleteItemInput {
                table_name: self.table.clone(),
                key: key.clone(),
                condition: condition.clone(),
                returns: returning(ReturnValues::AllOld),
            })
        })
    }

    /// Puts and deletes of any number, chunked, each for itself.
    pub fn batch(&self) -> RawBatch<'_> {
        RawBatch { table: self, writes: Vec::new(), failed: None }
    }

    /// Writes any number of items, in requests of 25.
    pub fn batch_put(&self, items: impl IntoIterator<Item = Item>) -> Result<()> {
        items.into_iter().fold(self.batch(), RawBatch::put).run()
    }

    /// Deletes any number of items, in requests of 25.
    pub fn batch_delete<K: Into<ItemKey>>(&self, keys: impl IntoIterator<Item = K>) -> Result<()> {
        keys.into_iter().fold(self.batch(), RawBatch::delete).run()
    }
}

/// Puts and deletes, each for itself: some may be done when others fail. Any number, in requests of 25.
///
/// Of several writes of one item, the last one counts.
#[must_use = "nothing is written until `run`"]
pub struct RawBatch<'t> {
    table: &'t TableClient,
    writes: Vec<(String, Item, WriteRequest)>,
    failed: Option<Error>,
}

impl RawBatch<'_> {
    fn with(mut self, key: Result<Item>, request: impl FnOnce(&Item) -> WriteRequest) -> Self {
        match key {
            Ok(key) => {
                let request = request(&key);
                self.writes.push((self.table.table.clone(), key, request));
            }
            Err(error) => drop(self.failed.get_or_insert(error)),
        }
        self
    }

    /// Writes an item, in place of any with the same key.
    pub fn put(self, item: Item) -> Self {
        let key = self.table.keys.of_item(&item, &self.table.table);
        self.with(key, |_| WriteRequest::Put(item))
    }

    /// Deletes an item, if it exists.
    pub fn delete(self, key: impl Into<ItemKey>) -> Self {
        let key = self.table.key(key.into());
        self.with(key, |key| WriteRequest::Delete(key.clone()))
    }

    /// Sends all writes. Those left after all attempts are in [`Error::Unprocessed`]; all others are done.
    pub fn run(self) -> Result<()> {
        match self.failed {
            Some(error) => Err(error),
            None => write_all(&self.table.backend, &self.table.retry, last_of_each(self.writes)),
        }
    }
}
