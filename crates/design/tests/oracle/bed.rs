//! One seed: a design, a population, every pattern called a few times.

use keyloom_design::Design;
use keyloom_design::cost::Prices;
use keyloom_design::plan::{Plan, plan};

use crate::designs::random_design;
use crate::engine::Engine;
use crate::inputs::{Texts, random_inputs, typed};
use crate::known::{Known, known};
use crate::population::Population;
use crate::random::Random;
use crate::spec::Spec;
use crate::trial::{Broken, Outcome, call};

/// How many patterns a design has, how many rows each of its entities, how often each pattern is called.
const PATTERNS: usize = 10;
const ROWS: usize = 14;
const CALLS: usize = 5;

/// What was tried.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) designs: usize,
    pub(crate) unusable: usize,
    pub(crate) patterns: usize,
    pub(crate) claimed: usize,
    pub(crate) calls: usize,
    pub(crate) kept: usize,
    pub(crate) kept_with_rows: usize,
    pub(crate) not_taken: usize,
    pub(crate) not_taken_with_rows: usize,
}

/// A contradiction, with all it takes to see it again.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) spec: Spec,
    pub(crate) population: Population,
    pub(crate) pattern: String,
    pub(crate) inputs: Texts,
    pub(crate) broken: Broken,
    /// The known contradiction that it is an instance of.
    pub(crate) known: Option<&'static Known>,
}

/// Which planner is judged.
pub(crate) type Planner<'a> = &'a dyn Fn(&Design) -> Vec<Plan>;

pub(crate) fn shipped(design: &Design) -> Vec<Plan> {
    plan(design, &Prices::default())
}

pub(crate) fn try_seed(seed: u64, tally: &mut Tally) -> Vec<Found> {
    try_seed_with(seed, tally, &shipped)
}

/// Tries what a seed gives; the first contradiction of each pattern.
pub(crate) fn try_seed_with(seed: u64, tally: &mut Tally, planner: Planner) -> Vec<Found> {
    let mut random = Random::new(seed);
    let spec = random_design(&mut random, PATTERNS);
    let Some((spec, design)) = usable(spec) else {
        tally.unusable += 1;
        return Vec::new();
    };
    tally.designs += 1;
    let plans = planner(&design);
    let mut population = Population::random(&design, &mut random, ROWS);
    let engine = Engine::new(&design, &mut population)
        .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", spec.text()));
    let mut found = Vec::new();
    for (access, plan) in design.accesses().iter().zip(&plans) {
        tally.patterns += 1;
        let mut claimed = false;
        for _ in 0..CALLS {
            let texts = random_inputs(&mut random, access, plan, &population.records);
            let Some(inputs) = typed(access, &texts) else { continue };
            let outcome = call(&engine, &population, access, plan, &inputs);
            tally.calls += 1;
            claimed |= outcome != Outcome::Unclaimed;
            match outcome {
                Outcome::Unclaimed => {}
                Outcome::NotTaken(rows) => {
                    tally.not_taken += 1;
                    tally.not_taken_with_rows += usize::from(rows > 0);
                }
                Outcome::Kept(rows) => {
                    tally.kept += 1;
                    tally.kept_with_rows += usize::from(rows > 0);
                }
                Outcome::Broken(broken) => {
                    let known = known(access, plan, broken.claim);
                    found.push(Found {
                        known,
                        spec: spec.clone(),
                        population: population.clone(),
                        pattern: access.name.clone(),
                        inputs: texts,
                        broken,
                    });
                    break;
                }
            }
        }
        tally.claimed += usize::from(claimed);
    }
    found
}

/// The part of a random design that has no error: templates that cannot be taken apart, `begins_with` on a
/// number and the like are refused, which is right.
pub(crate) fn usable(mut spec: Spec) -> Option<(Spec, Design)> {
    for _ in 0..3 {
        let (design, problems) = Design::parse("random.toml", &spec.text());
        if let Some(design) = design {
            return Some((spec, design)).filter(|(_, design)| !design.accesses().is_empty());
        }
        let wrong = |name: &String| problems.iter().any(|problem| problem.subject == *name);
        spec.entities.retain(|entity| !wrong(&entity.name));
        let known: Vec<String> = spec.entities.iter().map(|entity| entity.name.clone()).collect();
        spec.patterns.retain(|pattern| {
            let via = pattern.settings.iter().find_map(|line| line.strip_prefix("via = "));
            let via = via.is_none_or(|via| known.iter().any(|name| format!("{name:?}") == via));
            via && !wrong(&pattern.name) && pattern.find.iter().all(|name| known.contains(name))
        });
    }
    None
}
