//! The report for people.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{dollars, proofs, summary};
use crate::check::CheckReport;
use crate::lint::short;
use crate::plan::{Plan, Problem, Proof, Verdict};
use crate::words::{about, counted};

/// Patterns, findings and cost of one file, as text.
pub fn human(report: &CheckReport) -> String {
    let mut out = String::new();
    let name = report.source.name();
    if let Some(design) =
        report.design.as_ref().filter(|d| report.is_whole || !d.entities().is_empty())
    {
        let indexes: usize = design.tables().iter().map(|table| table.secondary().len()).sum();
        let _ = writeln!(
            out,
            "{name}: {}, {}, {}{}",
            counted(design.entities().len(), "entity"),
            counted(indexes, "index"),
            counted(design.accesses().len(), "pattern"),
            if report.is_whole { "" } else { " (without what has an error)" }
        );
        write_patterns(&mut out, &report.plans);
    }
    for finding in &report.findings {
        let _ = write!(out, "\n{}", finding.render(&report.source));
    }
    let total = report.bill.total;
    if total.on_demand > 0.0 {
        let _ = writeln!(
            out,
            "\ncost: {} a month on demand, {} provisioned",
            dollars(total.on_demand),
            dollars(total.provisioned)
        );
    }
    if !report.bill.missing.is_empty() {
        let _ = writeln!(
            out,
            "{}without {}: how much they read is not known",
            if total.on_demand > 0.0 { "      " } else { "\ncost: " },
            crate::lint::quoted(&report.bill.missing)
        );
    }
    let suppressed = match report.suppressed.len() {
        0 => String::new(),
        count => format!(" ({count} suppressed)"),
    };
    let _ = writeln!(out, "\n{name}: {}{suppressed}", summary(report.findings.iter()));
    let rules: BTreeSet<&str> = report.findings.iter().map(|finding| finding.rule).collect();
    if !rules.is_empty() {
        let ids: Vec<&str> = rules.into_iter().collect();
        let _ = writeln!(out, "what they mean: keyloom rule {}", ids.join(" "));
    }
    out
}

fn write_patterns(out: &mut String, plans: &[Plan]) {
    let width = plans.iter().map(|plan| plan.name.chars().count()).max().unwrap_or(0).min(48);
    let wide = plans.iter().map(|plan| index_of(plan).chars().count()).max().unwrap_or(0).max(5);
    for plan in plans {
        let line = format!(
            "  {:<8} {:<width$}  {:<wide$}  {}",
            plan.verdict.as_str(),
            plan.name,
            index_of(plan),
            details(plan),
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn index_of(plan: &Plan) -> String {
    let written = plan.raw.as_ref().map(|raw| raw.form().index);
    match (plan.places().join(", "), written) {
        (places, _) if !places.is_empty() => places,
        (_, Some(written)) => written.unwrap_or_else(|| "table".to_owned()),
        (_, None) if plan.verdict == Verdict::Refused => "-".to_owned(),
        (_, None) => "table".to_owned(),
    }
}

fn details(plan: &Plan) -> String {
    let mut parts = Vec::new();
    if let Some(units) = plan.estimate.read_units {
        parts.push(format!("{} RU", short(units)));
    }
    let calls = plan.calls();
    if plan.verdict != Verdict::Refused && calls.is_none_or(|calls| calls > 1.0) {
        parts.push(plan.calls_text());
    }
    let requests = calls.unwrap_or(1.0).max(1.0);
    if let Some(pages) = plan.estimate.pages.filter(|pages| *pages > requests) {
        parts.push(about(pages, "page"));
    }
    if let Some(money) = plan.estimate.money {
        parts.push(format!("{}/month", dollars(money.on_demand)));
    }
    let shown = |wanted: Proof| {
        let names: Vec<&str> = proofs(plan)
            .into_iter()
            .filter(|(_, proof)| *proof == wanted)
            .map(|(name, _)| name)
            .collect();
        names.join(", ")
    };
    let refuted = shown(Proof::Refuted);
    let proven = shown(Proof::Proven);
    if refuted.is_empty() && !proven.is_empty() {
        parts.push(format!("proven: {proven}"));
    } else if plan.verdict == Verdict::Refused {
        let written = plan.problems.iter().any(|problem| matches!(problem, Problem::Raw(_)));
        let why = if written {
            "DynamoDB refuses the request"
        } else {
            "no index serves it; it would need a Scan"
        };
        parts.push(why.to_owned());
    } else if !refuted.is_empty() {
        parts.push(format!("NOT proven: {refuted}"));
    }
    parts.join(", ")
}
