//! A row: an entity with values for its fields, and the item it is stored as.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_core::{AttributeValue, Item};
use keyloom_keys::{FieldType, Fields, Value};

use super::test::{meant, when_holds};
use crate::generate::set_shards;
use crate::key::{attribute_of, folded, key_value};
use crate::model::{Entity, EntityKey, Field, Index, KeyShape, KeyType, Table};

/// One item of the design, as field values.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is.
    pub entity: Arc<Entity>,
    /// Its fields; absent optional fields have no entry.
    pub values: BTreeMap<String, Value<'static>>,
}

impl Row {
    /// The value of a key attribute, or nothing if the row does not have it (a sparse index).
    pub fn key_attribute(&self, key: &EntityKey, kind: KeyType) -> Option<AttributeValue> {
        if let Some(when) = &key.when
            && !when_holds(when, self)
        {
            return None;
        }
        match &key.shape {
            KeyShape::Native(template) => {
                let field = self.entity.field(template.fields().next()?)?;
                Some(key_value(field, kind, self.values.get(&field.name)?))
            }
            KeyShape::Template(template) => {
                let own = |name: &str| {
                    let value = self.values.get(name)?.clone();
                    Some(match self.entity.field(name) {
                        Some(field) => folded(field, value),
                        None => value,
                    })
                };
                template.build(own).map(AttributeValue::from)
            }
        }
    }

    /// Whether the row can be written: every key that its fields call for can be built.
    pub fn is_writable(&self) -> bool {
        let primary = self.index_values(self.entity.table.primary()).is_some();
        primary
            && self.entity.keys.iter().all(|key| {
                let absent = key.shape.template().fields().any(|f| !self.values.contains_key(f));
                let unwanted = key.when.as_ref().is_some_and(|when| !when_holds(when, self));
                absent || unwanted || self.key_attribute(key, KeyType::S).is_some()
            })
    }

    /// The key attributes of an index, in order; nothing if the row is not in it.
    pub fn index_values(&self, index: &Index) -> Option<Vec<AttributeValue>> {
        index
            .attributes()
            .map(|attribute| self.key_attribute(self.entity.key(&attribute.name)?, attribute.kind))
            .collect()
    }

    /// Reads a stored item back: attributes first, and what is only in keys from the key templates.
    pub fn from_item(entity: &Arc<Entity>, item: &Item) -> Self {
        let mut values = BTreeMap::new();
        for key in &entity.keys {
            let text = item.get(&key.attribute).and_then(AttributeValue::as_s);
            let parsed = text.and_then(|text| key.shape.template().template().parse_key(text).ok());
            for (name, value) in parsed.iter().flat_map(Fields::iter) {
                if let Some(field) = entity.field(name).filter(|field| key.tells(field)) {
                    values.insert(name.to_owned(), cut(field, value.into_owned()));
                }
            }
        }
        for field in &entity.fields {
            if let Some(value) = item.get(&field.name).and_then(|stored| value_of(field, stored)) {
                values.insert(field.name.clone(), value);
            }
        }
        Self { entity: entity.clone(), values }
    }

    /// What a link tells of the item that it leads to. Calculated shards are stored nowhere and follow from the rest.
    pub(crate) fn leading_to(self, entity: &Arc<Entity>) -> Self {
        let own = |(name, value): (String, Value<'static>)| match entity.field(&name) {
            Some(field) => (name, folded(field, cut(field, value))),
            None => (name, value),
        };
        let values = self.values.into_iter().map(own).collect();
        let mut row = Self { entity: entity.clone(), values };
        set_shards(&mut row);
        row
    }

    /// One attribute of the item, without building the others.
    pub fn attribute(&self, name: &str) -> Option<AttributeValue> {
        let table = &self.entity.table;
        if table.type_attribute.as_deref() == Some(name) {
            return Some(AttributeValue::from(self.entity.name.as_str()));
        }
        if let Some(key) = self.entity.key(name) {
            let mut attributes = table.indexes.iter().flat_map(Index::attributes);
            let kind = attributes.find(|attribute| attribute.name == name).map(|a| a.kind);
            let value = kind.and_then(|kind| self.key_attribute(key, kind));
            if value.is_some() {
                return value;
            }
        }
        let field = self.entity.field(name)?;
        self.values.get(name).filter(|_| field.is_stored()).map(|value| attribute_of(field, value))
    }

    /// The item as it is stored: key attributes, fields, and the type attribute if the table has one.
    pub fn item(&self) -> Item {
        let mut item = Item::new();
        for field in &self.entity.fields {
            if let Some(value) = self.values.get(&field.name).filter(|_| field.is_stored()) {
                item.insert(field.name.as_str(), attribute_of(field, value));
            }
        }
        for attribute in self.entity.table.key_attributes() {
            let value = self
                .entity
                .key(&attribute.name)
                .and_then(|key| self.key_attribute(key, attribute.kind));
            if let Some(value) = value {
                item.insert(attribute.name.as_str(), value);
            }
        }
        if let Some(name) = &self.entity.table.type_attribute {
            item.insert(name.as_str(), self.entity.name.as_str());
        }
        item
    }

    /// What a row is sorted by in a field: its value; a loosely written time is the moment that it means.
    pub(super) fn place(&self, field: &str) -> Option<Cow<'_, Value<'static>>> {
        let value = self.values.get(field)?;
        Some(self.entity.field(field).map_or(Cow::Borrowed(value), |field| meant(field, value)))
    }

    /// The primary key as text: two rows with one label are one item.
    pub fn label(&self) -> String {
        key_label(&self.index_values(self.entity.table.primary()).unwrap_or_default())
    }
}

/// A time as finely as a field keeps it.
fn cut(field: &Field, value: Value<'static>) -> Value<'static> {
    match (value, field.format().and_then(|format| format.precision())) {
        (Value::Time(time), Some(own)) if time.precision() > own => Value::Time(time.at(own)),
        (value, _) => value,
    }
}

/// A stored attribute as a value of its field.
fn value_of(field: &Field, stored: &AttributeValue) -> Option<Value<'static>> {
    let text = match stored {
        AttributeValue::S(text) => text.to_string(),
        AttributeValue::N(number) => number.to_string(),
        AttributeValue::Bool(flag) => return Some(Value::Bool(*flag)),
        AttributeValue::B(bytes) => return Some(Value::Bytes(bytes.clone().into())),
        AttributeValue::Ss(set) => set.first()?.to_string(),
        AttributeValue::Ns(set) => set.first()?.to_string(),
        AttributeValue::L(list) => return value_of(field, list.first()?),
        _ => return None,
    };
    match field.format() {
        // Attributes hold an hour as keys write it.
        Some(format) if *format.kind() == FieldType::Hour => {
            let hour = format.decode(&text).or_else(|_| Value::parse_for(&format, &text));
            hour.ok().map(Value::into_owned)
        }
        Some(format) => Value::parse_for(&format, &text).ok().map(Value::into_owned),
        None => Some(Value::Text(text.into())),
    }
}

/// The primary key of a stored item as text, as [`Row::label`] gives it.
pub fn item_label(table: &Table, item: &Item) -> String {
    let values: Vec<AttributeValue> = table
        .primary()
        .attributes()
        .filter_map(|attribute| item.get(&attribute.name).cloned())
        .collect();
    key_label(&values)
}

/// Key values as text, such as `USER#1 / ORDER#2`.
fn key_label(values: &[AttributeValue]) -> String {
    let texts: Vec<String> = values.iter().map(value_text).collect();
    texts.join(" / ")
}

fn value_text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.to_string(),
        AttributeValue::N(number) => number.to_string(),
        AttributeValue::B(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    }
}
