//! The dialogue of `keyloom new`: answers, one by one, and what each does to the draft. Input and output are the caller's: a terminal, a
//! pipe, the console.

use std::time::Duration;

use keyloom_design::cost::Prices;
use keyloom_design::synth::{Options, Synthesis, synthesize};

use super::answer::Answers;

/// The steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The entities to store.
    Entity,
    /// The access patterns.
    Pattern,
    /// The writes.
    Write,
}

impl Step {
    pub(crate) const ALL: [Self; 3] = [Self::Entity, Self::Pattern, Self::Write];

    pub(crate) fn question(self) -> &'static str {
        match self {
            Self::Entity => {
                "What is stored? One line for each entity, an empty line to go on:\n  Order: order_id ulid, customer ulid, placed_at datetime"
            }
            Self::Pattern => {
                "What is asked? One line for each pattern, an empty line to go on:\n  orders of a customer: Order where customer = ? order placed_at desc limit 20 rate 300/s"
            }
            Self::Write => {
                "What is written, and how often? An empty line ends:\n  place an order: Order 100/s"
            }
        }
    }
}

/// A talk about a design.
pub(crate) struct Talk<'a> {
    name: String,
    prices: &'a Prices,
    answers: Answers,
}

impl<'a> Talk<'a> {
    /// A conversation without answers yet.
    pub(crate) fn new(name: String, prices: &'a Prices) -> Self {
        Self { name, prices, answers: Answers::default() }
    }

    /// Whether no entity has been named yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Keys for the answers so far.
    pub(crate) fn found(&self, limit: Duration) -> Result<Synthesis, String> {
        let options = Options { time_limit: limit, ..Options::default() };
        synthesize(&self.name, &self.answers.text(), &options, self.prices).map_err(|problems| {
            let told = problems.iter().map(|problem| match &problem.fix {
                Some(fix) => format!("{}; {fix}", problem.message),
                None => problem.message.clone(),
            });
            told.collect::<Vec<_>>().join("; ")
        })
    }

    /// Applies one answer and returns its effect on the design; an unusable answer changes nothing.
    pub(crate) fn answer(&mut self, step: Step, line: &str) -> Result<String, String> {
        let before = self.answers.clone();
        let told = match step {
            Step::Entity => self.answers.entity(line).map(|(name, _)| name),
            Step::Pattern => self.answers.pattern(line),
            Step::Write => self.answers.write(line),
        };
        let shown = told.and_then(|name| {
            let found = self.found(Duration::from_secs(2))?;
            Ok(shown(step, &name, &found))
        });
        if shown.is_err() {
            self.answers = before;
        }
        shown
    }

    /// Takes how many items of the last entity there are, and how large.
    pub(super) fn volume(&mut self, line: &str) -> Result<(), String> {
        let before = self.answers.clone();
        let checked =
            self.answers.volume(line).and_then(|()| self.found(Duration::from_secs(2)).map(|_| ()));
        if checked.is_err() {
            self.answers = before;
        }
        checked
    }
}

/// What an answer makes of the design.
fn shown(step: Step, name: &str, found: &Synthesis) -> String {
    let Some(best) = found.designs.first() else { return format!("{name}: noted") };
    match step {
        Step::Entity => format!("{name}: noted"),
        Step::Write => format!("{name}: noted, ${:.2} a month so far", best.money().on_demand),
        Step::Pattern => {
            if let Some(refused) = found.refused.iter().find(|it| it.pattern == name) {
                let change = refused.change.as_deref().unwrap_or("ask otherwise");
                return format!("{name}: not yet provable: {}; {change}", refused.reason);
            }
            let plan = best.plans().iter().find(|plan| plan.name == name);
            let read = plan.map_or("noted", |plan| plan.verdict.as_str());
            let places = plan.map(|plan| plan.places().join(", ")).unwrap_or_default();
            let indexes = keyloom_design::counted(best.indexes, "index");
            format!("{name}: {read} on {places}; {indexes} so far")
        }
    }
}
