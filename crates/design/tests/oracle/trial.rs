//! One pattern, run as planned and judged by the oracle.

use keyloom_design::evaluate::{Inputs, Row};
use keyloom_design::model::Access;
use keyloom_design::oracle::{Answer, Claims, Contradiction, Returned, Run, Senseless, ask, judge};
use keyloom_design::plan::{Plan, Proof, Verdict};

use crate::engine::{Engine, Failed, Response};
use crate::population::Population;

/// A promise that a run has broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The claim, in one word.
    pub(crate) claim: &'static str,
    /// What happened.
    pub(crate) why: String,
}

/// What became of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything that was claimed was kept, with so many rows asked for.
    Kept(usize),
    /// Nothing is claimed.
    Unclaimed,
    /// The plan says that it does not take such inputs; so many rows would have been found with them.
    NotTaken(usize),
    Broken(Broken),
}

/// What a plan claims.
pub(crate) fn claims(access: &Access, plan: &Plan) -> Claims {
    if plan.verdict == Verdict::Refused {
        return Claims::default();
    }
    let proven = |proof: Proof| proof == Proof::Proven;
    // A hand-written request without `where` states no question whose rows could be missing.
    let asked = access.raw.is_none() || !access.terms.is_empty();
    let first_step = match plan.verdict {
        _ if plan.raw.is_some() => Some(1),
        Verdict::Get | Verdict::Query => Some(1),
        _ => plan.first_calls().map(|calls| calls as u64),
    };
    Claims {
        rows: proven(plan.proofs.rows) && asked,
        purity: proven(plan.proofs.purity),
        order: proven(plan.proofs.order),
        limit: proven(plan.proofs.limit) && proven(plan.proofs.rows) && asked,
        coverage: proven(plan.proofs.coverage),
        consistency: proven(plan.proofs.consistency),
        requests: first_step,
    }
}

/// Calls a pattern once.
pub(crate) fn call(
    engine: &Engine,
    population: &Population,
    access: &Access,
    plan: &Plan,
    inputs: &Inputs,
) -> Outcome {
    let claims = claims(access, plan);
    if claims == Claims::default() {
        return Outcome::Unclaimed;
    }
    let answer = match ask(access, inputs, &population.records) {
        Ok(answer) => answer,
        Err(Senseless::NoInput { .. }) if access.raw.is_some() => return Outcome::Unclaimed,
        Err(senseless) => return broken("sense", &senseless.to_string()),
    };
    let sent = engine.send(access, plan, inputs, &population.records);
    let shown = judged(access, plan, population, claims, &answer, sent);
    // What ships must not be worse than the requests that are shown.
    match shown {
        Outcome::Kept(_) => {
            let ran = engine.run(access, plan, inputs);
            judged(access, plan, population, claims, &answer, ran)
        }
        shown => shown,
    }
}

fn judged(
    access: &Access,
    plan: &Plan,
    population: &Population,
    mut claims: Claims,
    answer: &Answer,
    response: Result<Response, Failed>,
) -> Outcome {
    let response = match response {
        Ok(response) => response,
        Err(failed) => return refused(access, plan, &claims, answer, failed),
    };
    // Rows without a place cannot be merged by it.
    claims.order &= answer.ordered || response.requests == 1;
    let returned: Vec<Returned> = response
        .items
        .into_iter()
        .map(|(record, item)| {
            let entity = record.and_then(|at| population.records.get(at)).map(|r| &r.entity);
            let read = entity.map(|entity| Row::from_item(entity, &item).values);
            Returned { record, item, read: read.unwrap_or_default() }
        })
        .collect();
    let run = Run { returned: &returned, requests: response.requests, strong: response.strong };
    let found = judge(access, answer, &population.records, &claims, &run);
    match found.first() {
        Some(contradiction) => broken(contradiction.claim(), &all(&found)),
        None => Outcome::Kept(answer.hits.len()),
    }
}

fn refused(
    access: &Access,
    plan: &Plan,
    claims: &Claims,
    answer: &Answer,
    failed: Failed,
) -> Outcome {
    match failed {
        // No other inputs would fit either.
        Failed::Inputs(why) if claims.rows && is_about_the_plan(&why) => broken("taken", &why),
        // An error that says so is no wrong answer.
        Failed::Inputs(_) => Outcome::NotTaken(answer.hits.len()),
        // A strong read of a global index is refused by planner and engine alike.
        Failed::Engine(_) if access.consistent && plan.proofs.consistency == Proof::Refuted => {
            Outcome::Unclaimed
        }
        // What `check` lets pass, DynamoDB takes; the order of inputs and empty ones are the caller's.
        Failed::Engine(why) if claims.rows || why.contains("Incorrect operand type") => {
            broken("request", &why)
        }
        Failed::Engine(_) => Outcome::Unclaimed,
    }
}

/// Whether a plan refuses inputs for what it is itself: a range that no key condition states.
fn is_about_the_plan(why: &str) -> bool {
    ["cannot be a key condition", "has no contiguous range", "has a condition as well"]
        .iter()
        .any(|words| why.contains(words))
}

fn broken(claim: &'static str, why: &str) -> Outcome {
    Outcome::Broken(Broken { claim, why: why.to_owned() })
}

fn all(found: &[Contradiction]) -> String {
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
