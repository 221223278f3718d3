//! A few telling rows: in every order, with values that begin with one another, and near misses.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_keys::{Timestamp, Value};

use crate::evaluate::{Inputs, Row, operand_value};
use crate::generate::{sample, set_shards};
use crate::key::extent;
use crate::model::{Access, End, Entity, Field, FieldKind, Operand, Test};

/// How the free fields of sample rows vary.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Other fields run against the order asked for.
    Against,
    /// Other fields run with it.
    Along,
    /// Texts that begin with one another.
    Nested,
}

impl Style {
    pub(super) const ALL: [Self; 3] = [Self::Against, Self::Along, Self::Nested];
}

/// The sample numbers of rows: close together, apart, and on both sides of a change of digits.
pub(super) const NUMBERS: [u32; 6] = [3, 9, 10, 11, 40, 100];

/// Texts that begin with one another; what follows sorts before and after the usual separators.
pub(super) const NESTED: [&str; 6] = ["a", "a b", "a!", "ab", "a$", "a#"];

/// Times as programs write them without a rule: `.5Z` sorts before `Z`, and offsets hide the order.
pub(super) const LOOSE_TIMES: [&str; 4] = [
    "2024-01-18T16:00:00Z",
    "2024-01-18T16:00:00.5Z",
    "2024-01-18T17:00:00+02:00",
    "2024-01-18T15:30:00Z",
];

/// Rows that satisfy the conditions.
pub(super) fn wanted(
    access: &Access,
    entity: &Arc<Entity>,
    inputs: &Inputs,
    style: Style,
) -> Vec<Row> {
    let last = NUMBERS.len() - 1;
    (0..NUMBERS.len())
        .filter_map(|k| {
            let up = NUMBERS.get(k).copied()?;
            let down = NUMBERS.get(last - k).copied()?;
            Some(wanted_row(access, entity, inputs, |field| {
                let ordered = access.order.iter().any(|term| term.field == field.name);
                let n = if ordered || style == Style::Along { up } else { down };
                let text = match (style, &field.kind) {
                    (Style::Nested, FieldKind::Scalar(format))
                        if crate::key::may_hold_separator(format) =>
                    {
                        NESTED.get(k)
                    }
                    (Style::Nested, FieldKind::LooseTime) => LOOSE_TIMES.get(k),
                    _ => None,
                };
                text.map_or_else(|| sample(field, n), |text| Value::from(*text))
            }))
        })
        .collect()
}

/// A row that satisfies the conditions; fields without a condition have the free values.
pub(super) fn wanted_row(
    access: &Access,
    entity: &Arc<Entity>,
    inputs: &Inputs,
    free: impl Fn(&Field) -> Value<'static>,
) -> Row {
    let mut row = Row { entity: entity.clone(), values: BTreeMap::new() };
    for field in &entity.fields {
        if let Some(value) = value_for(access, field, inputs, free(field)) {
            row.values.insert(field.name.clone(), value);
        }
    }
    set_shards(&mut row);
    row
}

/// A value that satisfies the pattern's condition on a field; the free one if there is none.
fn value_for(
    access: &Access,
    field: &Field,
    inputs: &Inputs,
    free: Value<'static>,
) -> Option<Value<'static>> {
    let term = access.terms.iter().find(|term| term.field == field.name);
    let Some(term) = term else { return Some(free) };
    let value = |operand: &Operand| operand_value(operand, inputs);
    match &term.test {
        Test::Equal(operand) => value(operand).map(|v| first_moment(field, v)),
        Test::In(operands) => operands.first().and_then(value),
        Test::Range { low, high } => Some(inside(field, low.as_ref(), high.as_ref(), inputs, free)),
        Test::BeginsWith(operand) => {
            let prefix = value(operand)?.to_string();
            let free = free.to_string();
            let text = if free.starts_with(&prefix) { free } else { format!("{prefix}{free}") };
            let parsed = field
                .format()
                .and_then(|format| Value::parse_for(&format, &text).ok().map(Value::into_owned));
            parsed.or(Some(Value::Text(text.into())))
        }
        Test::Missing => None,
        Test::Contains(operand) => value(operand),
        Test::Exists | Test::NotEqual(_) | Test::Lacks(_) => Some(free),
    }
}

fn first_moment(field: &Field, value: Value<'static>) -> Value<'static> {
    match (value, field.format().and_then(|format| format.precision())) {
        (Value::Time(time), Some(precision)) => Value::Time(time.at(precision)),
        (value, _) => value,
    }
}

/// The free value if it lies in the range, else an end of the range: the last moment of the upper end
/// is where hand-written ranges go wrong.
fn inside(
    field: &Field,
    low: Option<&End>,
    high: Option<&End>,
    inputs: &Inputs,
    free: Value<'static>,
) -> Value<'static> {
    let test = Test::Range { low: low.cloned(), high: high.cloned() };
    let resolve = |operand: &Operand| operand_value(operand, inputs);
    if crate::evaluate::holds(&test, field, Some(&free), &resolve) {
        return free;
    }
    let precision = field.format().and_then(|format| format.precision());
    let end = high.or(low).and_then(|end| resolve(&end.operand));
    match (end, precision) {
        (Some(Value::Time(time)), Some(precision)) => {
            let (first, last) = extent(time);
            let at = if high.is_some() { last } else { first };
            Value::Time(Timestamp::from_millis(at).at(precision))
        }
        (Some(value), _) => value,
        (None, _) => free,
    }
}

/// Rows that almost satisfy the conditions: their texts begin with the text asked for.
pub(super) fn neighbours(access: &Access, entity: &Arc<Entity>, inputs: &Inputs) -> Vec<Row> {
    let Some(model) = wanted(access, entity, inputs, Style::Along).into_iter().next() else {
        return Vec::new();
    };
    let separator = entity.table.separator.as_str();
    let mut rows = Vec::new();
    for term in &access.terms {
        let Test::Equal(operand) = &term.test else { continue };
        let longer = match operand_value(operand, inputs) {
            Some(Value::Text(text)) => {
                ["0".to_owned(), format!("{separator}0"), format!("{separator}x")]
                    .map(|tail| Value::Text(format!("{text}{tail}").into()))
                    .to_vec()
            }
            Some(Value::Int(number)) => vec![Value::Int(number.saturating_mul(10))],
            _ => continue,
        };
        for value in longer {
            let mut row = model.clone();
            row.values.insert(term.field.clone(), value);
            set_shards(&mut row);
            rows.push(row);
        }
    }
    rows
}

/// A row of sample values.
pub(super) fn sample_row(entity: &Arc<Entity>, n: u32) -> Row {
    let values = entity.fields.iter().map(|field| (field.name.clone(), sample(field, n))).collect();
    let mut row = Row { entity: entity.clone(), values };
    set_shards(&mut row);
    row
}

/// An item that a link leads to: what the link tells, and samples for the rest.
pub(super) fn target_of(link: &Row, entity: &Arc<Entity>, n: usize) -> Row {
    let mut row = sample_row(entity, 3 + n as u32);
    for field in &entity.fields {
        if let Some(value) = link.values.get(&field.name) {
            row.values.insert(field.name.clone(), value.clone());
        }
    }
    set_shards(&mut row);
    row
}
