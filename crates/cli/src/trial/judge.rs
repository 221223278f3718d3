//! Whether what the engine does is what the planner said, and what the pattern means: the oracle of designs decides,
//! which shares no code with the planner.

use keyloom_core::Item;
use keyloom_core::capacity::Units;
use keyloom_design::Design;
use keyloom_design::evaluate::{Inputs, Row};
use keyloom_design::model::Access;
use keyloom_design::oracle::{
    self, Claims, Contradiction, Hit, Oracle, Returned, Run, Senseless, judge,
};
use keyloom_design::plan::{CounterExample, Plan, Proof, Verdict};

use super::data::Data;
use super::engine::{Engine, Refusal};
use super::refusal::refusal_of;
use super::runner::{Answer, Failed, Limits, Runner};

/// What became of one pattern.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    /// Calls that were made.
    pub(crate) calls: usize,
    /// Rows that came back, in all calls.
    pub(crate) rows: usize,
    /// Units that the engine charged, in all calls.
    pub(crate) units: Units,
    pub(crate) judged: Judged,
    /// What the engine made of the counter-example, if there is one.
    pub(crate) counter: Option<Counter>,
}

/// What the calls showed.
#[derive(Debug)]
pub(crate) enum Judged {
    /// Everything is as the oracle says, and costs what was predicted.
    Equal,
    /// As [`Judged::Equal`], but no call returned a row: that shows little.
    Empty,
    /// The plan promises less than that; this many calls were wrong.
    Unpromised { wrong: usize },
    /// The planner refutes something, and neither a call nor a counter-example shows it.
    Unshown,
    /// The planner refuses the pattern; for a hand-written request, this is what the engine says.
    Refused { by_engine: Option<Refusal> },
    /// No call could be made: no generated value fits the pattern's keys.
    Idle,
    /// The engine does not do what was promised.
    Broken { why: String },
}

/// What the engine made of a counter-example.
#[derive(Debug)]
pub(crate) enum Counter {
    /// It returns the wrong rows, as the planner said.
    Shown { returns: Vec<String>, should_return: Vec<String>, wrong: String },
    /// It does not.
    NotShown { why: String },
}

/// How many patterns came out how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Equal to what the oracle says, at the predicted price, with rows to show it.
    pub(crate) equal: usize,
    /// Equal on no rows at all, or never called: no evidence.
    pub(crate) unseen: usize,
    /// Refuted or filtered: less was promised.
    pub(crate) unpromised: usize,
    /// Refused by the planner.
    pub(crate) refused: usize,
    /// Refuted, and nothing shows it.
    pub(crate) unshown: usize,
    /// Counter-examples that the engine shows.
    pub(crate) shown: usize,
    /// Promises that the engine broke.
    pub(crate) broken: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        match &outcome.judged {
            Judged::Equal => self.equal += 1,
            Judged::Empty | Judged::Idle => self.unseen += 1,
            Judged::Unpromised { .. } => self.unpromised += 1,
            Judged::Unshown => self.unshown += 1,
            Judged::Refused { .. } => self.refused += 1,
            Judged::Broken { .. } => self.broken += 1,
        }
        match &outcome.counter {
            Some(Counter::Shown { .. }) => self.shown += 1,
            Some(Counter::NotShown { .. }) => self.broken += 1,
            None => {}
        }
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.equal += other.equal;
        self.unseen += other.unseen;
        self.unpromised += other.unpromised;
        self.refused += other.refused;
        self.unshown += other.unshown;
        self.shown += other.shown;
        self.broken += other.broken;
    }
}

impl Outcome {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            name: plan.name.clone(),
            verdict: plan.verdict,
            calls: 0,
            rows: 0,
            units: Units::ZERO,
            judged: Judged::Refused { by_engine: None },
            counter: None,
        }
    }
}

/// What a plan promises of its answers, each by itself: where the order is refuted, no row may be missing.
fn promised(plan: &Plan) -> Claims {
    let proofs = &plan.proofs;
    let coverage = holds(proofs.coverage);
    if is_unclaimed(plan) {
        return Claims { coverage, ..Claims::default() };
    }
    // Behind a filter the limit is kept by reading on, not by the request itself.
    let limit = holds(proofs.limit) || plan.verdict == Verdict::Filter && plan.raw.is_none();
    let (rows, purity, order) = (holds(proofs.rows), holds(proofs.purity), holds(proofs.order));
    // The first rows are right only if they are the right rows.
    Claims { rows, purity, order, limit: limit && rows && purity && order, coverage, ..ROWS }
}

/// Of a hand-written request the planner may have nothing to say: then it is only observed.
fn is_unclaimed(plan: &Plan) -> bool {
    plan.raw.is_some() && plan.proofs.rows == Proof::NotAsked
}

fn holds(proof: Proof) -> bool {
    proof != Proof::Refuted
}

/// How an answer is wrong.
struct Wrong {
    why: String,
    /// Whether the plan promises better.
    is_promised: bool,
}

/// Makes the calls and compares each.
pub(super) fn calls(
    runner: &Runner,
    access: &Access,
    plan: &Plan,
    calls: &[Inputs],
    outcome: &mut Outcome,
) {
    let promised = promised(plan);
    let oracle = match Oracle::new(access, runner.data.rows()) {
        Ok(oracle) => oracle,
        Err(senseless) => {
            outcome.judged = Judged::Broken { why: senseless.to_string() };
            return;
        }
    };
    let mut wrong = 0;
    for inputs in calls {
        let answer = match runner.run(access, plan, inputs) {
            Ok(answer) => answer,
            // Values that a key cannot hold never reach the engine.
            Err(Failed::Inputs(_)) => continue,
            // The planner said so: a global index is never strongly consistent.
            Err(Failed::Refused(refusal)) if plan.proofs.consistency == Proof::Refuted => {
                outcome.judged = Judged::Refused { by_engine: Some(refusal) };
                return;
            }
            Err(failed) => {
                outcome.judged = broken(access, inputs, &failed.to_string());
                return;
            }
        };
        outcome.calls += 1;
        outcome.rows += answer.items.len();
        outcome.units += answer.consumed;
        let unpredicted = match &answer.predicted {
            Ok(units) if *units == answer.consumed => None,
            Ok(units) => {
                Some(format!("{units} read units were predicted, {} are charged", answer.consumed))
            }
            Err(why) => Some(why.clone()),
        };
        if let Some(why) = unpredicted {
            outcome.judged = broken(access, inputs, &why);
            return;
        }
        match compare(runner.data, access, oracle.ask(inputs), &answer, &promised) {
            None => {}
            Some(Wrong { is_promised: false, .. }) => wrong += 1,
            Some(Wrong { why, is_promised: true }) => {
                outcome.judged = broken(access, inputs, &why);
                return;
            }
        }
    }
    outcome.judged = if outcome.calls == 0 {
        Judged::Idle
    } else if outcome.rows == 0 && wrong == 0 {
        Judged::Empty
    } else if promised == ALL || promised.coverage && is_unclaimed(plan) && wrong == 0 {
        Judged::Equal
    } else {
        Judged::Unpromised { wrong }
    };
}

fn broken(access: &Access, inputs: &Inputs, why: &str) -> Judged {
    let shown: Vec<String> = access
        .inputs
        .iter()
        .filter_map(|input| Some(format!("{} = {}", input.name, inputs.get(&input.name)?)))
        .collect();
    Judged::Broken { why: format!("{why} (with {})", shown.join(", ")) }
}

/// Compares an answer with the oracle's: the rows, their order, and every attribute asked for. What is promised comes
/// first, as what is not may be wrong.
fn compare(
    data: &Data,
    access: &Access,
    wanted: Result<oracle::Answer, Senseless>,
    answer: &Answer,
    promised: &Claims,
) -> Option<Wrong> {
    let wrong = |why: String, is_promised: bool| Some(Wrong { why, is_promised });
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(senseless) => return wrong(senseless.to_string(), promised.rows),
    };
    let returned = match returned(data, access, &answer.items) {
        Ok(returned) => returned,
        Err(why) => return wrong(why, promised.purity),
    };
    // Without a condition stated, a hand-written request has no meaning to compare with.
    let is_asked = access.raw.is_none() || !access.terms.is_empty();
    // Rows without a place cannot be merged by it.
    let has_order = wanted.ordered || answer.requests == 1;
    let broken = |claims: &Claims| {
        let claims = Claims { order: claims.order && has_order, coverage: false, ..*claims };
        first_wrong(data, access, &wanted, &claims, &returned).filter(|_| is_asked)
    };
    if let Some(why) = broken(promised) {
        return wrong(why, true);
    }
    let uncovered = uncovered(data, access, &wanted, &returned);
    if let (Some(why), true) = (&uncovered, promised.coverage) {
        return wrong(why.clone(), true);
    }
    broken(&ROWS).or(uncovered).and_then(|why| wrong(why, false))
}

/// What of the rows asked for is not returned as it was stored.
fn uncovered(
    data: &Data,
    access: &Access,
    wanted: &oracle::Answer,
    returned: &[Returned],
) -> Option<String> {
    let rows = returned.iter().filter_map(|one| Some((data.rows().get(one.record?)?, &one.item)));
    let mut found = rows.filter(|(row, _)| access.finds(&row.entity));
    let wrong = found.find_map(|(row, item)| attributes(access, row, item).err());
    let covered = Claims { coverage: true, ..Claims::default() };
    wrong.or_else(|| first_wrong(data, access, wanted, &covered, returned))
}

/// All that can be claimed about rows.
const ROWS: Claims = Claims {
    rows: true,
    purity: true,
    order: true,
    limit: true,
    coverage: false,
    consistency: false,
    requests: None,
};

/// All that can be claimed about an answer.
const ALL: Claims = Claims { coverage: true, ..ROWS };

/// The first claim that an answer breaks, in words.
fn first_wrong(
    data: &Data,
    access: &Access,
    wanted: &oracle::Answer,
    claims: &Claims,
    returned: &[Returned],
) -> Option<String> {
    let run = Run { returned, requests: 0, strong: true };
    let found = judge(access, wanted, data.rows(), claims, &run);
    found.first().map(|wrong| told(data, wrong))
}

/// A broken claim with the keys of the rows that it is about.
fn told(data: &Data, wrong: &Contradiction) -> String {
    let label = |at: &usize| data.rows().get(*at).map(Row::label).unwrap_or_default();
    match wrong {
        Contradiction::Foreign { record: Some(at) } => {
            format!("{} is returned and should not be", label(at))
        }
        Contradiction::Twice { record } => {
            format!("{} is returned more often than it should be", label(record))
        }
        Contradiction::Missing { record }
        | Contradiction::WrongFirst { record: Some(record), .. } => {
            format!("{} is missing", label(record))
        }
        Contradiction::Disordered { record } => {
            format!("{} stands in the wrong place", label(record))
        }
        Contradiction::Uncovered { record, field } => {
            format!("`{field}` of {} is not returned as it was written", label(record))
        }
        other => other.to_string(),
    }
}

/// The items of an answer, with the rows that they were written from.
fn returned(data: &Data, access: &Access, items: &[Item]) -> Result<Vec<Returned>, String> {
    let table = access.find.first().map(|entity| entity.table.clone());
    let table = table.ok_or_else(|| "it finds nothing".to_owned())?;
    let one = |item: &Item| {
        let at = data.position_of(&table, item)?;
        let read = Row::from_item(&data.rows().get(at)?.entity, item).values;
        Some(Returned { record: Some(at), item: item.clone(), read })
    };
    let returned = items.iter().map(one).collect::<Option<Vec<_>>>();
    returned.ok_or_else(|| "an item is returned that nobody wrote".to_owned())
}

/// What came back is what was stored, and nothing that was asked for is missing.
fn attributes(access: &Access, row: &Row, item: &Item) -> Result<(), String> {
    let stored = row.item();
    for (name, value) in item.iter() {
        if stored.get(name) != Some(value) {
            return Err(format!("`{name}` of {} is not what was stored", row.label()));
        }
    }
    let asked = |name: &str| access.returns.is_empty() || access.returns.iter().any(|n| n == name);
    let missing = stored.keys().find(|name| asked(name) && !item.contains_key(name));
    if let Some(name) = missing {
        return Err(format!("`{name}` of {} is not returned", row.label()));
    }
    Ok(())
}

/// If only the limit is refuted, the counter-example shows what goes wrong when the limit is sent along with a filter.
fn limits_of(plan: &Plan) -> Limits {
    let refuted = |proof: Proof| proof == Proof::Refuted;
    let proofs = &plan.proofs;
    let others = [proofs.rows, proofs.order, proofs.purity].into_iter().any(refuted);
    if refuted(proofs.limit) && !others { Limits::SentAlong } else { Limits::AsPlanned }
}

/// A refused pattern: where a request was written by hand, the engine must refuse it too.
pub(super) fn refused(engine: &Engine, access: &Access, inputs: &Inputs) -> Judged {
    if access.raw.is_none() {
        return Judged::Refused { by_engine: None };
    }
    match refusal_of(engine, access, inputs) {
        Some(refusal) => Judged::Refused { by_engine: Some(refusal) },
        None => Judged::Broken {
            why: "the planner says that DynamoDB refuses the request, and the engine takes it"
                .to_owned(),
        },
    }
}

/// Loads a counter-example into an engine of its own and looks whether the answer is wrong there.
pub(super) fn counter(
    design: &Design,
    access: &Access,
    plan: &Plan,
    example: &CounterExample,
) -> Counter {
    let not_shown = |why: String| Counter::NotShown { why };
    let data = Data::new(example.rows.clone());
    let engine = match Engine::with_tables(design) {
        Ok(engine) => engine,
        Err(refusal) => return not_shown(refusal.to_string()),
    };
    if let Err(refusal) = engine.load(data.rows(), &mut |_| {}) {
        return not_shown(format!("its items cannot be stored: {refusal}"));
    }
    let wanted = match oracle::ask(access, &example.inputs, data.rows()) {
        Ok(wanted) => wanted,
        Err(senseless) => return not_shown(senseless.to_string()),
    };
    let shown = |returned: &[Returned], wrong: String| {
        let limit = access.limit.map_or(usize::MAX, |limit| limit as usize);
        let should = wanted.hits.iter().take(limit).map(|Hit { record, .. }| *record);
        Counter::Shown {
            returns: labels(&data, returned.iter().filter_map(|one| one.record)),
            should_return: labels(&data, should),
            wrong,
        }
    };
    let runner = Runner { engine: &engine, data: &data, limits: limits_of(plan) };
    let answer = match runner.run(access, plan, &example.inputs) {
        Ok(answer) => answer,
        // A hand-written range whose ends are the wrong way round in keys brings no rows, either.
        Err(refused @ Failed::Refused(_)) if plan.raw.is_some() && !wanted.hits.is_empty() => {
            return shown(&[], refused.to_string());
        }
        Err(failed) => return not_shown(failed.to_string()),
    };
    let returned = match returned(&data, access, &answer.items) {
        Ok(returned) => returned,
        Err(why) => return not_shown(why),
    };
    let claims = Claims { order: wanted.ordered || answer.requests == 1, ..ROWS };
    match first_wrong(&data, access, &wanted, &claims, &returned) {
        Some(wrong) => shown(&returned, wrong),
        None => not_shown("the engine returns the right rows for it".to_owned()),
    }
}

fn labels(data: &Data, positions: impl Iterator<Item = usize>) -> Vec<String> {
    positions.filter_map(|at| data.rows().get(at).map(Row::label)).collect()
}
