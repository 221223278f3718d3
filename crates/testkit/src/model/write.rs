//! Single writes and batches of them.

use std::collections::BTreeMap;

use keyloom_core::expr::{Condition, Update};
use keyloom_core::{AttributeValue, Error, IndexKind, Item, KeyAttribute, Result, Str};
use serde_json::{Map, Value, json};

use super::cost::{Cost, Purpose, show_all};
use super::data::{bindings, condition, item, item_of, item_value, list, request_items, text};
use super::{Model, Table};

const MAX_ITEM_BYTES: usize = 400 * 1024;

/// A write that has been read from its request, and checked as far as that goes without the item.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) key: Item,
    edit: Edit,
    condition: Option<Condition>,
    pub(super) return_item: bool,
}

#[derive(Debug)]
enum Edit {
    Put(Item),
    Update(Update),
    Delete,
    Check,
}

/// An item before and after a write.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) old: Option<Item>,
    pub(super) new: Option<Item>,
}

fn invalid(why: &str) -> Error {
    Error::Validation(why.into())
}

impl Write {
    /// Reads the members that single writes and the actions of transactions share.
    pub(super) fn read(table: &Table, kind: &str, body: &Value) -> Result<Self> {
        let mut bindings = bindings(body)?;
        let update = match kind {
            "Update" => Some(bindings.update(text(body, "UpdateExpression"))?),
            _ => None,
        };
        let condition = condition(&mut bindings, body, "ConditionExpression")?;
        bindings.finish()?;
        let (key, edit) = match (kind, update) {
            ("Put", _) => {
                let item = item(body, "Item")?.unwrap_or_default();
                table.check_item(&item, None)?;
                (table.schema.key_of(&item)?, Edit::Put(item))
            }
            (_, Some(update)) => {
                let key = item(body, "Key")?.unwrap_or_default();
                table.check_key(&key)?;
                update.check_excludes_keys(key.keys().map(Str::as_str))?;
                (key, Edit::Update(update))
            }
            (kind, None) => {
                let key = item(body, "Key")?.unwrap_or_default();
                table.check_key(&key)?;
                (key, if kind == "Delete" { Edit::Delete } else { Edit::Check })
            }
        };
        let return_item = text(body, "ReturnValuesOnConditionCheckFailure") == "ALL_OLD";
        Ok(Self { key, edit, condition, return_item })
    }

    /// What it would do to the table as it is.
    pub(super) fn change(&self, table: &Table) -> Result<Change> {
        let old = table.get(&self.key)?;
        if self.condition.as_ref().is_some_and(|condition| !condition.matches(old)) {
            let item = old.filter(|_| self.return_item).cloned();
            return Err(Error::ConditionalCheckFailed { item });
        }
        let new = match &self.edit {
            Edit::Put(item) => Some(item.clone()),
            Edit::Delete => None,
            Edit::Check => old.cloned(),
            Edit::Update(update) => {
                let new = update.apply(old, &self.key)?;
                table.check_item(&new, old)?;
                // Where there was no item, an update that adds nothing to the key creates none.
                let adds = new.len() > self.key.len() || update.actions().is_empty();
                Some(new).filter(|_| old.is_some() || adds)
            }
        };
        Ok(Change { old: old.cloned(), new })
    }
}

impl Model {
    pub(super) fn write_item(&mut self, operation: &str, body: &Value) -> Result<Value> {
        let table = self.table_of(body);
        let kind = operation.strip_suffix("Item").unwrap_or(operation);
        let write = Write::read(table, kind, body)?;
        let change = write.change(table)?;
        let mut reply = Map::new();
        let part = |item: Option<&Item>| match &write.edit {
            Edit::Update(update) => {
                item.map(|item| update.targets().apply(item)).filter(|part| !part.is_empty())
            }
            _ => None,
        };
        let returned = match text(body, "ReturnValues") {
            "ALL_OLD" => change.old.clone(),
            "ALL_NEW" => change.new.clone(),
            "UPDATED_OLD" => part(change.old.as_ref()),
            "UPDATED_NEW" => part(change.new.as_ref()),
            _ => None,
        };
        if let Some(item) = returned {
            reply.insert("Attributes".into(), item_value(&item));
        }
        Cost::of_write(table, change.old.as_ref(), change.new.as_ref()).show(body, &mut reply);
        self.apply(text(body, "TableName"), &write.key, change);
        Ok(reply.into())
    }

    pub(super) fn apply(&mut self, table: &str, key: &Item, change: Change) {
        if let Some(table) = self.tables.get_mut(table) {
            table.set(key, change.new);
        }
    }

    pub(super) fn batch_write_item(&mut self, body: &Value) -> Result<Value> {
        let mut writes: Vec<(String, Write)> = Vec::new();
        for (name, requests) in request_items(body) {
            let table = self.table(name);
            for request in requests.as_array().into_iter().flatten() {
                let (kind, request) = match request.get("PutRequest") {
                    Some(put) => ("Put", put),
                    None => ("Delete", request.get("DeleteRequest").unwrap_or(&Value::Null)),
                };
                let write = Write::read(table, kind, request)?;
                if writes.iter().any(|(other, earlier)| other == name && earlier.key == write.key) {
                    return Err(invalid("duplicates"));
                }
                writes.push((name.to_owned(), write));
            }
        }
        let mut costs: BTreeMap<String, Cost> = BTreeMap::new();
        for (name, write) in writes {
            let table = self.table(&name);
            let change = write.change(table)?;
            let cost = Cost::of_write(table, change.old.as_ref(), change.new.as_ref());
            costs.entry(name.clone()).or_default().add(cost);
            self.apply(&name, &write.key, change);
        }
        let mut reply = Map::from_iter([("UnprocessedItems".to_owned(), json!({}))]);
        show_all(&costs, Purpose::Plain, body, &mut reply);
        Ok(reply.into())
    }

    pub(super) fn batch_get_item(&self, body: &Value) -> Result<Value> {
        let mut responses = Map::new();
        let mut costs: BTreeMap<String, Cost> = BTreeMap::new();
        for (name, request) in request_items(body) {
            let table = self.table(name);
            let keys: Vec<Item> =
                list(request, "Keys").iter().map(item_of).collect::<Result<_>>()?;
            let mut items = Vec::new();
            for (position, key) in keys.iter().enumerate() {
                if keys.iter().take(position).any(|earlier| earlier == key) {
                    return Err(invalid("duplicates"));
                }
                let found = table.get(key)?;
                let cost = super::read::get_cost(request, found);
                costs.entry(name.to_owned()).or_default().add(cost);
                items.extend(found.map(item_value));
            }
            responses.insert(name.to_owned(), items.into());
        }
        let mut reply = Map::new();
        reply.insert("Responses".into(), responses.into());
        reply.insert("UnprocessedKeys".into(), json!({}));
        show_all(&costs, Purpose::Plain, body, &mut reply);
        Ok(reply.into())
    }
}

impl Table {
    /// A key has exactly the key attributes, of their types, not empty.
    pub(super) fn check_key(&self, key: &Item) -> Result<()> {
        if !self.has_types_of(key) || key.values().any(is_empty) {
            return Err(invalid("key"));
        }
        Ok(())
    }

    /// Whether a key has exactly the key attributes, of their types.
    pub(super) fn has_types_of(&self, key: &Item) -> bool {
        let fits = |attribute: &KeyAttribute| {
            key.get(&attribute.name).is_some_and(|value| attribute.kind.accepts(value))
        };
        key.len() == self.schema.key.len() && self.schema.key.attributes().all(fits)
    }

    /// An item has the table's key; where it has an index's key attributes, and an update has not
    /// left them as they were, they have their types and are not empty.
    pub(super) fn check_item(&self, item: &Item, before: Option<&Item>) -> Result<()> {
        self.check_key(&self.schema.key_of(item)?)?;
        for index in &self.schema.indexes {
            let shared = usize::from(index.kind == IndexKind::Local);
            for attribute in index.key.attributes().skip(shared) {
                let unchanged = before.and_then(|before| before.get(&attribute.name));
                if let Some(value) = item.get(&attribute.name)
                    && unchanged != Some(value)
                    && !is_key_value(attribute, value)
                {
                    return Err(invalid("index key"));
                }
            }
        }
        if keyloom_core::size::item_size(item) > MAX_ITEM_BYTES {
            return Err(invalid("size"));
        }
        Ok(())
    }
}

/// Whether a value has the type of a key attribute and is not empty.
pub(super) fn is_key_value(attribute: &KeyAttribute, value: &AttributeValue) -> bool {
    attribute.kind.accepts(value) && !is_empty(value)
}

fn is_empty(value: &AttributeValue) -> bool {
    matches!(value, AttributeValue::S(text) if text.is_empty())
        || matches!(value, AttributeValue::B(bytes) if bytes.is_empty())
}
