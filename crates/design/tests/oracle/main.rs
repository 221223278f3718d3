//! Random designs on the real engine, judged by the oracle: whatever the planner calls proven must hold.
//!
//! 1. [`designs`], [`themes`], [`patterns`], [`values`], [`population`], [`inputs`]: what a seed gives.
//! 2. [`engine`], [`trial`]: a plan run as a client runs it, and judged.
//! 3. [`bed`], [`shrink`], [`case`]: many seeds; what is found is made small and written down.
//! 4. [`meaning`]: what the oracle says by itself. [`contradictions`]: what was wrong once. [`mutations`] and `planners`: what
//!    must be found, in finished plans and in the planner itself. [`independence`]: what the oracle may use.
//!
//! `KEYLOOM_PATTERNS` says how many patterns are tried, `KEYLOOM_SEED` where to begin, `KEYLOOM_CONTRADICTIONS` how many
//! contradictions are enough to stop; the seed of each is printed. `KEYLOOM_MUTATION_DESIGNS` says in how many designs
//! each wrong planner is looked for. `KEYLOOM_CASES` names a folder into which they are
//! written, as small as they can be made.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod bed;
mod case;
mod contradictions;
mod designs;
mod engine;
mod independence;
mod inputs;
mod meaning;
mod mutations;
mod patterns;
#[cfg(debug_assertions)]
mod planners;
mod population;
mod random;
mod shrink;
mod spec;
mod themes;
mod trial;
mod values;

use self::bed::{Found, Tally, try_seed};
use self::shrink::shrink;

fn setting(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text}")),
        Err(_) => otherwise,
    }
}

#[test]
fn what_is_proven_holds_on_the_engine() {
    let wanted = setting("KEYLOOM_PATTERNS", 5000) as usize;
    let mut seed = setting("KEYLOOM_SEED", 1);
    let enough = setting("KEYLOOM_CONTRADICTIONS", 5) as usize;
    let mut tally = Tally::default();
    let mut wrong = Vec::new();
    let mut reported = 0;
    while tally.patterns < wanted && wrong.len() < enough {
        let found = try_seed(seed, &mut tally);
        for found in &found {
            let described = described(seed, found);
            // A long run says at once what it has found.
            println!("{described}");
            wrong.push(described);
        }
        seed += 1;
        if tally.patterns / 50_000 > reported {
            reported = tally.patterns / 50_000;
            println!("seed {seed}: {tally:?}");
        }
    }
    println!("up to seed {seed}: {tally:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // A bed in which little is claimed and little is found shows nothing.
    assert!(tally.claimed * 2 > tally.patterns, "{tally:?}");
    assert!(tally.kept_with_rows * 4 > tally.calls, "{tally:?}");
    assert!(tally.not_taken_with_rows * 20 < tally.calls, "{tally:?}");
}

fn described(seed: u64, found: &Found) -> String {
    let (spec, case) = shrink(found);
    contradictions::write_down(seed, &spec, &case);
    let Found { pattern, broken, .. } = found;
    format!(
        "KEYLOOM_SEED={seed}, {pattern}: {} is proven, and {}; in short:\n{}{}",
        broken.claim,
        broken.why,
        spec.text(),
        case.to_json()
    )
}
