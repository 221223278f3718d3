//! Whether a condition holds of a value.

use std::borrow::Cow;
use std::cmp::Ordering;

use keyloom_keys::{Precision, Timestamp, Value};

use super::Row;
use crate::condition::{self, Comparison, Condition};
use crate::key::{compare, extent, folded, number};
use crate::model::{End, Field, FieldKind, InputRole, Operand, Test};
use crate::resolve::literal;

/// Whether `test` holds of a field's value; `None` is a field that the row does not have. As in DynamoDB, such
/// a field is unlike everything and contains nothing.
pub(crate) fn holds(
    test: &Test,
    field: &Field,
    value: Option<&Value<'static>>,
    resolve: &dyn Fn(&Operand) -> Option<Value<'static>>,
) -> bool {
    let Some(stored) = value else {
        return matches!(test, Test::Missing | Test::NotEqual(_) | Test::Lacks(_));
    };
    let value = &*meant(field, stored);
    let check = |operand: &Operand, holds: &dyn Fn(&Value) -> bool| {
        resolve(operand).is_some_and(|operand| holds(&meant(field, &operand)))
    };
    let contains = |part: &Value| match field.kind {
        FieldKind::List | FieldKind::TextSet | FieldKind::NumberSet => equal(value, part),
        _ => stored.to_string().contains(&part.to_string()),
    };
    match test {
        Test::Exists => true,
        Test::Missing => false,
        Test::Equal(operand) => check(operand, &|wanted| equal(value, wanted)),
        Test::NotEqual(operand) => check(operand, &|wanted| !equal(value, wanted)),
        Test::In(operands) => {
            operands.iter().any(|operand| check(operand, &|wanted| equal(value, wanted)))
        }
        Test::Range { low, high } => {
            let above =
                |end: &End| check(&end.operand, &|bound| is_above(value, bound, end.inclusive));
            let below =
                |end: &End| check(&end.operand, &|bound| is_below(value, bound, end.inclusive));
            low.as_ref().is_none_or(above) && high.as_ref().is_none_or(below)
        }
        Test::BeginsWith(operand) => resolve(operand).is_some_and(|prefix| {
            stored.to_string().starts_with(&folded(field, prefix).to_string())
        }),
        Test::Contains(operand) if field.kind == FieldKind::LooseTime => {
            resolve(operand).is_some_and(|part| contains(&part))
        }
        Test::Lacks(operand) if field.kind == FieldKind::LooseTime => {
            resolve(operand).is_some_and(|part| !contains(&part))
        }
        Test::Contains(operand) => check(operand, &contains),
        Test::Lacks(operand) => check(operand, &|part| !contains(part)),
    }
}

/// A value as it is compared: a loosely written time is the moment that it means, and a number is a number
/// however it is written.
pub(crate) fn meant<'v>(field: &Field, value: &'v Value<'static>) -> Cow<'v, Value<'static>> {
    let Value::Text(text) = value else { return Cow::Borrowed(value) };
    let other = match field.kind {
        FieldKind::LooseTime => {
            let time = text.parse::<Timestamp>().ok();
            time.map(|time| Value::Time(time.at(Precision::Millisecond)))
        }
        FieldKind::Number | FieldKind::NumberSet => number(text),
        FieldKind::Scalar(_) => Some(folded(field, value.clone())),
        _ => None,
    };
    other.map_or(Cow::Borrowed(value), Cow::Owned)
}

/// A period such as a day equals every moment inside it.
fn equal(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Time(value), Value::Time(wanted)) => {
            let (first, last) = extent(*wanted);
            (first..=last).contains(&value.millis())
        }
        _ => compare(value, wanted) == Ordering::Equal,
    }
}

/// `>= 2024-01-31` begins with that day, `> 2024-01-31` after it.
fn is_above(value: &Value, bound: &Value, inclusive: bool) -> bool {
    match (value, bound) {
        (Value::Time(value), Value::Time(bound)) => {
            let (first, last) = extent(*bound);
            if inclusive { value.millis() >= first } else { value.millis() > last }
        }
        _ => match compare(value, bound) {
            Ordering::Greater => true,
            Ordering::Equal => inclusive,
            Ordering::Less => false,
        },
    }
}

/// `<= 2024-01-31` reaches to the end of that day, `< 2024-01-31` stops before it.
fn is_below(value: &Value, bound: &Value, inclusive: bool) -> bool {
    match (value, bound) {
        (Value::Time(value), Value::Time(bound)) => {
            let (first, last) = extent(*bound);
            if inclusive { value.millis() <= last } else { value.millis() < first }
        }
        _ => match compare(value, bound) {
            Ordering::Less => true,
            Ordering::Equal => inclusive,
            Ordering::Greater => false,
        },
    }
}

/// Whether the `when` of a sparse key holds of a row.
pub(crate) fn when_holds(when: &Condition, row: &Row) -> bool {
    when.terms.iter().all(|term| {
        let value = row.values.get(&term.name);
        let Some(field) = row.entity.field(&term.name) else { return false };
        let Some(test) = stated_test(field, &term.test) else { return false };
        holds(&test, field, value, &|operand| match operand {
            Operand::Value(value) => Some(value.clone()),
            Operand::Input(_) => None,
        })
    })
}

/// A condition on a field that states its operands, as a test.
pub(crate) fn stated_test(field: &Field, test: &condition::Test) -> Option<Test> {
    let read = |operand: &condition::Operand| {
        let text = match operand {
            condition::Operand::Text(text) | condition::Operand::Number(text) => text.clone(),
            condition::Operand::Boolean(flag) => flag.to_string(),
            condition::Operand::Input(_) => return None,
        };
        literal(field, &text, InputRole::Value).ok().map(Operand::Value)
    };
    when_test(test, &read)
}

/// A condition without inputs, as a test.
pub(crate) fn when_test(
    test: &condition::Test,
    read: &dyn Fn(&condition::Operand) -> Option<Operand>,
) -> Option<Test> {
    let end = |operand, inclusive| Some(End { operand: read(operand)?, inclusive });
    Some(match test {
        condition::Test::Compare(comparison, operand) => match comparison {
            Comparison::Equal => Test::Equal(read(operand)?),
            Comparison::NotEqual => Test::NotEqual(read(operand)?),
            Comparison::Less => Test::Range { low: None, high: Some(end(operand, false)?) },
            Comparison::LessOrEqual => Test::Range { low: None, high: Some(end(operand, true)?) },
            Comparison::Greater => Test::Range { low: Some(end(operand, false)?), high: None },
            Comparison::GreaterOrEqual => {
                Test::Range { low: Some(end(operand, true)?), high: None }
            }
        },
        condition::Test::Between(low, high) => {
            Test::Range { low: Some(end(low, true)?), high: Some(end(high, true)?) }
        }
        condition::Test::BeginsWith(operand) => Test::BeginsWith(read(operand)?),
        condition::Test::In(list) => Test::In(list.iter().map(read).collect::<Option<Vec<_>>>()?),
        condition::Test::Exists => Test::Exists,
        condition::Test::Missing => Test::Missing,
        condition::Test::Contains(operand) => Test::Contains(read(operand)?),
        condition::Test::Lacks(operand) => Test::Lacks(read(operand)?),
    })
}
