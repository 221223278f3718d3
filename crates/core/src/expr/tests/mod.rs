//! Tests of the expression languages, as tables of expressions and results.

mod condition;
mod key_condition;
mod projection;
mod properties;
mod refusals;
mod search;
mod syntax;
mod update;

use super::Bindings;
use crate::error::Result;
use crate::number::Number;
use crate::value::{AttributeValue, Item, Str};

/// A value from plain JSON; `{"$ss": [...]}`, `{"$ns": [...]}`, `{"$bs": [...]}` are sets and
/// `{"$b": "text"}` is binary.
pub(crate) fn value(json: &str) -> AttributeValue {
    from_json(&serde_json::from_str(json).unwrap())
}

/// An item from plain JSON.
pub(crate) fn item(json: &str) -> Item {
    match value(json) {
        AttributeValue::M(item) => item,
        other => panic!("not an item: {other:?}"),
    }
}

fn from_json(json: &serde_json::Value) -> AttributeValue {
    use serde_json::Value;
    let text = |json: &Value| Str::from(json.as_str().unwrap());
    match json {
        Value::Null => AttributeValue::Null,
        Value::Bool(value) => AttributeValue::Bool(*value),
        Value::Number(number) => AttributeValue::N(Number::parse(&number.to_string()).unwrap()),
        Value::String(text) => AttributeValue::from(text.as_str()),
        Value::Array(list) => AttributeValue::L(list.iter().map(from_json).collect()),
        Value::Object(map) => match map.iter().next() {
            Some((key, Value::Array(members))) if key == "$ss" => {
                AttributeValue::Ss(members.iter().map(text).collect())
            }
            Some((key, Value::Array(members))) if key == "$ns" => AttributeValue::Ns(
                members.iter().map(|n| Number::parse(&n.to_string()).unwrap()).collect(),
            ),
            Some((key, Value::Array(members))) if key == "$bs" => {
                AttributeValue::Bs(members.iter().map(|b| text(b).as_bytes().to_vec()).collect())
            }
            Some((key, bytes)) if key == "$b" => AttributeValue::B(text(bytes).as_bytes().to_vec()),
            _ => AttributeValue::M(
                map.iter().map(|(name, value)| (Str::from(name), from_json(value))).collect(),
            ),
        },
    }
}

/// The bindings of a request with these names, e.g. `#a=b #c=d`, and values as plain JSON; an empty
/// string omits the parameter.
fn try_bindings(names: &str, values: &str) -> Result<Bindings> {
    let pair = |pair: &str| {
        let (key, name) = pair.split_once('=').unwrap();
        (Str::from(key), Str::from(name))
    };
    let names: Vec<_> = names.split_whitespace().map(pair).collect();
    let values = (!values.is_empty()).then(|| item(values).into_iter().collect());
    Bindings::new((!names.is_empty()).then_some(names), values)
}

fn bindings(names: &str, values: &str) -> Bindings {
    try_bindings(names, values).unwrap()
}
