//! Fields that exist only inside a key are not returned as attributes.

use keyloom_design::plan::{Proof, Verdict, shapes};

use super::{checked, errors_about, plan_of};

fn design(projection: &str, local: bool, pattern: &str) -> String {
    let index = if local { "local = true\n" } else { "partition_key = \"GSI1PK\"\n" };
    format!(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.byRank]
{index}sort_key = "GSI1SK"
projection = {projection}
[entity.Item]
PK = "OWNER#{{owner}}"
SK = "ITEM#{{id}}"
{}GSI1SK = "A#{{rank}}#{{id}}"
[entity.Item.fields]
owner = "token"
id = "token"
rank = "u16"
note = "string"
[access."ranked"]
find = "Item"
where = "owner = ?"
order = "rank"
index = "byRank"
{pattern}
"#,
        if local { "" } else { "GSI1PK = \"OWNER#{owner}\"\n" },
    )
}

#[test]
fn a_field_inside_a_key_is_not_an_attribute_of_the_answer() {
    let report = checked(&design("\"keys\"", false, "returns = [\"id\"]"));
    let plan = plan_of(&report, "ranked");
    assert_eq!(plan.verdict, Verdict::TwoStep, "{:?}", plan.proofs);
    assert_eq!(plan.proofs.coverage, Proof::Proven, "the second step fetches it");
    let covered = checked(&design("[\"id\"]", false, "returns = [\"id\"]"));
    assert_eq!(plan_of(&covered, "ranked").verdict, Verdict::Query);
}

#[test]
fn a_local_index_fetches_what_only_its_keys_hold() {
    let report = checked(&design("\"keys\"", true, "returns = [\"id\"]"));
    let plan = plan_of(&report, "ranked");
    assert_eq!(plan.proofs.coverage, Proof::Proven);
    let design = report.design.unwrap();
    let shape = shapes(design.access("ranked").unwrap(), &plan);
    assert_eq!(shape[0].body["Select"], "ALL_ATTRIBUTES");
}

#[test]
fn a_hand_written_read_of_half_an_item_is_an_error() {
    let key = "key = 'GSI1PK = \"OWNER#{owner}\"'";
    let report = checked(&design("\"keys\"", false, key));
    assert_eq!(plan_of(&report, "ranked").proofs.coverage, Proof::Refuted);
    assert!(!errors_about(&report, "ranked").is_empty());
    // A local index is asked for everything.
    let report = checked(&design("\"keys\"", true, "key = 'PK = \"OWNER#{owner}\"'"));
    let plan = plan_of(&report, "ranked");
    assert_eq!(plan.proofs.coverage, Proof::Proven);
    let design = report.design.unwrap();
    let shape = shapes(design.access("ranked").unwrap(), &plan);
    assert_eq!(shape[0].body["Select"], "ALL_ATTRIBUTES");
}

/// The key of the next item is parsed out of the keys of a link; where values may carry the separator, it cannot be.
#[test]
fn links_lead_on_by_their_keys_only_where_these_can_be_taken_apart() {
    let design = |escape: &str| {
        format!(
            r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
escape = "{escape}"
[table.app.index.GSI1]
partition_key = "GSI1PK"
sort_key = "GSI1SK"
projection = "keys"
[entity.Doc]
PK = "DOC#{{folder}}#{{doc}}"
SK = "DOC"
[entity.Doc.fields]
folder = "string"
doc = "string"
[entity.Share]
PK = "SHARE#{{share}}"
SK = "SHARE"
GSI1PK = "USER#{{user}}"
GSI1SK = "DOC#{{folder}}#{{doc}}"
[entity.Share.fields]
share = "ulid"
user = "token"
folder = "string"
doc = "string"
[access."shared"]
find = "Doc"
via = "Share"
where = "user = ?"
"#
        )
    };
    let verdict = |escape: &str| plan_of(&checked(&design(escape)), "shared").verdict;
    assert_eq!(verdict("reject"), Verdict::TwoStep);
    assert_eq!(verdict("none"), Verdict::Refused);
}
