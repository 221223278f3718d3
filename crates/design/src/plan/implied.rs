//! Which tests of a field follow from others: a sparse index holds what its `when` says.

use std::cmp::Ordering;

use crate::key::{compare, folded};
use crate::model::{End, Field, Operand, Test};
use crate::mutation::{Mutation, is_on};

/// Whether a test holds wherever another one does, because that leaves only values which satisfy it.
pub(super) fn follows(field: &Field, needed: &Test, asked: &Test) -> bool {
    match asked {
        Test::Equal(value) => allows(field, needed, value),
        Test::In(values) => values.iter().all(|value| allows(field, needed, value)),
        _ => false,
    }
}

/// Whether a stated value satisfies a test. Times may be periods, which satisfy it in part: they are left open.
fn allows(field: &Field, test: &Test, value: &Operand) -> bool {
    let against = |other: &Operand| match (value, other) {
        (Operand::Value(a), Operand::Value(b)) if !field.is_time() => {
            Some(compare(&folded(field, a.clone()), &folded(field, b.clone())))
        }
        _ => None,
    };
    let is = |end: &End, wanted: Ordering| match against(&end.operand) {
        Some(Ordering::Equal) => end.inclusive || is_on(Mutation::EndsAreIncluded),
        Some(found) => found == wanted,
        None => false,
    };
    match test {
        Test::Equal(other) => value == other || against(other) == Some(Ordering::Equal),
        Test::In(others) => {
            others.iter().any(|other| value == other || against(other) == Some(Ordering::Equal))
        }
        Test::NotEqual(other) => against(other).is_some_and(Ordering::is_ne),
        Test::Range { low, high } => {
            low.as_ref().is_none_or(|low| is(low, Ordering::Greater))
                && high.as_ref().is_none_or(|high| is(high, Ordering::Less))
        }
        _ => false,
    }
}
