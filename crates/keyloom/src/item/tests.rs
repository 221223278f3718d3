use std::collections::BTreeMap;

use keyloom_keys::{Timestamp, Ulid};
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
enum Shape {
    Dot,
    Circle(f64),
    Box { width: u8, height: u8 },
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Everything {
    text: String,
    long: String,
    flag: bool,
    small: i8,
    large: u64,
    huge: u128,
    float: f64,
    single: f32,
    letter: char,
    none: Option<String>,
    some: Option<u32>,
    list: Vec<Option<i64>>,
    pair: (u8, String),
    map: BTreeMap<String, i32>,
    numbered: BTreeMap<u32, bool>,
    shapes: Vec<Shape>,
    bytes: Binary,
    at: Timestamp,
    id: Ulid,
    unit: (),
}

#[derive(Deserialize)]
struct Tagged {
    tags: Vec<String>,
}

#[derive(Deserialize, Debug)]
struct Inner {
    #[serde(rename = "x")]
    _x: u8,
}

#[derive(Deserialize, Debug)]
struct Outer {
    #[serde(rename = "inner")]
    _inner: Inner,
}

fn everything() -> Everything {
    Everything {
        text: "ä".into(),
        long: "x".repeat(100),
        flag: true,
        small: -5,
        large: u64::MAX,
        huge: 12_345_678_901_234_567_890_123_456_789_012_345_678,
        float: 0.1,
        single: 0.1,
        letter: 'ß',
        none: None,
        some: Some(7),
        list: vec![Some(1), None],
        pair: (1, "b".into()),
        map: [("a".to_owned(), 1)].into(),
        numbered: [(10, true)].into(),
        shapes: vec![Shape::Dot, Shape::Circle(1.5), Shape::Box { width: 1, height: 2 }],
        bytes: Binary(vec![0, 255]),
        at: Timestamp::from_secs(1_705_314_600),
        id: Ulid(9),
        unit: (),
    }
}

#[test]
fn every_kind_of_value_comes_back() {
    let item = to_item(&everything()).unwrap();
    assert_eq!(from_item::<Everything>(item).unwrap(), everything());
}

#[test]
fn what_is_none_is_absent_and_floats_keep_their_shortest_text() {
    let item = to_item(&everything()).unwrap();
    assert!(!item.contains_key("none"));
    assert_eq!(item.get("single").unwrap().as_n().unwrap().to_string(), "0.1");
    assert_eq!(item.get("at").unwrap().as_s(), Some("2024-01-15T10:30:00Z"));
    assert_eq!(item.get("bytes").unwrap().as_b(), Some(&[0, 255][..]));
}

#[test]
fn sets_written_by_others_are_read_as_lists() {
    let mut item = Item::new();
    item.insert("tags", AttributeValue::Ss(vec!["a".into(), "b".into()]));
    assert_eq!(from_item::<Tagged>(item).unwrap().tags, ["a", "b"]);
}

#[test]
fn errors_name_the_attribute() {
    let mut item = Item::new();
    item.insert("inner", AttributeValue::M([("x".into(), "no".into())].into_iter().collect()));
    let error = from_item::<Outer>(item).unwrap_err().to_string();
    assert_eq!(error, "attribute `inner.x`: invalid type: string \"no\", expected u8");
    assert!(to_item(&3).unwrap_err().to_string().contains("not a number"));
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Sets {
    texts: Set<String>,
    numbers: Set<i64>,
    binaries: Set<Binary>,
    none: Set<String>,
}

#[test]
fn sets_are_sets_and_empty_ones_are_absent() {
    let sets = Sets {
        texts: ["b".to_owned(), "a".to_owned()].into(),
        numbers: [3, -1].into(),
        binaries: [Binary(vec![1])].into(),
        none: Set::default(),
    };
    let item = to_item(&sets).unwrap();
    assert_eq!(item.get("texts"), Some(&AttributeValue::Ss(vec!["a".into(), "b".into()])));
    assert!(matches!(item.get("numbers"), Some(AttributeValue::Ns(_))));
    assert!(matches!(item.get("binaries"), Some(AttributeValue::Bs(_))));
    assert!(!item.contains_key("none"));
    assert_eq!(from_item::<Sets>(item).unwrap(), sets);
    let mixed = Set::from([Mixed::Word("a".into()), Mixed::Number(1)]);
    assert!(to_value(&mixed).unwrap_err().to_string().contains("all texts"));
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(untagged)]
enum Mixed {
    Word(String),
    Number(u8),
}
