//! Item sizes, exactly as DynamoDB counts them.
//!
//! | type | bytes |
//! |---|---|
//! | S, B | the UTF-8 or raw bytes |
//! | N | see [`number_size`] |
//! | BOOL, NULL | 1 |
//! | SS, NS, BS | the members |
//! | L | 3 + for each element 1 + its size |
//! | M | 3 + for each entry 1 + name + its size |
//!
//! An item is the sum of its attribute names and values.

use crate::number::Number;
use crate::value::{AttributeValue, Item, Str};

/// Overhead of a list or map.
const CONTAINER_BYTES: usize = 3;
/// Overhead per element of a list or map.
const ELEMENT_BYTES: usize = 1;

/// The size of an item in bytes.
///
/// ```
/// # use keyloom_core::{Item, size::item_size};
/// let item: Item = [("pk".into(), "a".into()), ("n".into(), 42.into())].into_iter().collect();
/// assert_eq!(item_size(&item), 2 + 1 + 1 + 2);
/// ```
pub fn item_size(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value_size(value)).sum()
}

/// The size of a value in bytes.
pub fn value_size(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number_size(number),
        AttributeValue::B(bytes) => bytes.len(),
        AttributeValue::Bool(_) | AttributeValue::Null => 1,
        AttributeValue::Ss(members) => members.iter().map(Str::len).sum(),
        AttributeValue::Ns(members) => members.iter().map(number_size).sum(),
        AttributeValue::Bs(members) => members.iter().map(Vec::len).sum(),
        AttributeValue::L(elements) => {
            let content: usize = elements.iter().map(|e| ELEMENT_BYTES + value_size(e)).sum();
            CONTAINER_BYTES + content
        }
        AttributeValue::M(map) => CONTAINER_BYTES + map.len() * ELEMENT_BYTES + item_size(map),
    }
}

/// The size of a number: one byte, plus one for every two digits before the point or part thereof,
/// one for every two after it or part thereof, and one for a minus sign. Leading and trailing zeros
/// do not count.
pub fn number_size(number: &Number) -> usize {
    let digits = number.digits() as usize;
    let fraction = usize::try_from(-number.exponent()).unwrap_or(0);
    let (before, after) = match digits.checked_sub(fraction) {
        Some(before) if fraction > 0 => (before, fraction),
        Some(_) => (digits, 0),
        None => (0, digits),
    };
    1 + before.div_ceil(2) + after.div_ceil(2) + usize::from(number.is_negative())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_sizes_measured_on_aws() {
        for (text, size) in [
            ("0", 1),
            ("1", 2),
            ("12", 2),
            ("123", 3),
            ("1010", 3),
            ("1.5", 3),
            ("3.14159", 5),
            ("100.5", 4),
            ("-42", 3),
            ("1E125", 2),
            ("0.0000001", 2),
            ("1.05", 3),
            ("12345678901234567890123456789012345678", 20),
        ] {
            assert_eq!(number_size(&text.parse().unwrap()), size, "{text}");
        }
    }

    #[test]
    fn values_have_the_sizes_of_the_table() {
        let list = AttributeValue::L(vec!["abc".into(), AttributeValue::Null]);
        let map = AttributeValue::M([("né".into(), true.into())].into_iter().collect());
        let set = AttributeValue::Ss(vec!["".into(), "xy".into()]);
        for (value, size) in [
            (AttributeValue::from("é"), 2),
            (AttributeValue::B(vec![0; 5]), 5),
            (AttributeValue::Null, 1),
            (true.into(), 1),
            (set, 2),
            (AttributeValue::Ns(vec![1.into(), Number::from(-42)]), 5),
            (AttributeValue::Bs(vec![vec![1], vec![]]), 1),
            (AttributeValue::L(vec![]), 3),
            (list, 3 + (1 + 3) + (1 + 1)),
            (map, 3 + 1 + 3 + 1),
        ] {
            assert_eq!(value_size(&value), size, "{value:?}");
        }
    }
}
