//! Hand-written key conditions, checked as they stand: what DynamoDB refuses, what never matches, what
//! matches too much, and what is missing.

mod equivalence;
mod form;
mod keys;
mod legal;
mod meaning;
mod sort_key;

pub use self::form::RawForm;
use super::candidate::{Candidate, loose_fields};
use super::concrete::{ConcreteRead, concretize};
use super::counter;
use super::coverage::lost;
use super::estimate::estimate;
use super::space::Space;
use super::verdict::{problems, proofs, refused};
use super::{Plan, Problem, Proof, Proofs, Verdict};
use crate::cost::Prices;
use crate::evaluate::{Inputs, Mismatch};
use crate::model::{Access, Design};
use crate::mutation::{Mutation, is_on};
use crate::source::Span;

/// The lint rule that a hand-written condition breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawRule {
    /// K05: a range or prefix on a partition key.
    PartitionNotEqual,
    /// K06: two conditions on one key attribute, or a range that is not last.
    TwoConditions,
    /// K07: a text that no key has, or a prefix that ends inside a value.
    NeverMatches,
    /// K08: an upper bound that cuts the last period.
    CutsLastPeriod,
    /// E04: a filter on a key attribute.
    FilterOnKey,
    /// E05: a filter that no request may have.
    FilterRefused,
}

/// What is wrong with a hand-written condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawProblem {
    /// The rule that it breaks.
    pub rule: RawRule,
    /// What is wrong.
    pub message: String,
    /// Why, with examples.
    pub evidence: String,
    /// What to write instead.
    pub fix: String,
    /// The place in the file.
    pub span: Span,
}

pub(super) fn plan_raw(design: &Design, space: &Space, access: &Access, prices: &Prices) -> Plan {
    let form = match legal::check(access) {
        Ok(form) => form,
        Err(found) => {
            let mut plan = refused(access, Vec::new());
            plan.problems = found.into_iter().map(Problem::Raw).collect();
            return plan;
        }
    };
    let meaning = meaning::check(space, access, &form);
    let candidate = Candidate {
        reads: meaning.reads,
        order: meaning.order,
        bleeds: meaning.bleeds,
        uncovered: meaning.uncovered,
        lost: lost(access, &access.find),
        inconsistent: meaning.inconsistent,
        loose: loose_fields(access, &access.find),
        exact: false,
    };
    let mut plan = Plan {
        name: access.name.clone(),
        verdict: form.verdict(),
        proofs: proofs(access, &candidate),
        problems: problems(&candidate),
        hydrate: None,
        rejected: Vec::new(),
        counter_example: None,
        estimate: super::Estimate::default(),
        reads: candidate.reads,
        raw: Some(form.clone().read(meaning.forward, meaning.fetches)),
    };
    plan.problems.extend(meaning.problems.into_iter().map(Problem::Raw));
    if !access.terms.is_empty() {
        let planned = equivalence::as_planned(space, access, &form);
        // An upper bound that ends where `where` says cuts nothing off.
        if planned.is_some() {
            plan.problems.retain(|problem| {
                !matches!(problem, Problem::Raw(raw) if raw.rule == RawRule::CutsLastPeriod)
            });
        }
        adopt(&mut plan, access, planned);
    }
    if !meaning.missing.is_empty() {
        let why = format!(
            "rows of `{}` lie under another partition key in this index",
            meaning.missing.join("`, `")
        );
        plan.problems.push(Problem::MissingRows { entities: meaning.missing.clone(), why });
    }
    plan.proofs.rows = rows_proof(access, &plan, &meaning.missing);
    if access.limit.is_some()
        && (plan.verdict == Verdict::Filter || plan.proofs.rows == Proof::Refuted)
    {
        plan.proofs.limit = Proof::Refuted;
    }
    let about_rows =
        |problem: &Problem| !matches!(problem, Problem::Uncovered { .. } | Problem::Lost { .. });
    let told = plan.problems.iter().any(about_rows);
    if plan.proofs.rows == Proof::Refuted && !told {
        let planned = equivalence::planned_key(access, &form);
        plan.problems.push(Problem::NotAsPlanned { planned });
    }
    if space.examples {
        plan.counter_example = counter::find(design, access, &plan);
    }
    if let (true, Some(example)) = (meaning.missing.is_empty(), &plan.counter_example) {
        name_the_claim(&mut plan.proofs, &example.wrong);
    }
    cut_by_limit(access, &mut plan);
    plan.estimate = estimate(design, access, &plan, prices);
    plan
}

/// The request that was written by hand, or nothing if no item can satisfy it. A request that is proven for being the
/// planned one is sent only if it is that with these inputs, too.
pub(super) fn first_read(
    access: &Access,
    plan: &Plan,
    form: &RawForm,
    inputs: &Inputs,
) -> Result<Vec<ConcreteRead>, String> {
    let read = form.concrete(inputs)?;
    let looked_at = form.is_as_planned() && !is_on(Mutation::SamplesProve);
    if looked_at && !equivalence::is_same(access, plan, form, inputs, &read)? {
        if concretize(access, plan, inputs)?.is_empty() {
            return Ok(Vec::new());
        }
        return Err(
            "with these inputs the hand-written `key` is not what `where` says: leave it out, and the planner writes it"
                .to_owned(),
        );
    }
    Ok(vec![read])
}

/// The request is one page: what the filter takes out of it, no other page replaces.
fn cut_by_limit(access: &Access, plan: &mut Plan) {
    let cut = access.limit.is_some() && plan.verdict == Verdict::Filter;
    if cut && plan.proofs.rows == Proof::Proven {
        plan.proofs.rows = Proof::Refuted;
    }
}

/// A request that is what `where` compiles to has the proofs of that plan. Of any other nothing is proven.
fn adopt(plan: &mut Plan, access: &Access, planned: Option<Plan>) {
    let asked = |asked: bool| if asked { Proof::Refuted } else { Proof::NotAsked };
    let Some(planned) = planned else {
        plan.proofs.rows = Proof::Refuted;
        plan.proofs.purity = Proof::Refuted;
        plan.proofs.order = asked(!access.order.is_empty());
        plan.proofs.limit = asked(access.limit.is_some());
        return;
    };
    let forward = planned.reads.first().is_none_or(|read| read.forward);
    let worse = |a: Proof, b: Proof| if b == Proof::Refuted { b } else { a };
    plan.proofs.rows = planned.proofs.rows;
    plan.proofs.order = planned.proofs.order;
    plan.proofs.limit = worse(planned.proofs.limit, plan.proofs.limit);
    plan.proofs.purity = worse(planned.proofs.purity, plan.proofs.purity);
    let own = |problem: &Problem| matches!(problem, Problem::Order { .. });
    plan.problems.retain(|problem| !own(problem));
    plan.problems.extend(planned.problems.into_iter().filter(own));
    plan.reads = planned.reads;
    plan.raw = plan.raw.take().map(|form| form.proven(forward));
}

/// A request that does not mean what `where` says fails at least in the way that its counter-example shows: rows too
/// many are a matter of purity, rows in the wrong place one of order.
fn name_the_claim(proofs: &mut Proofs, wrong: &Mismatch) {
    if proofs.rows != Proof::Refuted {
        return;
    }
    match wrong {
        Mismatch::Missing(_) => proofs.purity = Proof::NotAsked,
        // Whether rows are missing as well is open, so they stay unproven.
        Mismatch::Foreign(_) => proofs.purity = Proof::Refuted,
        Mismatch::Disorder(_) => proofs.order = Proof::Refuted,
    }
}

fn rows_proof(access: &Access, plan: &Plan, missing: &[String]) -> Proof {
    let never = plan.problems.iter().any(|problem| {
        matches!(problem, Problem::Raw(raw)
            if matches!(raw.rule, RawRule::NeverMatches | RawRule::CutsLastPeriod))
    });
    if !missing.is_empty() || never {
        return Proof::Refuted;
    }
    // Without a condition nothing is claimed.
    if access.terms.is_empty() {
        return Proof::NotAsked;
    }
    plan.proofs.rows
}
