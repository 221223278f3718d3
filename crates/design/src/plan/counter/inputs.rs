//! Inputs worth trying: plausible ones, those that a stranger's key has too, those with a separator inside.

use keyloom_keys::{Precision, Value};

use super::{Case, moved, stranger};
use crate::evaluate::Inputs;
use crate::generate::sample;
use crate::model::{Access, Field, InputRole};

/// The calls that most often show what is wrong.
pub(super) fn telling(case: &Case) -> Vec<Inputs> {
    let base = complete(case, base_inputs(case.access));
    let mut calls = vec![base.clone()];
    calls.extend(case.strangers.iter().flat_map(|other| stranger::inputs_like(case, other, &base)));
    calls.extend(moved::inputs(case, &base));
    calls
}

/// More calls: other values, whole days instead of moments, and ranges as wide as they can be.
pub(super) fn further(case: &Case) -> Vec<Inputs> {
    let base = base_inputs(case.access);
    let mut calls: Vec<Inputs> = vec![changed(case, &base, day), changed(case, &base, wide)];
    calls.extend((1..5).map(|n| inputs_numbered(case.access, n)));
    calls.into_iter().map(|inputs| complete(case, inputs)).collect()
}

fn changed(
    case: &Case,
    base: &Inputs,
    change: fn(InputRole, &Value<'static>) -> Option<Value<'static>>,
) -> Inputs {
    let mut inputs = base.clone();
    for input in &case.access.inputs {
        let value = inputs.get(&input.name).and_then(|value| change(input.role, value));
        inputs.extend(value.map(|value| (input.name.clone(), value)));
    }
    inputs
}

/// The whole day of a moment.
fn day(role: InputRole, value: &Value<'static>) -> Option<Value<'static>> {
    match value {
        Value::Time(time) if role == InputRole::Value => Some(Value::Time(time.at(Precision::Day))),
        _ => None,
    }
}

/// The end of everything.
fn wide(role: InputRole, value: &Value<'static>) -> Option<Value<'static>> {
    match (role, value) {
        (InputRole::Low, Value::Text(_)) => Some(Value::from("0")),
        (InputRole::Low, Value::Int(_)) => Some(Value::Int(0)),
        (InputRole::High, Value::Text(_)) => Some(Value::from("zzzzzz")),
        (InputRole::High, Value::Int(_)) => Some(Value::Int(60_000)),
        _ => None,
    }
}

/// Inputs that only a hand-written request names get a value too.
pub(super) fn complete(case: &Case, mut inputs: Inputs) -> Inputs {
    if let Some(raw) = &case.plan.raw {
        raw.add_inputs(case.access, &mut inputs);
    }
    inputs
}

/// A plausible value for every input.
pub(in crate::plan) fn base_inputs(access: &Access) -> Inputs {
    inputs_numbered(access, 0)
}

/// A plausible value for every input, different for every number.
pub(in crate::plan) fn inputs_numbered(access: &Access, n: u32) -> Inputs {
    let mut inputs = Inputs::new();
    for input in &access.inputs {
        let field = access.asked().and_then(|entity| entity.field(&input.field));
        let Some(field) = field else { continue };
        let value = match input.role {
            InputRole::Value => sample(field, 3 + n),
            InputRole::Low => listed(field, false).unwrap_or_else(|| sample(field, 2 + n)),
            InputRole::High => listed(field, true).unwrap_or_else(|| sample(field, 120 + n)),
            InputRole::Prefix => {
                let text = sample(field, 3 + n).to_string();
                let part: String = text.chars().take(4).collect();
                Value::Text(part.into())
            }
        };
        inputs.insert(input.name.clone(), value);
    }
    inputs
}

/// The least or the greatest of the values that a field may have.
fn listed(field: &Field, greatest: bool) -> Option<Value<'static>> {
    let values =
        field.values().filter(|_| field.format().is_some_and(|format| format.is_text()))?;
    let end = if greatest { values.into_iter().max() } else { values.into_iter().min() };
    end.map(|text| Value::Text(text.into()))
}
