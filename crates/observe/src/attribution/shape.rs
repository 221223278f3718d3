//! The shape of a request: everything but its values.

use std::fmt::Write as _;

use keyloom_core::expr::KeyOperator;
use keyloom_core::observation::{Observation, Place, Question};
use keyloom_core::{AttributeValue, KeyAttribute, ScalarType};

use crate::redaction::prefix;
use crate::sketch::{hash_of, joined};

/// The longest constant that is taken for a word rather than a value.
const MAX_WORD: usize = 24;

/// The number that stands for a shape.
pub(super) fn id(place: &Place<'_>, observation: &Observation<'_>) -> u64 {
    let mut id = hash_of(observation.operation.name().as_bytes());
    let mut add = |part: &[u8]| id = joined(id, hash_of(part));
    match &observation.question {
        Some(question) => {
            if let Some(condition) = question.condition {
                condition.hash.iter().for_each(|value| add(word(value).as_bytes()));
                condition.range_prefix.iter().for_each(|value| add(word(value).as_bytes()));
                if let Some(operator) = &condition.range {
                    add(symbol(operator).as_bytes());
                    operator.values().first().into_iter().for_each(|v| add(word(v).as_bytes()));
                }
            }
            if let Some(filter) = question.filter {
                filter.paths().iter().for_each(|path| add(path.attribute.as_bytes()));
            }
            add(&[u8::from(question.is_forward)]);
        }
        None => {
            if let Some(touch) = observation.touches.first() {
                add(encoded_word(&place.key.hash, touch.partition));
                add(encoded_word(&place.key.range, touch.sort));
            }
        }
    }
    id
}

/// Whether constants are part of a shape that people read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constants {
    Shown,
    /// They are whole key values, and keys are hidden.
    Hidden,
}

/// The shape as people read it: `Query GSI1PK = USER#…, GSI1SK begins ACTIVITY#…, backwards`.
pub(super) fn text(
    place: &Place<'_>,
    observation: &Observation<'_>,
    constants: Constants,
) -> String {
    let mut text = observation.operation.name().to_owned();
    if let Some(question) = &observation.question {
        asked(&mut text, place, question, constants);
        return text;
    }
    let Some(touch) = observation.touches.first() else { return text };
    let values = touch.partition_values().into_iter().chain(touch.sort_values());
    for (position, (attribute, value)) in place.key.attributes().zip(values).enumerate() {
        let comma = if position > 0 { "," } else { "" };
        let _ = write!(text, "{comma} {} = {}", attribute.name, shown(&value, constants));
    }
    text
}

fn asked(text: &mut String, place: &Place<'_>, question: &Question<'_>, constants: Constants) {
    if let Some(condition) = question.condition {
        let equal = condition.hash.iter().chain(&condition.range_prefix);
        let count = equal.clone().count();
        for (position, (attribute, value)) in place.key.attributes().zip(equal).enumerate() {
            let comma = if position > 0 { "," } else { "" };
            let _ = write!(text, "{comma} {} = {}", attribute.name, shown(value, constants));
        }
        if let Some(operator) = &condition.range
            && let Some(attribute) = place.key.attributes().nth(count)
        {
            let value = operator.values().first().map(|value| shown(value, constants));
            let value = value.unwrap_or_default();
            let _ = write!(text, ", {} {} {value}", attribute.name, symbol(operator));
        }
        if !question.is_forward {
            text.push_str(", backwards");
        }
    }
    if let Some(filter) = question.filter {
        let mut names: Vec<&str> =
            filter.paths().into_iter().map(|path| path.attribute.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let _ = write!(text, ", filter on {}", names.join(", "));
    }
}

fn symbol(operator: &KeyOperator) -> &'static str {
    match operator {
        KeyOperator::Equal(_) => "=",
        KeyOperator::Less(_) => "<",
        KeyOperator::LessOrEqual(_) => "<=",
        KeyOperator::Greater(_) => ">",
        KeyOperator::GreaterOrEqual(_) => ">=",
        KeyOperator::Between(..) => "between",
        KeyOperator::BeginsWith(_) => "begins",
        KeyOperator::NotIndexable => "?",
    }
}

/// The kind of a value: the word before its first separator, or a constant.
fn word(value: &AttributeValue) -> &str {
    match value {
        AttributeValue::S(text) if is_constant(text.as_bytes()) => text,
        AttributeValue::S(text) => prefix(text),
        _ => "",
    }
}

fn shown(value: &AttributeValue, constants: Constants) -> String {
    let word = match (value, constants) {
        (AttributeValue::S(text), Constants::Hidden) => prefix(text),
        _ => word(value),
    };
    let is_whole = matches!(value, AttributeValue::S(text) if text.as_str() == word);
    if is_whole { word.to_owned() } else { format!("{word}…") }
}

/// As [`word`], of an encoded key, without decoding it.
fn encoded_word<'b>(attributes: &[KeyAttribute], bytes: &'b [u8]) -> &'b [u8] {
    if attributes.first().is_none_or(|attribute| attribute.kind != ScalarType::S) {
        return &[];
    }
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = bytes.get(..end).unwrap_or_default();
    if is_constant(text) {
        return text;
    }
    let Ok(text) = std::str::from_utf8(text) else { return &[] };
    prefix(text).as_bytes()
}

/// `PROFILE`, `METADATA`: a word in capitals, not a value.
fn is_constant(text: &[u8]) -> bool {
    !text.is_empty()
        && text.len() <= MAX_WORD
        && text.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_')
}
