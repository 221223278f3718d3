//! Declared load: how much one partition key value gets.

use std::sync::Arc;

use keyloom_keys::{PARTITION_READ_UNITS, PARTITION_WRITE_UNITS, Shards};

use super::Context;
use crate::cost::{self, item_size, items_under};
use crate::model::{Entity, FieldKind, Index, IndexKey};

/// The peak load on an index by one entity, in units per second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    pub(super) writes: f64,
    pub(super) reads: f64,
}

impl Load {
    pub(super) fn is_declared(self) -> bool {
        self.writes > 0.0 || self.reads > 0.0
    }

    /// How far it is beyond what one partition takes; more than 1 is too much.
    pub(super) fn excess(self, share: f64) -> f64 {
        (self.writes * share / PARTITION_WRITE_UNITS).max(self.reads * share / PARTITION_READ_UNITS)
    }

    pub(super) fn describe(self, share: f64) -> String {
        let mut parts = Vec::new();
        if self.writes > 0.0 {
            parts.push(format!(
                "{} write units/s at peak (one partition takes 1000)",
                super::short(self.writes * share)
            ));
        }
        if self.reads > 0.0 {
            parts.push(format!(
                "{} read units/s at peak (one partition takes 3000)",
                super::short(self.reads * share)
            ));
        }
        parts.join(" and ")
    }
}

/// The declared peak of read units per second that second steps spend on items of an entity.
pub(super) fn second_step_load(context: &Context, entity: &Entity) -> f64 {
    let fetched = context.plans.iter().filter(|plan| {
        plan.hydrate.as_ref().is_some_and(|step| {
            step.index.is_none() && step.entities.iter().any(|e| e.name == entity.name)
        })
    });
    fetched
        .filter_map(|plan| {
            let entities = plan.hydrate.as_ref()?.entities.len().max(1) as f64;
            Some(plan.estimate.second_units_per_second? / entities)
        })
        .sum()
}

/// The declared peak of write units per second of an entity on an index.
pub(super) fn load_of_writes(context: &Context, entity: &Entity, index: &Index) -> f64 {
    let mut writes = 0.0;
    for (write, plan) in context.design.writes().iter().zip(context.writes) {
        let Some(rate) = write.rate else { continue };
        if !write.entities().any(|written| written.name == entity.name) {
            continue;
        }
        let per_call = match &index.name {
            None => plan.table_units / write.members.len().max(1) as f64,
            Some(name) => plan
                .effects
                .iter()
                .filter(|effect| effect.entity == entity.name && effect.index == *name)
                .map(|effect| effect.units)
                .sum(),
        };
        writes += rate.peak * per_call;
    }
    writes
}

/// The declared peak load of an entity on an index.
pub(super) fn load(context: &Context, entity: &Entity, index: &Index) -> Load {
    let mut load = Load { writes: load_of_writes(context, entity, index), ..Load::default() };
    for plan in context.plans {
        let Some(units) = plan.estimate.peak_units_per_second else { continue };
        let mine = plan.reads.iter().any(|read| {
            read.index().name == index.name
                && read.entities.iter().any(|found| found.name == entity.name)
        });
        if mine {
            load.reads += units;
        }
    }
    load
}

/// Whether the design says anything about how much of an entity there is or how often it is used.
pub(super) fn is_loaded(context: &Context, entity: &Entity) -> bool {
    let table = entity.table.primary();
    entity.volume.count.is_some()
        || entity.volume.growth.is_some()
        || load(context, entity, table).is_declared()
        || context
            .design
            .accesses()
            .iter()
            .any(|access| access.rate.is_some() && access.finds(entity))
}

/// How many different partition key values there are, as far as every field's number is known.
pub(super) fn key_values(context: &Context, entity: &Entity, key: &IndexKey) -> Option<f64> {
    cost::key_values(context.design, entity, key)
}

/// The share of the busiest partition key value.
pub(super) fn hottest_share(context: &Context, entity: &Entity, key: &IndexKey) -> Option<f64> {
    cost::hottest_share(context.design, entity, key)
}

/// A declared shard in a partition key, and what the declared load asks of it.
pub(super) struct ShardNeed<'a> {
    /// The shard's field.
    pub(super) field: &'a str,
    /// How many shards there are.
    pub(super) count: u32,
    /// How many the load needs, with a margin of one half.
    pub(super) needed: u32,
    /// The load on all shards of the busiest key.
    pub(super) load: Load,
    /// The share of that load in all.
    pub(super) share: f64,
}

/// How many shards a partition key needs, if it has one and a load is declared.
pub(super) fn shard_need<'a>(
    context: &Context,
    entity: &Entity,
    index: &Index,
    key: &IndexKey<'a>,
) -> Option<ShardNeed<'a>> {
    let (field, count) = entity.spreading_fields(key).find_map(|name| {
        match entity.field(name).map(|f| &f.kind) {
            Some(FieldKind::Shard(shards)) => Some((name, shards.count)),
            _ => None,
        }
    })?;
    let load = load(context, entity, index);
    if !load.is_declared() {
        return None;
    }
    // The other parts of the key spread the load already.
    let others = key.hash_fields().filter(|other| *other != field);
    let share = others
        .map(|name| {
            let field = entity.field(name);
            field.and_then(|f| f.top_share.or_else(|| f.cardinality().map(|n| 1.0 / n)))
        })
        .map(|share| share.unwrap_or(1.0))
        .product();
    let needed = Shards::for_rate(load.writes * share, load.reads * share, 1.5).ok()?.count();
    Some(ShardNeed { field, count, needed, load, share })
}

/// Whether a shard in the partition key spreads the declared load widely enough: then few or skewed values
/// beside it do no harm.
pub(super) fn is_spread(context: &Context, entity: &Entity, index: &Index, key: &IndexKey) -> bool {
    shard_need(context, entity, index, key).is_some_and(|need| need.count >= need.needed)
}

/// The bytes of the largest item collection under one partition key value.
pub(super) fn collection_bytes(context: &Context, entity: &Arc<Entity>) -> Option<f64> {
    let key = entity.primary_key();
    let count = entity.volume.count?;
    let share = hottest_share(context, entity, &key);
    let items = if let Some(share) = share {
        count * share
    } else {
        let fields: Vec<&str> = key.hash_fields().collect();
        items_under(context.design, entity, &fields)?
    };
    Some(items * item_size(entity))
}
