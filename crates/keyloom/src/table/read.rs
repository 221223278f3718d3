//! Reading items by their keys.

use keyloom_core::Item;
use keyloom_engine::{GetItemInput, TransactGet, TransactGetItemsInput};

use super::{Table, get_all, now_seconds};
use crate::design::Design;
use crate::entity::{Entity, EntityKey, EntityModel, entity_model, read};
use crate::error::Result;

impl<D: Design> Table<D> {
    /// The item with this key. The read may be a moment old, as is every read of DynamoDB that does not ask otherwise.
    pub fn get<K>(&self, key: K) -> Result<Option<K::Entity>>
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        self.find(&key, false)
    }

    /// The item with this key, as of the latest write.
    pub fn get_consistent<K>(&self, key: K) -> Result<Option<K::Entity>>
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        self.find(&key, true)
    }

    fn find<K: EntityKey>(&self, key: &K, consistent: bool) -> Result<Option<K::Entity>> {
        let model = entity_model::<K::Entity>()?;
        match self.find_item(model, key, consistent)? {
            Some(item) => read(item).map(Some),
            None => Ok(None),
        }
    }

    /// The stored item with this key, unless its time has passed.
    pub(super) fn find_item<K: EntityKey>(
        &self,
        model: &EntityModel,
        key: &K,
        consistent: bool,
    ) -> Result<Option<Item>> {
        let found = self.retry.run("GetItem", true, |_| {
            self.backend.get_item(GetItemInput {
                table_name: model.table().to_owned(),
                key: model.key_item(|name| key.field(name))?,
                consistent_read: consistent,
                ..GetItemInput::default()
            })
        })?;
        Ok(found.filter(|item| !self.hides_expired() || !model.is_expired(item, now_seconds)))
    }

    /// The items with these keys, in the order of the keys; none for those that do not exist. Any number of keys, in
    /// requests of 100.
    pub fn get_many<K>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<Option<K::Entity>>>
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        let model = entity_model::<K::Entity>()?;
        let keys = keys
            .into_iter()
            .map(|key| Ok((model.table().to_owned(), model.key_item(|name| key.field(name))?)));
        let keys: Vec<(String, Item)> = keys.collect::<Result<_>>()?;
        let found = get_all(&self.backend, &self.retry, &keys, false)?;
        found.into_iter().map(|item| self.read_some(model, item)).collect()
    }

    /// Up to 100 items with these keys, all as of one moment.
    pub fn get_together<K>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<K::Entity>>>
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        let model = entity_model::<K::Entity>()?;
        let gets = keys.into_iter().map(|key| {
            Ok(TransactGet {
                table_name: model.table().to_owned(),
                key: model.key_item(|name| key.field(name))?,
                projection: keyloom_engine::ProjectionInput::default(),
            })
        });
        let gets: Vec<TransactGet> = gets.collect::<Result<_>>()?;
        let found = self.retry.run("TransactGetItems", true, |_| {
            self.backend.transact_get(TransactGetItemsInput {
                gets: gets.clone(),
                ..TransactGetItemsInput::default()
            })
        })?;
        found.into_iter().map(|item| self.read_some(model, item)).collect()
    }

    fn read_some<E: Entity>(&self, model: &EntityModel, item: Option<Item>) -> Result<Option<E>> {
        let shown =
            item.filter(|item| !self.hides_expired() || !model.is_expired(item, now_seconds));
        shown.map(|item| read(item)).transpose()
    }
}
