//! Items as typed field values, and how each value looks as an attribute.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_core::{AttributeValue, Number};
use keyloom_keys::{Case, FieldFormat, FieldType, Precision, Value};

use crate::evaluate::Row;
use crate::model::{Entity, FieldKind};

/// The value of one field.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// A scalar: text, number, time, identifier, truth value.
    Scalar(Value<'static>),
    /// What only an attribute can hold: a list, a map, a set, bytes, or a number of any size.
    Document(AttributeValue),
}

/// One item, as the values of its fields; a field without a value has no entry.
#[derive(Clone, Debug)]
pub struct Record {
    /// What it is.
    pub entity: Arc<Entity>,
    /// Its values by field.
    pub values: BTreeMap<String, Datum>,
}

/// What the oracle knows of one item: what it is, and the values of its fields.
pub trait Known {
    /// What it is.
    fn entity(&self) -> &Arc<Entity>;

    /// The value of a field, if it has one.
    fn value(&self, field: &str) -> Option<Cow<'_, Datum>>;

    /// The kind of a field, if the entity has it.
    fn kind(&self, field: &str) -> Option<&FieldKind> {
        self.entity().field(field).map(|field| &field.kind)
    }
}

impl Known for Record {
    fn entity(&self) -> &Arc<Entity> {
        &self.entity
    }

    fn value(&self, field: &str) -> Option<Cow<'_, Datum>> {
        self.values.get(field).map(Cow::Borrowed)
    }
}

impl Known for Row {
    fn entity(&self) -> &Arc<Entity> {
        &self.entity
    }

    fn value(&self, field: &str) -> Option<Cow<'_, Datum>> {
        let value = self.values.get(field)?;
        let field = self.entity.field(field)?;
        Some(Cow::Owned(match field.kind {
            FieldKind::Scalar(_) | FieldKind::LooseTime | FieldKind::Shard(_) => {
                operand(&field.kind, value)
            }
            // Rows have one element for a set or a list; what is stored has a type of its own.
            _ => Datum::Document(document(&field.kind, value)),
        }))
    }
}

/// What only an attribute can hold. A number is one however it is written; a map stands as its text.
fn document(kind: &FieldKind, value: &Value<'static>) -> AttributeValue {
    let text = || AttributeValue::from(value.to_string());
    let number = || Number::parse(&value.to_string());
    match (kind, value) {
        (FieldKind::Binary, Value::Bytes(bytes)) => AttributeValue::B(bytes.to_vec()),
        (FieldKind::Number, _) => number().map_or_else(|_| text(), AttributeValue::N),
        (FieldKind::NumberSet, _) => {
            number().map_or_else(|_| text(), |number| AttributeValue::Ns(vec![number]))
        }
        (FieldKind::TextSet, _) => AttributeValue::Ss(vec![value.to_string().into()]),
        (FieldKind::List, _) => AttributeValue::L(vec![text()]),
        _ => text(),
    }
}

/// A value as the attribute that holds it.
pub(super) fn stored(kind: &FieldKind, datum: &Datum) -> AttributeValue {
    let value = match datum {
        Datum::Document(document) => return document.clone(),
        Datum::Scalar(value) => value,
    };
    let number = |text: String| {
        Number::parse(&text).map_or_else(|_| AttributeValue::from(text), AttributeValue::N)
    };
    match (kind, value) {
        (FieldKind::Scalar(format), Value::Time(time)) if *format.kind() == FieldType::EpochMs => {
            number(time.millis().to_string())
        }
        // Attributes hold an hour as keys write it: `2024-01-15-10`.
        (_, Value::Time(time)) if time.precision() == Precision::Hour => {
            AttributeValue::from(time.to_string().replace('T', "-"))
        }
        (_, Value::Bool(flag)) => AttributeValue::Bool(*flag),
        (_, Value::Int(_) | Value::Decimal(_)) | (FieldKind::Number, _) => {
            number(value.to_string())
        }
        _ => AttributeValue::from(value.to_string()),
    }
}

/// What a condition compares a field with, in the field's own type: texts stand for any type, a time finer
/// than the field keeps is cut down to it, and a field that folds case folds what it is compared with.
pub(super) fn operand(kind: &FieldKind, value: &Value<'static>) -> Datum {
    let scalar = Datum::Scalar(value.clone());
    match (kind, value) {
        (FieldKind::Scalar(format), _) => Datum::Scalar(in_format(format, value)),
        (FieldKind::Number | FieldKind::NumberSet, _) => Number::parse(&value.to_string())
            .map_or(scalar, |number| Datum::Document(AttributeValue::N(number))),
        (FieldKind::Shard(_), Value::Text(text)) => {
            text.parse::<u32>().map_or(scalar, |shard| Datum::Scalar(Value::from(shard)))
        }
        (FieldKind::Binary, Value::Bytes(bytes)) => {
            Datum::Document(AttributeValue::B(bytes.to_vec()))
        }
        _ => scalar,
    }
}

fn in_format(format: &FieldFormat, value: &Value<'static>) -> Value<'static> {
    let parsed = match value {
        Value::Text(text) if !format.is_text() => {
            Value::parse_for(format, text).map_or_else(|_| value.clone(), Value::into_owned)
        }
        _ => value.clone(),
    };
    match (parsed, format.precision()) {
        (Value::Time(time), Some(precision)) if time.precision() > precision => {
            Value::Time(time.at(precision))
        }
        (Value::Text(text), _) => match format.case() {
            Case::AsIs => Value::Text(text),
            Case::Lower => Value::from(text.to_ascii_lowercase()),
            Case::Upper => Value::from(text.to_ascii_uppercase()),
        },
        (parsed, _) => parsed,
    }
}
