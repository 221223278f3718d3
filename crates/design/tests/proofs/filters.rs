//! Filters mean what DynamoDB means by them.

use std::fmt::Write as _;

use keyloom_core::Item;
use keyloom_design::cost::Prices;
use keyloom_design::evaluate::{Inputs, Row, expected};
use keyloom_design::plan::run;
use keyloom_design::plan::{Proof, plan};
use keyloom_design::{Design, Severity, check_text};

use super::{checked, plan_of};

fn design(pattern: &str) -> String {
    format!(
        r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.Item]
PK = "OWNER#{{owner}}"
SK = "ITEM#{{id}}"
[entity.Item.fields]
owner = "token"
id = "token"
state = {{ type = "token", optional = true }}
tags = {{ type = "string_set", optional = true }}
numbers = "number_set"
list = "list"
flag = "bool"
count = "number"
at = "datetime:loose"
doc = "map"
[access."p"]
find = "Item"
where = "owner = ? and {pattern}"
"#
    )
}

/// A row with these attributes besides its key, as it comes out of the table.
fn row(design: &Design, id: &str, attributes: &[(&str, &str)]) -> Row {
    use keyloom_core::json;
    let mut text = format!(
        "{{\"PK\":{{\"S\":\"OWNER#o\"}},\"SK\":{{\"S\":\"ITEM#{id}\"}},\"owner\":{{\"S\":\"o\"}},\"id\":{{\"S\":\"{id}\"}}"
    );
    for (name, value) in attributes {
        let _ = write!(text, ",\"{name}\":{value}");
    }
    text.push('}');
    let item: Item = json::item_from(&json::parse(text.as_bytes()).unwrap()).unwrap();
    Row::from_item(design.entity("Item").unwrap(), &item)
}

/// Which rows the plan returns and which the pattern means.
fn both(
    pattern: &str,
    rows: &[(&str, &[(&str, &str)])],
    inputs: &[(&str, &str)],
) -> (Vec<String>, Vec<String>) {
    let text = design(pattern);
    let (design, problems) = Design::parse("test.toml", &text);
    assert!(problems.is_empty(), "{problems:?}");
    let design = design.unwrap();
    let rows: Vec<Row> = rows.iter().map(|(id, attributes)| row(&design, id, attributes)).collect();
    let access = design.access("p").unwrap();
    let plan = plan(&design, &Prices::default()).into_iter().next().unwrap();
    let mut all = Inputs::new();
    all.insert("owner".to_owned(), "o".to_owned().into());
    for (name, value) in inputs {
        all.insert((*name).to_owned(), (*value).to_owned().into());
    }
    let label = |rows: Vec<&Row>| rows.iter().map(|row| row.label()).collect::<Vec<_>>();
    (label(run(access, &plan, &all, &rows).unwrap()), label(expected(access, &all, &rows).rows))
}

#[test]
fn unequal_is_true_of_what_is_not_there() {
    let rows: [(&str, &[(&str, &str)]); 3] =
        [("a", &[("state", r#"{"S":"on"}"#)]), ("b", &[("state", r#"{"S":"off"}"#)]), ("c", &[])];
    let (returned, meant) = both("state <> 'on'", &rows, &[]);
    assert_eq!(returned, ["OWNER#o / ITEM#b", "OWNER#o / ITEM#c"]);
    assert_eq!(meant, returned);
    let (returned, meant) = both("not contains(tags, 'x')", &rows, &[]);
    assert_eq!(returned.len(), 3);
    assert_eq!(meant, returned);
}

#[test]
fn sets_and_lists_contain_elements_not_parts_of_them() {
    let rows: [(&str, &[(&str, &str)]); 2] = [
        (
            "a",
            &[
                ("tags", r#"{"SS":["red"]}"#),
                ("list", r#"{"L":[{"S":"red"}]}"#),
                ("numbers", r#"{"NS":["12"]}"#),
            ],
        ),
        (
            "b",
            &[
                ("tags", r#"{"SS":["dark red"]}"#),
                ("list", r#"{"L":[{"S":"dark red"}]}"#),
                ("numbers", r#"{"NS":["1"]}"#),
            ],
        ),
    ];
    for pattern in ["contains(tags, 'red')", "contains(list, 'red')", "contains(numbers, 12)"] {
        let (returned, meant) = both(pattern, &rows, &[]);
        assert_eq!(returned, ["OWNER#o / ITEM#a"], "{pattern}");
        assert_eq!(meant, returned, "{pattern}");
    }
}

#[test]
fn numbers_are_compared_as_numbers() {
    let rows: [(&str, &[(&str, &str)]); 2] =
        [("a", &[("count", r#"{"N":"9"}"#)]), ("b", &[("count", r#"{"N":"10"}"#)])];
    let (returned, meant) = both("count > 9", &rows, &[]);
    assert_eq!(returned, ["OWNER#o / ITEM#b"]);
    assert_eq!(meant, returned);
}

/// DynamoDB answers a ValidationException, or compares documents nobody meant.
#[test]
fn comparisons_that_dynamodb_refuses_are_errors_of_the_file() {
    for pattern in [
        "flag >= true",
        "flag between false and true",
        "tags > 'a'",
        "tags = 'a'",
        "doc = 'a'",
        "list < 'a'",
        "count = 'many'",
    ] {
        let report = check_text("test.toml", &design(pattern), &Prices::default());
        let found =
            report.findings.iter().any(|f| f.rule == "D06" && f.severity == Severity::Error);
        assert!(found, "{pattern}: {:?}", report.findings);
    }
}

/// `10:30:00.5Z` sorts before `10:30:00Z`, and an offset hides the moment.
#[test]
fn moments_that_are_written_loosely_are_not_proven_by_their_text() {
    for pattern in ["at > ?", "at between ? and ?", "at = ?", "at <> ?"] {
        let report = checked(&design(pattern));
        let plan = plan_of(&report, "p");
        assert_eq!(plan.proofs.rows, Proof::Refuted, "{pattern}");
        assert!(report.has_errors(), "{pattern}");
    }
}

#[test]
fn one_name_with_two_types_cannot_be_compared_with_one_value() {
    let design = |second: &str| {
        format!(
            r#"
[table.app]
partition_key = "PK"
sort_key = "SK"
[entity.A]
PK = "OWNER#{{owner:token}}"
SK = "A#{{id:token}}"
[entity.A.fields]
size = "u32"
[entity.B]
PK = "OWNER#{{owner:token}}"
SK = "B#{{id:token}}"
[entity.B.fields]
size = "{second}"
[access."large"]
find = ["A", "B"]
where = "owner = ? and size > ?"
"#
        )
    };
    let wrong = |second: &str| check_text("test.toml", &design(second), &Prices::default());
    for second in ["string", "datetime", "bool"] {
        let report = wrong(second);
        assert!(report.findings.iter().any(|f| f.rule == "D06"), "{second}: {:?}", report.findings);
    }
    for second in ["u32", "u64", "number"] {
        assert!(wrong(second).is_whole, "{second}");
    }
}
