//! Key ranges and scan directions.

use std::ops::{Bound, RangeBounds};

use bytes::Bytes;

/// The direction of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Smallest key first.
    Forward,
    /// Largest key first.
    Backward,
}

/// A contiguous range of keys; each end is inclusive, exclusive or open.
///
/// ```
/// use keyloom_store::KeyRange;
///
/// assert!(KeyRange::prefix(b"user/").contains(b"user/7"));
/// assert!(!KeyRange::prefix(b"user/").contains(b"user0"));
/// assert!(KeyRange::new(b"b".as_slice()..b"b".as_slice()).is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// Where the range begins.
    pub lower: Bound<Bytes>,
    /// Where the range ends.
    pub upper: Bound<Bytes>,
}

impl KeyRange {
    /// The range of all keys.
    pub const fn all() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// The keys between two bounds, copied from any range of byte slices.
    pub fn new<'a>(range: impl RangeBounds<&'a [u8]>) -> Self {
        let copy = |bound: Bound<&&[u8]>| bound.map(|key| Bytes::copy_from_slice(key));
        Self { lower: copy(range.start_bound()), upper: copy(range.end_bound()) }
    }

    /// The keys that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self { lower: Bound::Included(Bytes::copy_from_slice(prefix)), upper: after_prefix(prefix) }
    }

    /// Whether the range can contain no key. Ordered maps panic on such ranges, so every store
    /// checks this first.
    pub fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (
                Bound::Included(lower) | Bound::Excluded(lower),
                Bound::Included(upper) | Bound::Excluded(upper),
            ) => lower >= upper,
        }
    }

    /// Whether `key` lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        RangeBounds::<[u8]>::contains(&self.as_bounds(), key)
    }

    /// The bounds as borrowed slices, the form that ordered maps take.
    pub fn as_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.lower.as_ref().map(AsRef::as_ref), self.upper.as_ref().map(AsRef::as_ref))
    }
}

/// The first key after all keys with this prefix: its last byte below 0xFF, plus one.
fn after_prefix(prefix: &[u8]) -> Bound<Bytes> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Bound::Excluded(end.into());
        }
    }
    Bound::Unbounded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_ends_before_its_successor() {
        let cases: [(&[u8], Bound<&[u8]>); 5] = [
            (b"", Bound::Unbounded),
            (b"a", Bound::Excluded(b"b")),
            (b"a\xFF", Bound::Excluded(b"b")),
            (b"\xFF\xFF", Bound::Unbounded),
            (b"a\x00", Bound::Excluded(b"a\x01")),
        ];
        for (prefix, upper) in cases {
            assert_eq!(KeyRange::prefix(prefix).as_bounds(), (Bound::Included(prefix), upper));
        }
    }

    #[test]
    fn a_range_is_empty_when_nothing_can_lie_in_it() {
        use Bound::{Excluded, Included, Unbounded};
        let range = |lower, upper| KeyRange::new::<'static>((lower, upper));
        let (a, b): (&[u8], &[u8]) = (b"a", b"b");
        assert!(!range(Included(a), Included(a)).is_empty());
        assert!(range(Included(a), Excluded(a)).is_empty());
        assert!(range(Excluded(a), Included(a)).is_empty());
        assert!(range(Excluded(a), Excluded(a)).is_empty());
        assert!(range(Included(b), Included(a)).is_empty());
        assert!(!range(Excluded(a), Excluded(b)).is_empty());
        assert!(!range(Unbounded, Excluded(a)).is_empty());
    }
}
