//! Comparing values: as their type means it if both have the same type, else as DynamoDB compares attributes.

use std::cmp::Ordering;

use keyloom_core::{AttributeValue, Number};
use keyloom_keys::{FieldType, Timestamp, Value};

use super::record::{Datum, stored};
use crate::model::FieldKind;

/// A value with the type that says how it compares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Typed<'a> {
    pub(super) kind: &'a FieldKind,
    pub(super) datum: &'a Datum,
}

/// What a value is for a comparison.
#[derive(Clone, Debug, PartialEq)]
enum Sense {
    Text(String),
    Number(Number),
    /// A time, from its first to its last millisecond; those that are stored as numbers stay apart.
    Time {
        first: i64,
        last: i64,
        number: bool,
    },
    Flag(bool),
    Other,
}

/// How a value compares with an operand, which may be a whole period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelativeOrder {
    Before,
    Inside,
    After,
    /// Of another type: neither equal nor in any order.
    Elsewhere,
}

/// Compares a value with an operand.
pub(super) fn relative_order(value: Typed, operand: Typed) -> RelativeOrder {
    if let (Sense::Time { first, number, .. }, Sense::Time { first: from, last: to, number: other }) =
        (sense(value), sense(operand))
        && number == other
    {
        return match () {
            () if first < from => RelativeOrder::Before,
            () if first > to => RelativeOrder::After,
            () => RelativeOrder::Inside,
        };
    }
    match order(value, operand) {
        Some(Ordering::Less) => RelativeOrder::Before,
        Some(Ordering::Greater) => RelativeOrder::After,
        Some(Ordering::Equal) => RelativeOrder::Inside,
        None if same(value, operand) => RelativeOrder::Inside,
        None => RelativeOrder::Elsewhere,
    }
}

/// How two values sort; nothing if they have no order.
fn order(a: Typed, b: Typed) -> Option<Ordering> {
    Place::of(a).order(&Place::of(b))
}

/// A value as it sorts.
#[derive(Clone, Debug)]
pub(super) struct Place {
    sense: Sense,
    attribute: AttributeValue,
}

impl Place {
    pub(super) fn of(typed: Typed) -> Self {
        Self { sense: sense(typed), attribute: stored(typed.kind, typed.datum) }
    }

    /// How two values sort; nothing if they have no order.
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        match (&self.sense, &other.sense) {
            (Sense::Text(a), Sense::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Sense::Number(a), Sense::Number(b)) => Some(a.cmp(b)),
            (Sense::Flag(a), Sense::Flag(b)) => Some(a.cmp(b)),
            (Sense::Time { first: a, number: x, .. }, Sense::Time { first: b, number: y, .. })
                if x == y =>
            {
                Some(a.cmp(b))
            }
            _ => order_of_attributes(&self.attribute, &other.attribute),
        }
    }
}

/// A text that is the same for two values of one type exactly if they are equal; nothing where there is no such text.
pub(super) fn identity(typed: Typed) -> Option<String> {
    match sense(typed) {
        Sense::Text(text) => Some(format!("S{text}")),
        Sense::Number(number) => Some(format!("N{number}")),
        Sense::Flag(flag) => Some(format!("B{flag}")),
        Sense::Time { .. } | Sense::Other => None,
    }
}

/// Equality of what has no order: attributes of the same type and value.
fn same(a: Typed, b: Typed) -> bool {
    same_attribute(&stored(a.kind, a.datum), &stored(b.kind, b.datum))
}

/// As DynamoDB's `=`: sets are equal whatever their order, other types never.
pub(super) fn same_attribute(a: &AttributeValue, b: &AttributeValue) -> bool {
    match (a, b) {
        (AttributeValue::Ss(a), AttributeValue::Ss(b)) => {
            a.len() == b.len() && a.iter().all(|x| b.contains(x))
        }
        (AttributeValue::Ns(a), AttributeValue::Ns(b)) => {
            a.len() == b.len() && a.iter().all(|x| b.contains(x))
        }
        _ => a == b,
    }
}

/// As DynamoDB's `<`: texts, numbers and bytes have an order, each among themselves.
fn order_of_attributes(a: &AttributeValue, b: &AttributeValue) -> Option<Ordering> {
    match (a, b) {
        (AttributeValue::S(a), AttributeValue::S(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (AttributeValue::N(a), AttributeValue::N(b)) => Some(a.cmp(b)),
        (AttributeValue::B(a), AttributeValue::B(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn sense(typed: Typed) -> Sense {
    let value = match typed.datum {
        Datum::Document(AttributeValue::N(number)) => return Sense::Number(*number),
        Datum::Document(_) => return Sense::Other,
        Datum::Scalar(value) => value,
    };
    let number = |text: String| Number::parse(&text).map_or(Sense::Other, Sense::Number);
    match (typed.kind, value) {
        // A moment, however it is written; what is no time is a text.
        (FieldKind::LooseTime, Value::Text(text)) => match text.parse::<Timestamp>() {
            Ok(time) => Sense::Time { first: time.millis(), last: time.millis(), number: false },
            Err(_) => Sense::Text(text.to_string()),
        },
        (FieldKind::Scalar(format), Value::Time(time)) => Sense::Time {
            first: time.millis(),
            last: time.last_millisecond().millis(),
            number: *format.kind() == FieldType::EpochMs,
        },
        (_, Value::Bool(flag)) => Sense::Flag(*flag),
        (_, Value::Int(_) | Value::Decimal(_)) => number(value.to_string()),
        (FieldKind::List | FieldKind::Map | FieldKind::TextSet | FieldKind::NumberSet, _) => {
            Sense::Other
        }
        // Identifiers and bytes sort as they are spelled.
        _ => Sense::Text(value.to_string()),
    }
}

/// A value as it is spelled, if it is stored as text.
pub(super) fn spelled(typed: Typed) -> Option<String> {
    match stored(typed.kind, typed.datum) {
        AttributeValue::S(text) => Some(text.to_string()),
        _ => None,
    }
}
