//! Conditions on fields, compiled to one range of keys.
//!
//! DynamoDB accepts one condition per sort key, and its `BETWEEN` includes both bounds. So a condition on a field becomes
//! the smallest and the largest key that can satisfy it. Both lie inside the template's own keys: the range has all
//! keys of the template that satisfy the condition, none that do not, and none of another template such as
//! `ORDERLINE#...`. If the matching keys are not contiguous, the result is an error, not a wrong range.

mod compile;
mod condition;
mod edge;
mod text;

pub use condition::{FieldCondition, Operator, Term};
pub(crate) use edge::End;

/// The kind of key condition that a range needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeKind {
    /// Every key of a template without a common prefix: no sort-key condition is needed.
    All,
    /// One key: `=`.
    Exact,
    /// All keys with this prefix: `begins_with`.
    Prefix(String),
    /// From the lower to the upper bound: `BETWEEN`.
    Between,
}

/// A range of keys, both bounds included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    lower: String,
    upper: String,
    kind: RangeKind,
}

impl KeyRange {
    pub(crate) fn between(lower: String, upper: String) -> Option<Self> {
        let kind = if lower == upper { RangeKind::Exact } else { RangeKind::Between };
        (lower <= upper).then_some(KeyRange { lower, upper, kind })
    }

    pub(crate) fn exact(key: String) -> Self {
        KeyRange { lower: key.clone(), upper: key, kind: RangeKind::Exact }
    }

    /// The range of all keys that begin with a text, whatever their template.
    ///
    /// ```
    /// use keyloom_keys::{KeyRange, Template, FieldCondition};
    ///
    /// // "begins with METRIC# and after a time" is one range, where DynamoDB refuses two conditions.
    /// let metric = Template::parse("METRIC#{at:epoch_ms}#{id}")?;
    /// let after = metric.range(&[], Some(&FieldCondition::gt("at", 1_700_000_000_000_i64)))?;
    /// let both = KeyRange::starting_with("METRIC#").intersect(&after).expect("they overlap");
    /// assert_eq!(both.lower(), "METRIC#001700000000001#");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn starting_with(prefix: &str) -> Self {
        let kind =
            if prefix.is_empty() { RangeKind::All } else { RangeKind::Prefix(prefix.to_owned()) };
        KeyRange {
            lower: prefix.to_owned(),
            upper: format!("{prefix}{}", crate::escape::SENTINEL),
            kind,
        }
    }

    /// The smallest key in the range.
    pub fn lower(&self) -> &str {
        &self.lower
    }

    /// The largest key in the range.
    pub fn upper(&self) -> &str {
        &self.upper
    }

    /// The kind of key condition for this range.
    pub fn kind(&self) -> &RangeKind {
        &self.kind
    }

    /// The prefix, if the range is exactly the keys with one prefix.
    pub fn prefix(&self) -> Option<&str> {
        match &self.kind {
            RangeKind::Prefix(prefix) => Some(prefix),
            _ => None,
        }
    }

    /// Whether a key lies in the range.
    pub fn contains(&self, key: &str) -> bool {
        self.lower.as_str() <= key && key <= self.upper.as_str()
    }

    /// The intersection of two ranges; `None` if it is empty.
    pub fn intersect(&self, other: &KeyRange) -> Option<KeyRange> {
        if self.lower >= other.lower && self.upper <= other.upper {
            return Some(self.clone());
        }
        if other.lower >= self.lower && other.upper <= self.upper {
            return Some(other.clone());
        }
        KeyRange::between(
            self.lower.clone().max(other.lower.clone()),
            self.upper.clone().min(other.upper.clone()),
        )
    }
}
