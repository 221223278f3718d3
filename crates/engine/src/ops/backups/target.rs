//! The record of a restored table: its source's record with the overrides of the request.
//!
//! Tags, time to live, streams, policies, recovery and protection are not restored, as on AWS.

use std::collections::BTreeMap;

use keyloom_api::backups::RestoreTarget;
use keyloom_api::tables::IndexInput;
use keyloom_core::Result;
use keyloom_core::error::{request, resource as message};
use keyloom_core::schema::definition::{IndexDefinition, ProjectionDefinition};

use crate::catalog::record::{
    AttributeDefinition, Billing, IndexRecord, ProjectionRecord, Status, Throughput,
    VectorIndexLife, VectorIndexRecord,
};
use crate::catalog::{Change, TableRecord};
use crate::database::Inner;
use crate::identity;

/// The record of the new table.
pub(super) fn record(
    target: &RestoreTarget,
    database: &Inner,
    change: &Change<'_>,
    source: &TableRecord,
) -> Result<TableRecord> {
    let mut record = source.clone();
    record.name.clone_from(&target.table_name);
    record.id = identity::uuid();
    record.created_ms = database.clock.now_ms();
    record.status = Status::Creating;
    record.indexes = kept(source, target.global.as_ref(), true)?;
    record.indexes.extend(kept(source, target.local.as_ref(), false)?);
    record.vector_indexes = kept_vectors(source, target)?;
    let count = 1 + record.indexes.len() + record.vector_indexes.len();
    let mut keyspaces = change.allocate_keyspaces(count as u32)?..;
    let mut next = || keyspaces.next().unwrap_or_default();
    record.keyspace = next();
    for index in &mut record.indexes {
        index.keyspace = next();
        (index.status, index.backfilling) = (Status::Active, false);
    }
    for index in &mut record.vector_indexes {
        index.keyspace = next();
        index.life = VectorIndexLife::Active;
    }
    // Dropped indexes take their definitions along.
    let mut schema = record.typed_schema();
    schema.drop_unused_definitions();
    record.definitions = AttributeDefinition::all(&schema);
    record.billing = billing(target, &mut record.indexes, &source.billing)?;
    record.stream = None;
    record.ttl = None;
    record.tags = BTreeMap::new();
    record.settings = BTreeMap::new();
    record.replication = None;
    record.deletion_protection = false;
    if target.encryption.is_some() {
        record.encryption.clone_from(&target.encryption);
    }
    Ok(record)
}

fn billing(
    target: &RestoreTarget,
    indexes: &mut [IndexRecord],
    source: &Billing,
) -> Result<Billing> {
    check_overrides(target, source)?;
    let on_demand = target.on_demand.unwrap_or(source.on_demand);
    let throughput = target.throughput.or((!source.on_demand).then_some(source.throughput));
    for index in indexes.iter_mut() {
        if on_demand {
            index.throughput = None;
        } else if index.global && index.throughput.is_none() {
            let problem = format!("Must specify provisioned throughput for index {}", index.name);
            return Err(message::override_refused(&problem));
        }
    }
    let units = if on_demand { Some(Throughput::default()) } else { throughput };
    Ok(Billing {
        on_demand,
        stated: source.stated || target.on_demand.is_some(),
        throughput: units.ok_or_else(request::throughput_missing)?,
        on_demand_limit: target.on_demand_limit.or(source.on_demand_limit).filter(|_| on_demand),
        ..Billing::default()
    })
}

/// What AWS refuses of the overrides of capacity.
fn check_overrides(target: &RestoreTarget, source: &Billing) -> Result<()> {
    let problem = match (target.on_demand, target.throughput) {
        (Some(true), Some(_)) => {
            "Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST"
        }
        (Some(false), None) => {
            "Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED"
        }
        (None, Some(_)) if source.on_demand => {
            "Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED"
        }
        _ if target.on_demand_limit.is_some() && target.on_demand != Some(true) => {
            "Cannot override MaxReadRequestUnits for OnDemandThroughput unless BillingModeOverride is PAY_PER_REQUEST"
        }
        _ => return Ok(()),
    };
    Err(message::override_refused(problem))
}

/// The indexes of one kind that the new table has: a restore can only leave some out.
fn kept(
    source: &TableRecord,
    wanted: Option<&Vec<IndexInput>>,
    global: bool,
) -> Result<Vec<IndexRecord>> {
    let indexes = source.indexes.iter().filter(|index| index.global == global);
    let Some(wanted) = wanted else { return Ok(indexes.cloned().collect()) };
    let mut known: Vec<&IndexRecord> = indexes.collect();
    let mut kept = Vec::new();
    for IndexInput { definition, capacity } in wanted {
        let name = definition.name.as_deref().unwrap_or_default();
        let unknown = || message::override_unknown(name);
        if capacity.warm.is_some() {
            return Err(message::override_warm(name));
        }
        let place = known.iter().position(|index| is_same(index, definition));
        // Taken: an index cannot be kept twice.
        let mut index = IndexRecord::clone(known.swap_remove(place.ok_or_else(unknown)?));
        index.throughput = capacity.throughput.or(index.throughput);
        index.on_demand = capacity.on_demand.or(index.on_demand);
        kept.push(index);
    }
    Ok(kept)
}

fn is_same(index: &IndexRecord, wanted: &IndexDefinition) -> bool {
    let key = wanted.key.as_deref().unwrap_or_default();
    wanted.name.as_deref() == Some(index.name.as_str())
        && key.len() == index.key.len()
        && key.iter().zip(&index.key).all(|(wanted, own)| {
            wanted.name.as_deref() == Some(own.name.as_str())
                && (wanted.role.as_deref() == Some("HASH")) == own.hash
        })
        && is_same_projection(&index.projection, wanted.projection.as_ref())
}

fn is_same_projection(own: &ProjectionRecord, wanted: Option<&ProjectionDefinition>) -> bool {
    let Some(wanted) = wanted else { return false };
    let names = wanted.attributes.as_deref().unwrap_or_default();
    wanted.kind.as_deref() == Some(own.typed().type_name())
        && match own {
            ProjectionRecord::Include(own) => {
                own.len() == names.len()
                    && names.iter().all(|name| own.iter().any(|own| own == name.as_str()))
            }
            ProjectionRecord::All | ProjectionRecord::KeysOnly => names.is_empty(),
        }
}

/// The vector indexes that the new table has.
fn kept_vectors(source: &TableRecord, target: &RestoreTarget) -> Result<Vec<VectorIndexRecord>> {
    let Some(wanted) = &target.vector else { return Ok(source.vector_indexes.clone()) };
    let mut known: Vec<&VectorIndexRecord> = source.vector_indexes.iter().collect();
    let mut kept = Vec::new();
    for wanted in wanted {
        let name = wanted.name.as_deref().unwrap_or_default();
        let is_same = |index: &&VectorIndexRecord| {
            let attribute = wanted.attribute.as_ref().and_then(|vector| vector.name.as_deref());
            index.name == name
                && attribute == Some(index.attribute.as_str())
                && wanted.dimensions == Some(i64::from(index.dimensions))
                && wanted.distance.as_deref() == Some(index.distance.as_str())
                && is_same_projection(&index.projection, wanted.projection.as_ref())
        };
        let place = known.iter().position(is_same);
        let place = place.ok_or_else(|| message::override_unknown(name))?;
        kept.push(VectorIndexRecord::clone(known.swap_remove(place)));
    }
    Ok(kept)
}
