//! CreateTable.

use keyloom_api::Fields;
use keyloom_api::tables::CreateTableInput;
use keyloom_core::error::{message, request};
use keyloom_core::schema::{IndexKind, TableSchema};
use keyloom_core::{Error, Result};

use crate::catalog::record::{
    Billing, IndexCapacity, IndexRecord, Status, TableClassSetting, VectorIndexLife,
    VectorIndexRecord,
};
use crate::catalog::{Alongside, Change, TableRecord};
use crate::database::Inner;
use crate::identity;
use crate::ops::settings::resource_policy;

use super::{description, stream_setting};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = CreateTableInput::decode(&fields)?;
    let change = database.change()?;
    let record = prepare(database, &change, input)?;
    let streams = stream_setting::begun(database, &record).into_iter().collect();
    let table = change.put(record, Alongside { streams, ..Alongside::default() })?;
    Ok(description::of(database, &table, Status::Creating).encode("TableDescription"))
}

/// The record of a new table, which must not exist yet.
pub(crate) fn prepare(
    database: &Inner,
    change: &Change<'_>,
    input: CreateTableInput,
) -> Result<TableRecord> {
    let schema = input.definition.clone().into_schema()?;
    check_billing(&input)?;
    if database.catalog.find(&schema.name).is_some() {
        return Err(request::table_exists(&schema.name));
    }
    if database.catalog.all().len() >= database.options.max_tables {
        return Err(request::too_many_tables());
    }
    record(database, change, input, &schema)
}

/// The rules between billing mode and throughput.
fn check_billing(input: &CreateTableInput) -> Result<()> {
    let global = input.definition.global.iter().flatten().zip(&input.global_capacity);
    if input.on_demand == Some(true) {
        if input.throughput.is_some() {
            return Err(request::throughput_on_demand());
        }
        for (definition, capacity) in global {
            if capacity.throughput.is_some() {
                let name = definition.name.clone().unwrap_or_default();
                return Err(request::index_throughput_on_demand(&name));
            }
        }
        return Ok(());
    }
    if input.definition.vector.is_some() {
        return Err(message::vector::needs_on_demand());
    }
    if input.throughput.is_none() {
        return Err(request::throughput_missing());
    }
    if input.on_demand_limit.is_some() {
        return Err(request::on_demand_limit_on_provisioned());
    }
    for (definition, capacity) in global {
        if capacity.throughput.is_none() {
            let name = definition.name.clone().unwrap_or_default();
            return Err(request::index_throughput_missing(&name));
        }
    }
    Ok(())
}

/// The table as it will be stored.
fn record(
    database: &Inner,
    change: &Change<'_>,
    input: CreateTableInput,
    schema: &TableSchema,
) -> Result<TableRecord> {
    let now_ms = database.clock.now_ms();
    let indexes = schema.indexes.len() + schema.vector_indexes.len();
    let count = u32::try_from(indexes + 2).map_err(|_| {
        Error::validation("One or more parameter values were invalid: too many indexes")
    })?;
    let keyspace = change.allocate_keyspaces(count)?;
    let mut record = TableRecord::new(schema, keyspace, now_ms);
    record.id = identity::uuid();
    record.indexes = index_records(&input.global_capacity, schema, keyspace + 2);
    record.vector_indexes = (keyspace + 2 + schema.indexes.len() as u32..)
        .zip(&schema.vector_indexes)
        .map(|(keyspace, index)| VectorIndexRecord::new(index, keyspace, VectorIndexLife::Active))
        .collect();
    let on_demand = input.on_demand.unwrap_or(false);
    record.billing = Billing {
        on_demand,
        stated: input.on_demand.is_some(),
        throughput: input.throughput.unwrap_or_default(),
        on_demand_limit: input.on_demand_limit,
        warm: input.warm,
        switches_to_on_demand_ms: on_demand.then_some(now_ms).into_iter().collect(),
        ..Billing::default()
    };
    if let Some(view) = &input.stream_view {
        record.stream = Some(stream_setting::begin(database, &schema.name, keyspace + 1, view)?);
    }
    record.tags = input.tags;
    record.deletion_protection = input.deletion_protection;
    let class = |class| TableClassSetting { class, changed_ms: None };
    record.table_class = input.table_class.map(class);
    record.encryption = input.encryption;
    if let Some(policy) = &input.resource_policy {
        resource_policy::attach(&mut record, policy)?;
    }
    Ok(record)
}

fn index_records(
    global_capacity: &[IndexCapacity],
    schema: &TableSchema,
    first_keyspace: u32,
) -> Vec<IndexRecord> {
    let mut capacities = global_capacity.iter();
    (first_keyspace..)
        .zip(&schema.indexes)
        .map(|(keyspace, index)| {
            let capacity = match index.kind {
                IndexKind::Global => capacities.next().copied().unwrap_or_default(),
                IndexKind::Local => IndexCapacity::default(),
            };
            IndexRecord::new(index, keyspace, Status::Active).with_capacity(&capacity)
        })
        .collect()
}
