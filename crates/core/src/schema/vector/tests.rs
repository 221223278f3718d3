//! Vector indexes: refusals and their messages, and the content of entries.

use super::*;
use crate::capacity::{vector_search_bytes, vector_write_bytes};
use crate::schema::definition::*;
use crate::schema::{KeyContext, KeySchema, ScalarType};

fn search(elements: &[(&str, &str)]) -> Option<Vec<SearchElementDefinition>> {
    let element = |&(name, role): &(&str, &str)| SearchElementDefinition {
        name: Some(name.into()),
        role: Some(role.into()),
    };
    (!elements.is_empty()).then(|| elements.iter().map(element).collect())
}

fn index(name: &str, dimensions: i64, elements: &[(&str, &str)]) -> VectorIndexDefinition {
    VectorIndexDefinition {
        name: Some(name.into()),
        attribute: Some(VectorAttributeDefinition { name: Some("v".into()) }),
        dimensions: Some(dimensions),
        distance: Some("COSINE".into()),
        search: search(elements),
        projection: Some(ProjectionDefinition { kind: Some("KEYS_ONLY".into()), attributes: None }),
    }
}

fn table(attributes: &[&str], indexes: Vec<VectorIndexDefinition>) -> TableDefinition {
    TableDefinition {
        name: Some("table".into()),
        key: Some(vec![KeyElement::new("pk", "HASH")]),
        attributes: Some(
            attributes.iter().map(|name| AttributeDefinition::new(*name, "S")).collect(),
        ),
        vector: Some(indexes),
        ..TableDefinition::default()
    }
}

const INVALID: &str = "One or more parameter values were invalid: ";

#[test]
fn definitions_are_refused_with_awss_messages() {
    let refusal = |attributes: &[&str], indexes| {
        table(attributes, indexes).into_schema().unwrap_err().message()
    };
    let hash = ("t", "HASH");
    let many = (0..6).map(|n| index(&format!("index-{n}"), 3, &[])).collect();
    for (attributes, indexes, message) in [
        (&["pk"][..], vec![], "List of VectorIndexes is empty"),
        (&["pk"], many, "VectorIndex count exceeds the per-table limit of 5"),
        (
            &["pk"],
            vec![index("abc", 4097, &[])],
            "Number of dimensions must be between 1 and 4096 inclusive.",
        ),
        (
            &["pk"],
            vec![index("abc", 3, &[hash])],
            "One element in SearchSchema is not defined in attribute definitions",
        ),
        (
            &["pk", "t"],
            vec![index("abc", 3, &[hash, ("t", "INLINE_FILTER")])],
            "SearchSchema contains a duplicate AttributeName",
        ),
        (
            &["pk", "t"],
            vec![index("abc", 3, &[hash, ("pk", "HASH")])],
            "Value '2' at 'SearchSchema' failed to satisfy constraint: Member must have HASH count \
             less than or equal to 1",
        ),
        (
            &["pk", "v"],
            vec![index("abc", 3, &[])],
            "Conflicting attribute definition for 'v'. An attribute cannot be defined in \
             AttributeDefinitions when used as a VectorAttribute.",
        ),
        (
            &["pk"],
            vec![index("abc", 3, &[]), index("def", 4, &[])],
            "Conflicting attribute definition for 'v'. All VectorIndexes on the same vector \
             attribute must use the same dimensions.",
        ),
        (&["pk"], vec![index("abc", 3, &[]), index("abc", 3, &[])], "Duplicate index name: abc"),
        (
            &["pk", "t", "u"],
            vec![index("abc", 3, &[hash])],
            "Some AttributeDefinitions are not used. AttributeDefinitions: [pk, t, u], keys used: \
             [pk, t]",
        ),
    ] {
        assert_eq!(refusal(attributes, indexes), format!("{INVALID}{message}"));
    }
}

#[test]
fn an_update_adds_and_removes_an_index_with_its_definitions() {
    let plain =
        TableSchema::new("table", KeySchema::simple(KeyAttribute::new("pk", ScalarType::S), None));
    let definitions = [AttributeDefinition::new("t", "N"), AttributeDefinition::new("x", "S")];
    let added = plain.with_vector_index(&index("abc", 3, &[("t", "HASH")]), &definitions).unwrap();
    assert_eq!(added.attributes.len(), 2, "{:?}", added.attributes);
    assert_eq!(added.vector_index("abc").unwrap().hash().unwrap().kind, ScalarType::N);
    assert_eq!(added.without_vector_index("abc"), plain);
    let refused = |definition: &VectorIndexDefinition| {
        added.with_vector_index(definition, &[]).unwrap_err().message()
    };
    assert_eq!(
        refused(&index("abc", 3, &[])),
        "Attempting to create an index which already exists"
    );
    // The definition must be in this request, even if the table already has it.
    assert_eq!(
        refused(&index("def", 3, &[("t", "HASH")])),
        format!("{INVALID}One element in SearchSchema is not defined in attribute definitions")
    );
    let mut on_key = index("def", 3, &[]);
    on_key.attribute = Some(VectorAttributeDefinition { name: Some("pk".into()) });
    assert_eq!(
        refused(&on_key),
        format!(
            "{INVALID}Attributes cannot be redefined. Please check that your attribute has the \
             same type as previously defined. Existing schema: Schema:[SchemaElement: \
             key{{pk:S:HASH}}] New schema: VectorIndexSchema:[VectorAttribute: key{{pk:L:3}}]"
        )
    );
    let mut full = plain;
    for name in ["one", "two", "three", "four", "five"] {
        full = full.with_vector_index(&index(name, 3, &[]), &[]).unwrap();
    }
    assert_eq!(
        full.with_vector_index(&index("six", 3, &[]), &[]).unwrap_err().message(),
        "Subscriber limit exceeded: Number of vector secondary indexes exceeds per-table limit of 5"
    );
}

/// A table with an index `plain` over `v`, and an index `schema` with partition `t` and filter `c`.
fn documents() -> TableSchema {
    let mut indexes =
        vec![index("schema", 3, &[("t", "HASH"), ("c", "INLINE_FILTER")]), index("plain", 3, &[])];
    if let Some(first) = indexes.first_mut() {
        first.projection = Some(ProjectionDefinition {
            kind: Some("INCLUDE".into()),
            attributes: Some(vec!["title".into()]),
        });
    }
    table(&["pk", "t", "c"], indexes).into_schema().unwrap()
}

fn vector(numbers: &[&str]) -> AttributeValue {
    AttributeValue::L(numbers.iter().map(|text| AttributeValue::N(text.parse().unwrap())).collect())
}

fn item(attributes: &[(&str, AttributeValue)]) -> Item {
    let pk = ("pk", AttributeValue::from("a"));
    attributes.iter().chain([&pk]).map(|(name, value)| (Str::from(*name), value.clone())).collect()
}

#[test]
fn writes_are_refused_with_awss_messages() {
    let schema = documents();
    let refused = |attributes: &[(&str, AttributeValue)]| {
        schema.check_item(&item(attributes), KeyContext::Put).unwrap_err().message()
    };
    let dot = "One or more parameter values were invalid. ";
    let mixed = AttributeValue::L(vec![1.into(), "oops".into(), 0.into()]);
    for (value, message) in [
        (
            vector(&["1", "0"]),
            "Invalid size for parameter v, Expected: 3, Actual: 2 IndexName: plain",
        ),
        (
            mixed,
            "Invalid type for parameter v[1], Expected: 32-bit floating point number, Actual: S. \
             IndexName: plain",
        ),
        (
            "no".into(),
            "Invalid type for parameter v, Expected: 32-bit floating point number list IndexName: \
             plain",
        ),
        (
            vector(&["1E+39", "0", "0"]),
            "Invalid value for parameter v[0], Value: 1E+39 is outside valid range \
             [-3.4028235E38, 3.4028235E38]. IndexName: plain",
        ),
        (
            vector(&["0", "0", "-350000000000000000000000000000000000000"]),
            "Invalid value for parameter v[2], Value: -3.5E+38 is outside valid range \
             [-3.4028235E38, 3.4028235E38]. IndexName: plain",
        ),
    ] {
        assert_eq!(refused(&[("v", value)]), format!("{dot}{message}"));
    }
    for name in ["t", "c"] {
        assert_eq!(
            refused(&[(name, 7.into())]),
            format!(
                "{dot}Attribute '{name}' type mismatch. Expected: S, Actual: N. IndexName: schema"
            )
        );
    }
    assert_eq!(
        refused(&[("t", "".into()), ("v", vector(&["0", "0", "1"]))]),
        "One or more parameter values are not valid. A value specified for a secondary index key is \
         not supported. The AttributeValue for a key attribute cannot contain an empty string \
         value. IndexName: schema, IndexKey: t"
    );
    let fine = item(&[("c", "".into()), ("v", vector(&["0", "1e-50", "3.4e38"]))]);
    assert_eq!(schema.check_item(&fine, KeyContext::Put), Ok(()));
}

#[test]
fn updates_check_only_what_they_change() {
    let schema = documents();
    let bad = item(&[("v", "old".into()), ("t", 1.into())]);
    let mut changed = bad.clone();
    changed.insert("c", "x");
    assert_eq!(schema.check_updated_index_keys(Some(&bad), &changed), Ok(()));
    changed.insert("v", vector(&["1"]));
    assert!(schema.check_updated_index_keys(Some(&bad), &changed).is_err());
    let emptied = item(&[("t", "".into())]);
    assert_eq!(
        schema.check_updated_index_keys(None, &emptied).unwrap_err().message(),
        "One or more parameter values are not valid. The update expression attempted to update a \
         secondary index key to a value that is not supported. The AttributeValue for a key \
         attribute cannot contain an empty string value."
    );
}

#[test]
fn an_entry_holds_the_vector_and_what_the_index_projects() {
    let schema = documents();
    let of = |name: &str| schema.vector_index(name).unwrap();
    let full = item(&[
        ("v", vector(&["0.1", "16777217", "-2"])),
        ("t", "tenant".into()),
        ("c", "x".into()),
        ("title", "T".into()),
        ("price", 1.into()),
    ]);
    let entry = schema.project_vector(&full, of("schema")).unwrap();
    assert_eq!(entry.vector, [0.1, 16_777_216.0, -2.0]);
    let names: Vec<&str> = entry.rest.keys().map(Str::as_str).collect();
    assert_eq!(names, ["c", "pk", "t", "title"]);
    let plain = schema.project_vector(&full, of("plain")).unwrap();
    assert_eq!(plain.rest.keys().map(Str::as_str).collect::<Vec<_>>(), ["pk"]);
    assert_eq!(vector_entry_size(of("plain"), item_size(&plain.rest)), 12 + 1 + 3);
    for (name, without) in [("schema", "t"), ("schema", "v"), ("plain", "v")] {
        let mut partial = full.clone();
        partial.remove(without);
        assert_eq!(schema.project_vector(&partial, of(name)), None, "{name} without {without}");
    }
    for bad in [("t", 7.into()), ("t", "".into()), ("c", 7.into()), ("v", vector(&["1"]))] {
        let mut broken = full.clone();
        broken.insert(bad.0, bad.1.clone());
        assert_eq!(schema.project_vector(&broken, of("schema")), None, "{bad:?}");
    }
    let mut unfiltered = full.clone();
    unfiltered.remove("c");
    assert!(schema.project_vector(&unfiltered, of("schema")).is_some());
}

#[test]
fn an_indexed_vector_is_billed_at_four_bytes_a_dimension() {
    let schema = documents();
    let full = item(&[("v", vector(&["0.123456789012345", "1", "2"])), ("x", "y".into())]);
    // pk and a, v and its three dimensions, x and y.
    assert_eq!(schema.written_size(&full), (2 + 1) + (1 + 12) + (1 + 1));
    let other = item(&[("w", vector(&["1", "2", "3"]))]);
    assert_eq!(schema.written_size(&other), item_size(&other));
    assert_eq!(vector_write_bytes(Some(100), None), 1024);
    assert_eq!(vector_write_bytes(Some(2100), Some(2000)), 2100);
    assert_eq!(vector_search_bytes(16, 1, 7, 0), 1024);
    assert_eq!(vector_search_bytes(512, 0, 0, 0), 15712);
    assert_eq!(vector_search_bytes(128, 10, 70, 10), 3928 + 650 + 70 + 5120);
}
