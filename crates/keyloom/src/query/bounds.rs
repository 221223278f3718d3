//! Checks that a cursor's position lies within its read. DynamoDB rejects others itself, but not every endpoint does.

use std::cmp::Ordering;

use keyloom_core::AttributeValue;
use keyloom_design::condition::Comparison;
use keyloom_design::plan::{ConcreteRead, SortCondition};

use super::merge::compare_values;
use super::stream::Position;
use crate::error::{Error, Result};

/// Refuses positions outside of the reads.
pub(super) fn check(reads: &[ConcreteRead], positions: &[Position]) -> Result<()> {
    for (read, position) in reads.iter().zip(positions) {
        let Position::After(key) = position else { continue };
        let same = read.equal.iter().all(|(name, value)| key.get(name) == Some(value));
        let sorted = read
            .sort
            .iter()
            .all(|(name, condition)| key.get(name).is_some_and(|value| lies_in(value, condition)));
        if !same || !sorted {
            return Err(Error::Cursor(
                "it leads out of what the query asks for: use one that the query gave".into(),
            ));
        }
    }
    Ok(())
}

fn lies_in(value: &AttributeValue, condition: &SortCondition<AttributeValue>) -> bool {
    let order = |other: &AttributeValue| compare_values(Some(value), Some(other));
    match condition {
        SortCondition::BeginsWith(prefix) => match (value, prefix) {
            (AttributeValue::S(text), AttributeValue::S(prefix)) => {
                text.starts_with(prefix.as_str())
            }
            (AttributeValue::B(bytes), AttributeValue::B(prefix)) => bytes.starts_with(prefix),
            _ => false,
        },
        SortCondition::Between(low, high) => order(low).is_ge() && order(high).is_le(),
        SortCondition::Compare(operator, other) => match operator {
            Comparison::Equal => order(other) == Ordering::Equal,
            Comparison::NotEqual => order(other) != Ordering::Equal,
            Comparison::Less => order(other).is_lt(),
            Comparison::LessOrEqual => order(other).is_le(),
            Comparison::Greater => order(other).is_gt(),
            Comparison::GreaterOrEqual => order(other).is_ge(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_closed_as_their_signs_say() {
        let text = |text: &str| AttributeValue::from(text);
        let between = SortCondition::Between(text("b"), text("d"));
        let inside = |value: &str| lies_in(&text(value), &between);
        assert!(inside("b") && inside("c") && inside("d"));
        assert!(!inside("a") && !inside("e"));
        let less = SortCondition::Compare(Comparison::Less, AttributeValue::from(7));
        assert!(lies_in(&6.into(), &less) && !lies_in(&7.into(), &less));
        let prefix = SortCondition::BeginsWith(text("TASK#"));
        assert!(lies_in(&text("TASK#1"), &prefix) && !lies_in(&text("USER#1"), &prefix));
        assert!(!lies_in(&1.into(), &prefix));
    }
}
