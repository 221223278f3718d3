//! P01–P11: partition keys under load.

use std::fmt::Write as _;

use keyloom_core::limits::MAX_PAGE_BYTES;

use super::load::{
    ShardNeed, collection_bytes, hottest_share, is_loaded, is_spread, key_values, load, shard_need,
};
use super::{Context, Findings, index_subject, key_text, quoted, short, short_bytes};
use crate::diagnostic::Severity;
use crate::key::Piece;
use crate::model::{Access, Entity, Field, FieldKind, Index, IndexKey, Table};
use crate::plan::Verdict;
use crate::words::{about, counted};

/// Every entity in every index.
pub(super) fn placements<'a>(
    context: &'a Context,
) -> impl Iterator<Item = (&'a Table, &'a Index, &'a std::sync::Arc<Entity>, IndexKey<'a>)> {
    context.design.entities().iter().flat_map(|entity| {
        entity.table.indexes.iter().filter_map(move |index| {
            Some((entity.table.as_ref(), index, entity, entity.index_key(index)?))
        })
    })
}

fn hash_text(key: &IndexKey) -> String {
    key.hash.iter().map(|part| key_text(part)).collect::<Vec<_>>().join(", ")
}

/// The share of an entity's items that are in an index.
fn present_share(entity: &Entity, key: &IndexKey) -> f64 {
    key.fields().filter_map(|field| entity.field(field)?.present).fold(1.0, f64::min)
}

/// The most items that may well live under one constant key.
const SMALL: f64 = 10_000.0;

/// P01: everything under one key.
pub(super) fn constant(context: &Context, findings: &mut Findings) {
    for (table, index, entity, key) in placements(context) {
        if key.hash_fields().next().is_some() {
            continue;
        }
        let count = entity.volume.count.map(|count| count * present_share(entity, &key));
        let growth = entity.volume.growth.filter(|growth| *growth > 0.0);
        let load = load(context, entity, index);
        let large = count.is_some_and(|count| count > SMALL);
        if growth.is_none() && !large && load.excess(1.0) <= 1.0 {
            continue;
        }
        let Some(part) = key.hash.first() else { continue };
        let mut evidence = Vec::new();
        if let Some(count) = count {
            evidence.push(format!("{} under one key", about(count, "item")));
        }
        if let Some(growth) = growth {
            evidence.push(format!("growing by {:.0} % a month", growth * 100.0));
        }
        if load.is_declared() {
            evidence.push(load.describe(1.0));
        }
        findings
            .add(
                part.span,
                &entity.name,
                format!(
                    "every `{}` has the partition key {} in {}",
                    entity.name,
                    hash_text(&key),
                    index_subject(table, index)
                ),
            )
            .because(evidence.join(", "))
            .fix("put an id into the partition key; if all must be listed, add a shard: \"…#{shard}\" with { type = \"shard\", shards = 10, by = \"id\" }");
    }
}

/// The rule of thumb: fewer values than this do not spread.
const FEW: f64 = 100.0;

/// P02: a handful of keys for everything.
pub(super) fn few_values(context: &Context, findings: &mut Findings) {
    for (table, index, entity, key) in placements(context) {
        // Indexes have a rule of their own, because they slow the table down.
        if index.name.is_some() || key.hash_fields().next().is_none() {
            continue;
        }
        let Some(values) = key_values(context, entity, &key).filter(|values| *values < FEW) else {
            continue;
        };
        if !is_loaded(context, entity) || is_spread(context, entity, index, &key) {
            continue;
        }
        let Some(part) = key.hash.first() else { continue };
        let load = load(context, entity, index);
        let share = hottest_share(context, entity, &key).unwrap_or(1.0 / values);
        let hot = load.excess(share) > 1.0;
        let mut evidence = format!("{} different values", short(values));
        if let Some(count) = entity.volume.count {
            let _ = write!(evidence, ", {} under each", about(count / values, "item"));
        }
        if load.is_declared() {
            let _ = write!(evidence, "; the busiest gets {}", load.describe(share));
        }
        findings
            .add(
                part.span,
                &entity.name,
                format!("{} has few values in {}", hash_text(&key), index_subject(table, index)),
            )
            .because(evidence)
            .fix("use an id as partition key and find by these values through an index with a shard or a second partition attribute")
            .severity(if hot { Severity::Error } else { Severity::Warn });
    }
}

/// P03: all of today under one key.
pub(super) fn time_only(context: &Context, findings: &mut Findings) {
    for (table, index, entity, key) in placements(context) {
        let mut fields = key.hash_fields().filter_map(|name| entity.field(name)).peekable();
        if fields.peek().is_none() || !fields.all(Field::is_time) || !is_loaded(context, entity) {
            continue;
        }
        let Some(part) = key.hash.first() else { continue };
        let load = load(context, entity, index);
        let evidence = if load.is_declared() {
            format!("the current period gets all of it: {}", load.describe(1.0))
        } else {
            "all new items go to the current period's partition, and the load moves on with it"
                .to_owned()
        };
        findings
            .add(
                part.span,
                &entity.name,
                format!("{} is only a time in {}", hash_text(&key), index_subject(table, index)),
            )
            .because(evidence)
            .fix("put the owner's id into the partition key and the time into the sort key, or add a shard");
    }
}

/// P04: one tenant, country or category gets most.
pub(super) fn skewed(context: &Context, findings: &mut Findings) {
    for (table, index, entity, key) in placements(context) {
        let top = key
            .hash_fields()
            .filter_map(|name| entity.field(name)?.top_share.map(|share| (name, share)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((field, top)) = top.filter(|(_, share)| *share >= 0.1) else { continue };
        let share = hottest_share(context, entity, &key).unwrap_or(top);
        if share < 0.1 || is_spread(context, entity, index, &key) {
            continue;
        }
        let Some(part) = key.hash.first() else { continue };
        let load = load(context, entity, index);
        let mut evidence = format!("one value of `{field}` has {:.0} %", share * 100.0);
        if let Some(bytes) = collection_bytes(context, entity).filter(|_| index.name.is_none()) {
            let _ = write!(evidence, ", {} under one key", short_bytes(bytes));
        }
        if load.is_declared() {
            let _ = write!(evidence, ", {}", load.describe(share));
        }
        let hot = load.excess(share) > 1.0;
        findings
            .add(
                part.span,
                &entity.name,
                format!("{} is skewed in {}", hash_text(&key), index_subject(table, index)),
            )
            .because(evidence)
            .fix(format!("add an id or a shard beside `{field}` in the partition key, at least for the large values"))
            .severity(if hot { Severity::Error } else { Severity::Warn });
    }
}

/// P05: said to be bad, and not so.
pub(super) fn sequential(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        for part in entity.primary_key().hash {
            for field in part.shape.template().fields() {
                if !entity.field(field).is_some_and(|field| field.sequential) {
                    continue;
                }
                findings
                    .add(
                        part.span,
                        &entity.name,
                        format!("sequential `{field}` in the partition key {} is harmless", key_text(part)),
                    )
                    .because("DynamoDB hashes partition keys: ids that follow one another land on different partitions. Advice to the contrary is about stores that split by key order")
                    .fix("nothing to do; in a sort key an ever-increasing value does matter (P08)");
            }
        }
    }
}

/// P07: with a local index a hot collection stays on one partition.
pub(super) fn local_index_heat(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        if !entity.table.has_local_index() {
            continue;
        }
        let (Some(share), Some(part)) = heat(context, entity) else { continue };
        let load = load(context, entity, entity.table.primary());
        findings
            .add(
                part.span,
                &entity.name,
                format!(
                    "a hot collection of `{}` cannot be split, because the table has a local index",
                    entity.name
                ),
            )
            .because(load.describe(share))
            .fix(
                "use a global index instead of the local one, or add a shard to the partition key",
            );
    }
}

/// The share of the busiest key when that is more than one partition takes.
fn heat<'a>(
    context: &Context,
    entity: &'a Entity,
) -> (Option<f64>, Option<&'a crate::model::EntityKey>) {
    let key = entity.primary_key();
    let load = load(context, entity, entity.table.primary());
    let share = hottest_share(context, entity, &key).filter(|share| load.excess(*share) > 1.0);
    (share, key.hash.first().copied())
}

/// P08: always writing at the end leaves nothing to split.
pub(super) fn increasing_heat(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        let key = entity.primary_key();
        let first = key.range_pieces().find_map(Piece::as_field);
        let increasing =
            first.and_then(|piece| entity.field(piece.name())).is_some_and(Field::is_increasing);
        let load = load(context, entity, entity.table.primary());
        let share = hottest_share(context, entity, &key)
            .filter(|share| load.writes * share > keyloom_keys::PARTITION_WRITE_UNITS);
        let (true, Some(share), Some(part)) = (increasing, share, key.range.first()) else {
            continue;
        };
        findings
            .add(
                part.span,
                &entity.name,
                format!("{} only grows, so a hot collection is never split", key_text(part)),
            )
            .because(format!(
                "{}; a partition is split in the middle of its keys, and all new ones go to the end",
                load.describe(share)
            ))
            .fix("add a shard to the partition key, or put something that varies before the time");
    }
}

/// P09: reads that grow with the data.
pub(super) fn unbounded_read(context: &Context, findings: &mut Findings) {
    for (access, plan) in context.design.accesses().iter().zip(context.plans) {
        let Some(bytes) = plan.estimate.bytes else { continue };
        let read = matches!(
            plan.verdict,
            Verdict::Query | Verdict::FanOut | Verdict::Filter | Verdict::TwoStep
        );
        let per_request = bytes / plan.first_calls().unwrap_or(1.0).max(1.0);
        if !read
            || access.limit.is_some()
            || access.all_pages
            || per_request <= MAX_PAGE_BYTES as f64
        {
            continue;
        }
        let units = plan.estimate.read_units.unwrap_or_default();
        findings
            .add(access.span, &access.name, format!("`{}` reads a whole collection", access.name))
            .because(format!(
                "{} in {}, {} each time",
                short_bytes(bytes),
                about(plan.estimate.pages.unwrap_or_default(), "page"),
                about(units, "read unit")
            ))
            .fix("say all_pages = true if all pages are wanted; else give it a limit and a cursor");
    }
}

/// P10: a read by id queries every shard.
pub(super) fn random_shard(context: &Context, findings: &mut Findings) {
    for entity in context.design.entities() {
        let key = entity.primary_key();
        let random: Vec<&str> = key
            .hash_fields()
            .filter(|name| {
                entity.field(name).is_some_and(
                    |field| matches!(&field.kind, FieldKind::Shard(shards) if shards.by.is_empty()),
                )
            })
            .collect();
        let Some(shard) = random.first() else { continue };
        let others: Vec<&str> =
            entity.identity().into_iter().filter(|name| !random.contains(name)).collect();
        // Only what is not in the partition key can spread what has one. A counter has no such id: its shards are read together.
        let ids: Vec<&str> = {
            let hash: Vec<&str> = key.hash_fields().collect();
            others.iter().copied().filter(|name| !hash.contains(name)).collect()
        };
        let by_id = |access: &&Access| {
            access.finds(entity)
                && !ids.is_empty()
                && others.iter().all(|field| access.equality(field).is_some())
        };
        let Some(access) = context.design.accesses().iter().find(by_id) else { continue };
        let Some(part) = key.hash.first() else { continue };
        findings
            .add(
                part.span,
                &entity.name,
                format!("`{}` reads one `{}` and has to ask every shard", access.name, entity.name),
            )
            .because(format!("`{shard}` is random, so {} do not tell the shard", quoted(&others)))
            .fix(format!(
                "calculate it: {shard} = {{ type = \"shard\", shards = …, by = {} }}",
                by_list(&ids)
            ));
    }
}

fn by_list(fields: &[&str]) -> String {
    match fields {
        [.., last] => format!("\"{last}\""),
        [] => "\"id\"".to_owned(),
    }
}

/// P11: as many shards as the load needs.
pub(super) fn shard_count(context: &Context, findings: &mut Findings) {
    for (_, index, entity, key) in placements(context) {
        let Some(need) = shard_need(context, entity, index, &key) else { continue };
        let ShardNeed { field: name, count, needed, load, share } = need;
        let Some(part) = key.hash.first() else { continue };
        let verdict = match count {
            _ if count < needed => "too few",
            _ if count > needed.saturating_mul(4) => "more than needed",
            _ => continue,
        };
        let shards = |count: u32| counted(count, "shard");
        findings
            .add(
                part.span,
                &entity.name,
                format!(
                    "{} of `{name}` {} {verdict}",
                    shards(count),
                    if count == 1 { "is" } else { "are" }
                ),
            )
            .because(format!(
                "{} need {} with a margin of one half; every read of all shards takes {} now",
                load.describe(share),
                shards(needed),
                if count == 1 { "1 query".to_owned() } else { format!("{count} queries") }
            ))
            .fix(match needed {
                0 | 1 => format!("take `{name}` out of the key: one partition carries this load"),
                _ => format!("shards = {needed}"),
            });
    }
}
