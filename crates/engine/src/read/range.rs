//! Key conditions as byte ranges.

use std::ops::Bound;

use keyloom_core::expr::{KeyOperator, ResolvedKeyCondition};
use keyloom_core::{Result, key};
use keyloom_store::KeyRange;

use crate::layout::{self, Keyspace};

/// The range of entries that satisfy a key condition.
pub(crate) fn of_key_condition(
    keyspace: Keyspace,
    condition: &ResolvedKeyCondition,
) -> Result<KeyRange> {
    let mut prefix = layout::partition(keyspace, &condition.hash)?;
    for value in &condition.range_prefix {
        key::encode_key_value(value, &mut prefix)?;
    }
    let whole = KeyRange::prefix(&prefix);
    let Some(operator) = &condition.range else { return Ok(whole) };
    let with = |value| -> Result<Vec<u8>> {
        let mut bytes = prefix.clone();
        key::encode_key_value(value, &mut bytes)?;
        Ok(bytes)
    };
    // Keys go on behind the value (further range attributes, the base key), so "up to and including
    // a value" means: before the end of everything that begins with it.
    let from = |bytes: Vec<u8>| Bound::Included(bytes.into());
    let end = |bytes: &[u8]| KeyRange::prefix(bytes).upper;
    Ok(match operator {
        KeyOperator::Less(value) => {
            KeyRange { lower: whole.lower, upper: Bound::Excluded(with(value)?.into()) }
        }
        KeyOperator::LessOrEqual(value) => {
            KeyRange { lower: whole.lower, upper: end(&with(value)?) }
        }
        KeyOperator::Greater(value) => KeyRange {
            lower: match end(&with(value)?) {
                Bound::Excluded(bytes) => Bound::Included(bytes),
                bound => bound,
            },
            upper: whole.upper,
        },
        KeyOperator::GreaterOrEqual(value) => {
            KeyRange { lower: from(with(value)?), upper: whole.upper }
        }
        KeyOperator::Between(low, high) => {
            KeyRange { lower: from(with(low)?), upper: end(&with(high)?) }
        }
        KeyOperator::BeginsWith(value) => {
            let mut bytes = prefix.clone();
            key::encode_key_prefix(value, &mut bytes)?;
            KeyRange::prefix(&bytes)
        }
        KeyOperator::Equal(value) => KeyRange::prefix(&with(value)?),
        // Refused when the condition was resolved.
        KeyOperator::NotIndexable => whole,
    })
}
