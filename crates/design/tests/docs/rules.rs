//! `docs/rules`: a page for every rule and code. The wrong design has the finding, the right one does not, and the
//! suppression suppresses it.

use std::collections::BTreeSet;

use keyloom_design::lint::{RULES, index_changes};
use keyloom_design::{Code, Design, Severity};

use super::{blocks, check, docs, read, shown};

/// Every id with its title and usual severity.
fn ids() -> impl Iterator<Item = (&'static str, &'static str, Severity)> {
    let rules = RULES.iter().map(|rule| (rule.id, rule.title, rule.severity));
    rules.chain(Code::ALL.iter().map(|code| (code.as_str(), code.title(), code.severity())))
}

fn page(id: &str) -> String {
    read(&docs().join(format!("rules/{id}.md")))
}

/// The only block under a heading.
fn block(id: &str, heading: &str) -> Option<String> {
    let mut found = blocks(&page(id)).into_iter().filter(|block| block.heading == heading);
    let first = found.next().map(|block| block.text);
    assert!(found.next().is_none(), "{id}: two blocks under {heading}");
    first
}

fn design(id: &str, heading: &str) -> String {
    block(id, heading).unwrap_or_else(|| panic!("{id} has no design under {heading}"))
}

#[test]
fn every_rule_has_a_page_with_its_title_and_severity_and_no_page_is_left_over() {
    let mut expected = BTreeSet::new();
    for (id, title, severity) in ids() {
        let page = page(id);
        let word = match severity {
            Severity::Error => "Error",
            Severity::Warn => "Warning",
            Severity::Info => "Note",
        };
        assert!(page.starts_with(&format!("# {id}: {title}\n\n{word}. ")), "{id}: {page}");
        assert!(page.lines().count() < 100, "{id} is too long for a reader in trouble");
        assert!(page.lines().all(|line| line.chars().count() <= 130), "{id} has long lines");
        let designs = if id == "D00" { [].as_slice() } else { &["Wrong", "Right"] };
        for heading in designs.iter().chain(&["How to fix it", "When to allow it"]) {
            assert!(page.contains(&format!("\n## {heading}\n\n")), "{id} lacks {heading}");
        }
        expected.insert(format!("{id}.md"));
    }
    let there: BTreeSet<String> = std::fs::read_dir(docs().join("rules"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(there, expected);
}

#[test]
fn the_wrong_design_has_the_finding_and_the_right_one_has_not() {
    let mut wrong = Vec::new();
    for (id, ..) in ids().filter(|(id, ..)| !["I10", "D00"].contains(id)) {
        let report = check(&design(id, "Wrong"));
        if !report.findings.iter().any(|finding| finding.rule == id) {
            wrong.push(format!("{id}: the wrong design does not have it:\n{}", shown(&report)));
        }
        let report = check(&design(id, "Right"));
        let broken = !report.is_whole || report.has_errors();
        if broken || report.findings.iter().any(|finding| finding.rule == id) {
            wrong.push(format!("{id}: the right design has it, or errors:\n{}", shown(&report)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_suppression_on_the_page_suppresses_the_finding() {
    for (id, ..) in ids() {
        let Some(allow) = block(id, "When to allow it") else {
            assert!(page(id).contains("cannot be allowed") || id == "I10", "{id} says nothing");
            continue;
        };
        let report = check(&format!("{}\n{allow}", design(id, "Wrong")));
        assert!(
            report.findings.iter().all(|f| f.rule != id && f.rule != "D07"),
            "{id}: {}",
            shown(&report)
        );
        assert!(report.suppressed.iter().any(|(finding, _)| finding.rule == id), "{id}");
    }
}

#[test]
fn the_page_of_i10_compares_with_what_is_deployed() {
    let parsed = |heading| Design::parse("page.toml", &design("I10", heading)).0.unwrap();
    let deployed = parsed("Deployed");
    assert_eq!(index_changes(&deployed, &parsed("Wrong")).len(), 1);
    assert_eq!(index_changes(&deployed, &parsed("Right")).len(), 0);
}
