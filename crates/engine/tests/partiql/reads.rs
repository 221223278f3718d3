//! SELECT from tables.

use serde_json::{Value, json};

use super::{Fixture, n, s};

fn filled() -> Fixture {
    let f = Fixture::new();
    for (pk, sk, flag) in [
        ("o", "1", "one"),
        ("o", "2", "two"),
        ("o", "3", "one"),
        ("p", "1", "one"),
        ("p", "2", "two"),
    ] {
        f.seed(pk, sk, json!({ "flag": s(flag) }));
    }
    f
}

#[test]
fn key_conditions_and_filters_select_rows() {
    let f = filled();
    for (condition, expected) in [
        ("pk = 'o'", vec!["1", "2", "3"]),
        ("pk = 'o' AND sk = '2'", vec!["2"]),
        ("pk = 'o' AND sk = '9'", vec![]),
        ("pk = 'o' AND sk > '1' AND sk <= '3'", vec!["2", "3"]),
        ("pk = 'o' AND sk BETWEEN '2' AND '3'", vec!["2", "3"]),
        ("pk = 'o' AND begins_with(sk, '2')", vec!["2"]),
        ("pk = 'o' AND sk IN ('3', '1')", vec!["1", "3"]),
        ("pk = 'o' AND sk = '1' AND sk > '0'", vec!["1"]),
        ("pk = 'o' AND sk = '1' AND sk > '1'", vec![]),
        ("pk = 'o' AND flag = 'one'", vec!["1", "3"]),
        ("pk = 'o' AND sk = '2' AND flag = 'one'", vec![]),
        ("pk = 'o' AND (sk = '1' OR sk = '3')", vec!["1", "3"]),
        ("pk = 'o' AND (sk < '2' OR sk > '2' OR sk = '2')", vec!["1", "2", "3"]),
        ("pk = 'o' AND sk <> '1'", vec!["2", "3"]),
        ("pk = 'o' AND NOT sk = '1'", vec!["2", "3"]),
        ("pk = 'o' AND pk = 'p'", vec![]),
        ("pk = 'o' AND attribute_exists(pk)", vec!["1", "2", "3"]),
        ("(pk = 'o' AND sk = '1') OR (pk = 'p' AND sk = '2')", vec!["1", "2"]),
        ("flag = 'two'", vec!["2", "2"]),
        ("pk = 'p' OR sk = '3'", vec!["1", "2", "3"]),
        ("pk > 1", vec![]),
    ] {
        let mut keys = f.sort_keys(&format!("SELECT * FROM music WHERE {condition}"));
        keys.sort();
        assert_eq!(keys, expected, "{condition}");
    }
    assert_eq!(f.run("SELECT * FROM music").len(), 5);
}

#[test]
fn alternatives_with_a_negated_sort_key_are_read_once() {
    let f = filled();
    for (left, expected) in [
        ("pk = 'o' AND NOT sk = '1'", vec!["2", "3"]),
        ("pk = 'o' AND sk <> '1'", vec!["2", "3"]),
        ("pk = 'o' AND NOT begins_with(sk, 'x')", vec!["1", "2", "3"]),
        ("pk = 'o' AND NOT sk IN ['1', '3']", vec!["2"]),
        ("pk = 'o'", vec!["1", "2", "3"]),
    ] {
        let right =
            if left == "pk = 'o'" { "pk = 'o' AND NOT sk = '1'" } else { "pk = 'o' AND sk = '2'" };
        let keys = f.sort_keys(&format!("SELECT * FROM music WHERE {left} OR {right}"));
        assert_eq!(keys, expected, "{left}");
    }
}

#[test]
fn overlapping_alternatives_are_refused() {
    let f = filled();
    for condition in [
        "pk IN ['o', 'o']",
        "pk = 'o' OR pk = 'o'",
        "pk = 'o' AND (sk > '0' OR sk < '5')",
        "pk = 'o' AND (sk = '1' OR flag = 'two')",
        "(pk = 'o' AND flag = 'one') OR (pk = 'o' AND flag = 'two')",
        "pk = 'o' AND flag <> '1' OR pk = 'o' AND sk = '2'",
    ] {
        assert_eq!(
            f.refused(&format!("SELECT * FROM music WHERE {condition}")),
            "Overlapping conditions with range keys are not supported in where clause",
            "{condition}"
        );
    }
}

#[test]
fn keys_are_compared_with_values_of_their_types() {
    let f = filled();
    let refused = |condition: &str| f.refused(&format!("SELECT * FROM music WHERE {condition}"));
    let mismatch = "Key attribute's data type should match its data type in table's schema: Key ";
    assert_eq!(refused("pk = 1"), format!("{mismatch}pk"));
    assert_eq!(refused("pk = 1 OR pk = 'o'"), format!("{mismatch}pk"));
    assert_eq!(refused("pk = 'o' AND sk IN ['1', 2]"), format!("{mismatch}sk"));
    assert_eq!(
        refused("pk = null"),
        "Key value must be of type S, N, or B. Key name: pk, Key type: NULL"
    );
    assert_eq!(
        refused("pk = ''"),
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot \
         contain an empty string value. Key: pk"
    );
    assert_eq!(
        refused("pk.x = 'o'"),
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: \
         Key pk"
    );
    let list: Vec<_> = (0..51).map(|v| format!("'{v}'")).collect();
    let too_many = "Too many decomposed read operations for a given query.";
    assert_eq!(refused(&format!("pk IN [{}]", list.join(","))), too_many);
}

#[test]
fn columns_are_shown_under_their_last_name() {
    let f = Fixture::new();
    f.seed(
        "c",
        "1",
        json!({ "m": { "M": { "k": { "L": [s("x"), s("y")] } } }, "l": { "L": [n(7)] } }),
    );
    let row =
        |columns: &str| f.run(&format!("SELECT {columns} FROM music WHERE pk = 'c'"))[0].clone();
    assert_eq!(row("m.k[1], l[0], nope"), json!({ "k[1]": s("y"), "l[0]": n(7) }));
    assert_eq!(row("l[-0]"), json!({ "l[0]": n(7) }));
    assert_eq!(row("pk, \"sk\""), json!({ "pk": s("c"), "sk": s("1") }));
    assert_eq!(row("nope"), json!({}));
}

#[test]
fn rows_come_in_the_order_asked_for() {
    let f = filled();
    let keys = |clause: &str| {
        let rows = f.run(&format!("SELECT pk, sk FROM music WHERE {clause}"));
        let text = |row: &Value| {
            format!("{}{}", row["pk"]["S"].as_str().unwrap(), row["sk"]["S"].as_str().unwrap())
        };
        rows.iter().map(text).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys("pk = 'o'"), "o1 o2 o3");
    assert_eq!(keys("pk = 'o' ORDER BY sk"), "o1 o2 o3");
    assert_eq!(keys("pk = 'o' ORDER BY sk DESC"), "o3 o2 o1");
    assert_eq!(keys("pk = 'o' ORDER BY pk ASC"), "o3 o2 o1");
    assert_eq!(keys("pk IN ['o', 'p'] ORDER BY pk DESC, sk ASC"), "p1 p2 o1 o2 o3");
    assert_eq!(keys("pk IN ['p', 'o'] ORDER BY pk ASC"), "o3 o2 o1 p2 p1");
    assert_eq!(keys("pk = 'o' AND sk IN ['1', '3'] ORDER BY sk DESC"), "o3 o1");
}

#[test]
fn an_order_that_keys_do_not_have_is_refused() {
    let f = filled();
    for (clause, expected) in [
        ("ORDER BY sk", "Must have WHERE clause in the statement when using ORDER BY clause."),
        (
            "WHERE pk = 'o' ORDER BY Total DESC",
            "Attribute Total in ORDER BY clause must be part of the primary key",
        ),
        (
            "WHERE pk > 'a' ORDER BY sk",
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.",
        ),
        (
            "WHERE pk IN ['o', 'p'] ORDER BY sk DESC",
            "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause.",
        ),
    ] {
        assert_eq!(f.refused(&format!("SELECT sk FROM music {clause}")), expected, "{clause}");
    }
}

#[test]
fn statements_are_judged_before_their_tables() {
    let f = Fixture::new();
    assert_eq!(f.code("SELECT * FROM nope WHERE pk = 'x'"), "ResourceNotFoundException");
    assert_eq!(f.refused("SELECT COUNT(*) FROM nope"), "Unexpected path component at 1:8:5");
    assert_eq!(
        f.refused("SELECT * FROM nope WHERE a < true"),
        "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"
    );
    assert_eq!(
        f.refused("SELECT * FROM nope WHERE"),
        "Statement wasn't well formed, can't be processed: Unexpected term"
    );
    assert_eq!(
        f.refused("EXISTS(SELECT * FROM music WHERE pk = 'a' AND sk = '1' AND x IS MISSING)"),
        "EXISTS can only be used in ExecuteTransaction write requests."
    );
}

#[test]
fn comparisons_agree_with_expressions_for_every_type() {
    let f = Fixture::new();
    for (name, stored, permuted, matches) in [
        ("ss", json!({ "SS": ["a", "b"] }), json!({ "SS": ["b", "a"] }), true),
        ("ns", json!({ "NS": ["1", "2"] }), json!({ "NS": ["2.0", "1"] }), true),
        ("bs", json!({ "BS": ["AQ==", "Ag=="] }), json!({ "BS": ["Ag==", "AQ=="] }), true),
        ("l", json!({ "L": [s("a"), s("b")] }), json!({ "L": [s("b"), s("a")] }), false),
        (
            "m",
            json!({ "M": { "x": n(1), "y": n(2) } }),
            json!({ "M": { "y": n(2), "x": n(1) } }),
            true,
        ),
        ("b", json!({ "B": "AQID" }), json!({ "B": "AQIE" }), false),
        ("null", json!({ "NULL": true }), s("x"), false),
    ] {
        f.put("flat", json!({ "pk": s(name), "val": stored }));
        for (operator, value, expected) in [
            ("=", &stored, true),
            ("<>", &stored, false),
            ("=", &permuted, matches),
            ("<>", &permuted, !matches),
        ] {
            let reply = f.ok(
                "ExecuteStatement",
                json!({
                    "Statement": format!("SELECT pk FROM flat WHERE pk = ? AND val {operator} ?"),
                    "Parameters": [s(name), value],
                }),
            );
            assert_eq!(
                reply["Items"].as_array().unwrap().len() == 1,
                expected,
                "{name} {operator}"
            );
        }
    }
}
