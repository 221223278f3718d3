//! Values: their order, and their encoding as attributes and as key attributes.

use std::cmp::Ordering;

use keyloom_core::{AttributeValue, Number};
use keyloom_keys::{Case, Decimal, FieldFormat, FieldType, Precision, Timestamp, Value};

use crate::model::{Field, FieldKind, KeyType};

/// The natural order of two values of one field: numbers by value, times chronologically, texts by bytes.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.millis().cmp(&b.millis()),
        (Value::Uuid(a), Value::Uuid(b)) => a.0.cmp(&b.0),
        (Value::Ulid(a), Value::Ulid(b)) => a.0.cmp(&b.0),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Int(_) | Value::Decimal(_), Value::Int(_) | Value::Decimal(_)) => {
            match (a.to_string().parse::<Number>(), b.to_string().parse::<Number>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                _ => a.to_string().cmp(&b.to_string()),
            }
        }
        _ => a.to_string().as_bytes().cmp(b.to_string().as_bytes()),
    }
}

/// A text in the case that a field has, which folds what it is compared with: its own, or that of identifiers.
pub(crate) fn folded(field: &Field, value: Value<'static>) -> Value<'static> {
    let FieldKind::Scalar(format) = &field.kind else { return value };
    let case = match format.kind() {
        FieldType::Uuid | FieldType::Hex => Case::Lower,
        FieldType::Ulid => Case::Upper,
        _ => format.case(),
    };
    match (value, case) {
        (Value::Text(text), Case::Lower) => Value::from(text.to_ascii_lowercase()),
        (Value::Text(text), Case::Upper) => Value::from(text.to_ascii_uppercase()),
        (value, _) => value,
    }
}

/// What a field is compared with, as finely as the field is: a moment stands for its day where days are kept. Parts of a
/// second are refused where seconds are kept, as keys refuse them.
pub(crate) fn as_fine_as(
    format: &FieldFormat,
    value: Value<'static>,
) -> Result<Value<'static>, String> {
    match (value, format.precision()) {
        (Value::Time(time), Some(own)) if time.precision() > own => {
            let cut = time.at(own);
            if own > Precision::Hour && cut.millis() != time.millis() {
                return Err(format!(
                    "`{time}` is finer than its field, which keeps whole seconds; `datetime:ms` keeps milliseconds"
                ));
            }
            Ok(Value::Time(cut))
        }
        (value, _) => Ok(value),
    }
}

/// A text as a number, if it is one.
pub(crate) fn number(text: &str) -> Option<Value<'static>> {
    let whole = text.parse::<i64>().ok().map(Value::from);
    whole.or_else(|| text.parse::<Decimal>().ok().map(Value::Decimal))
}

/// The first and last millisecond of a time; a day ends with its last millisecond.
pub fn extent(time: Timestamp) -> (i64, i64) {
    (time.millis(), time.last_millisecond().millis())
}

/// A value as shown to people.
pub fn describe(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// A key with control characters and the upper end of ranges written as escapes.
pub fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if c.is_control() || c == '\u{10FFFF}' {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
        shown
    })
}

/// The attribute value that stores a field's value.
pub fn attribute_of(field: &Field, value: &Value) -> AttributeValue {
    let number = |text: String| match text.parse::<Number>() {
        Ok(number) => AttributeValue::N(number),
        Err(_) => AttributeValue::from(text),
    };
    match value {
        Value::Int(_) | Value::Decimal(_) if field.kind == FieldKind::NumberSet => {
            match value.to_string().parse::<Number>() {
                Ok(number) => AttributeValue::Ns(vec![number]),
                Err(_) => AttributeValue::from(value.to_string()),
            }
        }
        Value::Int(_) | Value::Decimal(_) => number(value.to_string()),
        Value::Bool(flag) => AttributeValue::Bool(*flag),
        Value::Bytes(bytes) if field.kind == FieldKind::Binary => AttributeValue::B(bytes.to_vec()),
        Value::Text(text) if field.kind == FieldKind::Number => number(text.to_string()),
        Value::Text(text) if field.kind == FieldKind::List => {
            AttributeValue::L(vec![AttributeValue::from(text.as_ref())])
        }
        Value::Text(text) if field.kind == FieldKind::TextSet => {
            AttributeValue::Ss(vec![text.as_ref().into()])
        }
        Value::Text(text) if field.kind == FieldKind::NumberSet => match text.parse::<Number>() {
            Ok(number) => AttributeValue::Ns(vec![number]),
            Err(_) => AttributeValue::from(text.as_ref()),
        },
        _ => match field.format() {
            Some(format) => {
                let written = format.encode(value).unwrap_or_else(|_| value.to_string());
                match (format.kind(), format.is_desc()) {
                    // Milliseconds are stored as a number, as every SDK writes them.
                    (FieldType::EpochMs, _) => match value {
                        Value::Time(time) => AttributeValue::from(time.millis()),
                        _ => number(value.to_string()),
                    },
                    (_, true) => AttributeValue::from(value.to_string()),
                    _ => AttributeValue::from(written),
                }
            }
            None => AttributeValue::from(value.to_string()),
        },
    }
}

/// What `contains` compares a field with: an element of a list or set, a part of a text.
pub fn element_of(field: &Field, value: &Value) -> AttributeValue {
    let text = value.to_string();
    match (&field.kind, text.parse::<Number>()) {
        (FieldKind::NumberSet, Ok(number)) => AttributeValue::N(number),
        _ => AttributeValue::from(text),
    }
}

/// A native key attribute: the field's own value in the attribute's type.
pub fn key_value(field: &Field, kind: KeyType, value: &Value) -> AttributeValue {
    let stored = attribute_of(field, value);
    match (kind, &stored) {
        (KeyType::S, AttributeValue::S(_))
        | (KeyType::N, AttributeValue::N(_))
        | (KeyType::B, AttributeValue::B(_)) => stored,
        (KeyType::S, _) => AttributeValue::from(value.to_string()),
        (KeyType::N, _) => match value.to_string().parse::<Number>() {
            Ok(number) => AttributeValue::N(number),
            Err(_) => stored,
        },
        (KeyType::B, _) => AttributeValue::B(value.to_string().into_bytes()),
    }
}
