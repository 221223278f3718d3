//! Typed writes: put, create if absent, and read-modify-write under an optimistic lock.

use keyloom_api::items::{ConditionInput, DeleteItemInput, PutItemInput};
use keyloom_api::parameters::ReturnValues;
use keyloom_api::transactions::TransactEdit;
use keyloom_core::Item;
use keyloom_design::migration::MARK;

use crate::backend::returning;
use crate::design::Design;
use crate::entity::{Entity, EntityKey, EntityModel, entity_model, key_text, read};
use crate::error::{Error, Result};
use crate::expression::{attribute_is, presence, unchanged};

use super::Table;
use super::companion::{companions, count_steps};
use super::step::{Refused, Step};

/// How often a change is tried when others change the same item.
const MAX_CONFLICTS: u32 = 12;

/// The most attributes that the guard of an entity without version compares: an expression has at most 300 operators.
const MAX_GUARD_ATTRIBUTES: usize = 150;

impl<D: Design> Table<D> {
    /// Writes an item, in place of any with the same key, which need not have the same immutable fields.
    ///
    /// For an entity with unique fields or counts this reads the item it replaces and does everything in one
    /// transaction.
    pub fn put<E: Entity<Design = D>>(&self, entity: &E) -> Result<()> {
        let model = entity_model::<E>()?;
        if model.must_be_read() {
            return self
                .change(model, &entity.key(), |_| Ok(Becomes::Write(clone_of(model, entity)?)))
                .map(drop);
        }
        if self.is_fenced() {
            return self.run_steps(vec![put_step(model, entity)?]);
        }
        self.retry
            .run("PutItem", true, |_| {
                self.backend.put_item(PutItemInput {
                    table_name: model.table().to_owned(),
                    item: model.item(entity)?,
                    ..PutItemInput::default()
                })
            })
            .map(drop)
    }

    /// Writes an item unless one with the same key exists: then [`Error::AlreadyExists`].
    pub fn create<E: Entity<Design = D>>(&self, entity: &E) -> Result<()> {
        let model = entity_model::<E>()?;
        if model.is_resharded() {
            self.refuse_existing(model, &entity.key())?;
        }
        let (mut steps, counts) = companions(model, None, Some(entity))?;
        steps.insert(0, create_step(model, entity)?);
        steps.extend(count_steps(counts));
        self.run_steps(steps)
    }

    /// Writes back an item that was read before, if nobody changed it since: its version must still be the stored one,
    /// and is counted up. [`Error::Conflict`] if it is not.
    pub fn save<E: Entity<Design = D>>(&self, entity: &mut E) -> Result<()> {
        let model = entity_model::<E>()?;
        let Some(version) = E::VERSION else {
            return Err(Error::Design(format!(
                "`{}` has no version to compare: mark a `u64` field with #[field(version)], or use `update`",
                E::NAME
            )));
        };
        let before = entity.version();
        let key = key_text(&model.key_item(|name| entity.field(name))?);
        let saved = if model.must_be_read() || model.has_immutable() {
            self.save_with_companions(model, entity, before)
        } else {
            entity.set_version(before + 1);
            let condition = attribute_is(version, Some(&keyloom_core::Number::from(before).into()));
            let refused = Refused::Conflict { entity: E::NAME, key };
            let edit = TransactEdit::Put(model.item(entity)?);
            let steps = vec![Step::new(model.table(), edit, condition, refused)];
            self.run_steps(steps)
        };
        // A write that was not stored must not leave the new version in the struct.
        entity.set_version(if saved.is_ok() { before + 1 } else { before });
        saved
    }

    fn save_with_companions<E: Entity<Design = D>>(
        &self,
        model: &EntityModel,
        entity: &E,
        before: u64,
    ) -> Result<()> {
        let conflict = |key| Error::Conflict { entity: E::NAME, key, attempts: 1 };
        self.change(model, &entity.key(), |old: Option<E>| match old {
            Some(old) if old.version() == before => {
                model.keep(&model.immutable_values(&old)?, entity)?;
                Ok(Becomes::Write(clone_of(model, entity)?))
            }
            _ => Err(conflict(key_text(&model.key_item(|name| entity.field(name))?))),
        })
        .map(drop)
    }

    /// Reads an item, changes it and writes it back. Nobody's change is lost: if the item was changed in between (its
    /// version, or without one any attribute), the closure runs again on the new state.
    ///
    /// [`Error::Immutable`] if the closure changes a field that is `immutable`.
    ///
    /// All index keys are made anew. A change of a primary-key field moves the item in one transaction. Attributes that
    /// the struct does not know are kept.
    pub fn update<K>(&self, key: K, mut change: impl FnMut(&mut K::Entity)) -> Result<K::Entity>
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        let model = entity_model::<K::Entity>()?;
        let not_found = || match model.key_item(|name| key.field(name)) {
            Ok(key) => Error::NotFound { entity: K::Entity::NAME, key: key_text(&key) },
            Err(error) => error,
        };
        let changed = self.change(model, &key, |old| match old {
            Some(mut entity) => {
                let fixed = model.immutable_values(&entity)?;
                change(&mut entity);
                model.keep(&fixed, &entity)?;
                Ok(Becomes::Write(entity))
            }
            None => Err(not_found()),
        })?;
        changed.ok_or_else(not_found)
    }

    /// Reads an item, if there is one, and writes what the closure makes of it, under the same guard as
    /// [`Table::update`].
    pub fn upsert<K>(
        &self,
        key: K,
        mut make: impl FnMut(Option<K::Entity>) -> K::Entity,
    ) -> Result<K::Entity>
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        let model = entity_model::<K::Entity>()?;
        let made = self.change(model, &key, |old: Option<K::Entity>| {
            let fixed = old.as_ref().map(|old| model.immutable_values(old)).transpose()?;
            let new = make(old);
            model.keep(&fixed.unwrap_or_default(), &new)?;
            Ok(Becomes::Write(new))
        })?;
        made.ok_or_else(|| Error::Design("upsert wrote nothing".into()))
    }

    /// Deletes an item and returns it, if there was one.
    pub fn delete<K>(&self, key: K) -> Result<Option<K::Entity>>
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        let model = entity_model::<K::Entity>()?;
        if model.must_be_read() || self.is_fenced() {
            let mut deleted = None;
            self.change(model, &key, |old: Option<K::Entity>| {
                deleted = old;
                Ok(Becomes::Delete)
            })?;
            return Ok(deleted);
        }
        let old = self.retry.run("DeleteItem", true, |_| {
            self.backend.delete_item(DeleteItemInput {
                table_name: model.table().to_owned(),
                key: model.key_item(|name| key.field(name))?,
                returns: returning(ReturnValues::AllOld),
                ..DeleteItemInput::default()
            })
        })?;
        old.map(read).transpose()
    }

    /// Reads, decides and writes under a guard, again and again while others are faster.
    pub(crate) fn change<K: EntityKey>(
        &self,
        model: &EntityModel,
        key: &K,
        mut decide: impl FnMut(Option<K::Entity>) -> Result<Becomes<K::Entity>>,
    ) -> Result<Option<K::Entity>> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let stored = self.find_stored(model, key)?;
            let old: Option<K::Entity> =
                stored.as_ref().map(|item| read(item.clone())).transpose()?;
            let before = stored.as_ref().map(|item| read(item.clone())).transpose()?;
            let new = match decide(before)? {
                Becomes::Write(mut new) => {
                    new.set_version(old.as_ref().map_or(new.version(), |old| old.version() + 1));
                    Some(new)
                }
                Becomes::Delete => None,
            };
            let steps = change_steps(model, stored.as_ref(), old.as_ref(), new.as_ref())?;
            match self.run_steps(steps) {
                Ok(()) => return Ok(new),
                Err(Error::Conflict { .. }) if attempts < MAX_CONFLICTS => {
                    self.retry.pause(attempts.min(4));
                }
                Err(Error::Conflict { entity, key, .. }) => {
                    return Err(Error::Conflict { entity, key, attempts });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// An item of an earlier epoch is in the way of a new one, though not at the same place.
    pub(super) fn refuse_existing<K: EntityKey>(&self, model: &EntityModel, key: &K) -> Result<()> {
        match self.find_stored(model, key)? {
            None => Ok(()),
            Some(_) => Err(Error::AlreadyExists {
                entity: K::Entity::NAME,
                key: key_text(&model.key_item(|name| key.field(name))?),
            }),
        }
    }

    /// The stored item, expired or not: a guard must see what is there.
    pub(super) fn find_stored<K: EntityKey>(
        &self,
        model: &EntityModel,
        key: &K,
    ) -> Result<Option<Item>> {
        self.clone().with_expired().find_item(model, key, true)
    }
}

/// What becomes of an item that was read.
pub(crate) enum Becomes<E> {
    Write(E),
    Delete,
}

/// The same entity by way of its item: entities need not be `Clone`.
fn clone_of<E: Entity>(model: &EntityModel, entity: &E) -> Result<E> {
    read(model.item(entity)?)
}

/// The step that writes an item, whatever is there.
pub(super) fn put_step<E: Entity>(model: &EntityModel, entity: &E) -> Result<Step> {
    let edit = TransactEdit::Put(model.item(entity)?);
    Ok(Step::new(model.table(), edit, ConditionInput::default(), Refused::Plain))
}

/// The step that writes a new item.
pub(super) fn create_step<E: Entity>(model: &EntityModel, entity: &E) -> Result<Step> {
    let item = model.item(entity)?;
    let key = key_text(&model.key_item(|name| entity.field(name))?);
    let refused = Refused::AlreadyExists { entity: E::NAME, key };
    let condition = presence(model.partition_attribute(), false);
    Ok(Step::new(model.table(), TransactEdit::Put(item), condition, refused))
}

/// The steps from the stored state to the new one.
fn change_steps<E: Entity>(
    model: &EntityModel,
    stored: Option<&Item>,
    old: Option<&E>,
    new: Option<&E>,
) -> Result<Vec<Step>> {
    let mut steps = main_steps(model, stored, old, new)?;
    let (guards, counts) = companions(model, old, new)?;
    steps.extend(guards);
    steps.extend(count_steps(counts));
    Ok(steps)
}

/// The steps that write the item itself.
pub(super) fn main_steps<E: Entity>(
    model: &EntityModel,
    stored: Option<&Item>,
    old: Option<&E>,
    new: Option<&E>,
) -> Result<Vec<Step>> {
    let table = model.table();
    let key_of = |entity: &E| model.key_item(|name| entity.field(name));
    let conflict = |key: &Item| Refused::Conflict { entity: E::NAME, key: key_text(key) };
    let (Some(stored), Some(old)) = (stored, old) else {
        let Some(new) = new else { return Ok(Vec::new()) };
        let condition = presence(model.partition_attribute(), false);
        let edit = TransactEdit::Put(model.item(new)?);
        return Ok(vec![Step::new(table, edit, condition, conflict(&key_of(new)?))]);
    };
    // Where it is, which is not where it belongs if the number of shards changed.
    let old_key = model.stored_key(stored);
    let guard = guard::<E>(stored)?;
    let Some(new) = new else {
        let refused = conflict(&old_key);
        return Ok(vec![Step::new(table, TransactEdit::Delete(old_key), guard, refused)]);
    };
    let item = merged(model, stored, old, new)?;
    let new_key = key_of(new)?;
    if old_key == new_key {
        let refused = conflict(&old_key);
        return Ok(vec![Step::new(table, TransactEdit::Put(item), guard, refused)]);
    }
    let taken = Refused::AlreadyExists { entity: E::NAME, key: key_text(&new_key) };
    let absent = presence(model.partition_attribute(), false);
    let refused = conflict(&old_key);
    Ok(vec![
        Step::new(table, TransactEdit::Delete(old_key), guard, refused),
        Step::new(table, TransactEdit::Put(item), absent, taken),
    ])
}

/// The condition that the item is still as it was read.
fn guard<E: Entity>(stored: &Item) -> Result<ConditionInput> {
    if let Some(version) = E::VERSION {
        return Ok(attribute_is(version, stored.get(version)));
    }
    if stored.len() > MAX_GUARD_ATTRIBUTES {
        return Err(Error::Design(format!(
            "`{}` has {} attributes, too many to compare: mark a `u64` field with #[field(version)]",
            E::NAME,
            stored.len()
        )));
    }
    Ok(unchanged(stored))
}

/// The new item, with the attributes of the stored one that the struct does not know.
fn merged<E: Entity>(model: &EntityModel, stored: &Item, old: &E, new: &E) -> Result<Item> {
    let mut item = stored.clone();
    for name in model.item(old)?.keys() {
        item.remove(name);
    }
    for name in model.made_attributes() {
        item.remove(name);
    }
    // What a program writes is its own, as with a put; a mark would outlive the migration that has passed this key.
    item.remove(MARK);
    for (name, value) in model.item(new)? {
        item.insert(name, value);
    }
    Ok(item)
}
