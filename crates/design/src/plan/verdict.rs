//! Verdicts: the best candidate, what is proven about it, and what is wrong.

use super::candidate::{Candidate, candidates, is_better, separately};
use super::counter;
use super::estimate::estimate;
use super::purity::Bleed;
use super::space::Space;
use super::two_step;
use super::{Hydrate, Plan, Problem, Proof, Proofs, Read, Rejected, Verdict};
use crate::cost::Prices;
use crate::model::{Access, Design};
use crate::mutation::{Mutation, is_on};

/// Plans one pattern.
pub fn plan_access(design: &Design, access: &Access, prices: &Prices) -> Plan {
    super::plan_with(design, &Space::new(design), access, prices)
}

pub(super) fn plan_declared(
    design: &Design,
    space: &Space,
    access: &Access,
    prices: &Prices,
) -> Plan {
    let mut plan = if let Some(via) = &access.via {
        two_step::plan(space, access, via)
    } else {
        match best(space, access) {
            (Some(candidate), rejected) => accepted(access, candidate, rejected),
            (None, rejected) => refused(access, rejected),
        }
    };
    if space.examples {
        plan.counter_example = counter::find(design, access, &plan);
    }
    plan.estimate = estimate(design, access, &plan, prices);
    plan
}

/// The best reads of a pattern: one after the other for the alternatives of `or`.
pub(super) fn best(space: &Space, access: &Access) -> (Option<Candidate>, Vec<Rejected>) {
    let mut whole: Option<Candidate> = None;
    let mut rejected = Vec::new();
    for alone in access.each() {
        let (joint, reasons) = candidates(space, &alone, &alone.find);
        for reason in reasons {
            if !rejected.contains(&reason) {
                rejected.push(reason);
            }
        }
        let Some(own) = choose(space, &alone, joint) else { return (None, rejected) };
        whole = Some(match whole {
            None => own,
            Some(so_far) => so_far.and(access, own),
        });
    }
    (whole, rejected)
}

fn choose(space: &Space, access: &Access, joint: Option<Candidate>) -> Option<Candidate> {
    if access.find.len() < 2 {
        return joint;
    }
    let good = joint.as_ref().is_some_and(|joint| joint.is_pure() && joint.order.is_none());
    if good {
        return joint;
    }
    match (joint, separately(space, access)) {
        (Some(joint), Some(separate)) if is_better(&separate, &joint) => Some(separate),
        (joint, separate) => joint.or(separate),
    }
}

pub(super) fn refused(access: &Access, rejected: Vec<Rejected>) -> Plan {
    let asked = |asked: bool| if asked { Proof::Refuted } else { Proof::NotAsked };
    Plan {
        name: access.name.clone(),
        verdict: Verdict::Refused,
        reads: Vec::new(),
        raw: None,
        hydrate: None,
        proofs: Proofs {
            rows: Proof::Refuted,
            order: asked(!access.order.is_empty()),
            limit: asked(access.limit.is_some()),
            purity: Proof::Refuted,
            coverage: Proof::NotAsked,
            consistency: asked(access.consistent),
        },
        problems: Vec::new(),
        rejected,
        counter_example: None,
        estimate: super::Estimate::default(),
    }
}

pub(super) fn accepted(access: &Access, candidate: Candidate, rejected: Vec<Rejected>) -> Plan {
    let mut proofs = proofs(access, &candidate);
    let verdict = verdict(&candidate);
    let problems = problems(&candidate);
    let hydrate = (!candidate.uncovered.is_empty()).then(|| Hydrate {
        entities: access.find.clone(),
        batch: true,
        index: None,
        reason: format!("the index does not hold `{}`", candidate.uncovered.join("`, `")),
    });
    // What the index does not hold comes with the second step.
    if hydrate.is_some() {
        proofs.coverage = Proof::of(candidate.lost.is_empty());
    }
    Plan {
        name: access.name.clone(),
        verdict,
        reads: candidate.reads,
        raw: None,
        hydrate,
        proofs,
        problems,
        rejected,
        counter_example: None,
        estimate: super::Estimate::default(),
    }
}

fn verdict(candidate: &Candidate) -> Verdict {
    if candidate.is_get() {
        Verdict::Get
    } else if candidate.is_filtered() {
        Verdict::Filter
    } else if !candidate.uncovered.is_empty() {
        Verdict::TwoStep
    } else if candidate.is_batch() {
        Verdict::Batch
    } else if candidate.reads.iter().map(Read::calls).sum::<Option<f64>>() != Some(1.0) {
        Verdict::FanOut
    } else {
        Verdict::Query
    }
}

pub(super) fn proofs(access: &Access, candidate: &Candidate) -> Proofs {
    let pure = candidate.is_pure();
    let ordered = candidate.order.is_none();
    let asked = |asked: bool, holds: bool| if asked { Proof::of(holds) } else { Proof::NotAsked };
    Proofs {
        rows: Proof::of(candidate.loose.is_empty()),
        // Rows of others have no place in the order by which several requests are merged.
        order: asked(!access.order.is_empty(), ordered && (pure || candidate.is_one_request())),
        limit: asked(
            access.limit.is_some(),
            (ordered || is_on(Mutation::LimitsNeedNoOrder))
                && (pure || is_on(Mutation::LimitsCountStrangers))
                && candidate.loose.is_empty()
                && access.limit.is_some_and(|limit| counts_right(candidate, limit)),
        ),
        // Texts of times are in no order of time: a range of them takes in others, and <> does, too.
        purity: Proof::of(pure && candidate.loose.is_empty()),
        coverage: Proof::of(candidate.uncovered.is_empty() && candidate.lost.is_empty()),
        consistency: asked(access.consistent, candidate.inconsistent.is_none()),
    }
}

/// Whether a limit that is sent along counts only rows that are returned.
fn counts_right(candidate: &Candidate, limit: u64) -> bool {
    !candidate.is_filtered() || candidate.is_single_item() || candidate.is_within(limit)
}

pub(super) fn problems(candidate: &Candidate) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(order) = &candidate.order {
        problems.push(Problem::Order {
            why: order.why.clone(),
            fix: order.fix.clone(),
            moved: order.moved.clone(),
        });
    }
    let bleeds = candidate.bleeds.iter().filter(|bleed| !bleed.is_empty());
    problems.extend(bleeds.map(Bleed::problem));
    if !candidate.uncovered.is_empty() {
        problems.push(Problem::Uncovered { fields: candidate.uncovered.clone() });
    }
    if !candidate.lost.is_empty() {
        problems.push(Problem::Lost { fields: candidate.lost.clone() });
    }
    for field in &candidate.loose {
        problems.push(Problem::LooseTime { field: field.clone() });
    }
    if let Some(index) = &candidate.inconsistent {
        problems.push(Problem::Inconsistent { index: index.clone() });
    }
    problems
}
