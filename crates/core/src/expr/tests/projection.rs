//! Applying projections.

use super::super::{Path, Projection, Step};
use super::{bindings, item};

const ITEM: &str = r#"{
    "p": "x", "a": {"b": [2, 4, {"x": "hi", "y": "yo"}], "c": 5}, "b": "hello", "a.b": "dot"
}"#;

#[test]
fn projections_keep_the_structure_and_compact_lists() {
    for (text, kept) in [
        ("p, b", r#"{"p": "x", "b": "hello"}"#),
        ("a.b", r#"{"a": {"b": [2, 4, {"x": "hi", "y": "yo"}]}}"#),
        ("a.b[0]", r#"{"a": {"b": [2]}}"#),
        ("a.b[2].y", r#"{"a": {"b": [{"y": "yo"}]}}"#),
        ("a.b[1], a.b[0]", r#"{"a": {"b": [2, 4]}}"#),
        ("a.b[2].y, a.c, a.b[0], a.b[2].x", r#"{"a": {"b": [2, {"x": "hi", "y": "yo"}], "c": 5}}"#),
        ("#dot", r#"{"a.b": "dot"}"#),
        ("x", "{}"),
        ("a.b[3]", "{}"),
        ("a.x.y", "{}"),
        ("a[0]", "{}"),
        ("a.b.x", "{}"),
        ("a.b[0][0]", "{}"),
        ("a.x, a.b[0], x, a.b[3].x", r#"{"a": {"b": [2]}}"#),
    ] {
        let projection = bindings("#dot=a.b", "").projection(text).unwrap();
        assert_eq!(projection.apply(&item(ITEM)), item(kept), "{text}");
    }
}

#[test]
fn projections_can_be_made_of_paths() {
    let nested = Path { attribute: "a".into(), steps: vec![Step::Key("c".into())] };
    let projection = Projection::of(vec![nested.clone(), Path::attribute("b")]).unwrap();
    assert_eq!(projection.apply(&item(ITEM)), item(r#"{"a": {"c": 5}, "b": "hello"}"#));
    assert!(Projection::of(vec![nested, Path::attribute("a")]).is_err());
}

#[test]
fn a_projection_knows_its_attributes() {
    let projection = bindings("#z=z", "").projection("#z.a, b, #z.c[1]").unwrap();
    assert_eq!(projection.attributes().collect::<Vec<_>>(), ["b", "z"]);
    assert_eq!(projection.paths().len(), 3);
}
