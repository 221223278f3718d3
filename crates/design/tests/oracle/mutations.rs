//! Planners that are wrong on purpose: a bed that cannot find them proves nothing.

use keyloom_design::model::{Operand, Test};
use keyloom_design::plan::{Fan, Plan, Proof, SortPart, Source, Verdict};
use keyloom_keys::Value;

use crate::bed::Bed;
use crate::trial::Outcome;

/// Changes a plan; whether there was something to change.
type Mutation = fn(&mut Plan) -> bool;

fn claim(proof: &mut Proof) -> bool {
    let refuted = *proof == Proof::Refuted;
    if refuted {
        *proof = Proof::Proven;
    }
    refuted
}

/// One for each kind of proof, and one for each part of a plan that a proof is about.
const MUTATIONS: &[(&str, Mutation)] = &[
    ("claims rows", |plan| claim(&mut plan.proofs.rows)),
    ("claims purity", |plan| claim(&mut plan.proofs.purity)),
    ("claims order", |plan| claim(&mut plan.proofs.order)),
    ("claims the limit", |plan| claim(&mut plan.proofs.limit)),
    ("claims coverage", |plan| claim(&mut plan.proofs.coverage)),
    ("claims consistency", |plan| claim(&mut plan.proofs.consistency)),
    ("claims one request", |plan| {
        let several = plan.verdict == Verdict::FanOut;
        plan.verdict = if several { Verdict::Query } else { plan.verdict };
        several
    }),
    ("reads in the wrong direction", |plan| {
        plan.reads.iter_mut().for_each(|read| read.forward = !read.forward);
        !plan.reads.is_empty()
    }),
    ("forgets the filter", |plan| {
        let mut filters = plan.reads.iter_mut().map(|read| &mut read.filter);
        filters.any(|filter| !std::mem::take(filter).is_empty())
    }),
    ("forgets the filter on types", |plan| {
        plan.reads.iter_mut().any(|read| std::mem::take(&mut read.type_filter))
    }),
    ("forgets the sort condition", |plan| {
        let mut reads = plan.reads.iter_mut();
        reads.any(|read| {
            let some = !matches!(read.range.sort, SortPart::Whole);
            read.range.sort = SortPart::Whole;
            some
        })
    }),
    ("reads one shard too few", |plan| {
        let mut fans = plan.reads.iter_mut().flat_map(|read| &mut read.fans);
        fans.any(|fan| match fan {
            Fan::Shards { count, .. } => {
                *count -= 1;
                true
            }
            _ => false,
        })
    }),
    ("reads one value too few", |plan| {
        let mut fans = plan.reads.iter_mut().flat_map(|read| &mut read.fans);
        fans.any(|fan| match fan {
            Fan::Values { values, .. } => values.pop().is_some(),
            _ => false,
        })
    }),
    ("reads one period too few", |plan| {
        let mut fans = plan.reads.iter_mut().flat_map(|read| &mut read.fans);
        fans.any(|fan| match fan {
            Fan::Buckets { test: Test::Range { low, high }, .. } => {
                high.clone_from(low);
                low.is_some()
            }
            _ => false,
        })
    }),
    ("reads one alternative or entity too few", |plan| {
        plan.reads.len() > 1 && plan.reads.pop().is_some()
    }),
    ("takes one row too few", |plan| {
        plan.reads.iter_mut().any(|read| {
            let fewer = read.limit.filter(|limit| *limit > 1).map(|limit| limit - 1);
            read.limit = fewer.or(read.limit);
            fewer.is_some()
        }) && plan.reads.len() == 1
    }),
    ("forgets the second step", |plan| plan.hydrate.take().is_some()),
    ("calculates shards of another number", |plan| {
        let mut sources = plan.reads.iter_mut().flat_map(|read| &mut read.range.sources);
        sources.any(|(_, source)| match source {
            Source::Calculated { shards, .. } => {
                *shards += 1;
                true
            }
            _ => false,
        })
    }),
    ("reads the periods of another beginning", |plan| {
        let mut fans = plan.reads.iter_mut().flat_map(|read| &mut read.fans);
        fans.any(|fan| match fan {
            Fan::Buckets { test: Test::BeginsWith(beginning), .. } => {
                *beginning = Operand::Value(Value::from("1999"));
                true
            }
            _ => false,
        })
    }),
    ("claims the order of several entities", |plan| {
        let several = plan.reads.iter().any(|read| read.entities.len() > 1);
        several && claim(&mut plan.proofs.order)
    }),
    ("claims what alternatives return", |plan| {
        let several = plan.reads.len() > 1 && plan.reads.iter().all(|read| read.fans.is_empty());
        several && (claim(&mut plan.proofs.order) || claim(&mut plan.proofs.limit))
    }),
];

/// Whether some pattern of the bed breaks with the changed plan and not with the shipped one.
fn is_caught(bed: &mut Bed, mutation: Mutation) -> bool {
    let plans = bed.plans.clone();
    plans.iter().enumerate().any(|(at, plan)| {
        let mut wrong = plan.clone();
        if plan.verdict == Verdict::Refused || !mutation(&mut wrong) {
            return false;
        }
        let broken = |(_, outcome): &(_, Outcome)| matches!(outcome, Outcome::Broken(_));
        bed.calls(at, &wrong).iter().any(broken) && !bed.calls(at, plan).iter().any(broken)
    })
}

#[test]
fn planners_that_are_wrong_on_purpose_are_caught() {
    let mut left: Vec<&(&str, Mutation)> = MUTATIONS.iter().collect();
    for seed in 0..400 {
        if left.is_empty() {
            return;
        }
        let Some(mut bed) = Bed::new(seed) else { continue };
        left.retain(|(name, mutation)| {
            let caught = is_caught(&mut bed, *mutation);
            if caught {
                println!("seed {seed}: a planner that {name} is caught");
            }
            !caught
        });
    }
    let names: Vec<&str> = left.iter().map(|(name, _)| *name).collect();
    panic!("nothing was found wrong with planners that: {}", names.join("; "));
}
