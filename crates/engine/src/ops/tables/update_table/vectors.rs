//! `VectorIndexUpdates`: at most one vector index is created or deleted per request.
//!
//! A new index passes two phases before it can be searched: allocation, during which the table is `UPDATING`, and
//! backfill, during which the table is `ACTIVE` again. It can be deleted from the second phase on.

use keyloom_api::tables::{UpdateTableInput, VectorIndexUpdate};
use keyloom_core::error::message::vector as message;
use keyloom_core::error::{request, table as table_message};
use keyloom_core::schema::definition::VectorIndexDefinition;
use keyloom_core::{Error, Result};

use crate::catalog::Change;
use crate::catalog::record::{AttributeDefinition, Phase, VectorIndexLife, VectorIndexRecord};
use crate::database::Options;

use super::Update;

/// Applies the updates of vector indexes; [`super::indexes`] has seen to it that there is only one.
pub(super) fn apply(
    input: &UpdateTableInput,
    options: &Options,
    change: &Change<'_>,
    update: &mut Update,
) -> Result<()> {
    for wanted in &input.vector_indexes {
        match wanted {
            VectorIndexUpdate::Create(definition) => {
                create(input, definition, options, change, update)?;
            }
            VectorIndexUpdate::Delete { name } => delete(name, update)?,
        }
    }
    Ok(())
}

fn create(
    input: &UpdateTableInput,
    definition: &VectorIndexDefinition,
    options: &Options,
    change: &Change<'_>,
    update: &mut Update,
) -> Result<()> {
    let (record, now_ms) = (&mut update.record, update.now_ms);
    let name = definition.name.as_deref().unwrap_or_default();
    if !record.billing.on_demand {
        return Err(message::needs_on_demand());
    }
    if let Some(building) = record.index_in_the_making(now_ms) {
        return Err(if building == name {
            table_message::index_being_created(&record.name, name)
        } else {
            table_message::one_index_at_a_time()
        });
    }
    let schema = record.typed_schema().with_vector_index(definition, &input.definitions)?;
    let created = schema.vector_index(name).ok_or_else(|| request::index_not_found(name))?;
    let keyspace = change.allocate_keyspaces(1)?;
    let allocated_ms = now_ms + options.index_allocation_time.as_millis() as u64;
    let filled_ms = allocated_ms + options.index_filling_time.as_millis() as u64;
    let life = VectorIndexLife::Building { filling: true, allocated_ms, filled_ms };
    let created = VectorIndexRecord::new(created, keyspace, life);
    record.definitions = AttributeDefinition::all(&schema);
    update.shown.definitions.clone_from(&record.definitions);
    let allocating = VectorIndexLife::Building { filling: true, allocated_ms: u64::MAX, filled_ms };
    update.shown.vector_indexes.push(VectorIndexRecord { life: allocating, ..created.clone() });
    record.vector_indexes.push(created);
    update.created = Some(keyspace);
    Ok(())
}

fn delete(name: &str, update: &mut Update) -> Result<()> {
    let (record, now_ms) = (&mut update.record, update.now_ms);
    let position = record.vector_indexes.iter().position(|index| index.name == name);
    let phase = position.and_then(|at| record.vector_indexes.get(at)).map(|i| i.life.phase(now_ms));
    let (Some(position), Some(phase)) = (position, phase) else {
        return Err(request::resource_not_found());
    };
    if phase == Phase::Allocating {
        return Err(message::index_being_allocated(&record.name, name));
    }
    // An index that is still being filled may go; any other waits until that one is done.
    let is_other = |building: &str| building != name;
    if record.index_in_the_making(now_ms).is_some_and(is_other) {
        return Err(table_message::one_index_at_a_time());
    }
    let schema = record.typed_schema().without_vector_index(name);
    update.dropped.push(record.vector_indexes.remove(position).keyspace);
    record.definitions = AttributeDefinition::all(&schema);
    update.shown.definitions.clone_from(&record.definitions);
    for shown in update.shown.vector_indexes.iter_mut().filter(|shown| shown.name == name) {
        shown.life = VectorIndexLife::Deleting;
    }
    Ok(())
}

/// Refuses to make a table provisioned that has vector indexes.
pub(super) fn check_provisioned(update: &Update) -> Result<(), Error> {
    if update.record.vector_indexes.is_empty() { Ok(()) } else { Err(message::needs_on_demand()) }
}
