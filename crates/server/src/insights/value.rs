//! What requests and answers are made of, whatever the protocol.

use std::borrow::Cow;

use super::error::CloudwatchError;
use super::iso8601;

/// A value of a request or an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// The absence of a value.
    Null,
    /// True or false.
    Truth(bool),
    /// A whole number.
    Whole(i64),
    /// A number that is not whole.
    Number(f64),
    /// Text.
    Text(String),
    /// Milliseconds since 1970.
    Time(u64),
    /// A list.
    List(Vec<Value>),
    /// Values by name.
    Record(Vec<(Cow<'static, str>, Value)>),
}

impl Value {
    /// A record with those of the fields that are not null.
    pub(super) fn record<const N: usize>(fields: [(&'static str, Self); N]) -> Self {
        let fields = fields.into_iter().filter(|(_, value)| *value != Self::Null);
        Self::Record(fields.map(|(name, value)| (name.into(), value)).collect())
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A list of these.
    pub(super) fn list<T: Into<Self>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// The fields of a request. Forms have nothing but text, so numbers and times may be text.
#[derive(Debug, PartialEq)]
pub(super) struct Input(Vec<(Cow<'static, str>, Value)>);

impl Input {
    /// The fields, if it has any.
    pub(super) fn of(value: Value) -> Result<Self, CloudwatchError> {
        match value {
            Value::Record(fields) => Ok(Self(fields)),
            Value::Null => Ok(Self(Vec::new())),
            _ => Err(CloudwatchError::malformed("The input must be a structure.")),
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        found.filter(|value| **value != Value::Null)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, CloudwatchError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_text().map(Some).ok_or_else(|| wrong(name, "text"))
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<&str>, CloudwatchError> {
        let texts = match self.get(name) {
            None => Some(Vec::new()),
            Some(Value::List(values)) => values.iter().map(Value::as_text).collect(),
            Some(_) => None,
        };
        texts.ok_or_else(|| wrong(name, "a list of texts"))
    }

    pub(super) fn whole(&self, name: &str) -> Result<Option<i64>, CloudwatchError> {
        let whole = match self.get(name) {
            None => return Ok(None),
            Some(Value::Whole(number)) => Some(*number),
            Some(Value::Number(number)) if number.fract() == 0.0 => Some(*number as i64),
            Some(Value::Text(text)) => text.parse().ok(),
            Some(_) => None,
        };
        whole.map(Some).ok_or_else(|| wrong(name, "a whole number"))
    }

    /// Milliseconds since 1970; what is earlier counts as 1970.
    pub(super) fn time_ms(&self, name: &str) -> Result<Option<u64>, CloudwatchError> {
        let of_seconds = |seconds: f64| seconds.is_finite().then_some((seconds * 1000.0) as u64);
        let time = match self.get(name) {
            None => return Ok(None),
            Some(Value::Time(ms)) => Some(*ms),
            Some(Value::Whole(seconds)) => of_seconds(*seconds as f64),
            Some(Value::Number(seconds)) => of_seconds(*seconds),
            Some(Value::Text(text)) => {
                iso8601::parse(text).or_else(|| of_seconds(text.parse().ok()?))
            }
            Some(_) => None,
        };
        let what = "a time, such as 2026-11-16T09:00:00Z";
        time.map(Some).ok_or_else(|| wrong(name, what))
    }
}

fn wrong(name: &str, what: &str) -> CloudwatchError {
    CloudwatchError::malformed(format!("The parameter {name} must be {what}."))
}
