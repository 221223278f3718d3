//! I01–I08: indexes that cost more than they give.

use std::fmt::Write as _;

use super::load::load;
use super::partition::placements;
use super::{Context, Findings, index_subject, key_text, quoted, short};
use crate::diagnostic::Severity;
use crate::model::{Access, Design, Index, IndexKind, Projection, Table, Write};
use crate::plan::{IndexEffect, Verdict};
use crate::words::about;

/// Every secondary index.
fn secondary(design: &Design) -> impl Iterator<Item = (&Table, &Index)> {
    design
        .tables()
        .iter()
        .flat_map(|table| table.secondary().iter().map(move |index| (table.as_ref(), index)))
}

fn patterns_of<'a>(context: &'a Context, table: &Table, index: &Index) -> &'a [String] {
    context
        .uses
        .iter()
        .find(|used| used.table == table.name && used.index == index.name)
        .map_or(&[], |used| used.patterns.as_slice())
}

/// I01: an index that costs writes and serves no pattern.
pub(super) fn unused(context: &Context, findings: &mut Findings) {
    if context.design.accesses().is_empty() {
        return;
    }
    for (table, index) in secondary(context.design) {
        if !patterns_of(context, table, index).is_empty() || is_for_refused(context, table, index) {
            continue;
        }
        let entities: Vec<&str> = context
            .design
            .entities_in(table)
            .filter(|entity| entity.index_key(index).is_some())
            .map(|entity| entity.name.as_str())
            .collect();
        let evidence = if entities.is_empty() {
            "no entity has a key in it either".to_owned()
        } else {
            format!("every write of {} pays for it", quoted(&entities))
        };
        findings
            .add(
                index.span,
                &index_subject(table, index),
                format!("no access pattern uses {}", index.label()),
            )
            .because(evidence)
            .fix("drop it, or write down the pattern it is for; a global index can be added again at any time");
    }
}

/// Whether a pattern that is refused so far may be what an index is for.
fn is_for_refused(context: &Context, table: &Table, index: &Index) -> bool {
    let patterns = context.design.accesses().iter().zip(context.plans);
    let mut refused = patterns.filter(|(_, plan)| plan.verdict == Verdict::Refused);
    refused.any(|(access, _)| match (&access.index, access.asked()) {
        (Some(named), _) => named.value == index.label(),
        (None, Some(asked)) => {
            let key = asked.index_key(index).filter(|_| asked.table.name == table.name);
            let is_asked = |name: &str| access.questions().any(|term| term.field == name);
            key.is_some_and(|key| key.hash_fields().any(is_asked))
        }
        (None, None) => false,
    })
}

/// I02: indexes whose entities do not meet can share one.
pub(super) fn mergeable(context: &Context, findings: &mut Findings) {
    for table in context.design.tables() {
        let global: Vec<&Index> =
            table.secondary().iter().filter(|index| index.kind == IndexKind::Global).collect();
        for (at, second) in global.iter().enumerate() {
            let first = global.iter().take(at).find(|first| {
                can_overload(context, table, first, second)
                    || serves(context.design, table, first, second)
            });
            let Some(first) = first else { continue };
            let how = if can_overload(context, table, first, second) {
                "no entity is in both, so one index can hold the keys of all"
            } else {
                "the one's sort key begins with the other's, so it answers the same patterns"
            };
            findings
                .add(
                    second.span,
                    &index_subject(table, second),
                    format!("{} and {} could be one index", first.label(), second.label()),
                )
                .because(how)
                .fix(format!(
                    "write the keys of {} into `{}`",
                    second.label(),
                    first.attributes().map(|a| a.name.as_str()).collect::<Vec<_>>().join("`, `")
                ));
        }
    }
}

fn can_overload(context: &Context, table: &Table, a: &Index, b: &Index) -> bool {
    let same_shape = !a.is_multi_attribute()
        && !b.is_multi_attribute()
        && a.range.len() == b.range.len()
        && a.attributes().zip(b.attributes()).all(|(x, y)| x.kind == y.kind)
        && a.projection == b.projection;
    let mut entities = context.design.entities_in(table).peekable();
    let templates = |index: &Index| {
        context
            .design
            .entities_in(table)
            .filter_map(|e| e.index_key(index))
            .any(|key| key.parts().all(|part| !part.shape.is_native()))
    };
    same_shape
        && entities.peek().is_some()
        && templates(a)
        && templates(b)
        && entities.all(|entity| entity.index_key(a).is_none() || entity.index_key(b).is_none())
}

/// Whether every entity of `b` has the same partition key in `a`, and a sort key there that begins alike.
fn serves(design: &Design, table: &Table, a: &Index, b: &Index) -> bool {
    let mut any = false;
    let all = design.entities_in(table).all(|entity| {
        let Some(in_b) = entity.index_key(b) else { return true };
        let Some(in_a) = entity.index_key(a) else { return false };
        any = true;
        let hash = |key: &crate::model::IndexKey| {
            key.hash.iter().map(|part| part.shape.template().pieces().to_vec()).collect::<Vec<_>>()
        };
        let range = |key: &crate::model::IndexKey| key.range_pieces().cloned().collect::<Vec<_>>();
        let (long, short) = (range(&in_a), range(&in_b));
        hash(&in_a) == hash(&in_b)
            && (long.starts_with(&short) || short.starts_with(&long))
            && a.projection == b.projection
    });
    any && all
}

/// I03: each index is another write.
pub(super) fn many(context: &Context, findings: &mut Findings) {
    for table in context.design.tables() {
        let global = table.secondary().iter().filter(|i| i.kind == IndexKind::Global).count();
        if global > 5 {
            findings
                .add(table.span, &table.name, format!("table `{}` has {global} global indexes", table.name))
                .because("each is written along with the table; 20 is the default quota")
                .fix("let entities share indexes (overloading), or use native keys of several attributes")
                .severity(if global > 20 { Severity::Error } else { Severity::Warn });
        }
    }
    for (write, plan) in context.design.writes().iter().zip(context.writes) {
        let factor = plan.units / plan.table_units.max(1.0);
        if factor > 3.0 {
            findings
                .add(
                    write.span,
                    &write.name,
                    format!(
                        "`{}` writes {} times what the table itself takes",
                        write.name,
                        short(factor)
                    ),
                )
                .because(format!(
                    "{} write units, {} of them in indexes",
                    short(plan.units),
                    short(plan.units - plan.table_units)
                ))
                .fix("project less into the indexes, make them sparse, or drop some");
        }
    }
}

/// I04: what is copied is stored and written again.
pub(super) fn wide_projection(context: &Context, findings: &mut Findings) {
    for (table, index) in secondary(context.design) {
        if index.projection != Projection::All || index.kind != IndexKind::Global {
            continue;
        }
        let names = patterns_of(context, table, index);
        let patterns: Vec<&Access> =
            names.iter().filter_map(|name| context.design.access(name)).collect();
        if patterns.is_empty() || patterns.iter().any(|access| access.returns.is_empty()) {
            continue;
        }
        let mut needed: Vec<&str> = patterns
            .iter()
            .flat_map(|access| &access.returns)
            .map(String::as_str)
            .filter(|name| !index.has_attribute(name) && !table.primary().has_attribute(name))
            .collect();
        needed.sort_unstable();
        needed.dedup();
        let held: usize = context
            .design
            .entities_in(table)
            .filter(|entity| entity.index_key(index).is_some())
            .map(|entity| entity.fields.len())
            .max()
            .unwrap_or(0);
        if needed.len() > 20 || needed.len() + 1 >= held {
            continue;
        }
        let list: Vec<String> = needed.iter().map(|name| format!("\"{name}\"")).collect();
        findings
            .add(
                index.span,
                &index_subject(table, index),
                format!(
                    "{} copies every attribute, and its patterns need {}",
                    index.label(),
                    needed.len()
                ),
            )
            .because(format!(
                "patterns {} return only {}",
                quoted(names),
                if needed.is_empty() { "keys".to_owned() } else { quoted(&needed) }
            ))
            .fix(if list.is_empty() {
                "projection = \"keys\"".to_owned()
            } else {
                format!("projection = [{}]", list.join(", "))
            });
    }
}

/// Updates per second from which two index writes each begin to matter.
const OFTEN: f64 = 10.0;

/// I05: a changed index key is deleted and written anew.
pub(super) fn hot_key_change(context: &Context, findings: &mut Findings) {
    for (write, plan) in context.design.writes().iter().zip(context.writes) {
        let Some(rate) = write.rate.filter(|rate| rate.peak >= OFTEN) else { continue };
        for effect in &plan.effects {
            if effect.rewrites.is_empty() || effect.index == "table" || write.sets.is_empty() {
                continue;
            }
            findings
                .add(
                    write.span,
                    &write.name,
                    format!("`{}` changes {} of {}", write.name, quoted(&effect.rewrites), effect.index),
                )
                .because(format!(
                    "each call changes the index entry: {} index write units/s at {}/s",
                    short(effect.units * rate.peak),
                    short(rate.peak)
                ))
                .fix(if is_sparse(write, effect) {
                    "keep what changes often out of index keys"
                } else {
                    "keep what changes often out of index keys, or make the index sparse so that only the few that matter are in it"
                });
        }
    }
}

/// Whether only some items of the entity are in the index already.
fn is_sparse(write: &Write, effect: &IndexEffect) -> bool {
    let entity = write.entities().find(|entity| entity.name == effect.entity);
    entity.is_some_and(|entity| {
        let key = entity.table.index(&effect.index).and_then(|index| entity.index_key(index));
        key.is_some_and(|key| {
            key.parts().any(|part| part.when.is_some())
                || key.fields().any(|name| entity.field(name).is_some_and(|field| field.optional))
        })
    })
}

/// The most items that do no harm under few keys.
const TINY: f64 = 10_000.0;

/// I06: a full index partition holds up the table's writes.
pub(super) fn back_pressure(context: &Context, findings: &mut Findings) {
    for (table, index, entity, key) in placements(context) {
        if index.kind != IndexKind::Global || key.hash_fields().next().is_none() {
            continue;
        }
        let values =
            super::load::key_values(context, entity, &key).filter(|values| *values < 100.0);
        let Some(values) = values.filter(|_| super::load::is_loaded(context, entity)) else {
            continue;
        };
        if super::load::is_spread(context, entity, index, &key) {
            continue;
        }
        let load = load(context, entity, index);
        let share = super::load::hottest_share(context, entity, &key).unwrap_or(1.0 / values);
        let Some(part) = key.hash.first() else { continue };
        let mut evidence = format!("{} different values", short(values));
        if let Some(count) = entity.volume.count {
            let _ = write!(evidence, ", {}", about(count, "item"));
        }
        if load.writes > 0.0 {
            let _ = write!(evidence, "; the busiest gets {}", load.describe(share));
        }
        let hot = load.excess(share) > 1.0;
        // A small table that is not written much is no danger.
        let tiny = entity.volume.count.is_some_and(|count| count <= TINY);
        if tiny && load.excess(share) <= 0.5 {
            continue;
        }
        findings
            .add(
                part.span,
                &entity.name,
                format!("the partition key of {} has few values: {}", index.label(), key_text(part)),
            )
            .because(format!(
                "{evidence}; when an index partition cannot keep up, writes to table `{}` are throttled",
                table.name
            ))
            .fix("make the index sparse, or spread it: a shard in the key, or a second native partition attribute")
            .severity(if hot { Severity::Error } else { Severity::Warn });
    }
}

/// I07: sparse pays when few items are in it.
pub(super) fn dense(context: &Context, findings: &mut Findings) {
    for (table, index, entity, key) in placements(context) {
        if index.name.is_none() {
            continue;
        }
        let optional = key.fields().filter_map(|name| entity.field(name)).filter(|f| f.optional);
        let Some(share) = optional.filter_map(|field| field.present).reduce(f64::min) else {
            continue;
        };
        if share <= 0.5 {
            continue;
        }
        let Some(part) = key.hash.first() else { continue };
        findings
            .add(
                part.span,
                &entity.name,
                format!(
                    "{:.0} % of `{}` are in the sparse index {}",
                    share * 100.0,
                    entity.name,
                    index.label()
                ),
            )
            .because(format!("it stores nearly as much as {} itself", table.name))
            .fix("index the rarer state instead, or accept it as a full index");
    }
}

/// I08: a field that happens to be named like an index key puts every item into the index.
pub(super) fn accidental(context: &Context, findings: &mut Findings) {
    for (table, index, entity, key) in placements(context) {
        let native = key.parts().all(|part| part.shape.is_native());
        if index.name.is_none() || !native {
            continue;
        }
        let wanted = patterns_of(context, table, index)
            .iter()
            .filter_map(|name| context.design.access(name))
            .any(|access| {
                access.finds(entity)
                    || access.via.as_ref().is_some_and(|via| via.name == entity.name)
            });
        let others: Vec<&str> = context
            .design
            .entities_in(table)
            .filter(|other| other.name != entity.name && other.index_key(index).is_some())
            .map(|other| other.name.as_str())
            .collect();
        let served = context
            .plans
            .iter()
            .any(|plan| plan.verdict != Verdict::Refused && plan.places().contains(&index.label()));
        if wanted || others.is_empty() || !served {
            continue;
        }
        let fields: Vec<&str> = key.fields().collect();
        findings
            .add(
                entity.span,
                &entity.name,
                format!("every `{}` lands in {} because of its fields {}", entity.name, index.label(), quoted(&fields)),
            )
            .because(format!(
                "the index is read for {}, and no pattern finds `{}` there: its rows mix with theirs and cost writes",
                quoted(&others),
                entity.name
            ))
            .fix("rename the field, or key the index by attributes of its own such as GSI1PK");
    }
}
