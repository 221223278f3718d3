//! What is called proven, and what is said where it is not: designs that an adversary wrote.
#![expect(clippy::unwrap_used, reason = "tests")]

mod contradictions;
mod counts;
mod coverage;
#[path = "../support/examples.rs"]
mod examples;
mod filters;
mod refusals;
mod unproven;

use keyloom_design::cost::Prices;
use keyloom_design::plan::{Plan, Proof, Proofs};
use keyloom_design::{CheckReport, Severity, check_text};

/// A design that can be read, checked.
fn checked(text: &str) -> CheckReport {
    let report = check_text("test.toml", text, &Prices::default());
    let wrong: Vec<String> = report
        .findings
        .iter()
        .filter(|finding| finding.rule.starts_with('D') && finding.severity == Severity::Error)
        .map(|finding| finding.render(&report.source))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    report
}

fn plan_of(report: &CheckReport, name: &str) -> Plan {
    report.plans.iter().find(|plan| plan.name == name).cloned().unwrap()
}

/// The rules of error level that speak about a pattern.
fn errors_about<'r>(report: &'r CheckReport, name: &str) -> Vec<&'r str> {
    let about = report.findings.iter().filter(|finding| finding.subject == name);
    about.filter(|finding| finding.severity == Severity::Error).map(|f| f.rule).collect()
}

fn claims(proofs: Proofs) -> [Proof; 6] {
    [proofs.rows, proofs.order, proofs.limit, proofs.purity, proofs.coverage, proofs.consistency]
}
