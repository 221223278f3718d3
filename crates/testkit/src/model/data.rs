//! JSON to items and back, and keys that sort.

use std::collections::BTreeMap;

use keyloom_core::expr::{Bindings, Condition};
use keyloom_core::{AttributeValue, Item, KeySchema, Number, Result, Str, json};
use serde_json::Value;

/// The values of a key. Derived order is DynamoDB's: numbers by value, strings and binaries by bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(Vec<Scalar>);

/// One value of a key. Values of one attribute have one type, so types are never compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scalar {
    N(Number),
    S(String),
    B(Vec<u8>),
}

impl Key {
    /// The key of an item that has it.
    pub(super) fn of(schema: &KeySchema, item: &Item) -> Self {
        let values = schema.attributes().map(|attribute| match item.get(&attribute.name) {
            Some(AttributeValue::S(text)) => Scalar::S(text.to_string()),
            Some(AttributeValue::N(number)) => Scalar::N(*number),
            Some(AttributeValue::B(bytes)) => Scalar::B(bytes.clone()),
            other => unreachable!("{} was checked to be a key: {other:?}", attribute.name),
        });
        Self(values.collect())
    }

    /// This key and then another, as in the order of an index.
    pub(super) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

/// A string member, empty if absent.
pub(super) fn text<'a>(body: &'a Value, name: &str) -> &'a str {
    body.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a boolean member is there and true.
pub(super) fn flag(body: &Value, name: &str) -> bool {
    body.get(name) == Some(&Value::Bool(true))
}

/// A member that is an item.
pub(super) fn item(body: &Value, name: &str) -> Result<Option<Item>> {
    body.get(name).map(item_of).transpose()
}

/// An item from its JSON.
pub(super) fn item_of(value: &Value) -> Result<Item> {
    json::item_from(&json::parse(value.to_string().as_bytes())?)
}

/// The JSON of an item.
pub(super) fn item_value(item: &Item) -> Value {
    let mut text = Vec::new();
    json::write_item(item, &mut text);
    match serde_json::from_slice(&text) {
        Ok(value) => value,
        Err(error) => unreachable!("the core writes JSON: {error}"),
    }
}

/// The expression names and values of a request.
pub(super) fn bindings(body: &Value) -> Result<Bindings> {
    let names = body.get("ExpressionAttributeNames").and_then(Value::as_object).map(|names| {
        let text = |value: &Value| Str::from(value.as_str().unwrap_or_default());
        names.iter().map(|(key, value)| (Str::from(key.as_str()), text(value))).collect()
    });
    let values = item(body, "ExpressionAttributeValues")?;
    Bindings::new(names, values.map(|values| values.into_iter().collect()))
}

/// Reads a condition, if the request has it.
pub(super) fn condition(
    bindings: &mut Bindings,
    body: &Value,
    name: &str,
) -> Result<Option<Condition>> {
    let expression = body.get(name).and_then(Value::as_str);
    expression.map(|expression| bindings.condition(expression)).transpose()
}

/// The tables of a batch with what they are asked.
pub(super) fn request_items(body: &Value) -> BTreeMap<&str, &Value> {
    let tables = body.get("RequestItems").and_then(Value::as_object);
    tables.into_iter().flatten().map(|(name, value)| (name.as_str(), value)).collect()
}

/// The elements of a list member.
pub(super) fn list<'a>(body: &'a Value, name: &str) -> &'a [Value] {
    body.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
