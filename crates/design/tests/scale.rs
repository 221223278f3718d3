//! A large design is checked while somebody waits for it.

mod large_design;

use std::time::{Duration, Instant};

use keyloom_design::check_text;
use keyloom_design::cost::Prices;
use keyloom_design::plan::Proof;

/// Without optimisation, on a slow machine that does other things; `cargo bench -p keyloom-design` measures.
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn a_large_design_is_checked_at_once_and_every_failed_claim_has_a_counter_example() {
    let text = large_design::large_design();
    let start = Instant::now();
    let report = check_text("large.toml", &text, &Prices::default());
    let taken = start.elapsed();
    assert!(report.is_whole);
    assert_eq!(report.plans.len(), 500);
    assert_eq!(report.findings.iter().filter(|finding| finding.rule == "A01").count(), 0);
    let (mut failed, mut shown) = (0, 0);
    for plan in &report.plans {
        let proofs = &plan.proofs;
        failed += usize::from([proofs.order, proofs.limit].contains(&Proof::Refuted));
        shown += usize::from(plan.counter_example.is_some());
    }
    assert_eq!((failed, shown), (200, 200));
    assert!(taken < PATIENCE, "{taken:?}");
}
