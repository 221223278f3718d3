//! Whether what the engine does is what the planner said.

use keyloom_core::Item;
use keyloom_core::capacity::Units;
use keyloom_design::Design;
use keyloom_design::evaluate::{Expected, Inputs, Lookup, Mismatch, Row, expected};
use keyloom_design::key::compare as compare_values;
use keyloom_design::model::{Access, Field, FieldKind, Table};
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
    /// Everything is as brute force says, and costs what was predicted.
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
    Shown { returns: Vec<String>, should_return: Vec<String>, wrong: Mismatch },
    /// It does not.
    NotShown { why: String },
}

/// How many patterns came out how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Equal to brute force, at the predicted price, with rows to show it.
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

/// Whether a plan promises the rows of brute force, in their order and number.
fn promises_rows(plan: &Plan) -> bool {
    let proofs = &plan.proofs;
    // Behind a filter the limit is kept by reading on, not by the request itself.
    let limit = holds(proofs.limit) || plan.verdict == Verdict::Filter && plan.raw.is_none();
    holds(proofs.rows) && holds(proofs.order) && holds(proofs.purity) && limit
}

fn holds(proof: Proof) -> bool {
    proof != Proof::Refuted
}

/// What a plan promises of its answers.
struct Promised {
    rows: bool,
    attributes: bool,
}

/// How an answer is wrong.
enum Wrong {
    /// Rows are missing, foreign or out of order.
    Rows(String),
    /// An attribute is missing or not what was stored.
    Attributes(String),
}

/// Makes the calls and compares each.
pub(super) fn calls(
    runner: &Runner,
    access: &Access,
    plan: &Plan,
    calls: &[Inputs],
    outcome: &mut Outcome,
) {
    // Of a hand-written request the planner may have nothing to say: then it is only observed.
    let unclaimed = plan.raw.is_some() && plan.proofs.rows == Proof::NotAsked;
    let promised = Promised {
        rows: promises_rows(plan) && !unclaimed,
        attributes: holds(plan.proofs.coverage),
    };
    let lookup = Lookup::new(access, runner.data.rows());
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
        match compare(runner.data, access, &lookup.expected(inputs), &answer) {
            Ok(()) => {}
            Err(Wrong::Rows(_)) if !promised.rows => wrong += 1,
            Err(Wrong::Attributes(_)) if !promised.attributes => wrong += 1,
            Err(Wrong::Rows(why) | Wrong::Attributes(why)) => {
                outcome.judged = broken(access, inputs, &why);
                return;
            }
        }
    }
    outcome.judged = if outcome.calls == 0 {
        Judged::Idle
    } else if outcome.rows == 0 && wrong == 0 {
        Judged::Empty
    } else if promised.attributes && (promised.rows || unclaimed && wrong == 0) {
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

/// Compares an answer with brute force: the rows, their order, and every attribute asked for.
fn compare(data: &Data, access: &Access, wanted: &Expected, answer: &Answer) -> Result<(), Wrong> {
    let table = access.find.first().map(|entity| entity.table.clone());
    let table = table.ok_or_else(|| Wrong::Rows("it finds nothing".to_owned()))?;
    let labels = labels(data, &table, &answer.items).map_err(Wrong::Rows)?;
    // Without a condition stated, a hand-written request has no meaning to compare with.
    if access.raw.is_none() || !access.terms.is_empty() {
        wanted.compare(&labels).map_err(|wrong| Wrong::Rows(wrong.to_string()))?;
    }
    answer.items.iter().try_for_each(|item| match data.row_of(&table, item) {
        Some(row) => attributes(access, row, item).map_err(Wrong::Attributes),
        None => Ok(()),
    })
}

fn labels(data: &Data, table: &Table, items: &[Item]) -> Result<Vec<String>, String> {
    items
        .iter()
        .map(|item| data.row_of(table, item).map(Row::label))
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| "an item is returned that nobody wrote".to_owned())
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
    key_fields(access, row, item)
}

/// What is kept in keys only is read from them as it was written.
fn key_fields(access: &Access, row: &Row, item: &Item) -> Result<(), String> {
    let asked = |field: &&Field| {
        let named = access.returns.is_empty() || access.returns.contains(&field.name);
        named && field.key_only && !matches!(field.kind, FieldKind::Shard(_))
    };
    let read = Row::from_item(&row.entity, item);
    for field in row.entity.fields.iter().filter(asked) {
        let (written, found) = (row.values.get(&field.name), read.values.get(&field.name));
        match (written, found) {
            (None, _) => {}
            (Some(written), Some(found)) if compare_values(written, found).is_eq() => {}
            (Some(written), Some(found)) => {
                return Err(format!(
                    "`{}` of {} was written as {written} and is read from its keys as {found}",
                    field.name,
                    row.label()
                ));
            }
            (Some(_), None) => {
                return Err(format!(
                    "`{}` of {} is in no key that tells it",
                    field.name,
                    row.label()
                ));
            }
        }
    }
    Ok(())
}

/// Where nothing but the limit is refuted, the counter-example is to sending it along with a filter.
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
    let runner = Runner { engine: &engine, data: &data, limits: limits_of(plan) };
    let answer = match runner.run(access, plan, &example.inputs) {
        Ok(answer) => answer,
        Err(failed) => return not_shown(failed.to_string()),
    };
    let Some(table) = access.find.first().map(|entity| entity.table.clone()) else {
        return not_shown("it finds nothing".to_owned());
    };
    let returns = match labels(&data, &table, &answer.items) {
        Ok(returns) => returns,
        Err(why) => return not_shown(why),
    };
    let wanted = expected(access, &example.inputs, data.rows());
    let should_return = wanted.rows.iter().map(|row| row.label()).collect();
    match wanted.compare(&returns) {
        Err(wrong) => Counter::Shown { returns, should_return, wrong },
        Ok(()) => not_shown("the engine returns the right rows for it".to_owned()),
    }
}
