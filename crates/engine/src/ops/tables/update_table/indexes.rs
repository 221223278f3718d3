//! `GlobalSecondaryIndexUpdates`: at most one index is created or deleted per request; throughput may change for any
//! number of them.

use keyloom_api::tables::{IndexInput, IndexUpdate, UpdateTableInput};
use keyloom_core::Result;
use keyloom_core::error::{request, table as message};

use crate::catalog::Change;
use crate::catalog::record::{AttributeDefinition, IndexCapacity, IndexRecord, Status};
use crate::ops::tables::description::index_warm_of;

use super::Update;
use super::billing::{check_on_demand_limit, merged, raised};

/// Applies all updates of indexes.
pub(super) fn apply(
    input: &UpdateTableInput,
    change: &Change<'_>,
    update: &mut Update,
) -> Result<()> {
    let has = |name: &str| update.record.indexes.iter().any(|i| i.global && i.name == name);
    for wanted in &input.indexes {
        if matches!(wanted, IndexUpdate::Update { .. }) && !has(wanted.name()) {
            return Err(message::index_update_blocked());
        }
    }
    let is_online = |wanted: &&IndexUpdate| !matches!(wanted, IndexUpdate::Update { .. });
    let online = input.indexes.iter().filter(is_online).count();
    if online + input.vector_indexes.len() > 1 {
        return Err(message::one_index_at_a_time());
    }
    for wanted in &input.indexes {
        match wanted {
            IndexUpdate::Create(index) => create(input, index, change, update)?,
            IndexUpdate::Update { name, capacity } => change_capacity(name, capacity, update)?,
            IndexUpdate::Delete { name } => delete(name, update)?,
        }
    }
    Ok(())
}

fn create(
    input: &UpdateTableInput,
    index: &IndexInput,
    change: &Change<'_>,
    update: &mut Update,
) -> Result<()> {
    let record = &mut update.record;
    let schema = record.typed_schema().with_index(&index.definition, &input.definitions)?;
    if record.index_in_the_making(update.now_ms).is_some() {
        return Err(message::one_index_at_a_time());
    }
    let name = index.definition.name.as_deref().unwrap_or_default();
    let capacity = &index.capacity;
    match (record.billing.on_demand, capacity.throughput) {
        (true, Some(_)) => return Err(request::index_throughput_on_demand(name)),
        (false, None) => return Err(request::index_throughput_missing(name)),
        _ => {}
    }
    check_on_demand_limit(capacity.on_demand.as_ref(), record.billing.on_demand)?;
    let Some(created) = schema.index(name) else { return Err(request::index_not_found(name)) };
    let keyspace = change.allocate_keyspaces(1)?;
    let mut created = IndexRecord::new(created, keyspace, Status::Creating).with_capacity(capacity);
    record.definitions = AttributeDefinition::all(&schema);
    update.shown.definitions.clone_from(&record.definitions);
    update.shown.indexes.push(created.clone());
    created.backfilling = true;
    record.indexes.push(created);
    update.created = Some(keyspace);
    Ok(())
}

fn change_capacity(name: &str, capacity: &IndexCapacity, update: &mut Update) -> Result<()> {
    let billing = update.record.billing.clone();
    let table = update.record.name.clone();
    let mut indexes = update.record.indexes.iter_mut();
    let Some(index) = indexes.find(|index| index.name == name) else { return Ok(()) };
    if index.status == Status::Creating {
        return Err(message::index_being_created(&table, name));
    }
    if let Some(throughput) = capacity.throughput {
        if billing.on_demand {
            return Err(request::index_throughput_on_demand(name));
        }
        if index.throughput == Some(throughput) {
            let of = format!("index {name}");
            return Err(message::throughput_unchanged(&of, throughput.read, throughput.write));
        }
        index.throughput = Some(throughput);
    }
    if let Some(limit) = capacity.on_demand {
        check_on_demand_limit(Some(&limit), billing.on_demand)?;
        index.on_demand = merged(index.on_demand, limit);
    }
    if let Some(warm) = capacity.warm {
        index.warm = Some(raised(index_warm_of(index, &billing), warm)?);
    }
    for shown in update.shown.indexes.iter_mut().filter(|shown| shown.name == name) {
        shown.status = Status::Updating;
    }
    Ok(())
}

fn delete(name: &str, update: &mut Update) -> Result<()> {
    let record = &mut update.record;
    let position = record.indexes.iter().position(|index| index.global && index.name == name);
    let Some(position) = position else { return Err(request::resource_not_found()) };
    // An index that is still being filled may go; any other waits until that one is done.
    if record.index_in_the_making(update.now_ms).is_some_and(|building| building != name) {
        return Err(message::one_index_at_a_time());
    }
    let schema = record.typed_schema().without_index(name);
    let deleted = record.indexes.remove(position);
    update.dropped.push(deleted.keyspace);
    record.definitions = AttributeDefinition::all(&schema);
    update.shown.definitions.clone_from(&record.definitions);
    for shown in update.shown.indexes.iter_mut().filter(|shown| shown.name == name) {
        shown.status = Status::Deleting;
    }
    Ok(())
}
