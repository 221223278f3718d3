//! P06, P12: what lies and what happens under one partition key value, summed over everything that meets it.

use std::collections::HashMap;
use std::sync::Arc;

use keyloom_core::limits::MAX_ITEM_COLLECTION_BYTES;

use super::load::{Load, hottest_share, key_values, load_of_writes, second_step_load};
use super::{Context, Findings, index_subject, short_bytes};
use crate::cost::{entry_size, item_size, items_under};
use crate::model::{Entity, EntityKey, Field, Index, IndexKey, IndexKind, Table};

/// Entities that have one partition key in one index, so that their items lie under the same values.
struct Group<'a> {
    table: &'a Arc<Table>,
    index: &'a Index,
    members: Vec<(&'a Arc<Entity>, IndexKey<'a>)>,
}

impl<'a> Group<'a> {
    fn first_part(&self) -> Option<&'a EntityKey> {
        self.members.first().and_then(|(_, key)| key.hash.first().copied())
    }

    /// The share of the busiest value, where some member tells.
    fn share(&self, context: &Context) -> Option<f64> {
        let shares = self.members.iter().map(|(entity, key)| hottest_share(context, entity, key));
        shares.flatten().reduce(f64::max)
    }

    fn names(&self) -> String {
        let names: Vec<String> =
            self.members.iter().map(|(entity, _)| format!("`{}`", entity.name)).collect();
        names.join(", ")
    }
}

/// The partition key as people see it: two entities with the same one share its values.
fn text_of(key: &IndexKey) -> Vec<String> {
    key.hash.iter().map(|part| part.shape.template().text().to_owned()).collect()
}

/// Every partition key of every index.
fn groups<'a>(context: &'a Context) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for table in context.design.tables() {
        for index in &table.indexes {
            let mut known: HashMap<Vec<String>, usize> = HashMap::new();
            for entity in context.design.entities_in(table) {
                let Some(key) = entity.index_key(index) else { continue };
                let at = *known.entry(text_of(&key)).or_insert_with(|| {
                    groups.push(Group { table, index, members: Vec::new() });
                    groups.len() - 1
                });
                if let Some(group) = groups.get_mut(at) {
                    group.members.push((entity, key));
                }
            }
        }
    }
    groups
}

/// The load on the busiest value: every write of a member by its own share, every pattern once.
fn load_under(context: &Context, group: &Group) -> Option<Load> {
    let busiest = group.share(context)?;
    let mut sum = Load::default();
    for (entity, key) in &group.members {
        let share = hottest_share(context, entity, key).unwrap_or(busiest);
        sum.writes += load_of_writes(context, entity, group.index) * share;
        if group.index.name.is_none() {
            sum.reads += second_step_load(context, entity) * share;
        }
    }
    for plan in context.plans {
        let Some(units) = plan.estimate.peak_units_per_second else { continue };
        let units = units - plan.estimate.second_units_per_second.unwrap_or(0.0);
        let meets = plan.reads.iter().any(|read| {
            read.table.name == group.table.name
                && read.index().name == group.index.name
                && read
                    .entities
                    .iter()
                    .any(|found| group.members.iter().any(|(own, _)| own.name == found.name))
        });
        if meets {
            sum.reads += units * busiest;
        }
    }
    Some(sum)
}

/// P12: more than one partition takes, whatever the number of values.
pub(super) fn hot_value(context: &Context, findings: &mut Findings) {
    for group in groups(context) {
        let Some(load) = load_under(context, &group) else { continue };
        let (Some(part), true) = (group.first_part(), load.excess(1.0) > 1.0) else { continue };
        if is_told(context, &group) {
            continue;
        }
        findings
            .add(
                part.span,
                &group.members.first().map(|(entity, _)| entity.name.clone()).unwrap_or_default(),
                format!(
                    "the busiest value of {} in {} is too hot",
                    super::key_text(part),
                    index_subject(group.table, group.index)
                ),
            )
            .because(format!("{} together: {}", group.names(), load.describe(1.0)))
            .fix("add a field with more values or a shard to the partition key");
    }
}

/// Whether a rule about one entity says the same: P01, P02, P04 or I06.
fn is_told(context: &Context, group: &Group) -> bool {
    let [(entity, key)] = group.members.as_slice() else { return false };
    let fields: Vec<&Field> = key.hash_fields().filter_map(|name| entity.field(name)).collect();
    let constant = fields.is_empty();
    if !constant && fields.iter().all(|field| field.is_time()) {
        return false;
    }
    let few = key_values(context, entity, key).is_some_and(|values| values < 100.0);
    let skewed = fields.iter().any(|field| field.top_share.is_some_and(|share| share >= 0.1))
        && hottest_share(context, entity, key).is_some_and(|share| share >= 0.1);
    let own = load_of_writes(context, entity, group.index) > 0.0
        || super::load::load(context, entity, group.index).is_declared();
    own && (constant || few || skewed)
}

/// The bytes of the largest collection of one member, with its entries in local indexes.
fn collection(context: &Context, entity: &Entity, key: &IndexKey) -> Option<f64> {
    let count = entity.volume.count?;
    let items = match hottest_share(context, entity, key) {
        Some(share) => count * share,
        None => items_under(context.design, entity, &key.hash_fields().collect::<Vec<_>>())?,
    };
    let local = entity.table.indexes.iter().filter(|index| index.kind == IndexKind::Local);
    let entries: f64 = local
        .filter_map(|index| {
            let key = entity.index_key(index)?;
            let present: f64 =
                key.fields().filter_map(|name| entity.field(name)?.present).fold(1.0, f64::min);
            Some(present * entry_size(entity, index))
        })
        .sum();
    Some(items * (item_size(entity) + entries))
}

/// P06: local indexes bind a collection to 10 GB, all its entities together.
pub(super) fn collection_size(context: &Context, findings: &mut Findings) {
    if !context.design.tables().iter().any(|table| table.has_local_index()) {
        return;
    }
    for group in groups(context) {
        if group.index.name.is_some() || !group.table.has_local_index() {
            continue;
        }
        let sizes: Vec<(&str, f64)> = group
            .members
            .iter()
            .filter_map(|(entity, key)| {
                Some((entity.name.as_str(), collection(context, entity, key)?))
            })
            .collect();
        let total: f64 = sizes.iter().map(|(_, bytes)| bytes).sum();
        let (Some(part), Some((first, _))) = (group.first_part(), group.members.first()) else {
            continue;
        };
        if total <= MAX_ITEM_COLLECTION_BYTES as f64 {
            continue;
        }
        let shown: Vec<String> =
            sizes.iter().map(|(name, bytes)| format!("`{name}` {}", short_bytes(*bytes))).collect();
        findings
            .add(
                part.span,
                &first.name,
                format!("a collection of {} may pass 10 GB, and the table has a local index", group.names()),
            )
            .because(format!(
                "the largest collection is {} with its index entries ({}); beyond 10 GB every write to it fails",
                short_bytes(total),
                shown.join(", ")
            ))
            .fix("use a global index instead of the local one, or split the partition key by time or shard");
    }
}
