//! Evaluates conditions on items.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::ast::Comparator;
use super::condition::{Condition, Operand};
use crate::number::Number;
use crate::value::{AttributeValue, Item};

static NO_ITEM: Item = Item::new();

impl Condition {
    /// Whether the condition holds for `item`; a missing item counts as one without attributes.
    pub fn matches(&self, item: Option<&Item>) -> bool {
        self.holds(item.unwrap_or(&NO_ITEM))
    }

    fn holds(&self, item: &Item) -> bool {
        match self {
            Self::Compare(comparator, left, right) => {
                compare(*comparator, left.evaluate(item), right.evaluate(item))
            }
            Self::Between(operand, low, high) => {
                let (value, low) = (operand.evaluate(item), low.evaluate(item));
                compare(Comparator::GreaterOrEqual, value.clone(), low)
                    && compare(Comparator::LessOrEqual, value, high.evaluate(item))
            }
            Self::In(operand, candidates) => operand.evaluate(item).is_some_and(|value| {
                candidates.iter().any(|candidate| candidate.evaluate(item).as_ref() == Some(&value))
            }),
            Self::Exists(path) => path.get(item).is_some(),
            Self::NotExists(path) => path.get(item).is_none(),
            Self::HasType(operand, wanted) => {
                operand.evaluate(item).is_some_and(|value| value.attribute_type() == *wanted)
            }
            Self::BeginsWith(operand, prefix) => both(operand, prefix, item)
                .is_some_and(|(value, prefix)| begins_with(&value, &prefix)),
            Self::Contains(operand, part) => {
                both(operand, part, item).is_some_and(|(value, part)| contains(&value, &part))
            }
            Self::And(members) => members.iter().all(|member| member.holds(item)),
            Self::Or(members) => members.iter().any(|member| member.holds(item)),
            Self::Not(condition) => !condition.holds(item),
        }
    }
}

/// A value of the item or the request, or a computed number.
type Value<'a> = Cow<'a, AttributeValue>;

fn both<'a>(one: &'a Operand, two: &'a Operand, item: &'a Item) -> Option<(Value<'a>, Value<'a>)> {
    Some((one.evaluate(item)?, two.evaluate(item)?))
}

impl Operand {
    /// The value of the operand for this item, if it has one.
    fn evaluate<'a>(&'a self, item: &'a Item) -> Option<Value<'a>> {
        match self {
            Self::Path(path) => path.get(item).map(Cow::Borrowed),
            Self::Value(value) => Some(Cow::Borrowed(value)),
            Self::Size(operand) => {
                let size = size(operand.evaluate(item)?.as_ref())?;
                let size = i64::try_from(size).unwrap_or(i64::MAX);
                Some(Cow::Owned(AttributeValue::N(Number::from(size))))
            }
            Self::Truth(condition) => Some(Cow::Owned(AttributeValue::Bool(condition.holds(item)))),
        }
    }
}

/// `size()`. Strings are measured in UTF-16 code units, as AWS does.
fn size(value: &AttributeValue) -> Option<usize> {
    match value {
        AttributeValue::S(text) => Some(text.encode_utf16().count()),
        AttributeValue::B(bytes) => Some(bytes.len()),
        AttributeValue::Ss(members) => Some(members.len()),
        AttributeValue::Ns(members) => Some(members.len()),
        AttributeValue::Bs(members) => Some(members.len()),
        AttributeValue::L(list) => Some(list.len()),
        AttributeValue::M(map) => Some(map.len()),
        AttributeValue::N(_) | AttributeValue::Bool(_) | AttributeValue::Null => None,
    }
}

/// Compares two values; a missing one is unequal to everything and neither less nor greater.
fn compare(comparator: Comparator, left: Option<Value<'_>>, right: Option<Value<'_>>) -> bool {
    let (Some(left), Some(right)) = (left, right) else {
        return comparator == Comparator::NotEqual;
    };
    let ordering = || order(&left, &right);
    match comparator {
        Comparator::Equal => left == right,
        Comparator::NotEqual => left != right,
        Comparator::Less => ordering().is_some_and(Ordering::is_lt),
        Comparator::LessOrEqual => ordering().is_some_and(Ordering::is_le),
        Comparator::Greater => ordering().is_some_and(Ordering::is_gt),
        Comparator::GreaterOrEqual => ordering().is_some_and(Ordering::is_ge),
    }
}

/// The order of two scalars of one type; `None` for other values.
pub(crate) fn order(left: &AttributeValue, right: &AttributeValue) -> Option<Ordering> {
    match (left, right) {
        (AttributeValue::S(a), AttributeValue::S(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (AttributeValue::N(a), AttributeValue::N(b)) => Some(a.cmp(b)),
        (AttributeValue::B(a), AttributeValue::B(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn begins_with(value: &AttributeValue, prefix: &AttributeValue) -> bool {
    match (value, prefix) {
        (AttributeValue::S(text), AttributeValue::S(prefix)) => text.starts_with(prefix.as_str()),
        (AttributeValue::B(bytes), AttributeValue::B(prefix)) => bytes.starts_with(prefix),
        _ => false,
    }
}

fn contains(value: &AttributeValue, part: &AttributeValue) -> bool {
    match (value, part) {
        (AttributeValue::S(text), AttributeValue::S(part)) => text.contains(part.as_str()),
        (AttributeValue::B(bytes), AttributeValue::B(part)) => {
            part.is_empty() || bytes.windows(part.len()).any(|window| window == part)
        }
        (AttributeValue::Ss(members), AttributeValue::S(member)) => members.contains(member),
        (AttributeValue::Ns(members), AttributeValue::N(member)) => members.contains(member),
        (AttributeValue::Bs(members), AttributeValue::B(member)) => members.contains(member),
        (AttributeValue::L(list), member) => list.contains(member),
        _ => false,
    }
}
