//! The JSON protocol.

use serde_json::Number;

use super::value::Value;

/// Reads a body; an empty one is an empty structure.
pub(super) fn decode(body: &[u8]) -> Result<Value, String> {
    if body.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(body).map(of).map_err(|error| format!("The body is not JSON: {error}."))
}

fn of(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(truth) => Value::Truth(truth),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => Value::Whole(whole),
            None => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::Text(text),
        serde_json::Value::Array(values) => Value::List(values.into_iter().map(of).collect()),
        serde_json::Value::Object(fields) => {
            let field = |(name, value): (String, _)| (name.into(), of(value));
            Value::Record(fields.into_iter().map(field).collect())
        }
    }
}

/// Writes an answer. Times are seconds since 1970.
pub(super) fn encode(value: &Value) -> Vec<u8> {
    to(value).to_string().into_bytes()
}

fn to(value: &Value) -> serde_json::Value {
    let number = |number| Number::from_f64(number).map_or(serde_json::Value::Null, Into::into);
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Truth(truth) => (*truth).into(),
        Value::Whole(whole) => (*whole).into(),
        Value::Number(other) => number(*other),
        Value::Text(text) => text.as_str().into(),
        Value::Time(ms) => number(*ms as f64 / 1000.0),
        Value::List(values) => values.iter().map(to).collect(),
        Value::Record(fields) => {
            fields.iter().map(|(name, value)| (name.to_string(), to(value))).collect()
        }
    }
}
