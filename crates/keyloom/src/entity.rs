//! Entities at run time: builds an item's keys from its fields.

use std::sync::Arc;

use keyloom_core::{AttributeValue, Item, Str};
use keyloom_design::key::{KeyTemplate, attribute_of};
use keyloom_design::model::Entity as Declared;
use keyloom_keys::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::design::{Design, earlier, model};
use crate::error::{Error, Result};
use crate::form::Form;
use crate::item::{from_item, to_attributes};
use crate::key_model::KeyModel;

/// A kind of item. The derive inside a `design` module implements it.
pub trait Entity: Serialize + DeserializeOwned + Sized + 'static {
    /// The design it belongs to.
    type Design: Design;
    /// The fields of its primary key.
    type Key: EntityKey<Entity = Self>;
    /// Its name in the design.
    const NAME: &'static str;
    /// The field that counts changes, for optimistic locking.
    const VERSION: Option<&'static str> = None;
    /// Counts of this entity that others keep.
    const COUNTERS: &'static [Counter] = &[];

    /// Fields that are strings in the struct and have another type in the design.
    const TEXTS: &'static [&'static str] = &[];
    /// The names of its fields in the design.
    const FIELDS: &'static [&'static str] = &[];

    /// How its keys are made.
    fn model() -> &'static Result<EntityModel, String>;

    /// The value of a field that keys use; none if it has none.
    fn field(&self, name: &str) -> Option<Value<'_>>;

    /// Its primary key.
    fn key(&self) -> Self::Key;

    /// The version of the item, which each write increments.
    fn version(&self) -> u64 {
        0
    }

    /// Sets its version.
    fn set_version(&mut self, _version: u64) {}
}

/// The fields of an entity's primary key.
pub trait EntityKey {
    /// The entity that this is the key of.
    type Entity: Entity<Key = Self>;

    /// The value of a key field.
    fn field(&self, name: &str) -> Option<Value<'_>>;
}

/// A count of one entity's items that another entity keeps: the members of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The entity that keeps the count.
    pub entity: &'static str,
    /// The field that is counted.
    pub field: &'static str,
    /// Its version field, which changes with the count.
    pub version: Option<&'static str>,
}

/// How an entity is stored.
pub struct EntityModel {
    declared: Arc<Declared>,
    keys: Vec<KeyModel>,
    /// How many of the keys are the primary key.
    primary: usize,
    /// The entity's unique fields, each with the item that guards them.
    pub(crate) guards: Vec<Guard>,
    /// For each counter, the entity that keeps it.
    pub(crate) counted_in: Vec<(Counter, EntityModel)>,
    /// How it was stored with other numbers of shards.
    earlier: Vec<EntityModel>,
    /// Fields that stand in keys and nowhere else.
    key_only: Vec<Str>,
    /// Fields that never change.
    immutable: Vec<Str>,
    /// Fields whose values can be written in several ways.
    forms: Vec<Form>,
}

/// The rule that keeps fields unique.
pub(crate) struct Guard {
    pub(crate) rule: String,
    pub(crate) model: EntityModel,
}

/// The values of fields that never change.
#[derive(Default)]
pub(crate) struct Immutable(Vec<(Str, Option<AttributeValue>)>);

impl EntityModel {
    /// The model of an entity in a design.
    pub fn of<D: Design>(name: &str, counters: &[Counter]) -> Result<Self, String> {
        let design = model::<D>().map_err(|error| error.to_string())?.design();
        let named = |name: &str| {
            design.entity(name).ok_or_else(|| format!("the design has no entity `{name}`"))
        };
        let mut entity = Self::declared(named(name)?);
        for rule in design.uniques().iter().filter(|rule| rule.entity.name == name) {
            if let Some(by) = &rule.by {
                let guard = Guard { rule: rule.fields.join(", "), model: Self::declared(by) };
                entity.guards.push(guard);
            }
        }
        for counter in counters {
            entity.counted_in.push((*counter, Self::declared(named(counter.entity)?)));
        }
        for epoch in earlier::<D>().map_err(|error| error.to_string())? {
            let before = epoch.design().entity(name).map(Self::declared);
            entity.earlier.extend(before.filter(|before| before.is_sharded_unlike(&entity)));
        }
        Ok(entity)
    }

    pub(crate) fn declared(declared: &Arc<Declared>) -> Self {
        let primary = declared.table.primary();
        let mut keys = Vec::new();
        for attribute in declared.table.key_attributes() {
            let found = declared.keys.iter().position(|key| key.attribute == attribute.name);
            if let Some((position, key)) =
                found.and_then(|at| declared.keys.get(at).map(|k| (at, k)))
            {
                keys.push(KeyModel::of(declared, position, key, attribute.kind));
            }
        }
        let key_only = declared.fields.iter().filter(|field| field.key_only);
        let immutable = declared.fields.iter().filter(|field| field.immutable);
        Self {
            declared: Arc::clone(declared),
            keys,
            primary: primary.attributes().count(),
            guards: Vec::new(),
            counted_in: Vec::new(),
            earlier: Vec::new(),
            key_only: key_only.map(|field| field.name.as_str().into()).collect(),
            immutable: immutable.map(|field| field.name.as_str().into()).collect(),
            forms: declared.fields.iter().enumerate().filter_map(Form::of).collect(),
        }
    }

    /// Whether calculated shards put its items elsewhere.
    fn is_sharded_unlike(&self, other: &Self) -> bool {
        let counts = |model: &Self| -> Vec<u32> {
            model.keys.iter().flat_map(KeyModel::shard_counts).collect()
        };
        counts(self) != counts(other)
    }

    /// Whether its number of shards changed, so that items may be where it put them before.
    pub(crate) fn is_resharded(&self) -> bool {
        !self.earlier.is_empty()
    }

    /// The primary keys that earlier numbers of shards gave an item, without the present one.
    pub(crate) fn earlier_keys<'v>(
        &self,
        field: impl Fn(&str) -> Option<Value<'v>>,
    ) -> Result<Vec<Item>> {
        let mut keys: Vec<Item> = Vec::new();
        let now = self.key_item(&field)?;
        for epoch in &self.earlier {
            let key = epoch.key_item(&field)?;
            if key != now && !keys.contains(&key) {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    /// The primary key of a stored item, wherever it is.
    pub(crate) fn stored_key(&self, item: &Item) -> Item {
        let names = self.keys.iter().take(self.primary).map(|key| &key.attribute);
        names.filter_map(|name| Some((name.clone(), item.get(name)?.clone()))).collect()
    }

    /// The entity's name.
    pub fn name(&self) -> &str {
        &self.declared.name
    }

    /// The table it is stored in.
    pub fn table(&self) -> &str {
        &self.declared.table.name
    }

    /// The attribute that every item of the table has.
    pub(crate) fn partition_attribute(&self) -> &str {
        self.keys.first().map_or("", |key| key.attribute.as_str())
    }

    /// Whether the stored item must be known before it can be written: it has companions, or may be elsewhere.
    pub(crate) fn must_be_read(&self) -> bool {
        self.has_companions() || self.is_resharded()
    }

    /// Whether writing it writes other items, too.
    pub(crate) fn has_companions(&self) -> bool {
        !self.guards.is_empty() || !self.counted_in.is_empty()
    }

    /// The primary key as an item.
    pub(crate) fn key_item<'v>(&self, field: impl Fn(&str) -> Option<Value<'v>>) -> Result<Item> {
        let mut attributes = Vec::with_capacity(self.primary);
        for key in self.keys.iter().take(self.primary) {
            match key.build(&self.declared, &field)? {
                Some(value) => attributes.push((key.attribute.clone(), value)),
                None => return Err(key.absent(&self.declared, &field)),
            }
        }
        Ok(attributes.into_iter().collect())
    }

    /// The item of an entity: its fields, its keys, and its type name if the table stores type names.
    pub(crate) fn item<E: Entity>(&self, entity: &E) -> Result<Item> {
        let wrong = |error| Error::Item { entity: E::NAME, error };
        let mut attributes = to_attributes(entity).map_err(wrong)?;
        if !self.key_only.is_empty() {
            attributes.retain(|(name, _)| !self.is_key_only(name));
        }
        for form in self.forms.iter().filter(|form| form.is_for(E::TEXTS)) {
            let stored = attributes.iter_mut().find(|(attribute, _)| *attribute == form.field);
            if let Some((_, value)) = stored {
                form.give(&self.declared, value).map_err(wrong)?;
            }
        }
        let field = |name: &str| entity.field(name);
        for (position, key) in self.keys.iter().enumerate() {
            if key.native && !key.slow {
                continue;
            }
            match key.build(&self.declared, &field)? {
                Some(value) => attributes.push((key.attribute.clone(), value)),
                None if position < self.primary => return Err(key.absent(&self.declared, &field)),
                None => {}
            }
        }
        if let Some(name) = &self.declared.table.type_attribute {
            attributes.push((name.as_str().into(), self.declared.name.as_str().into()));
        }
        Ok(attributes.into_iter().collect())
    }

    /// The keys of secondary indexes that fields make, those that are always the same among them.
    pub(crate) fn index_keys<'v>(
        &self,
        field: impl Fn(&str) -> Option<Value<'v>>,
    ) -> Result<Vec<(&str, AttributeValue)>> {
        let mut keys = Vec::new();
        for key in self.keys.iter().skip(self.primary).filter(|key| !key.native) {
            keys.extend(
                key.build(&self.declared, &field)?.map(|value| (key.attribute.as_str(), value)),
            );
        }
        Ok(keys)
    }

    /// The keys of secondary indexes that a change of these fields rewrites, each with its new value.
    pub(crate) fn rewritten<'v>(
        &self,
        changed: impl Fn(&str) -> bool,
        field: impl Fn(&str) -> Option<Value<'v>>,
    ) -> Result<Vec<(&str, Option<AttributeValue>)>> {
        let mut keys = Vec::new();
        for key in self.keys.iter().skip(self.primary).filter(|key| !key.native) {
            if key.fields().any(&changed) {
                keys.push((key.attribute.as_str(), key.build(&self.declared, &field)?));
            }
        }
        Ok(keys)
    }

    /// Whether an item is one of this entity's, judged by its type attribute or its primary key.
    pub(crate) fn is_of(&self, item: &Item) -> bool {
        if let Some(name) = &self.declared.table.type_attribute
            && let Some(kind) = item.get(name).and_then(AttributeValue::as_s)
        {
            return kind == self.declared.name;
        }
        self.keys.iter().take(self.primary).all(|key| {
            let template = self.template(key);
            match (item.get(&key.attribute), template) {
                (Some(AttributeValue::S(text)), Some(template)) if !key.native => {
                    template.template().matches(text)
                }
                (value, _) => value.is_some(),
            }
        })
    }

    /// Whether a field stands in keys and nowhere else.
    pub(crate) fn is_key_only(&self, field: &str) -> bool {
        self.key_only.iter().any(|name| name == field)
    }

    /// Whether a field never changes once it is written.
    pub(crate) fn is_immutable(&self, field: &str) -> bool {
        self.immutable.iter().any(|name| name == field)
    }

    /// Whether it has fields that never change.
    pub(crate) fn has_immutable(&self) -> bool {
        !self.immutable.is_empty()
    }

    /// The values that an entity has in fields that never change.
    pub(crate) fn immutable_values<E: Entity>(&self, entity: &E) -> Result<Immutable> {
        if self.immutable.is_empty() {
            return Ok(Immutable::default());
        }
        let item = self.item(entity)?;
        let value = |name: &Str| {
            if self.is_key_only(name) {
                entity.field(name).and_then(|value| self.attribute(name, &value))
            } else {
                item.get(name).cloned()
            }
        };
        let values = self.immutable.iter().map(|name| (name.clone(), value(name)));
        Ok(Immutable(values.collect()))
    }

    /// Refuses a change of what never changes; what was absent may be written once.
    pub(crate) fn keep<E: Entity>(&self, before: &Immutable, entity: &E) -> Result<()> {
        let after = self.immutable_values(entity)?;
        let changed = before.0.iter().zip(&after.0).find(|((_, a), (_, b))| a.is_some() && a != b);
        match changed {
            Some(((field, _), _)) => Err(Error::Immutable {
                entity: E::NAME,
                key: key_text(&self.key_item(|name| entity.field(name))?),
                field: field.to_string(),
            }),
            None => Ok(()),
        }
    }

    /// Gives a value the form that its field stores, which is what conditions compare.
    pub(crate) fn give_form<E: Entity>(
        &self,
        field: &str,
        value: &mut AttributeValue,
    ) -> Result<()> {
        let mut forms = self.forms.iter().filter(|form| form.is_for(E::TEXTS));
        match forms.find(|form| form.field == field) {
            Some(form) => form
                .give(&self.declared, value)
                .map_err(|error| Error::Item { entity: E::NAME, error }),
            None => Ok(()),
        }
    }

    /// Gives an item the fields that stand only in its keys.
    fn restore(&self, item: &mut Item) {
        for name in self.key_only.iter().filter(|name| !item.contains_key(name)).collect::<Vec<_>>()
        {
            let field = self.declared.field(name);
            let found = self.keys.iter().find_map(|key| {
                // A key that holds only a part of the field would give another value.
                let declared = self.declared.keys.get(key.position)?;
                let tells = field.is_some_and(|field| declared.tells(field));
                let template = self.template(key).filter(|_| tells && !key.native)?.template();
                let text = item.get(&key.attribute)?.as_s()?;
                let value = template.parse_key(text).ok()?.get(name)?.into_owned();
                self.attribute(name, &value)
            });
            if let Some(value) = found {
                item.insert(name.clone(), value);
            }
        }
    }

    /// Whether the time to live of an item has passed.
    pub(crate) fn is_expired(&self, item: &Item, now_seconds: impl FnOnce() -> u64) -> bool {
        let Some(name) = &self.declared.table.ttl else { return false };
        let Some(AttributeValue::N(expires)) = item.get(name) else { return false };
        let expires = expires.to_i64().unwrap_or(i64::MAX);
        expires > 0 && expires.cast_unsigned() <= now_seconds()
    }

    /// The names of all declared fields.
    pub(crate) fn field_names(&self) -> impl Iterator<Item = &str> {
        self.declared.fields.iter().map(|field| field.name.as_str())
    }

    /// The attribute that a field's value is stored as.
    pub(crate) fn attribute(&self, field: &str, value: &Value<'_>) -> Option<AttributeValue> {
        Some(attribute_of(self.declared.field(field)?, value))
    }

    /// The names of all key attributes, and of the type attribute.
    pub(crate) fn made_attributes(&self) -> impl Iterator<Item = &str> {
        let keys = self.keys.iter().map(|key| key.attribute.as_str());
        keys.chain(self.declared.table.type_attribute.as_deref())
    }

    /// The attribute that names the type of an item, if the table has one.
    pub(crate) fn type_name(&self) -> Option<(&str, Option<AttributeValue>)> {
        let attribute = self.declared.table.type_attribute.as_deref()?;
        Some((attribute, Some(self.declared.name.as_str().into())))
    }

    fn template(&self, key: &KeyModel) -> Option<&KeyTemplate> {
        self.declared.keys.get(key.position).map(|key| key.shape.template())
    }
}

/// The entity in an item.
pub(crate) fn read<E: Entity>(mut item: Item) -> Result<E> {
    let model = entity_model::<E>()?;
    if !model.key_only.is_empty() {
        model.restore(&mut item);
    }
    from_item(item).map_err(|error| Error::Item { entity: E::NAME, error })
}

/// The model of an entity.
pub(crate) fn entity_model<E: Entity>() -> Result<&'static EntityModel> {
    E::model().as_ref().map_err(|problem| Error::Design(problem.clone()))
}

/// A primary key for people: `PROJECT#p1 / TASK#t1`.
pub(crate) fn key_text(key: &Item) -> String {
    let part = |value: &AttributeValue| match value {
        AttributeValue::S(text) => text.to_string(),
        AttributeValue::N(number) => number.to_string(),
        AttributeValue::B(bytes) => format!("{bytes:02x?}"),
        _ => String::from("?"),
    };
    key.values().map(part).collect::<Vec<_>>().join(" / ")
}
