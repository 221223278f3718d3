//! Tests of the legacy parameters, as tables.

use super::*;
use crate::expr::tests::{item, value};
use crate::schema::{KeyAttribute, ScalarType};
use crate::value::Item;

fn condition(operator: ComparisonOperator, values: &str) -> LegacyCondition {
    let AttributeValue::L(values) = value(values) else { panic!("not a list: {values}") };
    LegacyCondition { operator, values }
}

fn named<T>(elements: Vec<(&str, T)>) -> Vec<(Str, T)> {
    elements.into_iter().map(|(name, element)| (name.into(), element)).collect()
}

fn test_item() -> Item {
    item(
        r#"{"n": 2, "s": "hello", "ns": {"$ns": [2, 4]}, "l": [2, "x"], "m": {"a": 1}, "nul": null}"#,
    )
}

#[test]
fn names_on_the_wire_round_trip() {
    for operator in ComparisonOperator::ALL {
        assert_eq!(ComparisonOperator::from_wire(operator.as_str()), Some(operator));
    }
    assert_eq!(ComparisonOperator::from_wire("eq"), None);
}

#[test]
fn filters_match_by_their_operators() {
    use ComparisonOperator::*;
    for (name, operator, values, expected) in [
        ("n", Eq, "[2]", true),
        ("n", Eq, "[\"2\"]", false),
        ("m", Eq, "[{\"a\": 1}]", true),
        ("ns", Eq, "[{\"$ns\": [4, 2]}]", true),
        ("n", Ne, "[3]", true),
        ("q", Ne, "[3]", true),
        ("q", Eq, "[3]", false),
        ("n", Lt, "[3]", true),
        ("n", Le, "[2]", true),
        ("n", Gt, "[2]", false),
        ("n", Ge, "[2]", true),
        ("n", Between, "[1, 2]", true),
        ("n", Between, "[3, 4]", false),
        ("n", In, "[1, 2, 3]", true),
        ("ns", In, "[2]", false),
        ("nul", NotNull, "[]", true),
        ("q", NotNull, "[]", false),
        ("q", Null, "[]", true),
        ("s", Contains, "[\"ell\"]", true),
        ("l", Contains, "[\"x\"]", true),
        ("ns", NotContains, "[4]", false),
        ("ns", NotContains, "[5]", true),
        ("q", NotContains, "[5]", false),
        ("s", BeginsWith, "[\"he\"]", true),
        ("n", BeginsWith, "[\"he\"]", false),
    ] {
        let conditions = named(vec![(name, condition(operator, values))]);
        let filter = filter(conditions, None).unwrap().unwrap();
        assert_eq!(filter.matches(Some(&test_item())), expected, "{name} {operator:?} {values}");
    }
}

#[test]
fn conditions_are_joined_by_the_operator() {
    let two = || {
        named(vec![
            ("n", condition(ComparisonOperator::Eq, "[2]")),
            ("s", condition(ComparisonOperator::Eq, "[\"x\"]")),
        ])
    };
    for (operator, expected) in [
        (None, false),
        (Some(ConditionalOperator::And), false),
        (Some(ConditionalOperator::Or), true),
    ] {
        let filter = filter(two(), operator).unwrap().unwrap();
        assert_eq!(filter.matches(Some(&test_item())), expected, "{operator:?}");
    }
    assert_eq!(filter(Vec::new(), None), Ok(None));
}

#[test]
fn a_conditional_operator_needs_two_conditions() {
    let and = Some(ConditionalOperator::And);
    let message = |count| check_conditional_operator(and, count).map_err(|error| error.message());
    assert_eq!(
        message(None),
        Err("ConditionalOperator cannot be used without Filter or Expected".into())
    );
    assert_eq!(
        message(Some(1)),
        Err(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
                .into()
        )
    );
    assert_eq!(message(Some(2)), Ok(()));
    assert!(check_conditional_operator(None, None).is_ok());
}

#[test]
fn malformed_conditions_are_refused() {
    use ComparisonOperator::*;
    let invalid = "One or more parameter values were invalid:";
    let count = |operator: &str| {
        format!("{invalid} Invalid number of argument(s) for the {operator} ComparisonOperator")
    };
    let kind = |operator: &str, kind: &str| {
        format!(
            "{invalid} ComparisonOperator {operator} is not valid for {kind} AttributeValue type"
        )
    };
    for (operator, values, expected) in [
        (Eq, "[]", count("EQ")),
        (Null, "[1]", count("NULL")),
        (In, "[]", count("IN")),
        (Between, "[1]", count("BETWEEN")),
        (Between, "[1, 2, 3]", count("BETWEEN")),
        (
            In,
            "[1, \"x\"]",
            format!("{invalid} AttributeValues inside AttributeValueList must be of same type"),
        ),
        (Contains, "[[1]]", kind("CONTAINS", "L")),
        (Lt, "[true]", kind("LT", "BOOL")),
        (BeginsWith, "[1]", kind("BEGINS_WITH", "N")),
        (In, "[{\"$ss\": [\"a\"]}]", kind("IN", "SS")),
        (
            Between,
            "[2, 1]",
            "The BETWEEN condition was provided a range where the lower bound is greater than the \
             upper bound"
                .into(),
        ),
    ] {
        let conditions = || named(vec![("a", condition(operator, values))]);
        let found = filter(conditions(), None).unwrap_err().message();
        assert_eq!(found, expected, "{operator:?} {values}");
        assert_eq!(key_conditions(conditions()).unwrap_err().message(), expected);
    }
}

#[test]
fn expected_attributes_match_by_their_members() {
    let some = |json: &str| Some(value(json));
    for (name, attribute, holds) in [
        ("n", ExpectedAttribute { value: some("2"), ..Default::default() }, true),
        (
            "n",
            ExpectedAttribute { exists: Some(true), value: some("3"), ..Default::default() },
            false,
        ),
        ("n", ExpectedAttribute { exists: Some(false), ..Default::default() }, false),
        ("q", ExpectedAttribute { exists: Some(false), ..Default::default() }, true),
        (
            "n",
            ExpectedAttribute {
                operator: Some(ComparisonOperator::Ge),
                value: some("2"),
                ..Default::default()
            },
            true,
        ),
        (
            "n",
            ExpectedAttribute {
                operator: Some(ComparisonOperator::Between),
                values: Some(vec![value("5"), value("6")]),
                ..Default::default()
            },
            false,
        ),
    ] {
        let condition = expected(named(vec![(name, attribute.clone())]), None).unwrap().unwrap();
        assert_eq!(condition.matches(Some(&test_item())), holds, "{attribute:?}");
    }
}

#[test]
fn contradictory_expected_attributes_are_refused() {
    let attribute = ExpectedAttribute::default;
    let one = || Some(value("1"));
    let lt = Some(ComparisonOperator::Lt);
    for (attribute, expected_message) in [
        (attribute(), "Value must be provided when Exists is null for Attribute: a"),
        (
            ExpectedAttribute { exists: Some(true), ..attribute() },
            "Value must be provided when Exists is true for Attribute: a",
        ),
        (
            ExpectedAttribute { exists: Some(false), value: one(), ..attribute() },
            "Value cannot be used when Exists is false for Attribute: a",
        ),
        (
            ExpectedAttribute { operator: lt, ..attribute() },
            "Value or AttributeValueList must be used with ComparisonOperator: LT for Attribute: a",
        ),
        (
            ExpectedAttribute { operator: lt, exists: Some(true), ..attribute() },
            "Exists and ComparisonOperator cannot be used together for Attribute: a",
        ),
        (
            ExpectedAttribute { values: Some(Vec::new()), exists: Some(true), ..attribute() },
            "AttributeValueList can only be used with a ComparisonOperator for Attribute: a",
        ),
        (
            ExpectedAttribute { values: Some(Vec::new()), value: one(), ..attribute() },
            "Value and AttributeValueList cannot be used together for Attribute: a",
        ),
        (
            ExpectedAttribute {
                operator: Some(ComparisonOperator::Null),
                value: one(),
                ..attribute()
            },
            "Invalid number of argument(s) for the NULL ComparisonOperator",
        ),
    ] {
        let found = expected(named(vec![("a", attribute)]), None).unwrap_err().message();
        assert_eq!(found, format!("One or more parameter values were invalid: {expected_message}"));
    }
}

#[test]
fn key_conditions_search_keys() {
    let hash = [KeyAttribute::new("pk", ScalarType::S)];
    let range = [KeyAttribute::new("sk", ScalarType::N)];
    let resolve = |conditions| {
        key_conditions(named(conditions))
            .and_then(|condition| condition.resolve(&hash, &range))
            .map_err(|error| error.message())
    };
    let found = resolve(vec![
        ("pk", condition(ComparisonOperator::Eq, "[\"a\"]")),
        ("sk", condition(ComparisonOperator::Between, "[1, 2]")),
    ])
    .unwrap();
    assert_eq!(found.hash, [value("\"a\"")]);
    assert_eq!(found.range, Some(KeyOperator::Between(value("1"), value("2"))));
    assert_eq!(
        resolve(vec![
            ("pk", condition(ComparisonOperator::Eq, "[\"a\"]")),
            ("sk", condition(ComparisonOperator::Ne, "[1]")),
        ]),
        Err("Attempted conditional constraint is not an indexable operation".into())
    );
    assert_eq!(resolve(Vec::new()), Err("Conditions can be of length 1 or 2 only".into()));
}

#[test]
fn attributes_to_get_are_distinct() {
    let projection = attributes_to_get(vec!["s".into(), "n".into(), "a.b".into()]).unwrap();
    assert_eq!(projection.apply(&test_item()), item(r#"{"n": 2, "s": "hello"}"#));
    assert_eq!(
        attributes_to_get(vec!["a".into(), "b".into(), "a".into()]).unwrap_err().message(),
        "One or more parameter values were invalid: Duplicate value in attribute name: a"
    );
}

fn update(action: AttributeAction, json: &str) -> AttributeUpdate {
    AttributeUpdate { action, value: (!json.is_empty()).then(|| value(json)) }
}

#[test]
fn attribute_updates_change_items() {
    use AttributeAction::{Add, Delete, Put};
    for (name, change, expected) in [
        ("n", update(Put, "\"x\""), "\"x\""),
        ("n", update(Add, "3"), "5"),
        ("q", update(Add, "3"), "3"),
        ("ns", update(Add, "{\"$ns\": [4, 5]}"), "{\"$ns\": [2, 4, 5]}"),
        ("l", update(Add, "[7]"), "[2, \"x\", 7]"),
        ("ns", update(Delete, "{\"$ns\": [4, 5]}"), "{\"$ns\": [2]}"),
        ("ns", update(Delete, "{\"$ns\": [4, 2]}"), ""),
        ("n", update(Delete, ""), ""),
        ("q", update(Delete, ""), ""),
    ] {
        let update = attribute_updates(named(vec![(name, change.clone())])).unwrap();
        let updated = update.apply(Some(&test_item()), &Item::new()).unwrap();
        let expected = (!expected.is_empty()).then(|| value(expected));
        assert_eq!(updated.get(name), expected.as_ref(), "{name} {change:?}");
    }
}

#[test]
fn contradictory_attribute_updates_are_refused() {
    use AttributeAction::{Add, Delete, Put};
    for (change, expected) in [
        (update(Put, ""), "Only DELETE action is allowed when no attribute value is specified"),
        (update(Add, ""), "Only DELETE action is allowed when no attribute value is specified"),
        (update(Delete, "1"), "DELETE action with value is not supported for the type N"),
        (update(Add, "\"x\""), "ADD action is not supported for the type S"),
    ] {
        let found = attribute_updates(named(vec![("a", change)])).unwrap_err().message();
        assert_eq!(found, format!("One or more parameter values were invalid: {expected}"));
    }
    for (name, change) in [
        ("ns", update(Add, "1")),
        ("ns", update(Add, "{\"$ss\": [\"a\"]}")),
        ("n", update(Delete, "{\"$ns\": [1]}")),
    ] {
        let update = attribute_updates(named(vec![(name, change)])).unwrap();
        let found = update.apply(Some(&test_item()), &Item::new()).unwrap_err().message();
        assert_eq!(found, "Type mismatch for attribute to update");
    }
}

#[test]
fn an_empty_update_creates_an_item() {
    assert!(attribute_updates(Vec::new()).unwrap().creates_item());
    let delete = named(vec![("a", update(AttributeAction::Delete, ""))]);
    assert!(!attribute_updates(delete).unwrap().creates_item());
}

/// Every legacy parameter refuses names that no attribute can have.
#[test]
fn attribute_names_are_neither_empty_nor_too_long() {
    let long = "n".repeat(65_536);
    for (name, reason) in [
        ("", "Empty attribute name"),
        (long.as_str(), "Attribute name is too large, must be less than 65536 bytes"),
    ] {
        let exists = || condition(ComparisonOperator::NotNull, "[]");
        let absent = ExpectedAttribute { exists: Some(false), ..Default::default() };
        let removed = AttributeUpdate { action: AttributeAction::Delete, value: None };
        let refusals = [
            attributes_to_get(vec![name.into()]).err(),
            attribute_updates(named(vec![(name, removed)])).err(),
            expected(named(vec![(name, absent)]), None).err(),
            filter(named(vec![(name, exists())]), None).err(),
            key_conditions(named(vec![(name, exists())])).err(),
        ];
        for refusal in refusals {
            assert_eq!(refusal.unwrap().message(), reason);
        }
    }
}
