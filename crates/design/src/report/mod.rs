//! Reports: what `check` and `explain` print, for people and for programs.

mod explain;
mod human;
mod json;
mod markdown;
mod sarif;

pub use self::explain::{explain, explain_json};
pub use self::human::human;
pub use self::json::{json, pattern_json};
pub(crate) use self::markdown::cell;
pub use self::markdown::markdown;
pub use self::sarif::sarif;

use crate::diagnostic::Severity;
use crate::lint::Finding;
use crate::plan::{Plan, Proof};
use crate::words::counted;

/// The address of the page that explains a rule or diagnostic code; `keyloom rule ID` prints the same page.
pub fn rule_link(id: &str) -> String {
    format!("{}/blob/main/docs/rules/{id}.md", env!("CARGO_PKG_REPOSITORY"))
}

/// `2 errors, 1 warning`; `no findings`.
pub(crate) fn summary<'a>(findings: impl Iterator<Item = &'a Finding>) -> String {
    let (mut errors, mut warnings, mut notes) = (0, 0, 0);
    for finding in findings {
        match finding.severity {
            Severity::Error => errors += 1,
            Severity::Warn => warnings += 1,
            Severity::Info => notes += 1,
        }
    }
    let part = |count: usize, noun: &str| (count > 0).then(|| counted(count, noun));
    let parts: Vec<String> =
        [part(errors, "error"), part(warnings, "warning"), part(notes, "note")]
            .into_iter()
            .flatten()
            .collect();
    if parts.is_empty() { "no findings".to_owned() } else { parts.join(", ") }
}

/// The proofs of a plan with their names, in the order of reports.
pub(crate) fn proofs(plan: &Plan) -> [(&'static str, Proof); 6] {
    [
        ("rows", plan.proofs.rows),
        ("order", plan.proofs.order),
        ("limit", plan.proofs.limit),
        ("purity", plan.proofs.purity),
        ("coverage", plan.proofs.coverage),
        ("consistency", plan.proofs.consistency),
    ]
}

/// What is not proven about a plan, by name.
pub fn unproven(plan: &Plan) -> Vec<&'static str> {
    let refuted = proofs(plan).into_iter().filter(|(_, proof)| *proof == Proof::Refuted);
    refuted.map(|(name, _)| name).collect()
}

/// Dollars for people.
pub(crate) fn dollars(amount: f64) -> String {
    if amount >= 100.0 {
        format!("${amount:.0}")
    } else if amount >= 1.0 {
        format!("${amount:.2}")
    } else {
        format!("${amount:.4}")
    }
}
