//! Every change that a finding proposes is a design again, takes the finding away, and brings no other.
//!
//! Designs are those of the corpus and of the rules' own cases, changed at random. `KEYLOOM_FIXES=10000` is the
//! long form.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeMap;

use keyloom_core::hash::SplitMix64;
use keyloom_design::cost::Prices;
use keyloom_design::lint::Finding;
use keyloom_design::{CheckReport, Severity, check_text};

/// How many changes are tried.
fn wanted() -> usize {
    std::env::var("KEYLOOM_FIXES").ok().and_then(|text| text.parse().ok()).unwrap_or(100)
}

fn corpus() -> Vec<String> {
    let mut paths: Vec<_> = std::fs::read_dir("../../examples/designs")
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// Words that designs are made of: one in place of another makes a design that somebody may well write.
const SWAPS: [(&str, &str); 22] = [
    ("\"ulid\"", "\"string\""),
    ("\"datetime\"", "\"datetime:loose\""),
    ("\"datetime\"", "\"date\""),
    ("\"date\"", "\"datetime\""),
    ("\"u32\"", "{ type = \"u32\", plain = true }"),
    ("width = ", "plain = true, width = "),
    ("[access.", "[[allow]]\nrule = \"K04\"\nreason = \"left over\"\n\n[access."),
    ("order = \"", "order = \"created_at, "),
    ("limit = ", "consistent = true\nlimit = "),
    ("#{", "#{shard}#{"),
    ("shards = 1", "shards = 11"),
    ("shards = ", "shards = 9"),
    ("\"transact\"", "\"put\""),
    ("rate  = \"", "rate  = \"9"),
    ("rate = \"", "rate = \"9"),
    ("count  = ", "count  = 9"),
    ("escape = \"reject\"", "escape = \"none\""),
    ("sort_key      = \"SK\"", "sort_key      = \"SK\"\nescape = \"none\""),
    ("sort_key      = \"SK\"", "sort_key      = \"SK\"\nttl = \"created_at\""),
    ("type = \"string\"", "optional = true, type = \"string\""),
    ("projection = \"keys\"", "projection = \"all\""),
    ("given = [", "given = [ # "),
];

/// A design with one to three things changed.
fn mutated(text: &str, random: &mut SplitMix64) -> String {
    let mut text = text.to_owned();
    for _ in 0..=random.below(3) {
        if random.below(3) == 0 {
            // A line less.
            let mut lines: Vec<&str> = text.lines().collect();
            let at = random.below(lines.len());
            if !lines[at].starts_with('[') {
                lines.remove(at);
            }
            text = lines.join("\n") + "\n";
            continue;
        }
        let (from, to) = SWAPS[random.below(SWAPS.len())];
        let places: Vec<usize> = text.match_indices(from).map(|(at, _)| at).collect();
        if let Some(at) = places.get(random.below(places.len())) {
            text.replace_range(*at..at + from.len(), to);
        }
    }
    text
}

fn checked(text: &str) -> CheckReport {
    check_text("fixes.toml", text, &Prices::default())
}

fn counted(findings: &[Finding]) -> BTreeMap<(&str, &str), usize> {
    let mut counts = BTreeMap::new();
    for finding in findings {
        *counts.entry((finding.rule, finding.subject.as_str())).or_insert(0) += 1;
    }
    counts
}

/// What is wrong with the change that a finding proposes.
fn wrong(report: &CheckReport, finding: &Finding, changed: &str) -> Option<String> {
    let after = checked(changed);
    let broken = after
        .findings
        .iter()
        .find(|finding| finding.rule.starts_with('D') && finding.severity == Severity::Error);
    if let Some(broken) = broken {
        return Some(format!("it is no design: {}", broken.message));
    }
    let (before, now) = (counted(&report.findings), counted(&after.findings));
    let own = (finding.rule, finding.subject.as_str());
    if now.get(&own).copied().unwrap_or(0) >= before[&own] {
        return Some("the finding is still there".to_owned());
    }
    let new = now.iter().find(|(key, count)| before.get(*key).is_none_or(|had| *count > had));
    new.map(|((rule, subject), _)| format!("{rule} of {subject} has come"))
}

#[test]
fn every_proposed_change_takes_its_finding_away_and_brings_no_other() {
    let mut random = SplitMix64::new(15);
    let designs = corpus();
    let mut tried: BTreeMap<&str, usize> = BTreeMap::new();
    let mut total = 0;
    while total < wanted() {
        let text = mutated(&designs[random.below(designs.len())], &mut random);
        let report = checked(&text);
        for finding in &report.findings {
            let Some(change) = &finding.change else { continue };
            let changed = change.apply(&text).unwrap();
            let wrong = wrong(&report, finding, &changed);
            assert!(
                wrong.is_none(),
                "{} {}: {}\n{}\n---\n{text}",
                finding.rule,
                finding.subject,
                wrong.unwrap(),
                finding.fix
            );
            // What is printed is what is written.
            let added = finding.fix.lines().skip(1).all(|line| changed.contains(line.trim()));
            assert!(added, "{} prints what it does not write:\n{}", finding.rule, finding.fix);
            *tried.entry(finding.rule).or_insert(0) += 1;
            total += 1;
        }
    }
    println!("{total} changes: {tried:?}");
    assert!(tried.len() >= 5, "{tried:?}");
}
