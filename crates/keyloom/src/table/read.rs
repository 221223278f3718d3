//! Reads items by key.

use keyloom_api::items::GetItemInput;
use keyloom_api::transactions::{TransactGet, TransactGetItemsInput};
use keyloom_core::Item;
use keyloom_keys::Value;

use crate::design::Design;
use crate::entity::{Entity, EntityKey, EntityModel, entity_model, read};
use crate::error::Result;

use super::{Table, get_placed, now_seconds};

impl<D: Design> Table<D> {
    /// The item with this key, read with eventual consistency, as is DynamoDB's default.
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
        self.find_by(model, &|name| key.field(name), consistent)
    }

    /// The stored item whose key these values make, unless its time has passed.
    pub(crate) fn find_by<'v>(
        &self,
        model: &EntityModel,
        field: &dyn Fn(&str) -> Option<Value<'v>>,
        consistent: bool,
    ) -> Result<Option<Item>> {
        let get = |key: &dyn Fn() -> Result<Item>| {
            self.retry.run("GetItem", true, |_| {
                self.backend.get_item(GetItemInput {
                    table_name: model.table().to_owned(),
                    key: key()?,
                    consistent_read: consistent,
                    ..GetItemInput::default()
                })
            })
        };
        let mut found = get(&|| model.key_item(field))?;
        if found.is_none() && model.is_resharded() {
            for before in model.earlier_keys(field)? {
                found = get(&|| Ok(before.clone()))?;
                if found.is_some() {
                    break;
                }
            }
            // It may have moved between the reads, and moves only go home.
            if found.is_none() {
                found = get(&|| model.key_item(field))?;
            }
        }
        Ok(found.filter(|item| !self.hides_expired() || !model.is_expired(item, now_seconds)))
    }

    /// The items with these keys, in the order of the keys; none for those that do not exist. Any number of keys, in
    /// requests of 100. Where the number of shards changed, what is found nowhere is looked for once more.
    pub fn get_many<K>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<Option<K::Entity>>>
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        let model = entity_model::<K::Entity>()?;
        let (keys, places) = places(model, keys)?;
        let keys: Vec<(String, Item)> =
            keys.into_iter().map(|key| (model.table().to_owned(), key)).collect();
        let found = get_placed(&self.backend, &self.retry, &keys, &places, false)?;
        found.into_iter().map(|item| self.shown(model, item)).collect()
    }

    /// Up to 100 items with these keys, all as of one moment.
    ///
    /// An item whose number of shards changed may be in several places, all of which are read: each earlier number that
    /// puts it elsewhere counts as one more key.
    pub fn get_together<K>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<K::Entity>>>
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        let model = entity_model::<K::Entity>()?;
        let (keys, places) = places(model, keys)?;
        let get = |key| TransactGet {
            table_name: model.table().to_owned(),
            key,
            projection: keyloom_api::items::ProjectionInput::default(),
        };
        let gets: Vec<TransactGet> = keys.into_iter().map(get).collect();
        let found = self.retry.run("TransactGetItems", true, |_| {
            self.backend.transact_get(TransactGetItemsInput {
                gets: gets.clone(),
                ..TransactGetItemsInput::default()
            })
        })?;
        let mut found = found.into_iter();
        // The first item that was found in the places of each key.
        let first = places.iter().map(|count| found.by_ref().take(*count).fold(None, Option::or));
        first.map(|item| self.shown(model, item)).collect()
    }

    /// An item as its type, unless its time has passed.
    fn shown<E: Entity>(&self, model: &EntityModel, item: Option<Item>) -> Result<Option<E>> {
        let item =
            item.filter(|item| !self.hides_expired() || !model.is_expired(item, now_seconds));
        item.map(read).transpose()
    }
}

/// The primary keys that items can be under, and how many there are of each.
fn places<K: EntityKey>(
    model: &EntityModel,
    keys: impl IntoIterator<Item = K>,
) -> Result<(Vec<Item>, Vec<usize>)> {
    let (mut all, mut counts) = (Vec::new(), Vec::new());
    for key in keys {
        let before = all.len();
        all.push(model.key_item(|name| key.field(name))?);
        if model.is_resharded() {
            all.extend(model.earlier_keys(|name| key.field(name))?);
        }
        counts.push(all.len() - before);
    }
    Ok((all, counts))
}
