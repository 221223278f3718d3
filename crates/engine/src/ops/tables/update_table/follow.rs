//! Applies the settings of a replica in another region to the local replica.

use keyloom_core::Result;

use crate::catalog::record::{AttributeDefinition, IndexRecord, Status};
use crate::catalog::{Change, Table, TableRecord};
use crate::database::Inner;
use crate::replication::{Version, has_same_settings};

use super::Update;

/// Gives a replica the settings of `wanted`; whether it has all of them now. Indexes are built one at a time, so it may have to
/// be told again.
pub(crate) fn follow(
    database: &Inner,
    change: &Change<'_>,
    table: &Table,
    wanted: &TableRecord,
    version: &Version,
) -> Result<bool> {
    let mut update = Update::of(&table.record, database.clock.now_ms());
    let record = &mut update.record;
    record.billing = wanted.billing.clone();
    record.encryption.clone_from(&wanted.encryption);
    record.table_class.clone_from(&wanted.table_class);
    record.ttl.clone_from(&wanted.ttl);
    let is_complete = follow_indexes(change, wanted, &mut update)?;
    if let Some(replication) = update.record.replication.as_mut().filter(|_| is_complete) {
        replication.settings = Some(version.clone());
    }
    if !is_complete && has_same_settings(&table.record, &update.record) {
        return Ok(false);
    }
    update.record.drop_stale_insights();
    let ttl_changes = table.record.ttl != update.record.ttl;
    update.publish(database, change, table)?;
    if let Some(table) = database.catalog.find(&wanted.name).filter(|_| ttl_changes) {
        crate::ttl::look_through(&table);
    }
    Ok(is_complete)
}

/// Removes indexes, changes their capacities and begins the next one; whether none is left to begin.
fn follow_indexes(change: &Change<'_>, wanted: &TableRecord, update: &mut Update) -> Result<bool> {
    let of = |index: &IndexRecord| wanted.indexes.iter().find(|other| index.is_defined_as(other));
    let record = &mut update.record;
    let is_building = record.index_in_the_making(update.now_ms).is_some();
    for index in record.indexes.iter_mut().filter(|index| index.global) {
        if let Some(wanted) = of(index) {
            (index.throughput, index.on_demand, index.warm) =
                (wanted.throughput, wanted.on_demand, wanted.warm);
        }
    }
    let (kept, dropped): (Vec<_>, Vec<_>) =
        record.indexes.drain(..).partition(|index| !index.global || of(index).is_some());
    record.indexes = kept;
    for index in dropped {
        let schema = record.typed_schema().without_index(&index.name);
        record.definitions = AttributeDefinition::all(&schema);
        update.dropped.push(index.keyspace);
    }
    let has = |index: &&IndexRecord| record.indexes.iter().any(|own| own.is_defined_as(index));
    let mut missing = wanted.indexes.iter().filter(|index| index.global && !has(index));
    let Some(next) = missing.next() else { return Ok(true) };
    if is_building {
        return Ok(false);
    }
    let is_last = missing.next().is_none();
    let keyspace = change.allocate_keyspaces(1)?;
    let created =
        IndexRecord { keyspace, status: Status::Creating, backfilling: true, ..next.clone() };
    for element in &created.key {
        let is_declared = record.definitions.iter().any(|known| known.name == element.name);
        let declared = wanted.definitions.iter().find(|known| known.name == element.name);
        record.definitions.extend(declared.filter(|_| !is_declared).cloned());
    }
    record.indexes.push(created);
    update.created = Some(keyspace);
    Ok(is_last)
}
