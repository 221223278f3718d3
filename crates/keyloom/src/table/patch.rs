//! Changing some fields without reading the item.

use keyloom_core::{AttributeValue, Item, Number};
use keyloom_engine::{ReturnValues, TransactEdit, UpdateItemInput};
use keyloom_keys::Value;
use serde::Serialize;

use super::Table;
use super::step::{Refused, Step};
use crate::backend::returning;
use crate::design::Design;
use crate::entity::{Entity, EntityKey, entity_model, key_text, read};
use crate::error::{Error, Result};
use crate::expression::Placeholders;
use crate::item::to_value;
use crate::key_value::{KeyValue, owned};

/// New values for some fields of one item. Made by the setters that the derive gives to `YourEntityPatch`: fields that
/// share an index key have one setter together, so that the key can always be made anew.
#[must_use = "nothing is sent until the patch is applied"]
pub struct Patch<E: Entity> {
    key: E::Key,
    fields: Vec<Field>,
    adds: Vec<(&'static str, i64)>,
    failed: Option<Error>,
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

    /// The key, the update and its condition.
    fn into_step(self) -> Result<(Step, Item)> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let model = entity_model::<E>()?;
        let changed = |name: &str| self.fields.iter().any(|field| field.name == name);
        let value = |name: &str| match self.fields.iter().find(|field| field.name == name) {
            Some(field) => field.in_keys.clone(),
            None => self.key.field(name),
        };
        let mut placeholders = Placeholders::default();
        let (mut sets, mut removes) = (Vec::new(), Vec::new());
        let mut assign = |name: &str, value: Option<AttributeValue>, p: &mut Placeholders| {
            let name = p.name(name);
            match value {
                Some(value) => sets.push(format!("{name} = {}", p.value(value))),
                None => removes.push(name),
            }
        };
        for (attribute, value) in model.rewritten(changed, value)? {
            assign(attribute, value, &mut placeholders);
        }
        let key = model.key_item(|name| self.key.field(name))?;
        for field in self.fields.into_iter().filter(|field| !model.is_key_only(field.name)) {
            assign(field.name, field.stored, &mut placeholders);
        }
        let mut adds = self.adds;
        adds.extend(E::VERSION.map(|version| (version, 1)));
        let adds: Vec<String> = adds
            .into_iter()
            .map(|(name, by)| {
                format!(
                    "{} {}",
                    placeholders.name(name),
                    placeholders.value(Number::from(by).into())
                )
            })
            .collect();
        let clauses = [("SET", sets), ("REMOVE", removes), ("ADD", adds)];
        let update: Vec<String> = clauses
            .into_iter()
            .filter(|(_, parts)| !parts.is_empty())
            .map(|(word, parts)| format!("{word} {}", parts.join(", ")))
            .collect();
        let present =
            format!("attribute_exists({})", placeholders.name(model.partition_attribute()));
        let condition = placeholders.condition(Some(present));
        let refused = Refused::NotFound { entity: E::NAME, key: key_text(&key) };
        let edit = TransactEdit::Update(key.clone(), update.join(" "));
        Ok((Step::new(model.table(), edit, condition, refused), key))
    }

    pub(super) fn step(self) -> Result<Step> {
        self.into_step().map(|(step, _)| step)
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
        let (step, key) = patch.into_step()?;
        let TransactEdit::Update(_, update) = &step.action.edit else {
            return Err(Error::Design("a patch is an update".into()));
        };
        let done = self.retry.run("UpdateItem", repeatable, |_| {
            self.backend.update_item(UpdateItemInput {
                table_name: model.table().to_owned(),
                key: key.clone(),
                update: (!update.is_empty()).then(|| update.clone()),
                condition: step.action.condition.clone(),
                returns: returning(ReturnValues::AllNew),
                ..UpdateItemInput::default()
            })
        });
        let not_found = || Error::NotFound { entity: E::NAME, key: key_text(&key) };
        match done {
            Ok(item) => read(item.ok_or_else(not_found)?),
            Err(error) if error.is_condition_failed() => Err(not_found()),
            Err(error) => Err(error),
        }
    }
}
