//! GetItem and Query.

use keyloom_core::expr::Projection;
use keyloom_core::size::item_size;
use keyloom_core::{Error, IndexKind, IndexSchema, Item, Result};
use serde_json::{Map, Value, json};

use super::cost::{Cost, read_units};
use super::data::{self, Key, bindings, condition, flag, item_value, text};
use super::{Model, Table};

const MAX_PAGE_BYTES: usize = 1024 * 1024;

/// An item as a table or an index shows it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its place in the order of the table or index.
    position: Key,
    /// What the table or index holds of it.
    pub(super) projected: Item,
    /// The whole item.
    base: Item,
}

/// The price of getting one item.
pub(super) fn get_cost(request: &Value, found: Option<&Item>) -> Cost {
    Cost::of_table(read_units(found.map_or(0, item_size), flag(request, "ConsistentRead")))
}

impl Table {
    /// All entries of the table or an index, in order.
    pub(super) fn source(&self, index: Option<&str>) -> Vec<Entry> {
        let index = index.and_then(|name| self.schema.index(name));
        let entry = |base: &Item| {
            let projected = match index {
                Some(index) => self.schema.project(base, index)?,
                None => base.clone(),
            };
            Some(Entry { position: self.position(index, base), projected, base: base.clone() })
        };
        let mut entries: Vec<Entry> = self.items.values().filter_map(entry).collect();
        entries.sort_by(|a, b| a.position.cmp(&b.position));
        entries
    }

    /// The place of an item in the order of an index, or of the table.
    fn position(&self, index: Option<&IndexSchema>, item: &Item) -> Key {
        let own = Key::of(&self.schema.key, item);
        match index {
            Some(index) => Key::of(&index.key, item).then(own),
            None => own,
        }
    }

    /// Whether a projection needs more than the index holds.
    fn lacks(&self, index: &IndexSchema, projection: Option<&Projection>, select: &str) -> bool {
        match projection {
            Some(projection) => {
                projection.attributes().any(|name| !self.schema.projects(index, name))
            }
            None => select == "ALL_ATTRIBUTES" && index.projection != keyloom_core::Projection::All,
        }
    }

    /// What `LastEvaluatedKey` says of an entry.
    fn last_key(&self, index: Option<&IndexSchema>, entry: &Entry) -> Item {
        let names = self.schema.key.attributes();
        let names = names.chain(index.into_iter().flat_map(|index| index.key.attributes()));
        let value = |name: &str| entry.projected.get(name).cloned();
        names.filter_map(|key| Some((key.name.clone(), value(&key.name)?))).collect()
    }
}

impl Model {
    pub(super) fn get_item(&self, body: &Value) -> Result<Value> {
        let projection = projection(body)?;
        let key = data::item(body, "Key")?.unwrap_or_default();
        let found = self.table_of(body).get(&key)?;
        let mut reply = Map::new();
        get_cost(body, found).show(body, &mut reply);
        if let Some(item) = found {
            reply.insert("Item".into(), item_value(&shown(item, projection.as_ref())));
        }
        Ok(reply.into())
    }

    pub(super) fn query(&self, body: &Value) -> Result<Value> {
        let mut bindings = bindings(body)?;
        let wanted = condition(&mut bindings, body, "KeyConditionExpression")?;
        let filter = condition(&mut bindings, body, "FilterExpression")?;
        let projection = body.get("ProjectionExpression").and_then(Value::as_str);
        let projection = projection.map(|text| bindings.projection(text)).transpose()?;
        bindings.finish()?;
        let table = self.table_of(body);
        let index = body.get("IndexName").and_then(Value::as_str);
        let index = index.and_then(|name| table.schema.index(name));
        let fetch = index
            .is_some_and(|index| table.lacks(index, projection.as_ref(), text(body, "Select")));
        let global = index.is_some_and(|index| index.kind == IndexKind::Global);
        if global && (fetch || flag(body, "ConsistentRead")) {
            return Err(Error::Validation("a global index does not have that".into()));
        }

        let mut entries = table.source(index.map(|index| index.name.as_str()));
        entries.retain(|entry| wanted.as_ref().is_none_or(|w| w.matches(Some(&entry.base))));
        let forward = body.get("ScanIndexForward") != Some(&Value::Bool(false));
        if !forward {
            entries.reverse();
        }
        if let Some(start) = data::item(body, "ExclusiveStartKey")? {
            let start = table.position(index, &start);
            let is_after = |entry: &Entry| (entry.position > start) == forward;
            entries.retain(|entry| entry.position != start && is_after(entry));
        }

        let limit = body.get("Limit").and_then(Value::as_u64).map_or(usize::MAX, |l| l as usize);
        let consistent = flag(body, "ConsistentRead");
        let (mut rows, mut scanned, mut bytes) = (Vec::new(), 0, 0);
        let (mut fetched, mut last) = (0.0, None);
        for entry in &entries {
            scanned += 1;
            bytes += item_size(&entry.projected);
            let row = if fetch { &entry.base } else { &entry.projected };
            if fetch {
                fetched += read_units(item_size(&entry.base), consistent);
            }
            if filter.as_ref().is_none_or(|filter| filter.matches(Some(row))) {
                rows.push(item_value(&shown(row, projection.as_ref())));
            }
            if scanned == limit || bytes >= MAX_PAGE_BYTES {
                last = Some(item_value(&table.last_key(index, entry)));
                break;
            }
        }

        let mut reply = Map::new();
        reply.insert("Count".into(), rows.len().into());
        reply.insert("ScannedCount".into(), scanned.into());
        if text(body, "Select") != "COUNT" {
            reply.insert("Items".into(), rows.into());
        }
        if let Some(last) = last {
            reply.insert("LastEvaluatedKey".into(), last);
        }
        let own = read_units(bytes, consistent);
        let cost = match index {
            None => Cost::of_table(own),
            Some(index) => {
                let mut cost = Cost::of_table(fetched);
                cost.add_index(index.kind, &index.name, own);
                cost
            }
        };
        cost.show(body, &mut reply);
        Ok(reply.into())
    }

    pub(super) fn transact_get(&self, body: &Value) -> Result<(Cost, Value)> {
        let projection = projection(body)?;
        let key = data::item(body, "Key")?.unwrap_or_default();
        let found = self.table_of(body).get(&key)?;
        let cost = Cost::of_table(2.0 * read_units(found.map_or(0, item_size), true));
        let response = match found {
            Some(item) => json!({"Item": item_value(&shown(item, projection.as_ref()))}),
            None => json!({}),
        };
        Ok((cost, response))
    }
}

fn projection(body: &Value) -> Result<Option<Projection>> {
    let mut bindings = bindings(body)?;
    let text = body.get("ProjectionExpression").and_then(Value::as_str);
    let projection = text.map(|text| bindings.projection(text)).transpose()?;
    bindings.finish()?;
    Ok(projection)
}

fn shown(item: &Item, projection: Option<&Projection>) -> Item {
    projection.map_or_else(|| item.clone(), |projection| projection.apply(item))
}
