//! What is refused or filtered without need.

use keyloom_design::plan::{Proof, Verdict};

use super::{checked, plan_of};

#[test]
fn a_literal_keeps_other_entities_out() {
    let report = checked(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.Reaction]
PK = "POST#{post}"
SK = "{kind}#{user}"
[entity.Reaction.fields]
post = "token"
kind = { type = "token" }
user = "token"
[entity.Comment]
PK = "POST#{post}"
SK = "COMMENT#{id}"
[entity.Comment.fields]
post = "token"
id = "ulid"
[access."likes"]
find = "Reaction"
where = "post = ? and kind = 'LIKE'"
[access."any kind"]
find = "Reaction"
where = "post = ? and kind = ?"
[access."two kinds"]
find = "Reaction"
where = "post = ? and kind in ('LIKE', 'HEART')"
[access."comments as kind"]
find = "Reaction"
where = "post = ? and kind in ('LIKE', 'COMMENT')"
"#,
    );
    assert_eq!(plan_of(&report, "likes").proofs.purity, Proof::Proven);
    assert_eq!(plan_of(&report, "two kinds").proofs.purity, Proof::Proven);
    assert_eq!(plan_of(&report, "any kind").proofs.purity, Proof::Refuted);
    assert_eq!(plan_of(&report, "comments as kind").proofs.purity, Proof::Refuted);
}

fn by_day(condition: &str) -> keyloom_design::plan::Plan {
    let report = checked(&format!(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.Event]
PK = "DEVICE#{{device}}"
SK = "{{at:date}}#{{id}}"
[entity.Event.fields]
device = "token"
at = "datetime"
id = "ulid"
[access."p"]
find = "Event"
where = "device = ? and {condition}"
"#
    ));
    plan_of(&report, "p")
}

#[test]
fn a_whole_day_is_what_a_key_by_day_holds() {
    for condition in [
        "at = '2024-01-05'",
        "at between '2024-01-05' and '2024-01-09'",
        "at >= '2024-01-05'",
        "at < '2024-01-05'",
        "at >= '2024-01-05' and at < '2024-01-08'",
        "at = '2024-01'",
    ] {
        let plan = by_day(condition);
        assert_eq!(plan.verdict, Verdict::Query, "{condition}");
        assert_eq!(plan.proofs.rows, Proof::Proven, "{condition}");
    }
    for condition in ["at = ?", "at > '2024-01-05T10:00:00Z'", "at between ? and ?"] {
        assert_eq!(by_day(condition).verdict, Verdict::Filter, "{condition}");
    }
}
