//! Every rule of the linter: a design that it fires on, and one that it leaves alone.

mod access;
mod classes;
mod expressions;
mod indexes;
mod keys;
mod partitions;
mod writes;

use keyloom_design::cost::Prices;
use keyloom_design::lint::{Finding, RULES, index_changes};
use keyloom_design::{Design, check_text};

/// A table with one index; designs add entities and patterns.
const TABLE: &str = r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"
"#;

pub(crate) struct Case {
    rule: &'static str,
    fires: &'static str,
    silent: &'static str,
}

/// Every rule's cases, by family.
const FAMILIES: [&[Case]; 6] = [
    keys::CASES,
    partitions::CASES,
    indexes::CASES,
    access::CASES,
    expressions::CASES,
    writes::CASES,
];

fn cases() -> impl Iterator<Item = &'static Case> {
    FAMILIES.into_iter().flatten()
}

fn findings(text: &str) -> Vec<Finding> {
    let text = if text.contains("[table.") { text.to_owned() } else { format!("{TABLE}{text}") };
    check_text("test.toml", &text, &Prices::default()).findings
}

fn shown(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(|f| format!("{} {}: {} | {} | {}", f.rule, f.subject, f.message, f.evidence, f.fix))
        .collect::<Vec<_>>()
        .join("\n")
}

fn rules_of(text: &str) -> Vec<&'static str> {
    findings(text).iter().map(|finding| finding.rule).collect()
}

#[test]
fn an_ambiguous_template_does_not_hide_what_else_is_wrong() {
    let found = rules_of(
        r#"
[entity.Order]
PK = "{user_id}{order_id}"
SK = "ORDER"
[entity.Order.fields]
user_id = "token"
order_id = "token"
[entity.Version]
PK = "DOC#{doc:ulid}"
SK = "V#{number}"
[entity.Version.fields]
number = { type = "u32", plain = true }
[access."one order"]
find = "Order"
where = "user_id = ? and order_id = ?"
[access."versions"]
find = "Version"
where = "doc = ?"
order = "number""#,
    );
    assert_eq!(found, ["K03", "K01", "A03"]);
}

/// Users by status in an index, spread over so many shards.
fn sharded(shards: u32) -> String {
    format!(
        r#"
[entity.User]
PK = "USER#{{id:ulid}}"
SK = "PROFILE"
GSI1PK = "STATUS#{{status}}#{{shard}}"
GSI1SK = "USER#{{id:ulid}}"
count = 5_000_000
size = "800 B"
[entity.User.fields]
status = {{ type = "string", values = ["on", "off"], top_share = "90%" }}
shard = {{ type = "shard", shards = {shards}, by = "id" }}
[access."users with a status"]
find = "User"
where = "status = ?"
limit = 20
[write."put a user"]
entity = "User"
rate = "1500/s""#
    )
}

#[test]
fn a_shard_that_carries_the_load_silences_what_few_and_skewed_values_would_do() {
    let about_load = |shards| {
        let found = rules_of(&sharded(shards));
        found.into_iter().filter(|r| ["P02", "P04", "P11", "I06"].contains(r)).collect::<Vec<_>>()
    };
    assert_eq!(about_load(4), Vec::<&str>::new());
    assert_eq!(about_load(1), ["I06", "P04", "P11"]);
}

#[test]
fn every_rule_fires_where_it_should_and_is_silent_where_it_should_not() {
    let mut failures = Vec::new();
    for case in cases() {
        let fired = findings(case.fires);
        if !fired.iter().any(|finding| finding.rule == case.rule) {
            failures.push(format!("{} did not fire; found:\n{}", case.rule, shown(&fired)));
        }
        for finding in fired.iter().filter(|finding| finding.rule == case.rule) {
            assert!(
                !finding.message.is_empty()
                    && !finding.evidence.is_empty()
                    && !finding.fix.is_empty(),
                "{} must have message, evidence and fix: {finding:?}",
                case.rule
            );
        }
        let calm = findings(case.silent);
        let broken = calm.iter().any(|f| f.rule.starts_with('D') && f.rule != "D07");
        if broken || calm.iter().any(|finding| finding.rule == case.rule) {
            failures.push(format!("{} fired on the good design:\n{}", case.rule, shown(&calm)));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn no_rule_is_without_a_case() {
    for rule in RULES {
        let tested = cases().any(|case| case.rule == rule.id) || rule.id == "I10";
        assert!(tested, "{} has no case", rule.id);
    }
}

#[test]
fn i10_compares_two_designs() {
    let old = Design::parse("old.toml", TABLE).0.unwrap();
    let wider =
        TABLE.replace("sort_key = \"GSI1SK\"", "sort_key = \"GSI1SK\"\nprojection = \"keys\"");
    let new = Design::parse("new.toml", &wider).0.unwrap();
    let found = index_changes(&old, &new);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rule, "I10");
    assert_eq!(found[0].message, "the projection of GSI1 cannot be changed in place");
    assert!(index_changes(&old, &old).is_empty());
}

#[test]
fn suppressions_need_a_reason_and_a_use() {
    let design = r#"
[entity.Post]
PK = "USER#{user_id:ulid}"
SK = "POST#{at:datetime}"
[[allow]]
rule = "U01"
subject = "Post"
reason = "one post per second and user is enforced by the client"
[[allow]]
rule = "K01"
subject = "Post"
reason = "left over"
"#;
    let report = check_text("t.toml", &format!("{TABLE}{design}"), &Prices::default());
    assert_eq!(report.suppressed.len(), 1);
    assert_eq!(report.suppressed[0].0.rule, "U01");
    let unused: Vec<&str> =
        report.findings.iter().filter(|f| f.rule == "D07").map(|f| f.message.as_str()).collect();
    assert_eq!(unused, ["the suppression of K01 suppresses nothing"]);
    let bare =
        check_text("t.toml", &format!("{TABLE}[[allow]]\nrule = \"K01\"\n"), &Prices::default());
    assert!(
        bare.findings.iter().any(|f| f.message == "a suppression needs a `reason`"),
        "{}",
        shown(&bare.findings)
    );
}
