//! Key conditions, matched with keys.

use super::super::{KeyOperator, ResolvedKeyCondition};
use super::{bindings, value};
use crate::schema::{KeyAttribute, ScalarType};

const VALUES: &str = r#"{":a": "1", ":b": "2", ":n": 1}"#;

fn resolve(text: &str, hash: &str, range: &str) -> Result<ResolvedKeyCondition, String> {
    let attributes = |names: &str| -> Vec<KeyAttribute> {
        let attribute = |name: &str| match name.strip_suffix(":N") {
            Some(name) => KeyAttribute::new(name, ScalarType::N),
            None => KeyAttribute::new(name, ScalarType::S),
        };
        names.split_whitespace().map(attribute).collect()
    };
    bindings("", VALUES)
        .key_condition(text)
        .and_then(super::super::KeyConditionTree::into_clauses)
        .and_then(|condition| condition.resolve(&attributes(hash), &attributes(range)))
        .map_err(|error| error.message())
}

#[test]
fn clauses_become_ranges() {
    let (a, b) = (value("\"1\""), value("\"2\""));
    let range = |prefix: &[_], range| ResolvedKeyCondition {
        hash: vec![a.clone()],
        range_prefix: prefix.to_vec(),
        range,
    };
    for (text, expected) in [
        ("pk = :a", range(&[], None)),
        (":a = pk", range(&[], None)),
        ("(pk = :a) AND (sk = :b)", range(std::slice::from_ref(&b), None)),
        ("sk < :b AND pk = :a", range(&[], Some(KeyOperator::Less(b.clone())))),
        ("pk = :a AND :b < sk", range(&[], Some(KeyOperator::Greater(b.clone())))),
        ("pk = :a AND :b >= sk", range(&[], Some(KeyOperator::LessOrEqual(b.clone())))),
        (
            "(pk = :a AND (sk BETWEEN :a AND :b))",
            range(&[], Some(KeyOperator::Between(a.clone(), b.clone()))),
        ),
        ("pk = :a AND begins_with(sk, :b)", range(&[], Some(KeyOperator::BeginsWith(b.clone())))),
    ] {
        assert_eq!(resolve(text, "pk", "sk"), Ok(expected), "{text}");
    }
}

#[test]
fn only_clauses_on_one_attribute_and_a_value_are_key_conditions() {
    let operator = "Invalid operator used in KeyConditionExpression:";
    let nested_operation = "KeyConditionExpressions cannot contain nested operations";
    let nested_attribute = "KeyConditionExpressions cannot have conditions on nested attributes";
    let condition = "Invalid condition in KeyConditionExpression:";
    let repeated = "KeyConditionExpressions must only contain one condition per key";
    for (text, expected) in [
        ("a > b and size(b) > c or a > c", format!("{operator} OR")),
        ("a in (b, size(c), d)", format!("{operator} IN")),
        ("attribute_exists(a)", format!("{operator} attribute_exists")),
        ("contains(a.d, b)", format!("{operator} contains")),
        ("not a > b", format!("{operator} NOT")),
        ("a <> b", format!("{operator} <>")),
        (
            ":a between size(b) and size(a) and b > :b",
            format!(
                "{condition} BETWEEN operator must have the key attribute as its first operand"
            ),
        ),
        (
            "begins_with(:a, b) and a > :b",
            format!(
                "{condition} begins_with operator must have the key attribute as its first operand"
            ),
        ),
        ("size(b) > a AND a.b > b AND b > c", nested_operation.into()),
        ("a > size(b.d)", nested_operation.into()),
        ("a between size(b) and size(c)", nested_operation.into()),
        ("b > a.b", format!("{condition} Multiple attribute names used in one condition")),
        (
            "a between b and size(c)",
            format!("{condition} Multiple attribute names used in one condition"),
        ),
        (
            "begins_with(a, b)",
            format!("{condition} Multiple attribute names used in one condition"),
        ),
        ("b.d > a AND c.d > e.f", nested_attribute.into()),
        ("b[0] > a", nested_attribute.into()),
        (":b > :a AND a < :b", format!("{condition} No key attribute specified")),
        ("b > :a AND b < :a and c = :a and d = :a", repeated.into()),
        ("(a > :a and b > :a) and (b > :a and c > :a)", repeated.into()),
    ] {
        assert_eq!(resolve(text, "pk", "sk"), Err(expected), "{text}");
    }
}

#[test]
fn clauses_must_fit_the_key() {
    let missed = |name: &str| format!("Query condition missed key schema element: {name}");
    let not_supported = "Query key condition not supported".to_owned();
    let wrong_type = "One or more parameter values were invalid: \
         Condition parameter type does not match schema type"
        .to_owned();
    for (text, hash, range, expected) in [
        ("sk = :a", "pk", "sk", missed("pk")),
        ("attr1 = :a", "pk", "sk", missed("pk")),
        ("pk = :a AND x = :b", "pk", "sk", missed("sk")),
        ("pk = :a AND x = :b", "pk", "", not_supported.clone()),
        ("pk > :a", "pk", "sk", not_supported.clone()),
        ("begins_with(pk, :a)", "pk", "sk", not_supported.clone()),
        ("pk = :n", "pk", "sk", wrong_type.clone()),
        ("pk = :a AND sk = :n", "pk", "sk", wrong_type.clone()),
        ("pk = :a AND begins_with(sk, :a)", "pk", "sk:N", wrong_type),
        (
            "pk = :a AND sk = :b AND x = :b",
            "pk",
            "sk",
            "Conditions can be of length 1 or 2 only".to_owned(),
        ),
        (
            "pk = :a AND begins_with(sk, :n)",
            "pk",
            "sk:N",
            "Invalid KeyConditionExpression: Incorrect operand type for operator or function; \
             operator or function: begins_with, operand type: N"
                .to_owned(),
        ),
    ] {
        assert_eq!(resolve(text, hash, range), Err(expected), "{text}");
    }
}

#[test]
fn keys_of_several_attributes_are_matched_from_the_left() {
    let (hash, range) = ("h i", "a b c:N");
    let found = resolve("b < :b AND i = :b AND a = :a AND h = :a", hash, range).unwrap();
    assert_eq!(found.hash, [value("\"1\""), value("\"2\"")]);
    assert_eq!(found.range_prefix, [value("\"1\"")]);
    assert_eq!(found.range, Some(KeyOperator::Less(value("\"2\""))));
    let all = resolve("h = :a AND i = :a AND a = :a AND b = :a AND c = :n", hash, range).unwrap();
    assert_eq!((all.range_prefix.len(), all.range), (3, None));

    let gap = |missing: &str, present: &str| {
        format!(
            "RANGE key attributes {missing} must have equality conditions specified in the query \
             because a condition is present on key attribute {present}"
        )
    };
    let no_equality = |missing: &str| {
        format!(
            "HASH key attributes {missing} must have equality conditions specified in the query"
        )
    };
    for (text, expected) in [
        ("h = :a AND a = :a", no_equality("i")),
        ("h = :a AND i > :a", no_equality("i")),
        ("a = :a", no_equality("h, i")),
        ("h = :a AND i = :a AND a = :a AND c = :n", gap("b", "c")),
        ("h = :a AND i = :a AND a > :a AND b = :a", gap("a", "b")),
        ("h = :a AND i = :a AND c = :n", gap("a, b", "c")),
        ("h = :a AND i = :a AND x = :a", "Query condition missed key schema element: a".to_owned()),
    ] {
        assert_eq!(resolve(text, hash, range), Err(expected), "{text}");
    }
}
