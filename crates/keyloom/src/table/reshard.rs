//! Changes the number of shards of a key while the table is in use.
//!
//! Reads look for an item under the current number of shards, then under earlier ones; writes move the items they
//! touch. So both layouts coexist, and [`Table::reshard`] moves the remaining items.

use keyloom_api::items::GetItemInput;
use keyloom_api::queries::{ReadInput, ScanInput};
use keyloom_core::Item;

use crate::design::Design;
use crate::entity::{Entity, EntityKey, EntityModel, entity_model, key_text, read};
use crate::error::{Error, Result};

use super::Table;
use super::write::Becomes;

impl<D: Design> Table<D> {
    /// Moves every item of an entity to the shard where the present number puts it, and says how many were moved. Reads the
    /// whole table. Readers and writers can go on: each move is one transaction. It can be stopped and run again; after a
    /// run, `earlier(…)` can leave the design.
    ///
    /// A read over all shards at the moment of a move may see the moved item twice, or not at all. If another item has taken
    /// the new place of one, both stay where they are, and after all other moves an error names them.
    pub fn reshard<E: Entity<Design = D>>(&self) -> Result<usize> {
        let model = entity_model::<E>()?;
        let mut moved = 0;
        let mut twice: Vec<String> = Vec::new();
        let mut input = ScanInput {
            read: ReadInput { table_name: model.table().to_owned(), ..ReadInput::default() },
            segment: None,
        };
        loop {
            let page = self.retry.run("Scan", true, |_| self.backend.scan(&input))?;
            for item in page.items.into_iter().filter(|item| model.is_of(item)) {
                let entity = read::<E>(item.clone())?;
                if is_home(model, &item, &entity)? {
                    continue;
                }
                if let Some(places) = self.occupied_home(model, &item, &entity)? {
                    twice.push(places);
                    continue;
                }
                self.bring_home(model, &entity.key())?;
                moved += 1;
            }
            match page.last_key {
                Some(key) => input.read.exclusive_start_key = Some(key),
                None => return stored_once::<E>(&twice).map(|()| moved),
            }
        }
    }

    /// Both places of an item, if another one is where it belongs.
    fn occupied_home<E: Entity>(
        &self,
        model: &EntityModel,
        item: &Item,
        entity: &E,
    ) -> Result<Option<String>> {
        let (place, home) = (model.stored_key(item), model.key_item(|name| entity.field(name))?);
        // Another process has moved it in the meantime.
        let both =
            place != home && self.is_stored(model, &home)? && self.is_stored(model, &place)?;
        Ok(both.then(|| format!("{} and {}", key_text(&place), key_text(&home))))
    }

    fn is_stored(&self, model: &EntityModel, key: &Item) -> Result<bool> {
        let found = self.retry.run("GetItem", true, |_| {
            self.backend.get_item(GetItemInput {
                table_name: model.table().to_owned(),
                key: key.clone(),
                consistent_read: true,
                ..GetItemInput::default()
            })
        })?;
        Ok(found.is_some())
    }

    /// Moves one item to where its present key says, if it is elsewhere.
    pub(super) fn move_home<K: EntityKey>(&self, key: &K) -> Result<()> {
        let model = entity_model::<K::Entity>()?;
        if !model.is_resharded() {
            return Ok(());
        }
        let home = model.key_item(|name| key.field(name))?;
        match self.find_stored(model, key)? {
            Some(item) if model.stored_key(&item) != home => self.bring_home(model, key),
            _ => Ok(()),
        }
    }

    fn bring_home<K: EntityKey>(&self, model: &EntityModel, key: &K) -> Result<()> {
        let same = |old: Option<K::Entity>| Ok(old.map_or(Becomes::Delete, Becomes::Write));
        self.change(model, key, same).map(drop)
    }
}

/// Refuses items that are in two places.
fn stored_once<E: Entity>(twice: &[String]) -> Result<()> {
    let Some(first) = twice.first() else { return Ok(()) };
    Err(Error::Design(format!(
        "{} `{}` are stored twice, such as {first}: delete those that are not wanted with a `TableClient`, then run `reshard` again",
        twice.len(),
        E::NAME
    )))
}

/// Whether all keys of an item are what its fields make them.
fn is_home<E: Entity>(model: &EntityModel, item: &Item, entity: &E) -> Result<bool> {
    let expected = model.item(entity)?;
    Ok(model.made_attributes().all(|name| item.get(name) == expected.get(name)))
}
