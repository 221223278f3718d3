//! Inputs for calls: mostly values that rows have, as texts, so that a case can be written down.

use std::collections::BTreeMap;

use keyloom_core::AttributeValue;
use keyloom_design::evaluate::Inputs;
use keyloom_design::inputs_from;
use keyloom_design::model::{Access, Entity, FieldKind, InputRole};
use keyloom_design::oracle::{Datum, Record};
use keyloom_design::plan::{Plan, RawForm};
use keyloom_keys::{Case, FieldType, Precision, Timestamp, Value};

use crate::random::Random;
use crate::values::text_of;

/// Inputs as people write them.
pub(crate) type Texts = BTreeMap<String, String>;

/// Random inputs of a pattern.
pub(crate) fn random_inputs(
    random: &mut Random,
    access: &Access,
    plan: &Plan,
    records: &[Record],
) -> Texts {
    let Some(asked) = access.asked() else { return Texts::new() };
    let kin: Vec<&Record> = records.iter().filter(|r| r.entity.name == asked.name).collect();
    let row = if random.percent(85) { random.some(&kin).copied() } else { None };
    let mut texts = Texts::new();
    for input in &access.inputs {
        let text = input_text(random, asked, &input.field, input.role, row);
        texts.insert(input.name.clone(), text);
    }
    // A hand-written request may name inputs that no condition declares.
    for name in plan.raw.iter().flat_map(RawForm::inputs) {
        if !texts.contains_key(&name) && asked.field(&name).is_some() {
            let text = input_text(random, asked, &name, InputRole::Value, row);
            texts.insert(name, text);
        }
    }
    turn_round(random, access, &mut texts);
    texts
}

/// The same as typed values; nothing if a text is not a value of its field.
pub(crate) fn typed(access: &Access, texts: &Texts) -> Option<Inputs> {
    let given: Vec<(&str, &str)> =
        texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    inputs_from(access, &given).ok()
}

fn input_text(
    random: &mut Random,
    asked: &Entity,
    field: &str,
    role: InputRole,
    row: Option<&Record>,
) -> String {
    let Some(kind) = asked.field(field).map(|field| &field.kind) else { return String::new() };
    let own = row.filter(|_| random.percent(85)).and_then(|row| row.values.get(field));
    let text = own.and_then(|own| spelled(random, own)).unwrap_or_else(|| text_of(random, kind));
    let text = if random.percent(20) { otherwise(kind, text) } else { text };
    match role {
        InputRole::Prefix => {
            let length = random.below(text.chars().count() + 1).max(1);
            text.chars().take(length).collect()
        }
        InputRole::Low | InputRole::High if random.percent(40) => text_of(random, kind),
        _ => coarser(random, kind, text),
    }
}

fn spelled(random: &mut Random, datum: &Datum) -> Option<String> {
    match datum {
        Datum::Scalar(value) => Some(value.to_string()),
        Datum::Document(AttributeValue::N(number)) => Some(number.to_string()),
        Datum::Document(AttributeValue::Ss(set)) => random.some(set).map(ToString::to_string),
        Datum::Document(AttributeValue::Ns(set)) => random.some(set).map(ToString::to_string),
        Datum::Document(AttributeValue::L(list)) => {
            random.some(list).and_then(AttributeValue::as_s).map(str::to_owned)
        }
        Datum::Document(_) => None,
    }
}

/// Another way to write the same value.
fn otherwise(kind: &FieldKind, text: String) -> String {
    let FieldKind::Scalar(format) = kind else { return text };
    match format.kind() {
        FieldType::Decimal { .. } => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        FieldType::Uuid | FieldType::Hex => text.to_ascii_uppercase(),
        FieldType::DateTime if text.ends_with('Z') => text.replace('Z', ".000Z"),
        _ if format.case() == Case::Lower => text.to_ascii_uppercase(),
        _ if format.case() == Case::Upper => text.to_ascii_lowercase(),
        _ => text,
    }
}

/// Now and then a whole day or month instead of a moment.
fn coarser(random: &mut Random, kind: &FieldKind, text: String) -> String {
    let FieldKind::Scalar(format) = kind else { return text };
    let fine =
        matches!(format.kind(), FieldType::DateTime | FieldType::DateTimeMs | FieldType::EpochMs);
    let time: Option<Timestamp> = text.parse().ok().filter(|_| fine && random.percent(15));
    match time {
        Some(time) => {
            let precision = *random.pick(&[Precision::Day, Precision::Month]);
            Value::Time(time.at(precision)).to_string()
        }
        None => text,
    }
}

/// The ends of a range come in order, nearly always.
fn turn_round(random: &mut Random, access: &Access, texts: &mut Texts) {
    for low in access.inputs.iter().filter(|input| input.role == InputRole::Low) {
        let high = access
            .inputs
            .iter()
            .find(|input| input.role == InputRole::High && input.field == low.field);
        let (Some(high), false) = (high, random.percent(4)) else { continue };
        let (Some(a), Some(b)) = (texts.get(&low.name), texts.get(&high.name)) else { continue };
        let (a, b) = (a.clone(), b.clone());
        let numbers = a.parse::<f64>().ok().zip(b.parse::<f64>().ok());
        if numbers.map_or(a > b, |(a, b)| a > b) {
            texts.insert(low.name.clone(), b);
            texts.insert(high.name.clone(), a);
        }
    }
}
