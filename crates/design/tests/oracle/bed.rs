//! One seed: a design, a population, every pattern called a few times.

use keyloom_design::Design;
use keyloom_design::cost::Prices;
use keyloom_design::model::Access;
use keyloom_design::plan::{Plan, plan, plan_only};

use crate::designs::random_design;
use crate::engine::Engine;
use crate::inputs::{Texts, random_inputs, typed};
use crate::population::Population;
use crate::random::Random;
use crate::spec::Spec;
use crate::themes::{THEMES, Theme, themed_design};
use crate::trial::{Broken, Outcome, call};

/// How many patterns a design has, how many rows each of its entities, how often each pattern is called.
const PATTERNS: usize = 10;
const ROWS: usize = 10;
const CALLS: usize = 3;

/// What was tried.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) designs: usize,
    pub(crate) unusable: usize,
    pub(crate) patterns: usize,
    /// Patterns about which something is claimed.
    pub(crate) claimed: usize,
    pub(crate) calls: usize,
    pub(crate) kept: usize,
    /// Calls for which there was something to find.
    pub(crate) kept_with_rows: usize,
    pub(crate) not_taken: usize,
    pub(crate) not_taken_with_rows: usize,
}

impl Tally {
    fn count(&mut self, outcome: &Outcome) {
        self.calls += 1;
        match outcome {
            Outcome::Unclaimed | Outcome::Broken(_) => {}
            Outcome::NotTaken(rows) => {
                self.not_taken += 1;
                self.not_taken_with_rows += usize::from(*rows > 0);
            }
            Outcome::Kept(rows) => {
                self.kept += 1;
                self.kept_with_rows += usize::from(*rows > 0);
            }
        }
    }
}

/// A contradiction, with all it takes to see it again.
pub(crate) struct Found {
    pub(crate) spec: Spec,
    pub(crate) population: Population,
    pub(crate) pattern: String,
    pub(crate) inputs: Texts,
    pub(crate) broken: Broken,
}

/// The plans as they are shipped.
pub(crate) fn shipped(design: &Design) -> Vec<Plan> {
    plan(design, &Prices::default())
}

/// What a seed gives: always the same.
pub(crate) struct Bed {
    pub(crate) seed: u64,
    spec: Spec,
    pub(crate) design: Design,
    pub(crate) plans: Vec<Plan>,
    population: Population,
    engine: Option<Engine>,
}

impl Bed {
    /// Every fifth design has a theme. Nothing if no part of the random design is usable.
    pub(crate) fn new(seed: u64) -> Option<Self> {
        let theme = THEMES.get((seed / 5) as usize % THEMES.len()).filter(|_| seed % 5 == 4);
        match theme {
            Some(theme) => Self::themed(seed, theme),
            None => Self::of(seed, Random::new(seed), random_design),
        }
    }

    /// A design of a theme.
    pub(crate) fn themed(seed: u64, theme: &Theme) -> Option<Self> {
        Self::of(seed, Random::new(seed), |random, patterns| themed_design(random, theme, patterns))
    }

    fn of(
        seed: u64,
        mut random: Random,
        made: impl Fn(&mut Random, usize) -> Spec,
    ) -> Option<Self> {
        let (spec, design) = usable(made(&mut random, PATTERNS))?;
        let plans = plan_only(&design, &Prices::default());
        let population = Population::random(&design, &mut random, ROWS);
        Some(Self { seed, spec, design, plans, population, engine: None })
    }

    /// The engine with the population in it.
    fn load(&mut self) {
        if self.engine.is_none() {
            let engine = Engine::new(&self.design, &mut self.population);
            self.engine = Some(engine.unwrap_or_else(|why| panic!("seed {}: {why}", self.seed)));
        }
    }

    /// Calls a pattern with each of its random inputs.
    pub(crate) fn calls(&mut self, at: usize, plan: &Plan) -> Vec<(Texts, Outcome)> {
        self.load();
        let (access, engine): (&Access, _) = (&self.design.accesses()[at], self.engine.as_ref());
        let mut random = Random::new(self.seed ^ ((at as u64 + 1) << 40));
        let mut outcomes = Vec::new();
        for _ in 0..CALLS {
            let texts = random_inputs(&mut random, access, plan, &self.population.records);
            let Some(inputs) = typed(access, &texts) else { continue };
            let outcome = call(engine.unwrap(), &self.population, access, plan, &inputs);
            outcomes.push((texts, outcome));
        }
        outcomes
    }
}

/// Tries what a seed gives; the first contradiction of each pattern.
pub(crate) fn try_seed(seed: u64, tally: &mut Tally) -> Vec<Found> {
    let Some(mut bed) = Bed::new(seed) else {
        tally.unusable += 1;
        return Vec::new();
    };
    tally.designs += 1;
    let mut found = Vec::new();
    for (at, plan) in bed.plans.clone().iter().enumerate() {
        tally.patterns += 1;
        let calls = bed.calls(at, plan);
        tally.claimed +=
            usize::from(calls.iter().any(|(_, outcome)| *outcome != Outcome::Unclaimed));
        for (_, outcome) in &calls {
            tally.count(outcome);
        }
        if first_broken(calls).is_none() {
            continue;
        }
        // A counter-example takes claims back, so what counts is the plan with one.
        let plan = shipped(&bed.design).swap_remove(at);
        if let Some((inputs, broken)) = first_broken(bed.calls(at, &plan)) {
            let access = &bed.design.accesses()[at];
            found.push(Found {
                spec: bed.spec.clone(),
                population: bed.population.clone(),
                pattern: access.name.clone(),
                inputs,
                broken,
            });
        }
    }
    found
}

fn first_broken(calls: Vec<(Texts, Outcome)>) -> Option<(Texts, Broken)> {
    calls.into_iter().find_map(|(inputs, outcome)| match outcome {
        Outcome::Broken(broken) => Some((inputs, broken)),
        _ => None,
    })
}

/// The part of a random design that has no error: templates that cannot be taken apart, `begins_with` on a
/// number and the like are refused, which is right.
fn usable(mut spec: Spec) -> Option<(Spec, Design)> {
    for _ in 0..3 {
        let (design, problems) = Design::parse("random.toml", &spec.text());
        if let Some(design) = design {
            return Some((spec, design)).filter(|(_, design)| !design.accesses().is_empty());
        }
        let wrong = |name: &String| problems.iter().any(|problem| problem.subject == *name);
        spec.entities.retain(|entity| !wrong(&entity.name));
        spec.others.retain(|(name, _)| !wrong(name));
        let known: Vec<String> = spec.entities.iter().map(|entity| entity.name.clone()).collect();
        spec.patterns.retain(|pattern| {
            let via = pattern.settings.iter().find_map(|line| line.strip_prefix("via = "));
            let via = via.is_none_or(|via| known.iter().any(|name| format!("{name:?}") == via));
            via && !wrong(&pattern.name) && pattern.find.iter().all(|name| known.contains(name))
        });
        spec.others.retain(|(_, section)| {
            let mut named = section.split('"').filter(|word| word.starts_with('E'));
            named.all(|name| known.iter().any(|own| own == name))
        });
    }
    None
}
