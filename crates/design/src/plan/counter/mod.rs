//! Counter-examples: a few concrete items for which a pattern returns the wrong rows.
//!
//! Candidates are made from samples that are likely to show the fault: rows whose fields sort against
//! each other, values that begin with one another or carry the separator, rows of the entities that share
//! the key range. The plan is then run on them and compared with the brute-force answer, so every
//! counter-example is a real one. What is not needed to show the fault is taken away again.
//!
//! 1. [`inputs`]: calls worth looking at.
//! 2. [`rows`]: a few telling rows; [`pool`]: many different ones, where the few do not tell.
//! 3. [`stranger`]: rows of other entities inside the range; [`moved`]: values that carry the separator.
//! 4. [`limit`]: rows that a filter throws away in front of the wanted ones.

mod inputs;
mod limit;
mod moved;
mod pool;
mod rows;
mod stranger;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use self::inputs::{base_inputs, inputs_numbered};
use self::rows::Style;
use super::concrete::ConcreteRead;
use super::simulate::{Entries, answer, labels};
use super::{Plan, Proof};
use crate::evaluate::{Inputs, Mismatch, Row, expected, order_of};
use crate::model::{Access, Design, Entity};

/// Items for which a pattern does not return what it should.
#[derive(Clone, Debug)]
pub struct CounterExample {
    /// The inputs of the call.
    pub inputs: Inputs,
    /// The items in the table.
    pub rows: Vec<Row>,
    /// The primary keys of what is returned, in order.
    pub returns: Vec<String>,
    /// The primary keys of what should be returned, in order.
    pub should_return: Vec<String>,
    /// What is wrong.
    pub wrong: Mismatch,
}

/// Looks for a counter-example to any failed proof about the rows of a pattern.
pub(super) fn find(design: &Design, access: &Access, plan: &Plan) -> Option<CounterExample> {
    let proofs = &plan.proofs;
    let failed = [proofs.rows, proofs.order, proofs.limit, proofs.purity].contains(&Proof::Refuted);
    if failed { search(design, access, plan, Effort::Thorough) } else { None }
}

/// How long to look.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// A few telling rows: nothing is known to be wrong.
    Brief,
    /// Until something is found: a claim has failed.
    Thorough,
}

/// Looks for data on which the plan's answer is wrong, whatever was proven.
pub(crate) fn search(
    design: &Design,
    access: &Access,
    plan: &Plan,
    effort: Effort,
) -> Option<CounterExample> {
    if plan.reads.is_empty() && plan.raw.is_none() {
        return None;
    }
    let case = Case { access, plan, strangers: stranger::entities(design, access, plan) };
    let mut calls = inputs::telling(&case);
    if effort == Effort::Brief {
        return calls.iter().find_map(|inputs| case.telling_rows(inputs));
    }
    let few = || calls.iter().find_map(|inputs| case.telling_rows(inputs));
    let found = if case.is_only_limit() { None } else { few() };
    if found.is_some() {
        return found;
    }
    calls.extend(inputs::further(&case));
    let many = || calls.iter().find_map(|inputs| case.many_rows(inputs));
    let found = if case.is_only_limit() { None } else { many() };
    found.or_else(|| calls.iter().find_map(|inputs| limit::crowd(&case, inputs)))
}

/// A plan that is looked at.
struct Case<'a> {
    access: &'a Access,
    plan: &'a Plan,
    /// The entities that share the key range.
    strangers: Vec<Arc<Entity>>,
}

impl Case<'_> {
    /// Whether nothing but the limit fails: then the fault is to send it along with a filter.
    fn is_only_limit(&self) -> bool {
        let proofs = &self.plan.proofs;
        proofs.limit == Proof::Refuted
            && ![proofs.rows, proofs.order, proofs.purity].contains(&Proof::Refuted)
    }

    /// The entities whose rows the first step asks for.
    fn asked(&self) -> &[Arc<Entity>] {
        match &self.access.via {
            Some(via) => std::slice::from_ref(via),
            None => &self.access.find,
        }
    }

    /// The plan's reads; where a filter makes the limit unreliable, with the limit sent along.
    fn reads(&self, inputs: &Inputs) -> Option<Vec<ConcreteRead>> {
        let mut reads = self.plan.first_reads(self.access, inputs).ok()?;
        if self.is_only_limit() {
            for read in &mut reads {
                read.limit = self.access.limit;
            }
        }
        Some(reads)
    }

    /// A few rows of each kind that usually shows what is wrong.
    fn telling_rows(&self, inputs: &Inputs) -> Option<CounterExample> {
        let reads = self.reads(inputs)?;
        Style::ALL.into_iter().find_map(|style| {
            let mut rows = Vec::new();
            for entity in self.asked() {
                rows.extend(rows::wanted(self.access, entity, inputs, style));
                rows.extend(rows::neighbours(self.access, entity, inputs));
                rows.extend(moved::rows(self, entity, inputs));
            }
            self.add_others(&reads, &mut rows);
            self.judge(inputs, &reads, rows)
        })
    }

    /// Many rows with all kinds of values in all combinations.
    fn many_rows(&self, inputs: &Inputs) -> Option<CounterExample> {
        let reads = self.reads(inputs)?;
        let mut rows = Vec::new();
        for entity in self.asked() {
            let pool = pool::Pool::new(self, entity, inputs);
            rows.extend((0..40).map(|n| pool.wanted(n)));
            rows.extend((0..12).map(|n| pool.unwanted(n)));
            rows.extend(moved::rows(self, entity, inputs));
        }
        if self.plan.proofs.order == Proof::Refuted
            && let Some(found) = self.swapped(inputs, &reads, &distinct(rows.clone()))
        {
            return Some(found);
        }
        self.add_others(&reads, &mut rows);
        self.judge(inputs, &reads, rows)
    }

    /// Two rows that one read returns the wrong way round.
    fn swapped(
        &self,
        inputs: &Inputs,
        reads: &[ConcreteRead],
        rows: &[Row],
    ) -> Option<CounterExample> {
        let mut entries = Entries::new(rows);
        for read in reads {
            let mut latest: Option<&Row> = None;
            for row in entries.returned(&ConcreteRead { limit: None, ..read.clone() }) {
                let behind =
                    latest.filter(|latest| order_of(&self.access.order, row, latest).is_lt());
                if let Some(behind) = behind {
                    let mut pair = vec![behind.clone(), row.clone()];
                    pair.extend(self.targets(&pair));
                    let found = self.example(inputs, reads, distinct(pair));
                    if found.is_some() {
                        return found;
                    }
                }
                if behind.is_none() {
                    latest = Some(row);
                }
            }
        }
        None
    }

    /// Rows of strangers inside the range, and what links lead to.
    fn add_others(&self, reads: &[ConcreteRead], rows: &mut Vec<Row>) {
        for entity in &self.strangers {
            let found = reads.iter().find_map(|read| stranger::row_in(entity, read, rows.first()));
            rows.extend(found);
        }
        let targets = self.targets(rows);
        rows.extend(targets);
    }

    /// What links lead to: items of the entities to be found, and strangers with the same key.
    fn targets(&self, rows: &[Row]) -> Vec<Row> {
        let (Some(via), Some(step)) = (&self.access.via, &self.plan.hydrate) else {
            return Vec::new();
        };
        let links = rows.iter().filter(|row| row.entity.name == via.name || self.is_stranger(row));
        let mut targets = Vec::new();
        for link in links {
            let link = Row::from_item(via, &link.item());
            for (n, entity) in self.access.find.iter().enumerate() {
                let target = rows::target_of(&link, entity, n);
                for other in &self.strangers {
                    targets.extend(stranger::row_with_key_of(
                        other,
                        &target,
                        step.index.as_deref(),
                    ));
                }
                targets.push(target);
            }
        }
        targets
    }

    fn is_stranger(&self, row: &Row) -> bool {
        self.strangers.iter().any(|entity| entity.name == row.entity.name)
    }

    /// A counter-example of these rows, if the answer is wrong on them.
    fn judge(
        &self,
        inputs: &Inputs,
        reads: &[ConcreteRead],
        rows: Vec<Row>,
    ) -> Option<CounterExample> {
        // Of rows with one key only one can be there: which of them shows the fault, is not known.
        let mut latest_first = rows.clone();
        latest_first.reverse();
        [rows, latest_first].into_iter().find_map(|rows| {
            let rows = distinct(rows);
            self.wrong_on(inputs, reads, &rows)?;
            let rows = self.shrink(inputs, reads, rows);
            self.example(inputs, reads, rows)
        })
    }

    fn example(
        &self,
        inputs: &Inputs,
        reads: &[ConcreteRead],
        rows: Vec<Row>,
    ) -> Option<CounterExample> {
        let (returns, should_return, wrong) = self.wrong_on(inputs, reads, &rows)?;
        Some(CounterExample { inputs: inputs.clone(), rows, returns, should_return, wrong })
    }

    fn wrong_on(&self, inputs: &Inputs, reads: &[ConcreteRead], rows: &[Row]) -> Option<Wrong> {
        let returned = labels(&answer(self.access, self.plan, reads, rows));
        let wanted = expected(self.access, inputs, rows);
        let mismatch = wanted.compare(&returned).err()?;
        Some((returned, labels(&wanted.rows), mismatch))
    }

    /// Takes rows away, many at a time and then fewer, as long as the answer stays wrong.
    fn shrink(&self, inputs: &Inputs, reads: &[ConcreteRead], mut rows: Vec<Row>) -> Vec<Row> {
        let mut step = rows.len().div_ceil(2);
        loop {
            let mut at = 0;
            while at < rows.len() {
                let mut fewer = rows.clone();
                fewer.drain(at..(at + step).min(rows.len()));
                if self.wrong_on(inputs, reads, &fewer).is_some() {
                    rows = fewer;
                } else {
                    at += step;
                }
            }
            if step <= 1 {
                return rows;
            }
            step = step.div_ceil(2);
        }
    }
}

type Wrong = (Vec<String>, Vec<String>, Mismatch);

/// Two rows with one primary key are one item: the first of them.
fn distinct(rows: Vec<Row>) -> Vec<Row> {
    let mut by_key: BTreeMap<(String, String), Row> = BTreeMap::new();
    for row in rows.into_iter().filter(Row::is_writable) {
        by_key.entry((row.entity.table.name.clone(), row.label())).or_insert(row);
    }
    by_key.into_values().collect()
}
