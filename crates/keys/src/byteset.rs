//! Sets of bytes: the alphabets of fields, used to prove sort order and unambiguous parsing.

use std::fmt;

/// A set of byte values.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ByteSet([u128; 2]);

impl ByteSet {
    /// The empty set.
    pub const EMPTY: ByteSet = ByteSet([0, 0]);
    /// The set of all 256 bytes.
    pub const ALL: ByteSet = ByteSet([u128::MAX, u128::MAX]);

    /// Bytes that are characters by themselves in UTF-8.
    pub const ASCII: ByteSet = ByteSet([u128::MAX, 0]);

    /// The set of the bytes that occur in a text.
    pub fn of(bytes: &[u8]) -> Self {
        bytes.iter().fold(ByteSet::EMPTY, |set, &byte| set.with(byte))
    }

    /// All bytes from `first` to `last`.
    pub fn range(first: u8, last: u8) -> Self {
        (first..=last).fold(ByteSet::EMPTY, ByteSet::with)
    }

    /// This set with one more byte.
    #[must_use]
    pub const fn with(self, byte: u8) -> Self {
        let ByteSet([low, high]) = self;
        if byte < 128 {
            ByteSet([low | 1 << byte, high])
        } else {
            ByteSet([low, high | 1 << (byte - 128)])
        }
    }

    /// This set without the other's bytes.
    #[must_use]
    pub const fn without(self, other: ByteSet) -> Self {
        let (ByteSet([low, high]), ByteSet([other_low, other_high])) = (self, other);
        ByteSet([low & !other_low, high & !other_high])
    }

    /// The bytes that are in either set.
    #[must_use]
    pub const fn union(self, other: ByteSet) -> Self {
        let (ByteSet([low, high]), ByteSet([other_low, other_high])) = (self, other);
        ByteSet([low | other_low, high | other_high])
    }

    /// The bytes that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: ByteSet) -> Self {
        let (ByteSet([low, high]), ByteSet([other_low, other_high])) = (self, other);
        ByteSet([low & other_low, high & other_high])
    }

    /// Whether the byte is in the set.
    pub const fn contains(self, byte: u8) -> bool {
        let ByteSet([low, high]) = self;
        if byte < 128 { low >> byte & 1 == 1 } else { high >> (byte - 128) & 1 == 1 }
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self == ByteSet::EMPTY
    }

    /// The bytes in ascending order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = u8> {
        (0..=u8::MAX).filter(move |&byte| self.contains(byte))
    }

    /// The smallest byte; `None` for the empty set.
    pub fn min(self) -> Option<u8> {
        self.iter().next()
    }

    /// The largest byte; `None` for the empty set.
    pub fn max(self) -> Option<u8> {
        self.iter().next_back()
    }
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: Vec<u8> = self.iter().collect();
        write!(f, "ByteSet({:?})", String::from_utf8_lossy(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_behave_like_sets() {
        let digits = ByteSet::range(b'0', b'9');
        assert_eq!((digits.min(), digits.max()), (Some(b'0'), Some(b'9')));
        assert!(digits.contains(b'5') && !digits.contains(b'a'));
        assert!(digits.intersection(ByteSet::of(b"abc")).is_empty());
        assert_eq!(ByteSet::ALL.without(ByteSet::range(1, 255)).max(), Some(0));
        assert_eq!(
            ByteSet::of(&[200]).union(ByteSet::of(&[3])).iter().collect::<Vec<_>>(),
            [3, 200]
        );
    }
}
