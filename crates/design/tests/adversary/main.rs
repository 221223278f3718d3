//! Designs of systems that the examples do not have, with traps: what `check` says of each must be what is true.
//!
//! A design says so in its first lines: `#! plan "NAME" = VERDICT`, with the claims that are refuted and the number of
//! requests where they matter; `#! finds RULE SUBJECT`, a finding of the rule's usual level, or of another one that is named as in
//! `#! finds A09(error) SUBJECT`; `#! silent RULE`, or `#! silent RULE SUBJECT`; `#! broken` for a file with an error.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use keyloom_design::cost::Prices;
use keyloom_design::lint::{self as rules, Finding};
use keyloom_design::plan::{Plan, Proof};
use keyloom_design::{CheckReport, Severity, check_text};

/// The claims of a plan that are refuted.
fn refuted(plan: &Plan) -> Vec<&'static str> {
    let proofs = &plan.proofs;
    let claims = [
        ("rows", proofs.rows),
        ("order", proofs.order),
        ("limit", proofs.limit),
        ("purity", proofs.purity),
        ("coverage", proofs.coverage),
        ("consistency", proofs.consistency),
    ];
    claims.iter().filter(|(_, proof)| *proof == Proof::Refuted).map(|(name, _)| *name).collect()
}

/// What a plan is, in the words of the designs.
fn described(plan: &Plan, with_calls: bool) -> String {
    let refuted = refuted(plan);
    let mut text = format!("plan {:?} = {}", plan.name, plan.verdict.as_str());
    if plan.verdict.as_str() != "refused" && !refuted.is_empty() {
        let _ = write!(text, " refuted({})", refuted.join(", "));
    }
    if with_calls {
        let calls = plan.first_calls().map_or_else(|| "unknown".to_owned(), |n| n.to_string());
        let _ = write!(text, " calls({calls})");
    }
    text
}

/// What is not as a line says.
fn wrong(report: &CheckReport, line: &str) -> Option<String> {
    if line == "broken" {
        return report.is_whole.then(|| "the file is read without an error".to_owned());
    }
    if let Some((rule, subject)) = line.strip_prefix("finds ").and_then(|l| l.split_once(' ')) {
        return unfound(report, rule, subject);
    }
    if let Some(rest) = line.strip_prefix("silent ") {
        let (rule, subject) = rest.split_once(' ').map_or((rest, None), |(r, s)| (r, Some(s)));
        let is_meant = |subject: &str, of: Option<&str>| of.is_none_or(|of| of == subject);
        let mut findings = report.findings.iter();
        let found = findings.find(|f| f.rule == rule && is_meant(&f.subject, subject))?;
        return Some(format!("{rule} speaks: {}", found.message));
    }
    let name = line.strip_prefix("plan \"").and_then(|rest| rest.split('"').next()).unwrap();
    let plan = report.plans.iter().find(|plan| plan.name == name);
    let said = plan.map_or_else(
        || {
            let found = report.findings.iter().map(|f| format!("{} {}", f.rule, f.message));
            format!("no plan, and {:?}", found.collect::<Vec<_>>())
        },
        |plan| described(plan, line.contains("calls(")),
    );
    (said != line).then(|| format!("{line}; check says: {said}"))
}

/// Why a rule does not speak of a subject as it should: at the level that stands behind its name, or at its usual one.
fn unfound(report: &CheckReport, rule: &str, subject: &str) -> Option<String> {
    let (rule, level) = match rule.strip_suffix(')').and_then(|rule| rule.split_once('(')) {
        Some((rule, level)) => (rule, level.to_owned()),
        None => (rule, level_of(rules::rule(rule).unwrap().severity)),
    };
    let is_meant = |f: &&Finding| f.rule == rule && f.subject == subject;
    let about: Vec<&Finding> = report.findings.iter().filter(is_meant).collect();
    if about.is_empty() {
        let all: Vec<_> = report.findings.iter().map(|f| (f.rule, f.subject.as_str())).collect();
        return Some(format!("{rule} is silent about {subject}: {all:?}"));
    }
    let levels: Vec<String> = about.iter().map(|f| level_of(f.severity)).collect();
    (!levels.contains(&level))
        .then(|| format!("{rule} about {subject} is of level {}, not {level}", levels.join(", ")))
}

/// Whether a finding speaks of a plan that is not proven: one of level error, if a claim of it is refuted.
fn is_told(report: &CheckReport, plan: &Plan) -> bool {
    let must_fail = !refuted(plan).is_empty();
    let mut about = report.findings.iter().filter(|f| f.subject == plan.name);
    about.any(|f| f.severity == Severity::Error || !must_fail)
}

fn level_of(severity: Severity) -> String {
    format!("{severity:?}").to_lowercase()
}

#[test]
fn check_says_what_is_true() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adversary");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    paths.sort();
    let mut faults = Vec::new();
    for path in &paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).unwrap();
        let report = check_text(&name, &text, &Prices::default());
        let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#! ")).collect();
        assert!(!lines.is_empty(), "{name} says nothing");
        faults.extend(
            lines
                .iter()
                .filter_map(|line| wrong(&report, line).map(|why| format!("{name}: {why}"))),
        );
        let quiet = report.plans.iter().filter(|plan| !plan.is_proven() && !is_told(&report, plan));
        faults.extend(quiet.map(|plan| format!("{name}: too little is said of {}", plan.name)));
    }
    assert!(paths.len() >= 40, "{} designs", paths.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
