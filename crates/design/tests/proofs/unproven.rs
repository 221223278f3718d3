//! Whatever is asked and not proven is an error.

use keyloom_design::plan::Proof;
use keyloom_design::report;

use super::examples::examples;
use super::{checked, claims, errors_about, plan_of};

const EVENTS: &str = r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"

[entity.Event]
PK = "EVENTS#{day}#{shard}"
SK = "EVENT#{id}"
[entity.Event.fields]
day = "date"
id = "ulid"
shard = { type = "shard", shards = 4, by = "id" }

[entity.Order]
PK = "USER#{user}"
SK = "ORDER#{status}#{order}"
GSI1PK = { template = "FLAGGED", when = "exists(flag)" }
GSI1SK = { template = "{user}#{order}", when = "exists(flag)" }
[entity.Order.fields]
user = "token"
order = "token"
status = { type = "string", values = ["open", "done"] }
flag = { type = "token", optional = true }
"#;

/// Hand-written reads that return less than `where` asks for.
const REFUTED: [(&str, &str); 5] = [
    (
        "one shard of four",
        r#"find = "Event"
where = "day = ?"
key = 'PK = "EVENTS#{day}#0"'"#,
    ),
    (
        "one status of two",
        r#"find = "Order"
where = "user = ?"
key = 'PK = "USER#{user}" and begins_with(SK, "ORDER#open#")'"#,
    ),
    (
        "a sparse index as if complete",
        r#"find = "Order"
where = "user = ?"
index = "GSI1"
key = 'GSI1PK = "FLAGGED" and begins_with(GSI1SK, "{user}#")'"#,
    ),
    (
        "a prefix that nothing closes",
        r#"find = "Order"
where = "user = ? and status = 'open' and order = ?"
key = 'PK = "USER#{user}" and begins_with(SK, "ORDER#open#{order}")'"#,
    ),
    (
        "more than asked",
        r#"find = "Order"
where = "user = ? and status = 'open'"
key = 'PK = "USER#{user}" and begins_with(SK, "ORDER#")'"#,
    ),
];

#[test]
fn a_refuted_hand_written_read_is_an_error_in_every_format() {
    for (name, pattern) in REFUTED {
        let text = format!("{EVENTS}[access.\"{name}\"]\n{pattern}\n");
        let report = checked(&text);
        let plan = plan_of(&report, name);
        assert!(claims(plan.proofs).contains(&Proof::Refuted), "{name}: {:?}", plan.proofs);
        assert!(!errors_about(&report, name).is_empty(), "{name} has no error");
        assert!(report.has_errors());
        let outputs = [
            report::human(&report),
            report::json(std::slice::from_ref(&report)).to_string(),
            report::sarif(std::slice::from_ref(&report)).to_string(),
            report::markdown(std::slice::from_ref(&report)),
        ];
        for output in outputs {
            assert!(!output.contains("no findings"), "{output}");
            assert!(output.contains("A13") || output.contains("K07"), "{output}");
        }
    }
}

#[test]
fn a_hand_written_read_that_means_what_where_says_is_proven() {
    let text = format!(
        "{EVENTS}{}",
        r#"
[access."orders"]
find = "Order"
where = "user = ?"
key = 'PK = "USER#{user}" and begins_with(SK, "ORDER#")'
[access."flagged"]
find = "Order"
where = "user = ? and exists(flag)"
index = "GSI1"
key = 'GSI1PK = "FLAGGED" and begins_with(GSI1SK, "{user}#")'
[access."part of a literal"]
find = "Order"
where = "user = ?"
key = 'PK = "USER#{user}" and begins_with(SK, "ORD")'
[access."no sort key"]
find = "Order"
where = "user = ?"
key = 'PK = "USER#{user}"'
"#
    );
    let report = checked(&text);
    for name in ["orders", "flagged", "part of a literal", "no sort key"] {
        let plan = plan_of(&report, name);
        assert_eq!(plan.proofs.rows, Proof::Proven, "{name}");
        assert!(errors_about(&report, name).is_empty(), "{name}");
    }
}

#[test]
fn what_is_allowed_by_name_with_a_reason_is_no_finding() {
    let (name, pattern) = REFUTED[0];
    let allowed = "[[allow]]\nrule = \"A13\"\nsubject = \"one shard of four\"\nreason = \"a sample is enough\"\n";
    let report = checked(&format!("{EVENTS}[access.\"{name}\"]\n{pattern}\n{allowed}"));
    assert!(!report.has_errors(), "{:?}", report.findings);
    assert_eq!(report.suppressed.len(), 1);
    // It is still not proven, and whoever denies that is told.
    assert_eq!(report.unproven().count(), 1);
}

/// Every claim that is refuted has an error that speaks about its pattern, whatever the design.
#[test]
fn no_refuted_claim_is_without_an_error() {
    for (name, text) in examples(|_| true) {
        let report =
            keyloom_design::check_text(&name, &text, &keyloom_design::cost::Prices::default());
        for plan in &report.plans {
            let suppressed = report.suppressed.iter().any(|(f, _)| f.subject == plan.name);
            if claims(plan.proofs).contains(&Proof::Refuted) && !suppressed {
                assert!(!errors_about(&report, &plan.name).is_empty(), "{name}: {}", plan.name);
            }
        }
    }
}
