//! Planners whose source is wrong on purpose ([`Mutation`]): the random designs must find each of them.
//!
//! [`crate::mutations`] changes finished plans; here a proof or a part of the planner itself is left out.

use std::collections::BTreeSet;

use keyloom_design::cost::Prices;
use keyloom_design::mutation::{Mutation, with};
use keyloom_design::plan::{Plan, plan_only};

use crate::bed::Bed;
use crate::setting;
use crate::themes::THEMES;
use crate::trial::Outcome;

/// Those that designs over the whole language find soon.
const SOON: [Mutation; 16] = [
    Mutation::ConditionsAreForgotten,
    Mutation::IndexesHoldAll,
    Mutation::LastPeriodIsLeft,
    Mutation::EveryKeyIsUnique,
    Mutation::StrangersNeverMeet,
    Mutation::WhenIsImplied,
    Mutation::LimitsCountStrangers,
    Mutation::KeysTellTheirFields,
    Mutation::GlobalIndexesAreStrong,
    Mutation::IndexesTakeBatches,
    Mutation::PiecesTellFields,
    Mutation::KeysAreAlwaysWritten,
    Mutation::SparseIsWhole,
    Mutation::SecondStepsReturnAll,
    Mutation::LastPeriodIsNotCounted,
    Mutation::CommonRangesTell,
];

/// Within so many designs.
const DESIGNS: u64 = 120;

/// Those that designs of a theme find.
const THEMED: [(&str, &[Mutation]); 23] = [
    ("ends of sparse indexes", &[Mutation::EndsAreIncluded]),
    ("ranges of plain numbers", &[Mutation::RangesLieTogether]),
    ("keys by hand", &[Mutation::SamplesProve]),
    // What is sent is compared once more with each call's inputs: both have to be left out.
    ("keys by hand", &[Mutation::HandsAreRight, Mutation::SamplesProve]),
    ("keys that begin alike", &[Mutation::BeginningsTellApart]),
    ("common beginnings", &[Mutation::PrefixesEndValues]),
    ("separators inside values", &[Mutation::SeparatorsAreSafe]),
    ("beginnings of days", &[Mutation::BeginningsArePeriods]),
    ("times written in several ways", &[Mutation::EntitiesWriteAlike]),
    ("entities in one order", &[Mutation::EntitiesInterleave]),
    ("entities in one order", &[Mutation::PartitionsAreShared]),
    ("entities in one order", &[Mutation::SortKeysAreAlike]),
    ("whole days", &[Mutation::PeriodsAreMoments]),
    ("folded keys by hand", &[Mutation::HandsPinPeriods]),
    ("first rows", &[Mutation::LimitsNeedNoOrder]),
    ("days of an index", &[Mutation::PeriodsIdentify]),
    ("orders of keys", &[Mutation::TextsSortLikeValues]),
    ("orders of keys", &[Mutation::KeysAreUpright]),
    ("orders of keys", &[Mutation::FieldsBeforeDoNotSort]),
    ("orders of keys", &[Mutation::LooseTimesSort]),
    ("links among others", &[Mutation::LinksMeetTheirTargets]),
    ("links to moments", &[Mutation::LinksTellMoments]),
    ("merged without the order", &[Mutation::RowsAlwaysMerge]),
];

/// Within so many designs of the theme.
const OF_A_THEME: u64 = 25;

/// What makes no answer wrong. A limit that is sent along with a filter makes pages smaller, and whoever runs the plan reads
/// on until enough rows remain. And a beginning in another form than a key has is refused when the key is made.
const EQUIVALENT: [Mutation; 2] = [Mutation::FilteredRowsCount, Mutation::FormsBeginAlike];

/// Mutations of what is calculated from finished plans: the plans are the same, what is sent or counted is not.
const WHEN_CALLED: [Mutation; 4] = [
    Mutation::LastPeriodIsLeft,
    Mutation::LastPeriodIsNotCounted,
    Mutation::BeginningsArePeriods,
    Mutation::SamplesProve,
];

/// What is claimed and sent, as text.
fn shape(plan: &Plan) -> String {
    let reads = plan.reads.iter().map(|read| {
        let entities: Vec<&str> = read.entities.iter().map(|entity| entity.name.as_str()).collect();
        let range = (&read.range.sources, &read.range.sort, &read.fans);
        let rest = (read.type_filter, read.forward, read.limit, read.fetches);
        format!("{} {entities:?} {range:?} {:?} {rest:?}", read.index, read.filter)
    });
    let reads: Vec<String> = reads.collect();
    let second = plan.hydrate.as_ref().map(|step| (step.batch, &step.index));
    format!("{:?} {:?} {:?} {second:?} {reads:?}", plan.verdict, plan.proofs, plan.raw)
}

/// The first claim that a pattern breaks with the wrong planner and not with the shipped one.
fn broken_claim(bed: &mut Bed, mutations: &[Mutation]) -> Option<&'static str> {
    let right = bed.plans.clone();
    let wrong = with(mutations, || plan_only(&bed.design, &Prices::default()));
    let when_called = mutations.iter().any(|mutation| WHEN_CALLED.contains(mutation));
    for (at, (wrong, right)) in wrong.iter().zip(&right).enumerate() {
        if !when_called && shape(wrong) == shape(right) {
            continue;
        }
        let claim = |(_, outcome)| match outcome {
            Outcome::Broken(broken) => Some(broken.claim),
            _ => None,
        };
        let found = with(mutations, || bed.calls(at, wrong)).into_iter().find_map(claim);
        if found.is_some() && bed.calls(at, right).into_iter().find_map(claim).is_none() {
            return found;
        }
    }
    None
}

/// Looks for wrong planners in designs until all are found; those that are not, and the claims that were broken.
#[expect(clippy::print_stdout, reason = "a test tells what it has found")]
fn look<'m>(
    beds: impl Iterator<Item = Bed>,
    wrong: Vec<&'m [Mutation]>,
    claims: &mut BTreeSet<&'static str>,
) -> Vec<&'m [Mutation]> {
    let mut left = wrong;
    for mut bed in beds {
        left.retain(|mutations| {
            let Some(claim) = broken_claim(&mut bed, mutations) else { return true };
            println!("seed {}: {mutations:?} breaks the claim of {claim}", bed.seed);
            claims.insert(claim);
            false
        });
        if left.is_empty() {
            break;
        }
    }
    left
}

#[test]
fn each_proof_that_is_left_out_is_missed() {
    let designs = setting("KEYLOOM_MUTATION_DESIGNS", DESIGNS);
    let mut claims = BTreeSet::new();
    let soon = SOON.iter().map(std::slice::from_ref).collect();
    let mut left = look((0..designs).filter_map(Bed::new), soon, &mut claims);
    let of_a_theme = OF_A_THEME.max(designs / 10);
    for (name, mutations) in THEMED {
        let theme = THEMES.iter().find(|theme| theme.name == name);
        let theme = theme.unwrap_or_else(|| panic!("no theme is called {name}"));
        let beds = (0..of_a_theme).filter_map(|seed| Bed::themed(seed, theme));
        left.extend(look(beds, vec![mutations], &mut claims));
    }
    assert!(left.is_empty(), "in {designs} designs nothing was found wrong with {left:?}");
    // A strong read of a global index is refused, so what breaks the claim of consistency is the request.
    let kinds = ["rows", "purity", "order", "limit", "coverage", "request", "requests", "taken"];
    let missed: Vec<&&str> = kinds.iter().filter(|kind| !claims.contains(*kind)).collect();
    assert!(
        missed.is_empty(),
        "no mutation breaks the claim of {missed:?}; broken were {claims:?}"
    );
}

/// Every mutation has its place: it is found, or said to be none.
#[test]
fn no_mutation_is_forgotten() {
    let themed = THEMED.iter().flat_map(|(_, mutations)| *mutations);
    let known: Vec<&Mutation> = SOON.iter().chain(themed).chain(&EQUIVALENT).collect();
    let forgotten: Vec<_> = Mutation::ALL.iter().filter(|one| !known.contains(one)).collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
    // What has its own theme is caught without the help of another.
    for mutation in Mutation::ALL.iter().filter(|one| !EQUIVALENT.contains(one)) {
        let mut alone = THEMED.iter().filter(|(_, mutations)| mutations.contains(mutation));
        let only_together = alone.all(|(_, mutations)| mutations.len() > 1);
        let is_soon = SOON.contains(mutation);
        assert!(
            is_soon || !only_together || *mutation == Mutation::HandsAreRight,
            "{mutation:?} is only looked for together with others"
        );
    }
}
