//! Search conditions: equalities, matched with an index's search schema.

use super::super::*;
use crate::schema::{
    DistanceFunction, KeyAttribute, Projection as Projected, ScalarType, SearchElement, SearchRole,
    VectorIndexSchema,
};
use crate::value::AttributeValue;

/// An index with these search attributes: `t` partitions it, the others filter.
fn index(names: &[&str]) -> VectorIndexSchema {
    let element = |name: &&str| SearchElement {
        role: if *name == "t" { SearchRole::Hash } else { SearchRole::InlineFilter },
        attribute: KeyAttribute::new(*name, ScalarType::S),
    };
    VectorIndexSchema {
        name: "index".into(),
        attribute: "v".into(),
        dimensions: 3,
        distance: DistanceFunction::Cosine,
        search: names.iter().map(element).collect(),
        projection: Projected::All,
    }
}

fn resolve(text: Option<&str>, index: &VectorIndexSchema) -> Result<ResolvedSearch, String> {
    let values = vec![
        (":x".into(), AttributeValue::from("x")),
        (":n".into(), AttributeValue::from(1)),
        (":e".into(), AttributeValue::from("")),
    ];
    let mut bindings = Bindings::new(None, Some(values)).unwrap();
    let condition = text.map(|text| bindings.search_condition(text)).transpose();
    condition
        .and_then(|condition| SearchCondition::resolve(condition, index))
        .map_err(|error| error.message())
}

#[test]
fn equalities_become_a_partition_and_filters() {
    let found = resolve(Some("c = :x AND (:x = t)"), &index(&["t", "c"])).unwrap();
    assert_eq!(found.hash.as_deref(), Some(&"x".into()));
    assert_eq!(found.filters.len(), 1);
    assert_eq!(resolve(None, &index(&["c"])), Ok(ResolvedSearch::default()));
}

#[test]
fn everything_else_is_refused() {
    let comparator =
        "Invalid SearchConditionExpression: Invalid comparator used in SearchConditionExpression";
    let in_schema = "SearchConditionExpression must not contain any attributes that is not in \
                     SearchSchema. Invalid attribute: d";
    for (text, message) in [
        (None, "SearchConditionExpression must be provided when SearchSchema has a HASH key"),
        (
            Some("c = :x"),
            "SearchConditionExpression must have all HASH attributes in configured SearchSchema",
        ),
        (Some("t < :x"), comparator),
        (Some("t = :x AND c <> :x"), comparator),
        (Some("t = :x OR c = :x"), comparator),
        (Some("NOT t = :x"), comparator),
        (Some("t IN (:x)"), comparator),
        (Some("t BETWEEN :x AND :x"), comparator),
        (Some("begins_with(t, :x)"), comparator),
        (Some("t = c"), comparator),
        (Some("t = :x AND d = :x"), in_schema),
        (
            Some("t.a = :x"),
            "Invalid SearchConditionExpression: SearchConditionExpression cannot have conditions on \
             nested attributes",
        ),
        (
            Some("t = :x AND t = :n"),
            "Invalid SearchConditionExpression: SearchConditionExpression must only contain one \
             condition per attribute",
        ),
        (
            Some("t = :n"),
            "Type of 't' attribute in SearchConditionExpression (N) does not match type in search \
             schema (S)",
        ),
        (
            Some("t = :e"),
            "One or more parameter values are not valid. The AttributeValue for a key attribute \
             cannot contain an empty string value. Key: t",
        ),
        (
            Some("t = "),
            "Invalid SearchConditionExpression: Syntax error; token: \"<EOF>\", near: \"=\"",
        ),
    ] {
        assert_eq!(resolve(text, &index(&["t", "c"])), Err(message.to_owned()), "{text:?}");
    }
}
