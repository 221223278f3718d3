//! Typed transactions: up to 100 writes, all or none.

use keyloom_api::transactions::TransactEdit;

use crate::design::Design;
use crate::entity::{Entity, EntityKey, entity_model, key_text, read};
use crate::error::{Error, Result};
use crate::expression::presence;

use super::Table;
use super::companion::{Count, companions, count_steps};
use super::patch::Patch;
use super::step::{Refused, Step};
use super::write::{create_step, main_steps, put_step};

/// Writes that are done together or not at all.
///
/// Unique fields and counts are kept, as in single writes; counts of the same item are added up.
#[must_use = "nothing is written until `commit`"]
pub struct Transaction<'t, D> {
    table: &'t Table<D>,
    steps: Vec<Step>,
    counts: Vec<Count>,
    failed: Option<Error>,
}

impl<'t, D: Design> Transaction<'t, D> {
    pub(super) fn new(table: &'t Table<D>) -> Self {
        Self { table, steps: Vec::new(), counts: Vec::new(), failed: None }
    }

    fn with(mut self, steps: impl FnOnce(&mut Self) -> Result<()>) -> Self {
        if self.failed.is_none() {
            self.failed = steps(&mut self).err();
        }
        self
    }

    /// Writes an item unless one with the same key exists.
    pub fn create<E: Entity<Design = D>>(self, entity: &E) -> Self {
        self.with(|transaction| {
            let model = entity_model::<E>()?;
            if model.is_resharded() {
                transaction.table.refuse_existing(model, &entity.key())?;
            }
            transaction.steps.push(create_step(model, entity)?);
            let (guards, counts) = companions(model, None, Some(entity))?;
            transaction.steps.extend(guards);
            transaction.counts.extend(counts);
            Ok(())
        })
    }

    /// Writes an item, in place of any with the same key. An entity with unique fields or counts is read now, and the
    /// commit fails if it changes until then.
    pub fn put<E: Entity<Design = D>>(self, entity: &E) -> Self {
        self.with(|transaction| {
            let model = entity_model::<E>()?;
            if model.must_be_read() {
                return transaction.change(entity.key(), Some(entity));
            }
            transaction.steps.push(put_step(model, entity)?);
            Ok(())
        })
    }

    /// Deletes an item, if it exists.
    pub fn delete<K>(self, key: K) -> Self
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        self.with(|transaction| {
            let model = entity_model::<K::Entity>()?;
            if model.must_be_read() {
                return transaction.change(key, None);
            }
            let edit = TransactEdit::Delete(model.key_item(|name| key.field(name))?);
            let none = keyloom_api::items::ConditionInput::default();
            transaction.steps.push(Step::new(model.table(), edit, none, Refused::Plain));
            Ok(())
        })
    }

    /// Changes some fields of an item that exists.
    pub fn apply<E: Entity<Design = D>>(self, patch: impl Into<Patch<E>>) -> Self {
        self.with(|transaction| {
            let patch = patch.into();
            transaction.table.move_home(patch.key())?;
            transaction.steps.push(patch.step()?);
            Ok(())
        })
    }

    /// Demands that an item exists.
    pub fn require<K>(self, key: K) -> Self
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        self.check(&key, true)
    }

    /// Demands that no item has this key.
    pub fn require_absent<K>(self, key: K) -> Self
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        self.check(&key, false)
    }

    fn check<K>(self, key: &K, present: bool) -> Self
    where
        K: EntityKey<Entity: Entity<Design = D>>,
    {
        self.with(|transaction| {
            let model = entity_model::<K::Entity>()?;
            transaction.table.move_home(key)?;
            let item = model.key_item(|name| key.field(name))?;
            let (entity, key) = (K::Entity::NAME, key_text(&item));
            let refused = if present {
                Refused::NotFound { entity, key }
            } else {
                Refused::AlreadyExists { entity, key }
            };
            let condition = presence(model.partition_attribute(), present);
            let step = Step::new(model.table(), TransactEdit::Check(item), condition, refused);
            transaction.steps.push(step);
            Ok(())
        })
    }

    /// A change that depends on what is stored.
    fn change<K: EntityKey>(&mut self, key: K, new: Option<&K::Entity>) -> Result<()> {
        let model = entity_model::<K::Entity>()?;
        let stored = self.table.clone().with_expired().find_item(model, &key, true)?;
        let old: Option<K::Entity> = stored.as_ref().map(|item| read(item.clone())).transpose()?;
        let (guards, counts) = companions(model, old.as_ref(), new)?;
        self.steps.extend(main_steps(model, stored.as_ref(), old.as_ref(), new)?);
        self.steps.extend(guards);
        self.counts.extend(counts);
        Ok(())
    }

    /// Does all of it, or nothing.
    pub fn commit(self) -> Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut steps = self.steps;
        steps.extend(count_steps(self.counts));
        self.table.run_steps(steps)
    }
}
