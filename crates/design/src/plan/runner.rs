//! What a runner of plans needs besides the first reads: the second step, and the units that a call should consume.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_core::capacity::{ReadMode, Units, read_units};
use keyloom_core::limits::{MAX_BATCH_GET_KEYS, MAX_PAGE_BYTES};
use keyloom_core::size::item_size;
use keyloom_core::{AttributeValue, Item, Operation};
use serde_json::{Map, Value as Json, json};

use super::concrete::{ConcreteRead, ReadKind};
use super::request::{Request, RequestValue};
use super::simulate::evaluated;
use super::{Hydrate, Plan};
use crate::evaluate::Row;
use crate::model::{Access, Entity, Projection};

/// The reads of the second step for one row of the first: by primary key, or one Query of an index for each item that a
/// link leads to. None for an item whose key the link does not know.
pub fn second_reads(access: &Access, step: &Hydrate, row: &Item) -> Vec<ConcreteRead> {
    let mut reads: Vec<ConcreteRead> = Vec::new();
    for entity in &step.entities {
        let read = second_read(access, step, entity, row);
        // Several entities may lie under one key of the index.
        reads.extend(read.filter(|read| !reads.contains(read)));
        if access.via.is_none() {
            // An index entry carries the primary key of its item, whichever entity it is.
            break;
        }
    }
    reads
}

/// The read for the item of one entity that a row leads to.
pub fn second_read(
    access: &Access,
    step: &Hydrate,
    entity: &Arc<Entity>,
    row: &Item,
) -> Option<ConcreteRead> {
    let index = match &step.index {
        None => entity.table.primary(),
        Some(name) => entity.table.index(name)?,
    };
    let names = index.attributes().map(|attribute| attribute.name.clone());
    let equal: Vec<(String, AttributeValue)> = match &access.via {
        None => names.filter_map(|name| Some((name.clone(), row.get(&name)?.clone()))).collect(),
        Some(via) => names.zip(target(via, entity, row).index_values(index)?).collect(),
    };
    // An empty text is no key: it leads nowhere.
    if equal.iter().any(|(_, value)| value.as_s() == Some("")) {
        return None;
    }
    Some(ConcreteRead {
        kind: if step.batch { ReadKind::Get } else { ReadKind::Query },
        table: entity.table.name.clone(),
        index: index.name.clone(),
        equal,
        sort: None,
        filter: Vec::new(),
        forward: true,
        limit: None,
        // A global index is never strongly consistent.
        consistent: access.consistent && step.batch,
        all_attributes: false,
    })
}

/// The requests of the second step for the items that the first one returned, in order.
///
/// The keys of one item stay together: request `n` fetches for items `100·n..`, or for item `n` alone
/// where each takes a Query.
pub fn second_step(access: &Access, plan: &Plan, items: &[Item]) -> Vec<Request> {
    let Some(step) = &plan.hydrate else { return Vec::new() };
    let reads: Vec<ConcreteRead> =
        items.iter().flat_map(|item| second_reads(access, step, item)).collect();
    if !step.batch {
        return reads.iter().map(super::to_request).collect();
    }
    let batch = |chunk: &[ConcreteRead]| {
        let keys: Vec<Json> = chunk.iter().map(key_json).collect();
        let mut request = json!({ "Keys": keys });
        if let (true, Json::Object(map)) = (access.consistent, &mut request) {
            map.insert("ConsistentRead".to_owned(), json!(true));
        }
        let mut tables = Map::new();
        tables.insert(chunk.first().map_or_else(String::new, |read| read.table.clone()), request);
        let body = json!({ "RequestItems": tables });
        Request { operation: Operation::BatchGetItem, body }
    };
    reads.chunks(MAX_BATCH_GET_KEYS).map(batch).collect()
}

fn key_json(read: &ConcreteRead) -> Json {
    let key = read.equal.iter().map(|(name, value)| (name.clone(), value.to_json()));
    Json::Object(key.collect())
}

/// What a link item tells of the item it leads to. Calculated shards are stored nowhere and follow from the rest.
fn target(via: &Arc<Entity>, entity: &Arc<Entity>, item: &Item) -> Row {
    Row::from_item(via, item).leading_to(entity)
}

/// The read units that a read consumes on these rows, of which each of its pages evaluates so many; all of them if the
/// read is done. An error says how the pages differ from what the plan reads.
pub fn predicted_pages(
    read: &ConcreteRead,
    rows: Vec<&Row>,
    pages: &[usize],
    is_done: bool,
) -> Result<Units, String> {
    let mode = if read.consistent { ReadMode::Strong } else { ReadMode::Eventual };
    let found = evaluated(&ConcreteRead { limit: None, ..read.clone() }, rows);
    let sizes: Vec<usize> = found.iter().map(|row| entry_bytes(read, row)).collect();
    let (mut rest, mut total) = (sizes.as_slice(), Units::ZERO);
    for entries in pages {
        let Some((page, after)) = rest.split_at_checked(*entries) else {
            return Err(format!(
                "{} entries are evaluated, not {}",
                pages.iter().sum::<usize>(),
                sizes.len()
            ));
        };
        // A page ends with the item that reaches 1 MB, and rounds up by itself.
        let before_last: usize = page.iter().rev().skip(1).sum();
        if before_last >= MAX_PAGE_BYTES {
            return Err("a page goes on after 1 MB".to_owned());
        }
        total += read_units(page.iter().sum(), mode);
        rest = after;
    }
    if is_done && !rest.is_empty() {
        return Err(format!("{} entries of {} are not evaluated", rest.len(), sizes.len()));
    }
    if read.all_attributes {
        let fetched = found.iter().take(sizes.len() - rest.len());
        total += fetched.map(|row| read_units(item_size(&row.item()), mode)).sum();
    }
    Ok(total)
}

/// The size of a row's entry in the index that is read.
fn entry_bytes(read: &ConcreteRead, row: &Row) -> usize {
    let item = row.item();
    let table = &row.entity.table;
    let Some(index) = read.index.as_deref().and_then(|name| table.index(name)) else {
        return item_size(&item);
    };
    if index.projection == Projection::All {
        return item_size(&item);
    }
    let kept: BTreeMap<&str, &AttributeValue> = item
        .iter()
        .filter(|(name, _)| table.projects(index, name))
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    kept.iter().map(|(name, value)| name.len() + keyloom_core::size::value_size(value)).sum()
}
