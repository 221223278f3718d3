//! Two steps: read the link items, then fetch what they point at.

use std::sync::Arc;

use super::candidate::candidates;
use super::space::Space;
use super::verdict::{accepted, refused};
use super::{Hydrate, Plan, Problem, Proof, Verdict};
use crate::model::{Access, Entity};

pub(super) fn plan(space: &Space, access: &Access, via: &Arc<Entity>) -> Plan {
    let mut first = access.clone();
    first.find = vec![via.clone()];
    first.via = None;
    first.returns = access
        .find
        .iter()
        .flat_map(|target| target.identity())
        .filter(|field| via.field(field).is_some())
        .map(str::to_owned)
        .collect();
    let (candidate, rejected) = candidates(space, &first, &first.find);
    let Some(candidate) = candidate else { return refused(access, rejected) };
    if !candidate.uncovered.is_empty() {
        // What the index does not hold of a link leads nowhere.
        let mut plan = refused(access, rejected);
        let entity = access.find.first().map(|target| target.name.clone()).unwrap_or_default();
        plan.problems.push(Problem::NoKeyForStep { entity, fields: candidate.uncovered });
        return plan;
    }
    let mut plan = accepted(&first, candidate, rejected);
    match second_step(access, via) {
        Ok(hydrate) => {
            if !hydrate.batch {
                let entity = hydrate.entities.first().map(|e| e.name.clone()).unwrap_or_default();
                plan.problems.push(Problem::OneByOne { entity });
            }
            // Items fetched through a global index are as old as the index.
            if hydrate.index.is_some() && access.consistent {
                plan.proofs.consistency = Proof::Refuted;
            }
            plan.hydrate = Some(hydrate);
            plan.verdict = match plan.verdict {
                Verdict::Filter => Verdict::Filter,
                _ => Verdict::TwoStep,
            };
            plan.proofs.coverage = Proof::Proven;
            plan
        }
        Err(problem) => {
            let mut plan = refused(access, plan.rejected);
            plan.problems.push(problem);
            plan
        }
    }
}

/// How the targets are fetched: by primary key if the link knows it, else one Query each.
fn second_step(access: &Access, via: &Entity) -> Result<Hydrate, Problem> {
    let entities = access.find.clone();
    for target in &access.find {
        let missing: Vec<String> = target
            .identity()
            .into_iter()
            .filter(|field| via.field(field).is_none())
            .map(str::to_owned)
            .collect();
        if missing.is_empty() {
            continue;
        }
        let index = target.table.secondary().iter().find(|index| {
            let key = target.index_key(index);
            key.is_some_and(|key| key.fields().all(|field| via.field(field).is_some()))
        });
        return match index {
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
