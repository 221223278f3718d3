//! Trials: a design's items on the embedded engine, every pattern run as planned and judged by the oracle of designs,
//! every counter-example shown on the engine.
//!
//! 1. [`data`]: the generated rows, and how to find them again.
//! 2. [`engine`]: a database with the design's tables, loaded with the rows.
//! 3. [`runner`]: one call of a plan by the runner that ships, and the units it should be charged.
//! 4. [`judge`]: calls compared with the oracle's answers and with the predicted units.
//! 5. [`refusal`]: hand-written requests that must be refused.

#[cfg(test)]
mod adversary;
mod data;
mod engine;
mod judge;
#[cfg(test)]
mod property;
mod refusal;
mod runner;

use keyloom_design::Design;
use keyloom_design::cost::Prices;
use keyloom_design::evaluate::Inputs;
use keyloom_design::generate::{GenerateOptions, generate_with, inputs_for};
use keyloom_design::model::Access;
use keyloom_design::plan::{Plan, RawForm, Verdict, plan};

pub(crate) use self::data::Data;
pub(crate) use self::engine::{Engine, Refusal, wire_item, wire_value};
pub(crate) use self::judge::{Counter, Judged, Outcome, Tally};
pub(crate) use self::runner::{Limits, Runner};

/// How a design is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// How many items are generated, about.
    pub(crate) items: usize,
    /// The seed of everything random.
    pub(crate) seed: u64,
    /// How often each pattern is called.
    pub(crate) calls: usize,
}

/// A design with its plans, its generated rows, and an engine that holds them.
pub(crate) struct Trial {
    design: Design,
    plans: Vec<Plan>,
    data: Data,
    engine: Engine,
    options: Options,
}

impl Trial {
    /// Plans a design, generates its items and loads them; `written` is called with the number so far.
    pub(crate) fn prepare(
        design: Design,
        options: Options,
        written: &mut dyn FnMut(usize),
    ) -> Result<Self, Refusal> {
        let plans = plan(&design, &Prices::default());
        Self::with_plans(design, plans, options, written)
    }

    /// As [`Trial::prepare`], with plans of another making.
    pub(crate) fn with_plans(
        design: Design,
        plans: Vec<Plan>,
        options: Options,
        written: &mut dyn FnMut(usize),
    ) -> Result<Self, Refusal> {
        let wanted =
            GenerateOptions { items: options.items, seed: options.seed, adversarial: true };
        // Every item is made, and then written.
        let data = Data::new(generate_with(&design, &wanted, &mut |made| written(made / 2)));
        let half = data.rows().len() / 2;
        let engine = Engine::with_tables(&design)?;
        engine.load(data.rows(), &mut |count| written(half + count / 2))?;
        Ok(Self { design, plans, data, engine, options })
    }

    pub(crate) fn design(&self) -> &Design {
        &self.design
    }

    pub(crate) fn data(&self) -> &Data {
        &self.data
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The patterns with their plans.
    pub(crate) fn patterns(&self) -> impl ExactSizeIterator<Item = (&Access, &Plan)> {
        self.design.accesses().iter().zip(&self.plans)
    }

    /// Tries one pattern: some calls on the generated rows, then its counter-example.
    pub(crate) fn judge(&self, access: &Access, plan: &Plan) -> Outcome {
        let mut outcome = Outcome::new(plan);
        if plan.verdict == Verdict::Refused {
            let inputs = self.inputs(access, plan).next().unwrap_or_default();
            outcome.judged = judge::refused(&self.engine, access, &inputs);
        } else {
            let runner =
                Runner { engine: &self.engine, data: &self.data, limits: Limits::AsPlanned };
            let calls: Vec<Inputs> = self.inputs(access, plan).collect();
            judge::calls(&runner, access, plan, &calls, &mut outcome);
        }
        // What the engine refuses to run has no wrong rows to show.
        let refused = matches!(outcome.judged, Judged::Refused { by_engine: Some(_) });
        outcome.counter = plan
            .counter_example
            .as_ref()
            .filter(|_| !refused)
            .map(|example| judge::counter(&self.design, access, plan, example));
        // A claim that nothing bears out is worth no more than a broken one.
        if outcome.counter.is_none() && matches!(outcome.judged, Judged::Unpromised { wrong: 0 }) {
            outcome.judged = Judged::Unshown;
        }
        outcome
    }

    /// Inputs for the calls of a pattern.
    pub(crate) fn inputs<'a>(
        &'a self,
        access: &'a Access,
        plan: &'a Plan,
    ) -> impl Iterator<Item = Inputs> + 'a {
        let rows = self.data.rows();
        let mine =
            access.asked().and_then(|asked| rows.iter().find(|row| row.entity.name == asked.name));
        inputs_for(access, rows, self.options.seed, self.options.calls).into_iter().map(
            move |mut inputs| {
                // A hand-written request may name inputs that no condition declares.
                for name in plan.raw.iter().flat_map(RawForm::inputs) {
                    if let (false, Some(row)) = (inputs.contains_key(&name), mine)
                        && let Some(value) = row.values.get(&name)
                    {
                        inputs.insert(name, value.clone());
                    }
                }
                inputs
            },
        )
    }
}
