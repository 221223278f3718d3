//! The write side: which index keys a write must rewrite, whether it has the fields for that, and what
//! it costs.

use keyloom_core::capacity::{IndexChange, Units, item_write_units};

use crate::cost::{Money, Prices, entry_size, item_size};
use crate::model::{Design, Entity, FieldKind, Index, IndexKind, Member, Write, WriteKind};

/// A write with what it does to every index.
#[derive(Clone, Debug, PartialEq)]
pub struct WritePlan {
    /// The write's name.
    pub name: String,
    /// What happens in each index, entity by entity.
    pub effects: Vec<IndexEffect>,
    /// Requests per call.
    pub requests: u64,
    /// Write units per call: table and indexes.
    pub units: f64,
    /// Write units of the table alone.
    pub table_units: f64,
    /// Write units per second on average.
    pub units_per_second: Option<f64>,
    /// Write units per second at the peak.
    pub peak_units_per_second: Option<f64>,
    /// Dollars a month.
    pub money: Option<Money>,
}

/// What a write does to one index entry.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexEffect {
    /// The entity written.
    pub entity: String,
    /// The index, or `table`.
    pub index: String,
    /// Key attributes that change.
    pub rewrites: Vec<String>,
    /// Fields that are needed to rebuild those attributes and that the caller does not give.
    pub lacks: Vec<String>,
    /// How many write units it takes.
    pub units: f64,
}

/// Works out what a write does.
pub fn plan_write(_design: &Design, write: &Write, prices: &Prices) -> WritePlan {
    let mut effects = Vec::new();
    let (mut units, mut table_units) = (0.0, 0.0);
    let items = write.items as f64;
    for member in &write.members {
        let size = item_size(&member.entity).ceil() as usize;
        let single = match member.kind {
            WriteKind::Put | WriteKind::Create => item_write_units(None, Some(size)),
            WriteKind::Delete => item_write_units(Some(size), None),
            // A condition is charged as if it wrote.
            WriteKind::Update | WriteKind::Transact | WriteKind::Check => {
                item_write_units(Some(size), Some(size))
            }
        };
        // Transactions cost double on the table; index entries cost the same as outside.
        let factor = if write.kind == WriteKind::Transact { 2.0 } else { 1.0 };
        table_units += single.as_f64() * factor * items;
        for index in &member.entity.table.indexes {
            if let Some(mut effect) = effect(write, member, index) {
                effect.units *= items;
                units += effect.units;
                effects.push(effect);
            }
        }
    }
    units += table_units;
    let class = write.entities().next().map(|entity| prices.class(entity.table.class));
    let money = write.rate.zip(class).map(|(rate, class)| Money {
        on_demand: rate.average * units * prices.seconds_per_month() / 1e6 * class.write_million,
        provisioned: (rate.peak * units).ceil()
            * prices.hours_per_month
            * class.write_capacity_hour,
    });
    WritePlan {
        name: write.name.clone(),
        requests: write.requests(),
        effects,
        units,
        table_units,
        units_per_second: write.rate.map(|rate| rate.average * units),
        peak_units_per_second: write.rate.map(|rate| rate.peak * units),
        money,
    }
}

/// Whether the caller gives a field, or all that a calculated shard comes from.
fn is_known(write: &Write, entity: &Entity, field: &str) -> bool {
    let given = |name: &str| write.given.iter().any(|given| given == name);
    let calculated = entity.field(field).is_some_and(|field| {
        matches!(&field.kind, FieldKind::Shard(shards)
            if !shards.by.is_empty() && shards.by.iter().all(|name| given(name)))
    });
    given(field) || calculated
}

fn effect(write: &Write, member: &Member, index: &Index) -> Option<IndexEffect> {
    let Member { entity, kind } = member;
    if *kind == WriteKind::Check {
        return None;
    }
    let key = entity.index_key(index)?;
    let bytes = entry_size(entity, index).ceil() as usize;
    let updates = matches!(kind, WriteKind::Update | WriteKind::Transact);
    let sets = |field: &str| updates && write.sets.iter().any(|set| set.value == field);
    let mut rewrites = Vec::new();
    // Whether the entry's key itself changes, or only whether there is one.
    let mut moves = false;
    let mut lacks: Vec<String> = Vec::new();
    for part in key.parts() {
        let template = part.shape.template();
        let decides = part.when.iter().flat_map(|when| &when.terms).any(|term| sets(&term.name));
        if !decides && !template.fields().any(sets) {
            continue;
        }
        moves |= template.fields().any(sets);
        rewrites.push(part.attribute.clone());
        for field in template.fields() {
            if !is_known(write, entity, field) && !lacks.iter().any(|lack| lack == field) {
                lacks.push(field.to_owned());
            }
        }
    }
    let change = match kind {
        WriteKind::Check => IndexChange::Unchanged,
        WriteKind::Put | WriteKind::Create => IndexChange::Insert { bytes },
        WriteKind::Delete => IndexChange::Delete { bytes },
        WriteKind::Transact if write.sets.is_empty() => IndexChange::Insert { bytes },
        // Leaving a sparse index is one delete, coming into it one insert.
        WriteKind::Update | WriteKind::Transact if !rewrites.is_empty() && !moves => {
            IndexChange::Delete { bytes }
        }
        WriteKind::Update | WriteKind::Transact if !rewrites.is_empty() => {
            IndexChange::Move { old_bytes: bytes, new_bytes: bytes }
        }
        WriteKind::Update | WriteKind::Transact => {
            let mut written = write.sets.iter().chain(&write.appends);
            let copied = written.any(|set| entity.table.projects(index, &set.value));
            if copied {
                IndexChange::Update { old_bytes: bytes, new_bytes: bytes }
            } else {
                IndexChange::Unchanged
            }
        }
    };
    let units = if index.kind == IndexKind::Primary {
        0.0
    } else {
        change.units().map_or(0.0, Units::as_f64)
    };
    if *kind != WriteKind::Update {
        lacks.clear();
    }
    let (entity, index) = (entity.name.clone(), index.label().to_owned());
    Some(IndexEffect { entity, index, rewrites, lacks, units })
}
