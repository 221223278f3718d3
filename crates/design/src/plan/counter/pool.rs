//! Many different rows: every field takes telling values in all combinations, always the same ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_core::hash::SplitMix64;
use keyloom_keys::{FieldType, Timestamp, Value};

use super::Case;
use super::rows::{LOOSE_TIMES, NESTED, NUMBERS, wanted_row};
use crate::evaluate::{Inputs, Row, holds, operand_value};
use crate::generate::{sample, set_shards};
use crate::key::{compare, extent, may_hold_separator};
use crate::model::{Entity, Field, FieldKind, Operand, Question, Test};

/// The values that the fields of an entity may take in a call of a pattern.
pub(super) struct Pool<'a> {
    case: &'a Case<'a>,
    entity: &'a Arc<Entity>,
    inputs: &'a Inputs,
    fields: Vec<Choice<'a>>,
    /// The fields that a filter tests; without one, all that have a condition.
    tested: Vec<&'a str>,
}

struct Choice<'a> {
    field: &'a Field,
    /// Values that satisfy the condition on the field; all of them if there is none.
    good: Vec<Value<'static>>,
    /// Values that do not.
    bad: Vec<Value<'static>>,
    /// Whether a row without the field is unwanted.
    may_lack: bool,
}

impl<'a> Pool<'a> {
    pub(super) fn new(case: &'a Case<'a>, entity: &'a Arc<Entity>, inputs: &'a Inputs) -> Self {
        let fields = entity.fields.iter().map(|field| {
            let term = case.access.terms.iter().find(|term| term.field == field.name);
            let resolve = |operand: &Operand| operand_value(operand, inputs);
            let is_good = |value: Option<&Value<'static>>| {
                term.is_none_or(|term| holds(&term.test, field, value, &resolve))
            };
            let all = telling_values(field, term, inputs);
            let (good, bad) = all.into_iter().partition(|value| is_good(Some(value)));
            let may_lack = field.optional && !is_good(None);
            Choice { field, good, bad, may_lack }
        });
        let is_on = |question: &'a Question| question.field.as_str();
        let filtered = case.plan.reads.iter().flat_map(|read| &read.filter).map(is_on);
        let mut tested: Vec<&str> = filtered.collect();
        if tested.is_empty() {
            tested.extend(case.access.terms.iter().map(is_on));
        }
        Self { case, entity, inputs, fields: fields.collect(), tested }
    }

    /// The wanted row with this number.
    pub(super) fn wanted(&self, n: u32) -> Row {
        let mut random = SplitMix64::new(u64::from(n));
        let mut free: BTreeMap<&str, Value<'static>> = BTreeMap::new();
        for choice in &self.fields {
            let counted = sample(choice.field, 5 + n);
            let term = self.case.access.terms.iter().find(|term| term.field == choice.field.name);
            let fits = term.is_none_or(|term| {
                let resolve = |operand: &Operand| operand_value(operand, self.inputs);
                holds(&term.test, choice.field, Some(&counted), &resolve)
            });
            let value = match random.pick(&choice.good) {
                // Numbers in a row make rows differ however many there are.
                Some(_) if fits && random.percent(50) => counted,
                Some(value) => value.clone(),
                None => counted,
            };
            free.insert(choice.field.name.as_str(), value);
        }
        let own = |field: &Field| free.get(field.name.as_str()).cloned();
        let mut row = wanted_row(self.case.access, self.entity, self.inputs, |field| {
            own(field).unwrap_or_else(|| sample(field, n))
        });
        // What was picked satisfies the condition and says more than the usual value.
        for choice in self.fields.iter().filter(|choice| !choice.good.is_empty()) {
            if let Some(value) = own(choice.field) {
                row.values.insert(choice.field.name.clone(), value);
            }
        }
        set_shards(&mut row);
        row
    }

    /// A row with this number that fails one of the conditions.
    pub(super) fn unwanted(&self, n: u32) -> Row {
        let mut row = self.wanted(n);
        let mut random = SplitMix64::new(u64::from(n) + 1_000_003);
        let failing: Vec<&Choice> = self
            .fields
            .iter()
            .filter(|choice| choice.may_lack || !choice.bad.is_empty())
            .filter(|choice| self.tested.contains(&choice.field.name.as_str()))
            .collect();
        let Some(choice) = random.pick(&failing) else { return row };
        let name = &choice.field.name;
        match random.pick(&choice.bad) {
            Some(value) if !choice.may_lack || random.percent(50) => {
                row.values.insert(name.clone(), value.clone());
            }
            _ => {
                row.values.remove(name);
            }
        }
        set_shards(&mut row);
        row
    }
}

/// Values of a field at which conditions and orders go wrong.
fn telling_values(field: &Field, term: Option<&Question>, inputs: &Inputs) -> Vec<Value<'static>> {
    let mut values: Vec<Value<'static>> = Vec::new();
    for operand in term.into_iter().flat_map(|term| operands(&term.test)) {
        values
            .extend(operand_value(operand, inputs).map(|at| near(field, &at)).unwrap_or_default());
    }
    match &field.kind {
        FieldKind::LooseTime => values.extend(LOOSE_TIMES.map(Value::from)),
        FieldKind::Scalar(format) if may_hold_separator(format) => {
            values.extend(NESTED.map(Value::from));
            let separator = "#";
            values.extend(["b", "c"].map(|tail| Value::from(format!("a{separator}{tail}"))));
        }
        FieldKind::Scalar(format) if matches!(format.kind(), FieldType::Enum(_)) => {
            let listed = field.values().unwrap_or_default();
            return listed.into_iter().map(|text| Value::Text(text.into())).collect();
        }
        _ => {}
    }
    values.extend(NUMBERS.map(|n| sample(field, n)));
    let mut different: Vec<Value<'static>> = Vec::new();
    for value in values {
        let fits = field.format().is_none_or(|format| format.encode(&value).is_ok());
        if fits && different.iter().all(|known| compare(known, &value).is_ne()) {
            different.push(value);
        }
    }
    different
}

fn operands(test: &Test) -> Vec<&Operand> {
    match test {
        Test::Equal(operand)
        | Test::NotEqual(operand)
        | Test::BeginsWith(operand)
        | Test::Contains(operand)
        | Test::Lacks(operand) => vec![operand],
        Test::Range { low, high } => low.iter().chain(high).map(|end| &end.operand).collect(),
        Test::In(operands) => operands.iter().collect(),
        Test::Exists | Test::Missing => Vec::new(),
    }
}

/// The value that a condition names, and those next to it.
fn near(field: &Field, at: &Value<'static>) -> Vec<Value<'static>> {
    match at {
        Value::Time(time) => {
            let Some(precision) = field.format().and_then(|format| format.precision()) else {
                return Vec::new();
            };
            let (first, last) = extent(*time);
            let (day, _) = extent(Timestamp::from_millis(first).at(keyloom_keys::Precision::Day));
            let day_end = day + 24 * 3_600_000 - 1;
            [first, last, first - 1000, last + 1000, day, day_end]
                .map(|ms| Value::Time(Timestamp::from_millis(ms).at(precision)))
                .to_vec()
        }
        Value::Int(number) => {
            vec![at.clone(), Value::Int(number + 1), Value::Int((number - 1).max(0))]
        }
        Value::Text(text) => {
            let longer =
                ["0", "x", "!", " b", "$", "#"].map(|tail| Value::from(format!("{text}{tail}")));
            std::iter::once(at.clone()).chain(longer).collect()
        }
        _ => vec![at.clone()],
    }
}
