//! Updates single fields without reading the item.

use keyloom_api::Expression;
use keyloom_api::items::{ConditionInput, UpdateItemInput, WriteReturns};
use keyloom_api::parameters::ReturnValues;
use keyloom_api::transactions::TransactEdit;
use keyloom_core::expr::{Condition, Path, Update};
use keyloom_core::{AttributeValue, Error as Refusal, Item};
use keyloom_keys::Value;
use serde::Serialize;

use crate::backend::returning;
use crate::design::Design;
use crate::entity::{Entity, EntityKey, entity_model, key_text, read};
use crate::error::{Error, Result};
use crate::expression::{Changes, absent_or, all, when};
use crate::item::to_value;
use crate::key_value::{KeyValue, owned};

use super::Table;
use super::step::{Refused, Step};

/// New values for some fields of one item. Made by the setters that the derive gives to `YourEntityPatch`: fields that
/// share an index key have one setter together, so that the key can always be made anew.
#[must_use = "nothing is sent until the patch is applied"]
pub struct Patch<E: Entity> {
    key: E::Key,
    fields: Vec<Field>,
    adds: Vec<(&'static str, i64)>,
    failed: Option<Error>,
}

/// What a patch comes to.
struct Parts {
    key: Item,
    update: Option<Expression<Update>>,
    condition: ConditionInput,
    /// What it means when the condition fails.
    refused: Refused,
}

struct Field {
    name: &'static str,
    stored: Option<AttributeValue>,
    in_keys: Option<Value<'static>>,
}

impl<E: Entity> Patch<E> {
    /// A patch of the item with this key, without changes yet.
    pub fn new(key: E::Key) -> Self {
        Self { key, fields: Vec::new(), adds: Vec::new(), failed: None }
    }

    /// Sets a field that no key uses. The derive's setters call this.
    pub fn set<T: Serialize + ?Sized>(mut self, name: &'static str, value: &T) -> Self {
        self.push(name, value, None);
        self
    }

    /// Sets a field that keys use. The derive's setters call this.
    pub fn set_key<T: Serialize + KeyValue + ?Sized>(
        mut self,
        name: &'static str,
        value: &T,
    ) -> Self {
        self.push(name, value, owned(value));
        self
    }

    /// Adds to a number. The derive's setters call this.
    pub fn add(mut self, name: &'static str, by: i64) -> Self {
        self.adds.push((name, by));
        self
    }

    fn push<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
        in_keys: Option<Value<'static>>,
    ) {
        match to_value(value) {
            Ok(stored) => self.fields.push(Field { name, stored, in_keys }),
            Err(error) => {
                let error = error.inside(name);
                self.failed.get_or_insert(Error::Item { entity: E::NAME, error });
            }
        }
    }

    pub(super) fn key(&self) -> &E::Key {
        &self.key
    }

    /// Whether sending it twice may change the item twice.
    fn adds_up(&self) -> bool {
        !self.adds.is_empty()
    }

    /// The key, the update, the condition that the item exists, and what it means when that fails. A field that never
    /// changes is written once: the condition is that it is absent or the same.
    fn parts(self) -> Result<Parts> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let model = entity_model::<E>()?;
        let changed = |name: &str| self.fields.iter().any(|field| field.name == name);
        let value = |name: &str| match self.fields.iter().find(|field| field.name == name) {
            Some(field) => field.in_keys.clone(),
            None => self.key.field(name),
        };
        let mut changes = Changes::default();
        for (attribute, value) in model.rewritten(changed, value)? {
            changes.assign(attribute, value);
        }
        let key = model.key_item(|name| self.key.field(name))?;
        let immutable = |name: &str| Error::Immutable {
            entity: E::NAME,
            key: key_text(&key),
            field: name.to_owned(),
        };
        let mut tests = vec![Condition::Exists(Path::attribute(model.partition_attribute()))];
        let mut fixed: Vec<&str> = Vec::new();
        for mut field in self.fields {
            if let Some(stored) = &mut field.stored {
                model.give_form::<E>(field.name, stored)?;
            }
            if model.is_immutable(field.name) {
                // If the field is only in keys, its old value is unknown.
                if model.is_key_only(field.name) {
                    return Err(immutable(field.name));
                }
                fixed.push(field.name);
                tests.push(absent_or(field.name, field.stored.as_ref()));
            }
            if !model.is_key_only(field.name) {
                changes.assign(field.name, field.stored);
            }
        }
        if let Some((name, _)) = self.adds.iter().find(|(name, _)| model.is_immutable(name)) {
            return Err(immutable(name));
        }
        for (name, by) in self.adds.into_iter().chain(E::VERSION.map(|version| (version, 1))) {
            changes.add(name, by);
        }
        let (entity, text) = (E::NAME, key_text(&key));
        let refused = if fixed.is_empty() {
            Refused::NotFound { entity, key: text }
        } else {
            Refused::Fixed { entity, key: text, fields: fixed.join("`, `") }
        };
        Ok(Parts { key, update: changes.finish()?, condition: when(Some(all(tests))), refused })
    }

    pub(super) fn step(self) -> Result<Step> {
        let table = entity_model::<E>()?.table();
        let Parts { key, update, condition, refused } = self.parts()?;
        // An empty update is sent as it is: DynamoDB refuses it in a transaction.
        let update = update.unwrap_or_else(|| "".into());
        Ok(Step::new(table, TransactEdit::Update(key, update), condition, refused))
    }
}

impl<D: Design> Table<D> {
    /// Changes some fields of an item that exists, in one request and without reading it first, and returns the item as
    /// it is then. The keys of every index are made anew.
    pub fn apply<E: Entity<Design = D>>(&self, patch: impl Into<Patch<E>>) -> Result<E> {
        let patch = patch.into();
        self.move_home(patch.key())?;
        let model = entity_model::<E>()?;
        let repeatable = !patch.adds_up();
        let Parts { key, update, condition, refused } = patch.parts()?;
        let done = self.retry.run("UpdateItem", repeatable, |_| {
            self.backend.update_item(UpdateItemInput {
                table_name: model.table().to_owned(),
                key: key.clone(),
                update: update.clone(),
                condition: condition.clone(),
                returns: WriteReturns {
                    item_on_failure: matches!(refused, Refused::Fixed { .. }),
                    ..returning(ReturnValues::AllNew)
                },
                ..UpdateItemInput::default()
            })
        });
        let not_found = || Error::NotFound { entity: E::NAME, key: key_text(&key) };
        match done {
            Ok(item) => read(item.ok_or_else(not_found)?),
            Err(Error::Database(Refusal::ConditionalCheckFailed { item })) => {
                let plain = Refusal::ConditionalCheckFailed { item: item.clone() };
                Err(refused.into_error(plain, item.as_ref()))
            }
            Err(error) => Err(error),
        }
    }
}
