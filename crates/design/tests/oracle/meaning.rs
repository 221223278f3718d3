//! What the oracle itself says, condition by condition, against DynamoDB's rules as they are documented.

use keyloom_design::Design;
use keyloom_design::oracle::{Record, ask};

use crate::case::Case;
use crate::inputs::{Texts, typed};
use serde_json::{Value as Json, json};

/// The type of a field, a condition on it, a value (or none), and whether the condition holds.
const CONDITIONS: &[(&str, &str, &str, bool)] = &[
    // Comparisons need the attribute; `<>` does not.
    ("token", "v = 'a'", "\"a\"", true),
    ("token", "v = 'a'", "null", false),
    ("token", "v <> 'a'", "\"a\"", false),
    ("token", "v <> 'a'", "null", true),
    ("token", "v >= 'a'", "null", false),
    ("token", "v in ('a', 'b')", "\"b\"", true),
    ("token", "v in ('a', 'b')", "null", false),
    ("token", "exists(v)", "null", false),
    ("token", "missing(v)", "null", true),
    ("string", "exists(v)", "\"\"", true),
    // Texts compare by bytes, numbers by size.
    ("string", "v < 'a'", "\"B\"", true),
    ("string", "v > '10'", "\"9\"", true),
    ("u16", "v > 10", "\"9\"", false),
    ("number", "v > 10", "\"9\"", false),
    ("number", "v = 1000", "\"1e3\"", true),
    ("decimal:6.2", "v <= '-1.50'", "\"-10.00\"", true),
    ("bool", "v <> true", "\"false\"", true),
    // A text has parts, a set and a list have elements.
    ("string", "contains(v, 'b')", "\"abc\"", true),
    ("string", "not contains(v, 'b')", "null", true),
    ("string_set", "contains(v, 'a')", r#"{"SS":["ab","b"]}"#, false),
    ("string_set", "contains(v, 'b')", r#"{"SS":["ab","b"]}"#, true),
    ("string_set", "not contains(v, 'a')", r#"{"SS":["ab","b"]}"#, true),
    ("number_set", "contains(v, 1)", r#"{"NS":["10","1"]}"#, true),
    ("number_set", "contains(v, 1)", r#"{"NS":["10"]}"#, false),
    ("list", "contains(v, '1')", r#"{"L":[{"N":"1"}]}"#, false),
    ("list", "contains(v, '1')", r#"{"L":[{"N":"2"},{"S":"1"}]}"#, true),
    // A period holds from its first to its last moment.
    ("datetime", "v = '2024-01-05'", "\"2024-01-05T23:59:59Z\"", true),
    ("datetime", "v <> '2024-01-05'", "\"2024-01-05T10:00:00Z\"", false),
    ("datetime", "v > '2024-01-05'", "\"2024-01-05T10:00:00Z\"", false),
    ("datetime", "v > '2024-01-05'", "\"2024-01-06T00:00:00Z\"", true),
    ("datetime", "v <= '2024-01'", "\"2024-01-31T23:59:59Z\"", true),
    ("datetime", "v < '2024-01-05'", "\"2024-01-05T00:00:00Z\"", false),
    ("epoch_ms", "v = '2024-01-05'", "\"2024-01-05T23:59:59.999Z\"", true),
    ("datetime", "begins_with(v, '2024-01-0')", "\"2024-01-05T00:00:00Z\"", true),
    // A moment is the same however it is written.
    ("datetime:loose", "v = '2024-01-05T10:00:00Z'", "\"2024-01-05T12:00:00+02:00\"", true),
    ("datetime:loose", "v > '2024-01-05T10:00:00Z'", "\"2024-01-05T10:00:00.500Z\"", true),
    ("datetime:loose", "begins_with(v, '2024-01-05T10')", "\"2024-01-05T12:00:00+02:00\"", false),
    // A field that folds case folds what it is compared with.
    ("string:lower", "v = 'A'", "\"a\"", true),
];

#[test]
fn conditions_mean_what_dynamodb_says() {
    for (kind, condition, value, holds) in CONDITIONS {
        let text = format!(
            "[table.app]\npartition_key = \"PK\"\n[entity.E]\nPK = \"E#{{id:token}}\"\n[entity.E.fields]\n\
             v = {{ type = {kind:?}, optional = true }}\n[access.p]\nfind = \"E\"\nwhere = {condition:?}\n"
        );
        let (design, problems) = Design::parse("meaning.toml", &text);
        let design = design.unwrap_or_else(|| panic!("{kind} {condition}: {problems:?}"));
        let mut values = json!({ "id": "a" });
        match serde_json::from_str(value).unwrap() {
            Json::Null => {}
            value => values["v"] = value,
        }
        let rows = json!([{ "entity": "E", "values": values }]);
        let case = json!({ "pattern": "p", "inputs": {}, "rows": rows });
        let records: Vec<Record> = Case::from_json(&case, &design).records(&design);
        let access = design.access("p").unwrap();
        let inputs = typed(access, &Texts::new()).unwrap();
        let answer = ask(access, &inputs, &records).unwrap();
        assert_eq!(answer.hits.len(), usize::from(*holds), "{kind}: {condition} of {value}");
    }
}
