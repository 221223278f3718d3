//! AWS's messages for well-formed but invalid expressions, and for invalid names and values.

use super::{bindings, try_bindings};
use crate::error::Error;
use crate::expr::{Bindings, undecodable_value};

/// Expression, names, values and message.
type Table<'a> = &'a [(&'a str, &'a str, &'a str, &'a str)];

fn message<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().message()
}

fn check_conditions(table: Table<'_>) {
    for (text, names, values, expected) in table {
        let found = message(bindings(names, values).filter(text));
        assert_eq!(found, format!("Invalid FilterExpression: {expected}"), "{text}");
    }
}

fn check_updates(table: Table<'_>) {
    for (text, names, values, expected) in table {
        let found = message(bindings(names, values).update(text));
        assert_eq!(found, format!("Invalid UpdateExpression: {expected}"), "{text}");
    }
}

#[test]
fn functions_and_reserved_words_in_conditions() {
    check_conditions(&[
        ("a=a and f((:b)) > ((a))", "", "", "The expression has redundant parentheses;"),
        ("a=a and whatever((:things)) > a", "", "", "Invalid function name; function: whatever"),
        (
            "attRIbute_exIsts((views), #a)",
            "",
            "",
            "Invalid function name; function: attRIbute_exIsts",
        ),
        (
            "if_not_exists(a, a) = :b",
            "",
            "",
            "The function is not allowed in a condition expression; function: if_not_exists",
        ),
        (
            "attribute_exists(views, #a)",
            "",
            "",
            "Attribute name is a reserved keyword; reserved keyword: views",
        ),
        (":a < abOrT", "", "", "Attribute name is a reserved keyword; reserved keyword: abOrT"),
        (
            "a[2147483648] = :b",
            "",
            "",
            "List index is not within the allowable range; index: [2147483648]",
        ),
    ]);
    for (text, function) in [
        ("a=a and attribute_exists((views), (#a)) > b", "attribute_exists"),
        ("attribute_type(things, :a) > b", "attribute_type"),
        ("size(contains(a, b)) > a", "contains"),
        ("size(things)", "size"),
        ("NOT (size(things))", "size"),
        ("a between b and attribute_exists(things)", "attribute_exists"),
        ("a in (b, attribute_exists(things))", "attribute_exists"),
    ] {
        let expected = format!(
            "The function is not allowed to be used this way in an expression; function: {function}"
        );
        check_conditions(&[(text, "", "", &expected)]);
    }
}

#[test]
fn undefined_names_and_values_in_conditions() {
    for (text, name) in [
        ("attribute_exists(#Pictures.RearView, :a) and a=a", "#Pictures"),
        ("begins_with(Pictures.#RearView)", "#RearView"),
        ("(#P between :lo and :hi) and (#PC in (:cat1, :cat2))", "#P"),
        ("(a)between(b.c[45].#d)and(:a)", "#d"),
    ] {
        let expected = format!(
            "An expression attribute name used in the document path is not defined; \
             attribute name: {name}"
        );
        check_conditions(&[(text, "", "", &expected)]);
    }
    for (text, name) in [("begins_with(:hello, #a, #b)", ":hello"), (":a < :b", ":a")] {
        let expected = format!(
            "An expression attribute value used in expression is not defined; \
             attribute value: {name}"
        );
        check_conditions(&[(text, "", "", &expected)]);
    }
}

#[test]
fn operands_of_conditions() {
    for (text, operator, count) in [
        ("attribute_exists(things, a) and a=a", "attribute_exists", 2),
        ("attribute_type(things)", "attribute_type", 1),
        ("begins_with(things, size(a), b)", "begins_with", 3),
        ("contains(things)", "contains", 1),
        ("size(things, a) > b", "size", 2),
    ] {
        let expected = format!(
            "Incorrect number of operands for operator or function; \
             operator or function: {operator}, number of operands: {count}"
        );
        check_conditions(&[(text, "", "", &expected)]);
    }
    for (text, operator, values, kind) in [
        ("attribute_type(a, b)", "attribute_type", "", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"),
        ("attribute_type(a, size(b)) and a=a", "attribute_type", "", "N"),
        ("attribute_type(a, :a)", "attribute_type", r#"{":a": 1}"#, "N"),
        ("begins_with(a, size(b)) and a=:a", "begins_with", r#"{":a": 1}"#, "N"),
        ("begins_with(:a, a)", "begins_with", r#"{":a": {"$ss": ["x"]}}"#, "SS"),
        ("begins_with(a, :a)", "begins_with", r#"{":a": null}"#, "NULL"),
        ("size(size(a)) > :a", "size", r#"{":a": 1}"#, "N"),
        ("attribute_not_exists(size(:a))", "size", r#"{":a": 1}"#, "N"),
        ("size(:a) > a", "size", r#"{":a": true}"#, "BOOL"),
        ("a < :a", "<", r#"{":a": [1]}"#, "L"),
        (":a >= a", ">=", r#"{":a": false}"#, "BOOL"),
        ("a BETWEEN :a AND :b", "BETWEEN", r#"{":a": [1], ":b": [2]}"#, "L"),
    ] {
        let expected = format!(
            "Incorrect operand type for operator or function; \
             operator or function: {operator}, operand type: {kind}"
        );
        check_conditions(&[(text, "", values, &expected)]);
    }
    check_conditions(&[
        (
            "attribute_type(a, :a)",
            "",
            r#"{":a": "1"}"#,
            "Invalid attribute type name found; type: 1, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
        ),
        (
            "attribute_exists(:a) and a=a",
            "",
            r#"{":a": "1"}"#,
            "Operator or function requires a document path; operator or function: attribute_exists",
        ),
        (
            "attribute_not_exists(size(:a))",
            "",
            r#"{":a": "1"}"#,
            "Operator or function requires a document path; \
             operator or function: attribute_not_exists",
        ),
    ]);
}

#[test]
fn operands_that_must_differ_or_be_in_order() {
    for (text, operator, first) in [
        ("a = a AND #a = b AND :views > a", "=", "[a]"),
        ("#a <> a", "<>", "[a]"),
        ("((a=a) OR (a=a))", "=", "[a]"),
        ("contains(ab.bc[1].a, ab.bc[1].#a)", "contains", "[ab, bc, [1], a]"),
        ("attribute_type(ab.bc[1].#a, ab.bc[1].a)", "attribute_type", "[ab, bc, [1], a]"),
        ("a IN (b, #a)", "IN", "[a]"),
    ] {
        let expected = format!(
            "The first operand must be distinct from the remaining operands for this operator or \
             function; operator: {operator}, first operand: {first}"
        );
        check_conditions(&[(text, "#a=a", "", &expected)]);
    }
    check_conditions(&[
        (
            "a between :b and :a",
            "",
            r#"{":a": "a", ":b": 1}"#,
            "The BETWEEN operator requires same data type for lower and upper bounds; \
             lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:a}",
        ),
        (
            "a between :b and :a",
            "",
            r#"{":a": "a", ":b": "b"}"#,
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; \
             lower bound operand: AttributeValue: {S:b}, upper bound operand: AttributeValue: {S:a}",
        ),
    ]);
    assert!(bindings("", r#"{":a": 1}"#).filter(":a = :a").is_ok(), "values may come again");
}

#[test]
fn in_takes_100_candidates() {
    let list = |count: usize| vec![":a"; count].join(",");
    let values = r#"{":a": 1}"#;
    assert!(bindings("", values).filter(&format!("a IN ({})", list(100))).is_ok());
    let refused = "The IN operator is provided with too many operands; number of operands: 101";
    check_conditions(&[(&format!("a IN ({})", list(101)), "", values, refused)]);
}

#[test]
fn names_functions_and_sections_of_updates() {
    let two = r#"{":a": "a", ":b": "a"}"#;
    check_updates(&[
        (
            " set #c = :c set abOrt = true ",
            "",
            "",
            "Attribute name is a reserved keyword; reserved keyword: abOrt",
        ),
        (
            "set #c = if_not_exist(:c) set c = d",
            "",
            "",
            "Invalid function name; function: if_not_exist",
        ),
        (
            "set a = size(b)",
            "",
            "",
            "The function is not allowed in an update expression; function: size",
        ),
        (
            "SET a = list_append(list_append(:a, :b), :c)",
            "",
            "",
            "The function is not allowed to be used this way in an expression; \
             function: list_append",
        ),
        (
            "delete #d :e set a = b delete #e :f",
            "",
            "",
            "The \"DELETE\" section can only be used once in an update expression;",
        ),
        (
            "SET #a = :c REMOVE #d",
            "#a=a",
            two,
            "An expression attribute name used in the document path is not defined; \
             attribute name: #d",
        ),
        (
            "SET #a = if_not_exists(:c)",
            "#a=a",
            two,
            "An expression attribute value used in expression is not defined; attribute value: :c",
        ),
    ]);
}

#[test]
fn paths_of_updates_and_projections_that_clash() {
    let overlap = "Two document paths overlap with each other; \
         must remove or rewrite one of these paths; path one:";
    let conflict = "Two document paths conflict with each other; \
         must remove or rewrite one of these paths; path one:";
    let names = "#a=a #c=c #d=[3]";
    for (text, kind, one, two) in [
        ("set d[1] = a, d.b = a, c[1].a = a, #c = if_not_exists(a)", overlap, "[c, [1], a]", "[c]"),
        ("set #c[3].#d = a, #c[3] = a", overlap, "[c, [3], [3]]", "[c, [3]]"),
        ("SET a = :v REMOVE a", overlap, "[a]", "[a]"),
        ("SET a = :v, a.b = :v", overlap, "[a]", "[a, b]"),
        (
            "set #c[3].#d = a, #c.#d[3] = if_not_exists(a)",
            conflict,
            "[c, [3], [3]]",
            "[c, [3], [3]]",
        ),
        ("remove a.#c set a[1] = #d", conflict, "[a, c]", "[a, [1]]"),
    ] {
        let expected = format!("{kind} {one}, path two: {two}");
        check_updates(&[(text, names, r#"{":v": 1}"#, &expected)]);
    }
    for (text, kind, one, two) in [
        ("b[1], b.a, #a.b, a", overlap, "[a, b]", "[a]"),
        ("a, #a[1]", overlap, "[a]", "[a, [1]]"),
        ("a.b[1], #a[1], #c", conflict, "[a, b, [1]]", "[a, [1]]"),
    ] {
        let found = message(bindings(names, "").projection(text));
        let expected = format!("Invalid ProjectionExpression: {kind} {one}, path two: {two}");
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn operands_of_updates() {
    for (text, value, action, kind) in [
        ("set b = list_append(:a, a), c = if_not_exists(a) add a.b :a", "\"a\"", "ADD", "STRING"),
        ("delete a.b :a", "null", "DELETE", "NULL"),
        ("add a.b :a", "true", "ADD", "BOOLEAN"),
        ("add a.b :a", "{\"$b\": \"a\"}", "ADD", "BINARY"),
        ("add a.b :a", "{\"x\": 1}", "ADD", "MAP"),
        ("delete a.b :a", "[1]", "DELETE", "LIST"),
        ("delete a.b :a", "1", "DELETE", "NUMBER"),
    ] {
        let expected = format!(
            "Incorrect operand type for operator or function; operator: {action}, \
             operand type: {kind}, typeSet: ALLOWED_FOR_{action}_OPERAND"
        );
        check_updates(&[(text, "", &format!("{{\":a\": {value}}}"), &expected)]);
    }
    let values = r#"{":a": "a", ":b": 1, ":i": {}, ":j": []}"#;
    check_updates(&[
        (
            "set a = if_not_exists(c)",
            "",
            "",
            "Incorrect number of operands for operator or function; \
             operator or function: if_not_exists, number of operands: 1",
        ),
        (
            "set a = list_append(b, c, d)",
            "",
            "",
            "Incorrect number of operands for operator or function; \
             operator or function: list_append, number of operands: 3",
        ),
        (
            "set a = if_not_exists(if_not_exists(a, b), c)",
            "",
            "",
            "Operator or function requires a document path; operator or function: if_not_exists",
        ),
        (
            "set a = list_append(a, :b)",
            "",
            values,
            "Incorrect operand type for operator or function; \
             operator or function: list_append, operand type: N",
        ),
        (
            "set a = :a + :i",
            "",
            values,
            "Incorrect operand type for operator or function; \
             operator or function: +, operand type: S",
        ),
        (
            "set a = a - :j",
            "",
            values,
            "Incorrect operand type for operator or function; \
             operator or function: -, operand type: L",
        ),
    ]);
}

#[test]
fn paths_are_at_most_32_deep() {
    let path = |depth: usize| format!("a{}", ".a".repeat(depth - 1));
    assert!(bindings("", "").projection(&path(32)).is_ok());
    assert_eq!(
        message(bindings("", "").projection(&path(33))),
        "Invalid ProjectionExpression: The document path has too many nesting levels; \
         nesting levels: 33"
    );
}

#[test]
fn names_and_values_must_be_well_formed() {
    let of_names = |names: &[(&str, &str)]| {
        let names = names.iter().map(|(key, name)| ((*key).into(), (*name).into())).collect();
        super::Bindings::new(Some(names), None)
    };
    assert_eq!(message(of_names(&[])), "ExpressionAttributeNames must not be empty");
    for key in ["a", "#", "#a-b", ":a", ""] {
        let expected =
            format!("ExpressionAttributeNames contains invalid key: Syntax error; key: \"{key}\"");
        assert_eq!(message(of_names(&[(key, "a")])), expected);
    }
    assert_eq!(message(try_bindings("", "{}")), "ExpressionAttributeValues must not be empty");
    assert_eq!(
        message(try_bindings("", r#"{"a": 1}"#)),
        "ExpressionAttributeValues contains invalid key: Syntax error; key: \"a\""
    );
}

#[test]
fn unused_names_and_values_are_refused_at_the_end() {
    let mut request = bindings("#a=a #b=b #c=c", r#"{":a": 1, ":b": 2, ":c": 3}"#);
    request.update("SET #b = :b").unwrap();
    request.condition("a = :c").unwrap();
    assert_eq!(
        message(request.clone().finish()),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #c}"
    );
    request.projection("#a, #c").unwrap();
    assert_eq!(
        message(request.clone().finish()),
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:a}"
    );
    request.filter("x <> :a").unwrap();
    request.finish().unwrap();
}

#[test]
fn names_stand_for_names_that_attributes_can_have() {
    let of_name = |name: &str| Bindings::new(Some(vec![("#n".into(), name.into())]), None);
    assert!(of_name(&"n".repeat(65_535)).is_ok());
    for (name, reason) in [
        (String::new(), "Empty attribute name"),
        ("n".repeat(65_536), "Attribute name is too large, must be less than 65536 bytes"),
    ] {
        assert_eq!(
            message(of_name(&name)),
            format!("ExpressionAttributeNames contains invalid value: {reason} for key #n")
        );
    }
}

#[test]
fn a_value_that_cannot_be_decoded_comes_after_the_names_and_its_key() {
    let reason = Error::validation("no value");
    let names = |key: &str| vec![(key.into(), "a".into())];
    for (names, keys, expected) in [
        (
            names("#n"),
            [":a", ":b"],
            "ExpressionAttributeValues contains invalid value: no value for key :b",
        ),
        (
            names("#n"),
            ["a", ":b"],
            "ExpressionAttributeValues contains invalid key: Syntax error; key: \"a\"",
        ),
        (
            names("n"),
            ["a", ":b"],
            "ExpressionAttributeNames contains invalid key: Syntax error; key: \"n\"",
        ),
    ] {
        assert_eq!(undecodable_value(Some(&names), &keys, &reason).message(), expected);
    }
}
