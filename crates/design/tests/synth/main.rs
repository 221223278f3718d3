//! Synthesis: designs of people found again, options honoured, certificates checked by enumeration.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod corpus;
#[path = "../support/examples.rs"]
mod examples;
mod exhaustive;
mod hostile;
mod large;
mod options;

use std::time::Instant;

use keyloom_design::cost::Prices;
use keyloom_design::synth::{Options, Proposal, Synthesis, synthesize};

/// Seconds that this thread has been on a processor; by the clock where that is not told.
fn cpu(since: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let own = told.and_then(|it| it.split_whitespace().next()?.parse::<f64>().ok());
    own.map_or_else(|| since.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

fn found(name: &str, text: &str, options: &Options) -> Synthesis {
    synthesize(name, text, options, &Prices::default())
        .unwrap_or_else(|problems| panic!("{name}: {problems:?}"))
}

/// The best design, which must be sound.
fn best(name: &str, text: &str, options: &Options) -> Proposal {
    let mut result = found(name, text, options);
    assert!(!result.designs.is_empty(), "{name}: {:?}", result.certificates);
    let best = result.designs.remove(0);
    assert!(best.is_sound(), "{name}\n{}\n{:#?}", best.text, best.report.findings);
    best
}
