//! Small designs that once contradicted their proofs, and the classes that they stand for.

use keyloom_core::AttributeValue;
use keyloom_design::evaluate::Inputs;
use keyloom_design::plan::{Proof, SortCondition, Verdict, concretize};

use super::{checked, errors_about, plan_of};

/// A key without the case of its values finds others that differ by it.
#[test]
fn a_folded_key_leaves_the_case_to_a_filter() {
    let design = |field: &str, order: &str| {
        format!(
            r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.E]
PK = "{{name:string:lower}}"
SK = "{{name:string:lower}}#{{id}}"
[entity.E.fields]
name = "{field}"
id = "ulid"
[access."p"]
find = "E"
where = "name = ?"
{order}
"#
        )
    };
    let plan = plan_of(&checked(&design("string", "")), "p");
    assert_eq!((plan.verdict, plan.proofs.rows), (Verdict::Filter, Proof::Proven));
    let folded = plan_of(&checked(&design("string:lower", "")), "p");
    assert_eq!(folded.verdict, Verdict::Query);
}

fn native(condition: &str, order: &str) -> keyloom_design::CheckReport {
    checked(&format!(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.native]
partition_key = "state"
sort_key = "name"
[entity.E]
PK = "E#{{id}}"
SK = "E"
[entity.E.fields]
id = "ulid"
state = "token"
name = "string:desc"
rank = "number"
[access."p"]
find = "E"
where = "state = ? and {condition}"
{order}
"#
    ))
}

/// A native key holds its field as it is, whatever templates would do with it.
#[test]
fn a_descending_field_is_not_turned_round_in_a_native_key() {
    let report = native("name between ? and ?", "order = \"name desc\"");
    let plan = plan_of(&report, "p");
    assert_eq!(plan.proofs.order, Proof::Proven);
    assert!(!plan.reads[0].forward);
    let design = report.design.unwrap();
    let inputs: Inputs = [("state", "on"), ("name_from", "a"), ("name_to", "b")]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned().into()))
        .collect();
    let reads = concretize(design.access("p").unwrap(), &plan, &inputs).unwrap();
    let between = SortCondition::Between(AttributeValue::from("a"), AttributeValue::from("b"));
    assert_eq!(reads[0].sort, Some(("name".to_owned(), between)));
}

/// DynamoDB refuses such a range; it holds nothing, so nothing is asked.
#[test]
fn a_range_with_its_ends_the_wrong_way_round_is_not_sent() {
    for (condition, low, high) in [
        ("name between ? and ?", ("name_from", "b"), ("name_to", "a")),
        ("rank between ? and ?", ("rank_from", "10"), ("rank_to", "9")),
    ] {
        let report = native(condition, "");
        let plan = plan_of(&report, "p");
        let design = report.design.unwrap();
        let inputs: Inputs = [("state", "on"), low, high]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned().into()))
            .collect();
        let reads = concretize(design.access("p").unwrap(), &plan, &inputs).unwrap();
        assert!(reads.is_empty(), "{condition}: {reads:?}");
    }
}

#[test]
fn an_empty_text_is_no_key() {
    let report = native("name > ?", "");
    let plan = plan_of(&report, "p");
    let design = report.design.unwrap();
    let inputs: Inputs = [("state", ""), ("name", "a")]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned().into()))
        .collect();
    let refused = concretize(design.access("p").unwrap(), &plan, &inputs).unwrap_err();
    assert!(refused.contains("never empty"), "{refused}");
}

/// The second step returns what its index holds.
#[test]
fn a_second_step_through_a_narrow_index_does_not_cover() {
    let report = checked(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[table.app.index.GSI1]
partition_key = "G1"
sort_key = "G2"
projection = "keys"
[entity.Doc]
PK = "{shard}"
SK = "DOC#{ref}"
G1 = "DOC"
G2 = "{ref}"
[entity.Doc.fields]
ref = "ulid"
name = "string"
shard = { type = "shard", shards = 4 }
[entity.Link]
PK = "LINK"
SK = "{ref}"
[entity.Link.fields]
ref = "ulid"
[access."p"]
find = "Doc"
via = "Link"
"#,
    );
    assert_eq!(plan_of(&report, "p").proofs.coverage, Proof::Refuted);
    assert!(errors_about(&report, "p").contains(&"A13"));
}

/// A condition that one entity's key expresses may be a filter for another that has no such attribute.
#[test]
fn a_filter_tests_no_field_that_is_kept_in_keys_only() {
    let report = checked(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.A]
PK = "O#{owner}"
SK = "A#{kind}#{id}"
[entity.A.fields]
owner = "token"
kind = { type = "token", key_only = true }
id = "ulid"
[entity.B]
PK = "O#{owner}"
SK = "B#{id}"
[entity.B.fields]
owner = "token"
kind = "token"
id = "ulid"
[access."p"]
find = ["A", "B"]
where = "owner = ? and kind = ?"
"#,
    );
    let plan = plan_of(&report, "p");
    for read in &plan.reads {
        for question in &read.filter {
            let stored =
                read.entities.iter().all(|e| e.field(&question.field).unwrap().is_stored());
            assert!(stored, "{}", question.field);
        }
    }
}

/// A value is written with its escapes, so another entity can have the escaped text as its literal.
#[test]
fn an_escaped_value_meets_the_literal_that_looks_like_it() {
    let report = checked(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
escape = "percent"
[entity.Note]
PK = "P#{owner}"
SK = "{kind}"
[entity.Note.fields]
owner = "token"
kind = { type = "string", values = ["a", "x#y"] }
[entity.Mark]
PK = "P#{owner}"
SK = "x%23y"
[entity.Mark.fields]
owner = "token"
[access."note"]
find = "Note"
where = "owner = ? and kind = ?"
"#,
    );
    assert_ne!(plan_of(&report, "note").proofs.purity, Proof::Proven);
}
