//! Two steps: read the link items, then fetch what they point at.

use std::sync::Arc;

use super::bind::Source;
use super::coverage::{lost, unreturned};
use super::purity::{Bleed, bleed};
use super::range::{ReadRange, SortPart};
use super::space::Space;
use super::verdict::{accepted, best, refused};
use super::{Hydrate, Plan, Problem, Proof, Read, Verdict};
use crate::model::{Access, Entity, FieldKind, Index, IndexKey, Operand};
use crate::mutation::{Mutation, is_on};

pub(super) fn plan(space: &Space, access: &Access, via: &Arc<Entity>) -> Plan {
    let mut first = access.clone();
    first.find = vec![via.clone()];
    first.returns =
        access.find.iter().flat_map(|target| needed_for(target, via)).collect::<Vec<_>>();
    let (candidate, rejected) = best(space, &first);
    let Some(candidate) = candidate else { return refused(access, rejected) };
    if !candidate.uncovered.is_empty() {
        // What the index does not hold of a link leads nowhere.
        let mut plan = refused(access, rejected);
        let entity = access.find.first().map(|target| target.name.clone()).unwrap_or_default();
        plan.problems.push(Problem::NoKeyForStep { entity, fields: candidate.uncovered });
        return plan;
    }
    let mut plan = accepted(&first, candidate, rejected);
    // What is no link leads to items, too, and they come where they should not.
    if plan.proofs.purity == Proof::Refuted && !access.order.is_empty() {
        plan.proofs.order = Proof::Refuted;
    }
    match second_step(access, via) {
        Ok(hydrate) => {
            if !hydrate.batch {
                let entity = hydrate.entities.first().map(|e| e.name.clone()).unwrap_or_default();
                plan.problems.push(Problem::OneByOne { entity });
            }
            // Items fetched through a global index are as old as the index.
            if let (Some(index), true) = (&hydrate.index, access.consistent) {
                plan.proofs.consistency = Proof::Refuted;
                plan.problems.push(Problem::Inconsistent { index: index.clone() });
            }
            let met = met_on_the_way(space, &hydrate);
            if !met.is_empty() && !is_on(Mutation::LinksMeetTheirTargets) {
                plan.proofs.purity = Proof::Refuted;
                if access.limit.is_some() {
                    plan.proofs.limit = Proof::Refuted;
                }
                plan.problems.extend(met.iter().map(Bleed::problem));
            }
            // Queries through an index return what it holds.
            let narrow = hydrate.index.as_deref().map_or_else(Vec::new, |name| {
                let index = access.find.first().and_then(|target| target.table.index(name));
                index.map_or_else(Vec::new, |index| unreturned(access, &access.find, index))
            });
            plan.hydrate = Some(hydrate);
            plan.verdict = match plan.verdict {
                Verdict::Filter => Verdict::Filter,
                _ => Verdict::TwoStep,
            };
            let lost = lost(access, &access.find);
            let whole = narrow.is_empty() || is_on(Mutation::SecondStepsReturnAll);
            plan.proofs.coverage = Proof::of(whole && lost.is_empty());
            if !lost.is_empty() {
                plan.problems.push(Problem::Lost { fields: lost });
            }
            if !narrow.is_empty() {
                plan.problems.push(Problem::Uncovered { fields: narrow });
            }
            plan
        }
        Err(problem) => {
            let mut plan = refused(access, plan.rejected);
            plan.problems.push(problem);
            plan
        }
    }
}

/// What a link must tell for the key that leads to its target: its fields, or all that a shard is calculated from.
fn needed_for(target: &Entity, via: &Entity) -> Vec<String> {
    let key = target.reached_from(via).and_then(|index| target.index_key(index));
    let fields = key.iter().flat_map(IndexKey::fields);
    let needed = fields.flat_map(|name| match target.field(name).map(|field| &field.kind) {
        Some(FieldKind::Shard(shards)) if !shards.by.is_empty() => shards.by.clone(),
        _ => vec![name.to_owned()],
    });
    needed.collect()
}

/// How the targets are fetched: by primary key if the link knows it, else one Query each.
fn second_step(access: &Access, via: &Entity) -> Result<Hydrate, Problem> {
    let entities = access.find.clone();
    for target in &access.find {
        let missing: Vec<String> = target
            .identity()
            .into_iter()
            .filter(|field| !target.is_told_by(via, field))
            .map(str::to_owned)
            .collect();
        if missing.is_empty() {
            continue;
        }
        return match target.reached_from(via) {
            Some(index) => Ok(Hydrate {
                entities,
                batch: false,
                index: index.name.clone(),
                reason: format!(
                    "`{}` does not know `{}` of the primary key of `{}`, so each item takes a Query of its own",
                    via.name,
                    missing.join("`, `"),
                    target.name
                ),
            }),
            None => Err(Problem::NoKeyForStep { entity: target.name.clone(), fields: missing }),
        };
    }
    let reason = format!("`{}` leads to the items themselves", via.name);
    Ok(Hydrate { entities, batch: true, index: None, reason })
}

/// Other items that have the key which the second step asks for.
fn met_on_the_way(space: &Space, hydrate: &Hydrate) -> Vec<Bleed> {
    let exact = |entity: &Arc<Entity>| {
        let is_asked = |index: &Index| index.name == hydrate.index;
        let at = entity.table.indexes.iter().position(is_asked)?;
        let index = entity.table.indexes.get(at)?;
        let pinned =
            |name: &str| (name.to_owned(), Source::Pinned(Operand::Input(name.to_owned())));
        let sort = if index.range.is_empty() { SortPart::Whole } else { SortPart::Exact };
        Some(Read {
            table: entity.table.clone(),
            index: at,
            entities: vec![entity.clone()],
            range: ReadRange {
                entity: entity.clone(),
                sources: entity.index_key(index)?.fields().map(pinned).collect(),
                sort,
            },
            fans: Vec::new(),
            filter: Vec::new(),
            type_filter: false,
            forward: true,
            limit: None,
            fetches: false,
        })
    };
    let reads = hydrate.entities.iter().filter_map(exact);
    reads.map(|read| bleed(space, &read)).filter(|bleed| !bleed.is_empty()).collect()
}
