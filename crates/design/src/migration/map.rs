//! Items of one design as items of another.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use keyloom_core::{AttributeValue, Item};
use keyloom_keys::{Value, stable_hash};

use super::route::{Manner, Route};
use crate::evaluate::{Row, is_of, item_label};
use crate::generate::set_shards;
use crate::key::attribute_of;
use crate::model::{Design, Entity, EntityKey, Field, FieldKind, Table};

/// The attribute that a migration keeps in the items that it writes, until the end.
pub const MARK: &str = "keyloom_migration";

/// From items of one design to items of another.
#[derive(Clone, Debug)]
pub struct ItemMap {
    routes: Vec<Route>,
    /// All entities of the source design.
    own: Vec<Arc<Entity>>,
    /// The entities that are written: a table may hold both forms.
    made: Vec<Arc<Entity>>,
    sources: Vec<Arc<Table>>,
    targets: Vec<Arc<Table>>,
}

/// What an item is to a migration.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It becomes these items: none if its entity is not in the other design, or nothing changes.
    Mapped(Vec<Mapped>),
    /// It is in the form of the other design.
    Made,
    /// It is of no entity of either design.
    Unknown,
}

impl Fate {
    /// Whether nothing of it is at this place.
    pub fn is_elsewhere(&self, table: &str, key: &Item) -> bool {
        match self {
            Self::Mapped(mapped) => mapped.iter().all(|new| new.table != table || new.key != *key),
            Self::Made | Self::Unknown => false,
        }
    }
}

/// An item as the other design has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapped {
    /// The name of the table.
    pub table: String,
    /// The primary key.
    pub key: Item,
    /// The whole item.
    pub item: Item,
    /// What to change, if it is the same item with attributes more.
    pub amendment: Option<Amendment>,
}

/// What an item in place lacks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Amendment {
    /// Attributes with their new values; none if they go.
    pub changes: Vec<(String, Option<AttributeValue>)>,
    /// The attributes that it was made from.
    pub inputs: Vec<String>,
}

/// Why an item has no form in the other design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmappable {
    /// The item's primary key.
    pub key: String,
    /// The name of its entity.
    pub entity: String,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Unmappable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`: {}", self.entity, self.key, self.reason)
    }
}

impl ItemMap {
    pub(super) fn new(from: &Design, to: &Design, routes: Vec<Route>) -> Self {
        let copies = |route: &&Route| route.manner == Manner::Copy;
        let made = routes.iter().filter(copies).map(|route| Arc::clone(&route.to)).collect();
        let moved = |table: &&Arc<Table>, side: fn(&Route) -> &Arc<Entity>| {
            let written = routes.iter().filter(|route| route.manner != Manner::Keep);
            written.map(side).any(|entity| entity.table.name == table.name)
        };
        let tables = |design: &Design, side: fn(&Route) -> &Arc<Entity>| -> Vec<Arc<Table>> {
            design.tables().iter().filter(|table| moved(table, side)).cloned().collect()
        };
        Self {
            sources: tables(from, |route| &route.from),
            targets: tables(to, |route| &route.to),
            own: from.entities().to_vec(),
            made,
            routes,
        }
    }

    /// The routes of all entities.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// The tables that items are read from.
    pub fn sources(&self) -> &[Arc<Table>] {
        &self.sources
    }

    /// The tables that items are written to.
    pub fn targets(&self) -> &[Arc<Table>] {
        &self.targets
    }

    /// Whether an item is in the form that this map makes.
    pub fn is_made(&self, table: &str, item: &Item) -> bool {
        self.made.iter().any(|entity| is_of(entity, table, item))
    }

    /// The name of an item's entity in the source design.
    pub fn entity_of(&self, table: &str, item: &Item) -> Option<&str> {
        let entity = self.own.iter().find(|entity| is_of(entity, table, item));
        entity.map(|entity| entity.name.as_str())
    }

    /// An item as the other design has it, whether or not a migration has to write it; none if it is of no entity that has
    /// exactly one other form.
    pub fn counterpart(&self, table: &str, item: &Item) -> Result<Option<Mapped>, Unmappable> {
        let Some(entity) = self.own.iter().find(|entity| is_of(entity, table, item)) else {
            return Ok(None);
        };
        let mut routes = self.routes.iter().filter(|route| route.from.name == entity.name);
        match (routes.next(), routes.next()) {
            (Some(route), None) => route.apply(item).map(Some),
            _ => Ok(None),
        }
    }

    /// The values of an item, by the entity of the source design that it is of.
    pub fn row(&self, table: &str, item: &Item) -> Option<Row> {
        let entity = self.own.iter().find(|entity| is_of(entity, table, item))?;
        Some(Row::from_item(entity, item))
    }

    /// What becomes of an item.
    pub fn fate(&self, table: &str, item: &Item) -> Result<Fate, Unmappable> {
        let Some(entity) = self.own.iter().find(|entity| is_of(entity, table, item)) else {
            return Ok(if self.is_made(table, item) { Fate::Made } else { Fate::Unknown });
        };
        let mut mapped = Vec::new();
        let written = self.routes.iter().filter(|route| route.manner != Manner::Keep);
        for route in written.filter(|route| route.from.name == entity.name) {
            mapped.push(route.apply(item)?);
        }
        Ok(Fate::Mapped(mapped))
    }
}

impl Route {
    fn apply(&self, item: &Item) -> Result<Mapped, Unmappable> {
        let wrong = |reason: String| Unmappable {
            key: item_label(&self.from.table, item),
            entity: self.from.name.clone(),
            reason,
        };
        let before = Row::from_item(&self.from, item);
        if !self.is_own_key(&before, item) {
            return Err(wrong("its attributes make another primary key".into()));
        }
        let after = self.row(&before, item).map_err(wrong)?;
        if !after.is_writable() {
            let missing =
                self.to.identity().into_iter().find(|name| !after.values.contains_key(*name));
            return Err(wrong(match missing {
                Some(field) => format!("the new key needs `{field}`, which it does not have"),
                None => "its values do not fit into the new keys".into(),
            }));
        }
        let made = self.item(&after, item);
        let amendment = (self.manner == Manner::Amend).then(|| self.amendment(item, &made));
        Ok(Mapped {
            table: self.to.table.name.clone(),
            key: key_of(&self.to.table, &made),
            item: made,
            amendment,
        })
    }

    /// Whether an item stands under the key that its values make. A native key is a value itself.
    fn is_own_key(&self, row: &Row, item: &Item) -> bool {
        self.from.table.primary().attributes().all(|attribute| {
            let key = self.from.key(&attribute.name);
            key.is_some_and(|key| {
                let made = || row.key_attribute(key, attribute.kind);
                key.shape.is_native() || made().as_ref() == item.get(&attribute.name)
            })
        })
    }

    /// The field values of the new item.
    fn row(&self, before: &Row, item: &Item) -> Result<Row, String> {
        let mut row = Row { entity: Arc::clone(&self.to), values: BTreeMap::new() };
        for field in &self.to.fields {
            let source = self.source_name(&field.name);
            if let FieldKind::Shard(shards) = &field.kind
                && shards.by.is_empty()
            {
                // A random shard must be the same whenever the item is mapped.
                let kept =
                    before.values.get(source).and_then(shard_number).filter(|n| *n < shards.count);
                let label = item_label(&self.from.table, item);
                let drawn = || (stable_hash(&[&label]) % u64::from(shards.count.max(1))) as u32;
                row.values.insert(field.name.clone(), Value::from(kept.unwrap_or_else(drawn)));
                continue;
            }
            let Some(value) = before.values.get(source) else { continue };
            let value = self.value(field, value)?;
            row.values.insert(field.name.clone(), value);
        }
        set_shards(&mut row);
        Ok(row)
    }

    /// A value in the type that the field has now.
    fn value(&self, field: &Field, value: &Value<'static>) -> Result<Value<'static>, String> {
        let before = self.from.field(self.source_name(&field.name));
        if before.is_none_or(|before| before.comparison_class() == field.comparison_class()) {
            return Ok(value.clone());
        }
        let Some(format) = field.format() else { return Ok(value.clone()) };
        let text = value.to_string();
        let read = Value::parse_for(&format, &text).map(Value::into_owned);
        read.map_err(|_| format!("`{}` is `{text}`, which is no {}", field.name, field.type_name()))
    }

    /// The new item: what the new design makes, and everything that neither design mentions.
    fn item(&self, after: &Row, old: &Item) -> Item {
        let mut item = old.clone();
        item.remove(MARK);
        for key in self.from.keys.iter().filter(|key| !key.shape.is_native()) {
            item.remove(&key.attribute);
        }
        if let Some(name) = &self.from.table.type_attribute {
            item.remove(name);
        }
        let renamed = self.renames.iter().map(|(before, _)| before);
        for name in renamed.chain(&self.parted) {
            item.remove(name);
        }
        for field in &self.to.fields {
            let source = self.source_name(&field.name);
            let kept = self.from.field(source).is_some_and(|before| {
                before.is_stored() && before.comparison_class() == field.comparison_class()
            });
            let value = match old.get(source).filter(|_| kept || self.from.field(source).is_none())
            {
                Some(value) => Some(value.clone()),
                None => after.values.get(&field.name).map(|value| attribute_of(field, value)),
            };
            match value.filter(|_| field.is_stored()) {
                Some(value) => drop(item.insert(field.name.as_str(), value)),
                None => drop(item.remove(&field.name)),
            }
        }
        for attribute in self.to.table.key_attributes() {
            let Some(key) = self.to.key(&attribute.name) else { continue };
            let stored = item.get(&attribute.name).map(AttributeValue::attribute_type);
            if key.shape.is_native() && stored == Some(attribute.kind.attribute_type()) {
                continue;
            }
            match after.key_attribute(key, attribute.kind) {
                Some(value) => drop(item.insert(attribute.name.as_str(), value)),
                None => drop(item.remove(&attribute.name)),
            }
        }
        if let Some(name) = &self.to.table.type_attribute {
            item.insert(name.as_str(), self.to.name.as_str());
        }
        item
    }

    /// What the old item lacks of the new one; it keeps everything that it has.
    fn amendment(&self, old: &Item, made: &Item) -> Amendment {
        let mut amendment = Amendment::default();
        for name in self.added().into_iter().chain(self.rewritten.iter().cloned()) {
            let wanted = made.get(&name);
            if old.get(&name) != wanted {
                amendment.changes.push((name, wanted.cloned()));
            }
        }
        let fields = self.to.keys.iter().flat_map(key_fields);
        let renamed = self.renames.iter().map(|(_, new)| new.as_str());
        for field in fields.chain(renamed) {
            let source = self.source_name(field).to_owned();
            let stored = self.from.field(&source).is_some_and(Field::is_stored);
            if stored && !amendment.inputs.contains(&source) {
                amendment.inputs.push(source);
            }
        }
        amendment
    }

    /// The attributes that this makes and that items of the old design do not have.
    pub fn added(&self) -> Vec<String> {
        let has = |name: &str| {
            self.from.key(name).is_some()
                || self.from.field(name).is_some_and(Field::is_stored)
                || self.from.table.type_attribute.as_deref() == Some(name)
        };
        let keys = self.to.keys.iter().filter(|key| !key.shape.is_native());
        let keys = keys.map(|key| key.attribute.clone());
        let made = self.to.fields.iter().filter(|field| field.is_stored()).filter(|field| {
            let source = self.source_name(&field.name);
            source != field.name
                || self.from.field(source).is_some_and(|before| !before.is_stored())
        });
        let fields = made.map(|field| field.name.clone());
        let kind = self.to.table.type_attribute.clone();
        keys.chain(fields).chain(kind).filter(|name| !has(name)).collect()
    }
}

/// The fields that a key and its condition use.
fn key_fields(key: &EntityKey) -> impl Iterator<Item = &str> {
    let terms = key.when.iter().flat_map(|when| &when.terms);
    key.shape.template().fields().chain(terms.map(|term| term.name.as_str()))
}

fn shard_number(value: &Value<'static>) -> Option<u32> {
    value.to_string().parse().ok()
}

/// The primary key of an item of a table.
fn key_of(table: &Table, item: &Item) -> Item {
    let names = table.primary().attributes().map(|key| &key.name);
    names.filter_map(|name| Some((name.as_str().into(), item.get(name)?.clone()))).collect()
}
