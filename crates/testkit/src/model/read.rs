//! GetItem and Query.

use keyloom_core::expr::Projection;
use keyloom_core::size::item_size;
use keyloom_core::{Error, IndexKind, IndexSchema, Item, Result, schema};
use serde_json::{Map, Value, json};

use super::cost::{Cost, read_units};
use super::data::{self, Key, bindings, condition, flag, item_value, text};
use super::write::is_key_value;
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
                Some(index) => self.project(base, index)?,
                None => base.clone(),
            };
            Some(Entry { position: self.position(index, base), projected, base: base.clone() })
        };
        let mut entries: Vec<Entry> = self.items.values().filter_map(entry).collect();
        entries.sort_by(|a, b| a.position.cmp(&b.position));
        entries
    }

    /// What an index holds of an item: nothing if a key attribute is missing or cannot be one.
    pub(super) fn project(&self, item: &Item, index: &IndexSchema) -> Option<Item> {
        for attribute in index.key.attributes() {
            item.get(&attribute.name).filter(|value| is_key_value(attribute, value))?;
        }
        let held = item.iter().filter(|(name, _)| self.projects(index, name));
        Some(held.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    fn projects(&self, index: &IndexSchema, name: &str) -> bool {
        let mut keys = self.schema.key.attributes().chain(index.key.attributes());
        match &index.projection {
            schema::Projection::All => true,
            schema::Projection::Include(names) if names.iter().any(|other| other == name) => true,
            _ => keys.any(|key| key.name == name),
        }
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
            Some(projection) => projection.attributes().any(|name| !self.projects(index, name)),
            None => select == "ALL_ATTRIBUTES" && index.projection != schema::Projection::All,
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
        let select = text(body, "Select");
        let fetch = index.is_some_and(|index| table.lacks(index, projection.as_ref(), select));
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
        // A partition of a table without a sort key has one item, after which nothing comes.
        let can_continue = index.is_some() || !table.schema.key.range.is_empty();
        if let Some(start) = data::item(body, "ExclusiveStartKey")? {
            if !can_continue {
                return Err(Error::Validation("a page of one item has no next page".into()));
            }
            if wanted.as_ref().is_some_and(|wanted| !wanted.matches(Some(&start))) {
                return Err(Error::Validation("the start key is outside the condition".into()));
            }
            let start = table.position(index, &start);
            let is_after = |entry: &Entry| (entry.position > start) == forward;
            entries.retain(|entry| entry.position != start && is_after(entry));
        }
        let (page, last) = first_page(&entries, body);

        let shown_of =
            |entry: &Entry| if fetch { entry.base.clone() } else { entry.projected.clone() };
        let rows = page.iter().map(shown_of);
        let rows = rows.filter(|row| filter.as_ref().is_none_or(|f| f.matches(Some(row))));
        let rows: Vec<Value> =
            rows.map(|row| item_value(&shown(&row, projection.as_ref()))).collect();
        let mut reply = Map::new();
        reply.insert("Count".into(), rows.len().into());
        reply.insert("ScannedCount".into(), page.len().into());
        if select != "COUNT" {
            reply.insert("Items".into(), rows.into());
        }
        if let Some(last) = last.filter(|_| can_continue) {
            reply.insert("LastEvaluatedKey".into(), item_value(&table.last_key(index, last)));
        }
        page_cost(page, index, fetch, flag(body, "ConsistentRead")).show(body, &mut reply);
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

/// The entries that one page evaluates, and the last of them if the page ends before the entries
/// do, as far as it knows: by the limit, or with the entry that makes it 1 MB.
fn first_page<'a>(entries: &'a [Entry], body: &Value) -> (&'a [Entry], Option<&'a Entry>) {
    let limit = body.get("Limit").and_then(Value::as_u64).map_or(usize::MAX, |l| l as usize);
    let mut bytes = 0;
    for (position, entry) in entries.iter().enumerate() {
        bytes += item_size(&entry.projected);
        if position + 1 == limit || bytes >= MAX_PAGE_BYTES {
            return (entries.get(..=position).unwrap_or(entries), Some(entry));
        }
    }
    (entries, None)
}

/// A page is rounded up as a whole; base items that a local index fetches are rounded one by one.
fn page_cost(page: &[Entry], index: Option<&IndexSchema>, fetch: bool, consistent: bool) -> Cost {
    let bytes = page.iter().map(|entry| item_size(&entry.projected)).sum();
    let own = read_units(bytes, consistent);
    let Some(index) = index else { return Cost::of_table(own) };
    let fetched = page.iter().filter(|_| fetch);
    let fetched = fetched.map(|entry| read_units(item_size(&entry.base), consistent));
    let mut cost = Cost::of_table(fetched.sum());
    cost.add_index(index.kind, &index.name, own);
    cost
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
