//! Whether a condition holds of a record.

use std::collections::BTreeMap;

use keyloom_core::AttributeValue;
use keyloom_keys::{FieldType, Value};

use super::answer::Senseless;
use super::compare::{RelativeOrder, Typed, relative_order, same_attribute, spelled};
use super::record::{Datum, Known, operand, stored};
use crate::model::{End, FieldKind, Operand, Question, Test};

/// Reads conditions for one call: its inputs, and the types in which they are given.
pub(super) struct Conditions<'a> {
    pub(super) inputs: &'a BTreeMap<String, Value<'static>>,
}

impl Conditions<'_> {
    /// Whether a condition holds. The operand has the type that the field has in `typed_by`.
    pub(super) fn hold(
        &self,
        question: &Question,
        typed_by: &FieldKind,
        record: &impl Known,
    ) -> Result<bool, Senseless> {
        let datum = record.value(&question.field);
        let value = record.kind(&question.field).zip(datum.as_deref());
        let value = value.map(|(kind, datum)| Typed { kind, datum });
        let at = |operand: &Operand| -> Result<Option<RelativeOrder>, Senseless> {
            let datum = self.datum(typed_by, operand)?;
            Ok(value.map(|value| relative_order(value, Typed { kind: typed_by, datum: &datum })))
        };
        Ok(match &question.test {
            Test::Exists => value.is_some(),
            Test::Missing => value.is_none(),
            Test::Equal(operand) => at(operand)? == Some(RelativeOrder::Inside),
            // A missing attribute is not equal to anything, and DynamoDB says so.
            Test::NotEqual(operand) => at(operand)? != Some(RelativeOrder::Inside),
            Test::In(list) => {
                let places = list.iter().map(at).collect::<Result<Vec<_>, _>>()?;
                places.contains(&Some(RelativeOrder::Inside))
            }
            Test::Range { low, high } => {
                let above = |end: &End| {
                    Ok(match at(&end.operand)? {
                        Some(RelativeOrder::After) => true,
                        Some(RelativeOrder::Inside) => end.inclusive,
                        _ => false,
                    })
                };
                let below = |end: &End| {
                    Ok(match at(&end.operand)? {
                        Some(RelativeOrder::Before) => true,
                        Some(RelativeOrder::Inside) => end.inclusive,
                        _ => false,
                    })
                };
                low.as_ref().map_or(Ok(true), above)? && high.as_ref().map_or(Ok(true), below)?
            }
            Test::BeginsWith(operand) => {
                // A field that folds case folds what its texts begin with; identifiers have a case of their own.
                let start = match self.datum(typed_by, operand)? {
                    Datum::Scalar(Value::Text(text)) => text.to_string(),
                    _ => self.value(operand)?.to_string(),
                };
                let start = match typed_by {
                    FieldKind::Scalar(format) => match format.kind() {
                        FieldType::Uuid | FieldType::Hex => start.to_ascii_lowercase(),
                        FieldType::Ulid => start.to_ascii_uppercase(),
                        _ => start,
                    },
                    _ => start,
                };
                value.and_then(spelled).is_some_and(|text| text.starts_with(&start))
            }
            Test::Contains(operand) => self.contains(value, typed_by, operand)?,
            Test::Lacks(operand) => !self.contains(value, typed_by, operand)?,
        })
    }

    fn contains(
        &self,
        value: Option<Typed>,
        typed_by: &FieldKind,
        part: &Operand,
    ) -> Result<bool, Senseless> {
        let datum = self.datum(typed_by, part)?;
        let Some(value) = value else { return Ok(false) };
        // An element is what the operand would be as an attribute of its own.
        let element = match &datum {
            Datum::Document(document) => document.clone(),
            Datum::Scalar(value) => AttributeValue::from(value.to_string()),
        };
        Ok(match (stored(value.kind, value.datum), &element) {
            (AttributeValue::S(text), AttributeValue::S(part)) => text.contains(part.as_str()),
            (AttributeValue::Ss(set), AttributeValue::S(part)) => set.iter().any(|x| x == part),
            (AttributeValue::Ns(set), AttributeValue::N(part)) => set.iter().any(|x| x == part),
            (AttributeValue::L(list), part) => list.iter().any(|x| same_attribute(x, part)),
            _ => false,
        })
    }

    pub(super) fn datum(
        &self,
        typed_by: &FieldKind,
        written: &Operand,
    ) -> Result<Datum, Senseless> {
        Ok(operand(typed_by, self.value(written)?))
    }

    fn value<'v>(&'v self, operand: &'v Operand) -> Result<&'v Value<'static>, Senseless> {
        match operand {
            Operand::Value(value) => Ok(value),
            Operand::Input(name) => {
                self.inputs.get(name).ok_or_else(|| Senseless::NoInput { name: name.clone() })
            }
        }
    }
}
