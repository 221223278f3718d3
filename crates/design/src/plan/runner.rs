//! What a runner needs besides the requests: the second step, and the units that a call should consume.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_core::capacity::{ReadMode, Units, read_units};
use keyloom_core::limits::{MAX_BATCH_GET_KEYS, MAX_PAGE_BYTES};
use keyloom_core::size::item_size;
use keyloom_core::{AttributeValue, Item};
use serde_json::{Map, Value as Json, json};

use super::concrete::{ConcreteRead, ReadKind, concretize};
use super::request::{Request, RequestValue};
use super::simulate::evaluated;
use super::{Hydrate, Plan};
use crate::evaluate::{Inputs, Row};
use crate::generate::set_shards;
use crate::model::{Access, Entity, Index, Projection};

/// The requests of the second step for the items that the first one returned, in order.
///
/// The keys of one item stay together: request `n` fetches for items `100·n..`, or for item `n` alone
/// where each takes a Query.
pub fn second_step(access: &Access, plan: &Plan, items: &[Item]) -> Vec<Request> {
    let Some(step) = &plan.hydrate else { return Vec::new() };
    if !step.batch {
        return items.iter().filter_map(|item| query_for(access, step, item)).collect();
    }
    let keys: Vec<Json> = items.iter().flat_map(|item| keys_for(access, step, item)).collect();
    let Some(table) = step.entities.first().map(|entity| entity.table.name.clone()) else {
        return Vec::new();
    };
    keys.chunks(MAX_BATCH_GET_KEYS)
        .map(|chunk| {
            let mut request = json!({ "Keys": chunk });
            if let (true, Json::Object(map)) = (access.consistent, &mut request) {
                map.insert("ConsistentRead".to_owned(), json!(true));
            }
            let mut items = Map::new();
            items.insert(table.clone(), request);
            let body = json!({ "RequestItems": items });
            Request { operation: "BatchGetItem".to_owned(), body }
        })
        .collect()
}

/// The primary keys that an item leads to.
fn keys_for(access: &Access, step: &Hydrate, item: &Item) -> Vec<Json> {
    match &access.via {
        // An index entry carries the primary key of its item.
        None => step.entities.first().map(|entity| primary_key(entity, item)).into_iter().collect(),
        Some(via) => step
            .entities
            .iter()
            .filter_map(|entity| {
                let values = target(via, entity, item).index_values(entity.table.primary())?;
                Some(named(entity.table.primary(), &values))
            })
            .collect(),
    }
}

/// What a link item tells of the item it leads to. Calculated shards are stored nowhere and follow from the rest.
pub fn target(via: &Arc<Entity>, entity: &Arc<Entity>, item: &Item) -> Row {
    let link = Row::from_item(via, item);
    let mut row = Row { entity: entity.clone(), values: link.values };
    set_shards(&mut row);
    row
}

fn primary_key(entity: &Entity, item: &Item) -> Json {
    let primary = entity.table.primary();
    let key: Map<String, Json> = primary
        .attributes()
        .filter_map(|attribute| {
            Some((attribute.name.clone(), item.get(&attribute.name)?.to_json()))
        })
        .collect();
    Json::Object(key)
}

fn named(index: &Index, values: &[AttributeValue]) -> Json {
    let key: Map<String, Json> = index
        .attributes()
        .zip(values)
        .map(|(attribute, value)| (attribute.name.clone(), value.to_json()))
        .collect();
    Json::Object(key)
}

fn query_for(access: &Access, step: &Hydrate, item: &Item) -> Option<Request> {
    let entity = step.entities.first()?;
    let index = entity.table.index(step.index.as_deref()?)?;
    let values = target(access.via.as_ref()?, entity, item).index_values(index)?;
    let equal = index.attributes().map(|a| a.name.clone()).zip(values).collect();
    Some(super::to_request(&ConcreteRead {
        kind: ReadKind::Query,
        table: entity.table.name.clone(),
        index: index.name.clone(),
        equal,
        sort: None,
        filter: Vec::new(),
        forward: true,
        limit: None,
        consistent: false,
        all_attributes: false,
    }))
}

/// The read units that one read consumes on these rows.
pub fn predicted_read(read: &ConcreteRead, rows: Vec<&Row>) -> Units {
    units_of(read, rows)
}

/// The read units that the first step of a call consumes on these rows, request by request.
pub fn predicted_units(
    access: &Access,
    plan: &Plan,
    inputs: &Inputs,
    rows: &[Row],
) -> Result<Vec<Units>, String> {
    let reads = match &plan.raw {
        Some(raw) => vec![raw.concrete(inputs)?],
        None => concretize(access, plan, inputs)?,
    };
    Ok(reads.iter().map(|read| units_of(read, rows.iter().collect())).collect())
}

fn units_of(read: &ConcreteRead, rows: Vec<&Row>) -> Units {
    let mode = if read.consistent { ReadMode::Strong } else { ReadMode::Eventual };
    let found = evaluated(read, rows);
    let sizes: Vec<usize> = found.iter().map(|row| entry_bytes(read, row)).collect();
    if read.kind == ReadKind::Get {
        return read_units(sizes.iter().sum(), mode);
    }
    // A page ends with the item that reaches 1 MB, and rounds up by itself.
    let mut total = Units::ZERO;
    let mut page = 0;
    for size in &sizes {
        page += size;
        if page >= MAX_PAGE_BYTES {
            total += read_units(page, mode);
            page = 0;
        }
    }
    if page > 0 || sizes.is_empty() {
        total += read_units(page, mode);
    }
    if read.all_attributes {
        total += found.iter().map(|row| read_units(item_size(&row.item()), mode)).sum();
    }
    total
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
