//! Every change that a finding proposes is a design again, takes the finding away, and brings no other.
//!
//! Designs are the examples, the wrong ones of the rules' pages and those of `tests/adversary`, first as they are and then
//! changed at random. Every rule that proposes changes must be among the findings. `KEYLOOM_FIXES=10000` is the long form.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

#[path = "support/examples.rs"]
mod examples;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use keyloom_core::hash::SplitMix64;
use keyloom_design::cost::Prices;
use keyloom_design::lint::Finding;
use keyloom_design::{CheckReport, Severity, check_text};

use examples::examples;

/// How many changes are tried.
fn wanted() -> usize {
    std::env::var("KEYLOOM_FIXES").ok().and_then(|text| text.parse().ok()).unwrap_or(100)
}

/// Every rule that proposes changes.
const PROPOSING: [&str; 28] = [
    "A01", "A03", "A04", "A06", "A07", "A13", "A14", "D07", "E04", "E05", "I01", "I04", "I09",
    "K01", "K02", "K05", "K06", "K07", "K08", "K09", "K10", "K14", "P09", "P11", "T01", "U01",
    "U05", "W01",
];

/// Orders of a user, asked for by hand in ways that are wrong although `where` says what is meant.
const ORDERS: &str = r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{at}#{order}"
[entity.Order.fields]
user = "token"
at = "datetime"
order = "ulid"
done = "bool"
[access."orders"]
find = "Order"
"#;

const BY_HAND: [&str; 5] = [
    r#"where = "user = ?"
key = 'PK = "USER#{user}" and begins_with(SK, "ORDER#") and SK > "ORDER#2024"'"#,
    r#"where = "user = ?"
key = 'PK = "USER#{user}" and begins_with(SK, "ORD#")'"#,
    r#"where = "user = ? and at between '2024-01-01' and '2024-01-31'"
key = 'PK = "USER#{user}" and SK between "ORDER#2024-01-01" and "ORDER#2024-01-31"'"#,
    r#"where = "user = ?"
key = 'PK = "USER#{user}" and begins_with(SK, "ORDER#")'
filter = "not contains(SK, 'x')""#,
    r#"where = "user = ?"
key = 'PK = "USER#{user}" and begins_with(SK, "ORDER#")'
filter = "done >= true""#,
];

fn folder(path: &str, ending: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|own| own == ending)).collect();
    files.sort();
    files.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// The wrong design on a rule's page.
fn wrong_design(page: &str) -> Option<String> {
    let design = page.split_once("\n## Wrong\n")?.1.split_once("```toml\n")?.1;
    Some(design.split_once("```")?.0.to_owned())
}

fn corpus() -> Vec<String> {
    let pages = folder("../../docs/rules", "md");
    let mut designs: Vec<String> = pages.iter().filter_map(|page| wrong_design(page)).collect();
    designs.extend(BY_HAND.iter().map(|lines| format!("{ORDERS}{lines}\n")));
    designs.extend(folder("tests/adversary", "toml"));
    designs.extend(examples(|_| true).into_iter().map(|(_, text)| text));
    designs
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

/// Tries every change that findings of a design propose; the rules, and what is wrong with a change.
fn try_changes(text: &str, tried: &mut BTreeMap<&'static str, usize>) -> Result<(), String> {
    let report = checked(text);
    for finding in &report.findings {
        let Some(change) = &finding.change else { continue };
        let changed = change.apply(text).unwrap();
        let wrong = wrong(&report, finding, &changed);
        // What is printed is what is written, up to the advice that may follow.
        let mut printed = finding.fix.lines().skip(1).take_while(|line| !line.starts_with("or "));
        let added = printed.all(|line| changed.contains(line.trim()));
        let wrong = wrong.or_else(|| (!added).then(|| "it is not what is printed".to_owned()));
        if let Some(wrong) = wrong {
            let Finding { rule, subject, fix, .. } = finding;
            return Err(format!("{rule} {subject}: {wrong}\n{fix}\n---\n{text}"));
        }
        *tried.entry(finding.rule).or_insert(0) += 1;
    }
    Ok(())
}

#[test]
fn every_proposed_change_takes_its_finding_away_and_brings_no_other() {
    let mut random = SplitMix64::new(15);
    let designs = corpus();
    let mut tried = BTreeMap::new();
    let as_they_are = designs.iter().try_for_each(|text| try_changes(text, &mut tried));
    as_they_are.unwrap_or_else(|why| panic!("{why}"));
    while tried.values().sum::<usize>() < wanted() {
        let text = mutated(&designs[random.below(designs.len())], &mut random);
        try_changes(&text, &mut tried).unwrap_or_else(|why| panic!("{why}"));
    }
    println!("{} changes: {tried:?}", tried.values().sum::<usize>());
    let met: BTreeSet<&str> = tried.into_keys().collect();
    assert_eq!(
        met,
        BTreeSet::from(PROPOSING),
        "rules whose changes were tried, and those that propose some"
    );
}

/// The list here is that of the proposals.
#[test]
fn no_rule_that_proposes_changes_is_left_out() {
    let source = include_str!("../src/repair/propose.rs");
    let quoted = source.split('"').skip(1).step_by(2);
    let is_rule = |text: &&str| {
        let digits = text.get(1..).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()));
        text.len() == 3 && text.starts_with(|c: char| c.is_ascii_uppercase()) && digits
    };
    let named: BTreeSet<&str> = quoted.filter(is_rule).collect();
    assert_eq!(named, BTreeSet::from(PROPOSING));
}
