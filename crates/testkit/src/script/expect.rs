//! Expected replies: comparing, adjusting, and the values that replies hand to later requests.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::render::render;
use crate::lockstep::Answer;

/// Stands for any value.
const ANY: &str = "*";
/// Stands for any body.
const ANY_BODY: &str = "...";

/// The reply that a script expects.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expected {
    status: u16,
    /// None for any body.
    body: Option<Value>,
}

impl Expected {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (status, body) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let status = status.parse().map_err(|_| format!("not a status: {status}"))?;
        let body = match body.trim() {
            ANY_BODY => None,
            body => Some(serde_json::from_str(body).map_err(|error| error.to_string())?),
        };
        Ok(Self { status, body })
    }

    /// The expectation of just this answer.
    pub(super) fn exactly(answer: &Answer) -> Self {
        Self { status: answer.status, body: Some(answer.body.clone()) }
    }

    /// The expectation of this answer, with [`ANY`] for what is different in every run.
    pub(super) fn lasting(answer: &Answer) -> Self {
        Self { status: answer.status, body: Some(lasting(&answer.body)) }
    }

    /// This answer, with the placeholders of the expectation where they fit.
    pub(super) fn adjusted_to(&self, answer: &Answer) -> Self {
        let body = match &self.body {
            None if self.status == answer.status => None,
            None => Some(lasting(&answer.body)),
            Some(old) => Some(adjusted(old, &lasting(&answer.body))),
        };
        Self { status: answer.status, body }
    }

    /// Whether an answer is as expected. Named placeholders take their values from it.
    pub(super) fn matches(&self, answer: &Answer, names: &mut Names) -> bool {
        let body = self.body.as_ref();
        self.status == answer.status && body.is_none_or(|body| matches(body, &answer.body, names))
    }

    /// The text of a script.
    pub(super) fn render(&self) -> String {
        match &self.body {
            None => format!("{} {ANY_BODY}\n", self.status),
            Some(body) => format!("{} {}\n", self.status, render(body)),
        }
    }
}

/// Values that replies gave names to.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    values: BTreeMap<String, Value>,
}

impl Names {
    /// Puts the values in the place of their names; the error is a name without a value.
    pub(super) fn insert_into(&self, body: &str) -> Result<String, String> {
        let mut text = body.to_owned();
        for (name, value) in &self.values {
            text = text.replace(&format!("\"${name}\""), &value.to_string());
        }
        match text.split_once("\"$") {
            Some((_, rest)) => Err(rest.split('"').next().unwrap_or(rest).to_owned()),
            None => Ok(text),
        }
    }
}

/// The name in a placeholder such as `$iterator`.
fn name_in(expected: &Value) -> Option<&str> {
    expected.as_str()?.strip_prefix('$')
}

fn matches(expected: &Value, actual: &Value, names: &mut Names) -> bool {
    if expected == ANY {
        return true;
    }
    if let Some(name) = name_in(expected) {
        let known = names.values.entry(name.to_owned()).or_insert_with(|| actual.clone());
        return known == actual;
    }
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            let same_member = |(name, value): (&String, &Value)| {
                actual.get(name).is_some_and(|actual| matches(value, actual, names))
            };
            expected.len() == actual.len() && expected.iter().all(same_member)
        }
        (Value::Array(expected), Value::Array(actual)) => {
            let mut pairs = expected.iter().zip(actual);
            expected.len() == actual.len() && pairs.all(|(e, a)| matches(e, a, names))
        }
        _ => expected == actual,
    }
}

/// Table identifiers are random.
fn lasting(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| match name.as_str() {
                "TableId" => (name.clone(), ANY.into()),
                _ => (name.clone(), lasting(value)),
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(elements) => elements.iter().map(lasting).collect(),
        scalar => scalar.clone(),
    }
}

fn adjusted(old: &Value, new: &Value) -> Value {
    match (old, new) {
        (old, _) if old == ANY || name_in(old).is_some() => old.clone(),
        (Value::Object(old), Value::Object(new)) => {
            let member = |(name, value): (&String, &Value)| {
                let value = old.get(name).map_or_else(|| value.clone(), |old| adjusted(old, value));
                (name.clone(), value)
            };
            Value::Object(new.iter().map(member).collect::<Map<_, _>>())
        }
        (Value::Array(old), Value::Array(new)) => {
            let element = |(position, value): (usize, &Value)| {
                old.get(position).map_or_else(|| value.clone(), |old| adjusted(old, value))
            };
            Value::Array(new.iter().enumerate().map(element).collect())
        }
        _ => new.clone(),
    }
}
