//! A row: an entity with values for its fields, and the item it is stored as.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_core::{AttributeValue, Item};
use keyloom_keys::Value;

use super::test::when_holds;
use crate::key::{attribute_of, key_value};
use crate::model::{Entity, EntityKey, FieldKind, Index, KeyShape, KeyType};

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
                template.build(|name| self.values.get(name).cloned()).map(AttributeValue::from)
            }
        }
    }

    /// The key attributes of an index, in order; nothing if the row is not in it.
    pub fn index_values(&self, index: &Index) -> Option<Vec<AttributeValue>> {
        index
            .attributes()
            .map(|attribute| self.key_attribute(self.entity.key(&attribute.name)?, attribute.kind))
            .collect()
    }

    /// The item as it is stored: key attributes, fields, and the type attribute if the table has one.
    pub fn item(&self) -> Item {
        let mut item = Item::new();
        for field in &self.entity.fields {
            let stored = !field.key_only && !matches!(field.kind, FieldKind::Shard(_));
            if let Some(value) = self.values.get(&field.name).filter(|_| stored) {
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

    /// The primary key as text: two rows with one label are one item.
    pub fn label(&self) -> String {
        key_label(&self.index_values(self.entity.table.primary()).unwrap_or_default())
    }
}

/// Key values as text, such as `USER#1 / ORDER#2`.
pub(crate) fn key_label(values: &[AttributeValue]) -> String {
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
