//! Errors as answers, and answers without the order that means nothing.

use keyloom_core::Error;
use serde_json::{Map, Value, json};

use super::data::item_value;
use crate::lockstep::Answer;

/// The parts of an error reply that the model vouches for.
pub(super) fn of_error(error: &Error) -> Answer {
    let mut body = Map::new();
    body.insert("__type".into(), error.code().into());
    match error {
        Error::ConditionalCheckFailed { item: Some(item) } => {
            body.insert("Item".into(), item_value(item));
        }
        Error::TransactionCanceled(reasons) => {
            let reasons = reasons.iter().map(|reason| match &reason.item {
                None => json!({"Code": reason.code.as_str()}),
                Some(item) => json!({"Code": reason.code.as_str(), "Item": item_value(item)}),
            });
            body.insert("CancellationReasons".into(), reasons.collect());
        }
        _ => {}
    }
    Answer { status: 400, body: Value::Object(body) }
}

/// A reply in which everything unordered is sorted: members of sets, and what a batch returns.
pub(super) fn without_order(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let value = without_order(value);
                let unordered = matches!(name.as_str(), "SS" | "NS" | "BS" | "ConsumedCapacity");
                let batch = name == "Responses" && value.is_object();
                let value = match value {
                    Value::Array(elements) if unordered => sorted(elements),
                    Value::Object(tables) if batch => tables.into_iter().map(in_table).collect(),
                    value => value,
                };
                (name.clone(), value)
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(elements) => elements.iter().map(without_order).collect(),
        scalar => scalar.clone(),
    }
}

fn in_table((name, items): (String, Value)) -> (String, Value) {
    match items {
        Value::Array(items) => (name, sorted(items)),
        other => (name, other),
    }
}

fn sorted(mut elements: Vec<Value>) -> Value {
    elements.sort_by_key(Value::to_string);
    Value::Array(elements)
}
