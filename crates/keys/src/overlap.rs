//! Whether a template has keys in a range of keys: what else a query would return.

use crate::automaton::{Automaton, State, shortest};
use crate::byteset::ByteSet;
use crate::range::KeyRange;
use crate::template::Template;

/// A place in the automaton, and how far the text read so far equals each end of the range; `None` once it is inside.
type Place = (State, Option<usize>, Option<usize>);

impl Template {
    /// Whether a key of this template may lie in a range. "No" is a proof.
    ///
    /// ```
    /// use keyloom_keys::{FieldCondition, Template};
    ///
    /// let order = Template::parse("ORDER#{at:datetime}#{id}")?;
    /// let line = Template::parse("ORDERLINE#{id}")?;
    /// let refund = Template::parse("ORDER#{at:datetime}#{id}#REFUND")?;
    /// let january = order.range(&[], Some(&FieldCondition::eq("at", "2024-01")))?;
    /// assert!(!line.may_meet(&january));
    /// assert!(refund.may_meet(&january));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn may_meet(&self, range: &KeyRange) -> bool {
        let automaton = Automaton::new(self);
        let (lower, upper) = (range.lower().as_bytes(), range.upper().as_bytes());
        let steps = |place: Place| steps(&automaton, lower, upper, place);
        // A key that ends while it equals a beginning of the lower end, but not all of it, is below the range.
        let inside = |(state, low, _): Place| {
            automaton.accepts(state) && low.is_none_or(|read| read == lower.len())
        };
        shortest((Automaton::START, Some(0), Some(0)), steps, inside).is_some()
    }
}

fn steps(
    automaton: &Automaton,
    lower: &[u8],
    upper: &[u8],
    (state, low, high): Place,
) -> Vec<(u8, Place)> {
    // Past its end, the lower bound allows every byte and the upper bound none.
    let low_byte = low.map(|read| lower.get(read).copied());
    let high_byte = high.map(|read| upper.get(read).copied());
    let mut reached = Vec::new();
    for &(bytes, to) in automaton.edges(state) {
        let mut candidates: Vec<u8> = low_byte.into_iter().chain(high_byte).flatten().collect();
        let first = low_byte.flatten().map_or(0, |byte| byte.saturating_add(1));
        let last = match high_byte {
            Some(Some(byte)) => byte.checked_sub(1),
            Some(None) => continue,
            None => Some(u8::MAX),
        };
        if let Some(last) = last.filter(|last| first <= *last) {
            candidates.extend(bytes.intersection(ByteSet::range(first, last)).min());
        }
        for byte in candidates.into_iter().filter(|byte| bytes.contains(*byte)) {
            let next_low = match low_byte {
                Some(Some(end)) if byte < end => continue,
                Some(Some(end)) if byte == end => low.map(|read| read + 1),
                _ => None,
            };
            let next_high = match high_byte.flatten() {
                Some(end) if byte > end => continue,
                Some(end) if byte == end => high.map(|read| read + 1),
                _ => None,
            };
            reached.push((byte, (to, next_low, next_high)));
        }
    }
    reached
}
