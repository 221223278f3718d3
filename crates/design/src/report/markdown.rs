//! The report as Markdown, for pull requests.

use std::fmt::Write as _;

use super::{dollars, proofs, rule_link, summary};
use crate::check::CheckReport;
use crate::lint::short;
use crate::plan::{Plan, Proof};

/// Findings and patterns of one or more files.
pub fn markdown(reports: &[CheckReport]) -> String {
    let mut out = String::new();
    for report in reports {
        let _ = writeln!(out, "## {}\n", report.source.name());
        let _ = writeln!(out, "{}\n", summary(report.findings.iter()));
        if !report.findings.is_empty() {
            out.push_str("| rule | severity | where | finding | fix |\n|---|---|---|---|---|\n");
            for finding in &report.findings {
                let place = report.source.position(finding.span);
                let place = place.map_or_else(String::new, |p| format!("{}:{}", p.line, p.column));
                let _ = writeln!(
                    out,
                    "| [{}]({}) | {} | {place} | {}<br>{} | {} |",
                    finding.rule,
                    rule_link(finding.rule),
                    finding.severity.as_str(),
                    cell(&finding.message),
                    cell(&finding.evidence),
                    cell(&finding.fix)
                );
            }
            out.push('\n');
        }
        if !report.plans.is_empty() {
            out.push_str("| pattern | verdict | index | read units | month | proofs |\n|---|---|---|---|---|---|\n");
            for plan in &report.plans {
                out.push_str(&row(plan));
            }
            out.push('\n');
        }
    }
    out
}

fn row(plan: &Plan) -> String {
    let shown: Vec<String> = proofs(plan)
        .into_iter()
        .filter(|(_, proof)| *proof != Proof::NotAsked)
        .map(
            |(name, proof)| {
                if proof == Proof::Proven { name.to_owned() } else { format!("**not {name}**") }
            },
        )
        .collect();
    format!(
        "| {} | {} | {} | {} | {} | {} |\n",
        cell(&plan.name),
        plan.verdict.as_str(),
        plan.places().join(", "),
        plan.estimate.read_units.map(short).unwrap_or_default(),
        plan.estimate.money.map(|money| dollars(money.on_demand)).unwrap_or_default(),
        shown.join(", ")
    )
}

/// Text that stays inside a table cell.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', "<br>")
}
