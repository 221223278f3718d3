//! Runs a plan with the runner that ships, on the engine, and predicts what the run should have charged.

use keyloom::{Error, PlanAnswer, PlanRunner, Retry};
use keyloom_core::Item;
use keyloom_core::capacity::Units;
use keyloom_design::evaluate::Inputs;
use keyloom_design::model::{Access, Table};
use keyloom_design::plan::{ConcreteRead, Plan, predicted_pages, second_reads};

use super::data::Data;
use super::engine::{Engine, Refusal};

/// What one call of a pattern returned.
pub(crate) struct Answer {
    /// The items, in order.
    pub(crate) items: Vec<Item>,
    /// How many requests the first step took.
    pub(crate) requests: usize,
    /// What the engine charged.
    pub(crate) consumed: Units,
    /// What the plan said it would charge, or how the run differs from the plan.
    pub(crate) predicted: Result<Units, String>,
}

/// Why a call did not come to an answer.
pub(crate) enum Failed {
    /// The plan cannot take these inputs; the request is never sent.
    Inputs(String),
    /// The engine refuses what the plan sends.
    Refused(Refusal),
    /// Nothing that the engine said.
    Other(String),
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Inputs(reason) | Self::Other(reason) => f.write_str(reason),
            Self::Refused(refusal) => write!(f, "the engine refuses the request: {refusal}"),
        }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        match error {
            Error::Pattern { reason, .. } => Self::Inputs(reason),
            Error::Database(refusal) => Self::Refused(Refusal::from(&refusal)),
            other => Self::Other(other.to_string()),
        }
    }
}

/// One engine with its rows, ready to run plans.
pub(crate) struct Runner<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) data: &'a Data,
    pub(crate) limits: Limits,
}

/// How a limit is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limits {
    /// As planned: behind a filter pages are read until enough rows remain.
    AsPlanned,
    /// The careless way: every request gets the limit, and its one page is the answer.
    SentAlong,
}

impl Runner<'_> {
    /// Calls a pattern once.
    pub(crate) fn run(
        &self,
        access: &Access,
        plan: &Plan,
        inputs: &Inputs,
    ) -> Result<Answer, Failed> {
        let (backend, retry) = (self.engine.backend(), Retry::never());
        let runner = PlanRunner::new(&backend, &retry);
        let before = self.engine.consumed();
        let answer = match self.limits {
            Limits::AsPlanned => runner.run(access, plan, inputs)?,
            Limits::SentAlong => runner.run_with_limit_sent_along(access, plan, inputs)?,
        };
        let consumed = self.engine.consumed().as_halves() - before.as_halves();
        let predicted = self.predicted(access, plan, &answer);
        let (items, requests) = (answer.items, answer.reads.len());
        Ok(Answer { items, requests, consumed: Units::halves(consumed), predicted })
    }

    /// The units of both steps, from the rows that their reads can reach.
    fn predicted(
        &self,
        access: &Access,
        plan: &Plan,
        answer: &PlanAnswer,
    ) -> Result<Units, String> {
        let asked = access.asked().ok_or("it finds nothing")?;
        let mut total = Units::ZERO;
        for trace in &answer.reads {
            let rows = self.data.in_partition(&asked.table, &trace.read);
            total += predicted_pages(&trace.read, rows, &trace.pages, trace.is_done)?;
        }
        let Some(step) = &plan.hydrate else { return Ok(total) };
        let Some(found) = access.find.first() else { return Ok(total) };
        for round in &answer.followed {
            // A batch fetches each key once, however many rows lead to it.
            let mut reads: Vec<ConcreteRead> = Vec::new();
            for read in round.iter().flat_map(|row| second_reads(access, step, row)) {
                if !step.batch || !reads.contains(&read) {
                    reads.push(read);
                }
            }
            for read in &reads {
                total += self.second_units(&found.table, read)?;
            }
        }
        Ok(total)
    }

    /// The units of one read of the second step, which has one page.
    fn second_units(&self, table: &Table, read: &ConcreteRead) -> Result<Units, String> {
        let rows = self.data.in_partition(table, read);
        let entries = keyloom_design::plan::evaluated(read, rows.clone()).len();
        predicted_pages(read, rows, &[entries], true)
    }
}
