//! Synthesis: designs of people found again, options honoured, certificates checked by enumeration.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod corpus;
#[path = "../support/examples.rs"]
mod examples;
mod exhaustive;
mod hostile;
mod large;
mod options;

use keyloom_design::cost::Prices;
use keyloom_design::synth::{Options, Proposal, Synthesis, synthesize};

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
