//! Sets of bytes.

/// A set of byte values.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// No byte.
    pub const EMPTY: Self = Self([0; 4]);
    /// Every byte.
    pub const ALL: Self = Self([u64::MAX; 4]);

    /// One byte.
    pub fn one(byte: u8) -> Self {
        Self::range(byte, byte)
    }

    /// The bytes `low..=high`.
    pub fn range(low: u8, high: u8) -> Self {
        let mut set = Self::EMPTY;
        for byte in low..=high {
            set.insert(byte);
        }
        set
    }

    /// Adds a byte.
    pub fn insert(&mut self, byte: u8) {
        if let Some(word) = self.0.get_mut(usize::from(byte >> 6)) {
            *word |= 1 << (byte & 63);
        }
    }

    /// Whether the byte is in the set.
    pub fn contains(self, byte: u8) -> bool {
        self.0.get(usize::from(byte >> 6)).is_some_and(|word| word >> (byte & 63) & 1 == 1)
    }

    /// The bytes that both sets have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a & e, b & f, c & g, d & h])
    }

    /// The bytes that either set has.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a | e, b | f, c | g, d | h])
    }

    /// The bytes that the set lacks.
    #[must_use]
    pub fn complement(self) -> Self {
        let [a, b, c, d] = self.0;
        Self([!a, !b, !c, !d])
    }

    /// Whether no byte is in the set.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// The smallest byte.
    pub fn lowest(self) -> Option<u8> {
        (0..=255).find(|&byte| self.contains(byte))
    }

    /// A byte to show people: a letter if there is one, then a digit, then anything.
    pub fn sample(self) -> Option<u8> {
        let preferred = (b'a'..=b'z').chain(b'A'..=b'Z').chain(b'0'..=b'9').chain(0x21..=0x7e);
        preferred.chain(0..=255).find(|&byte| self.contains(byte))
    }

    /// Reads a character class such as `A-Za-z0-9_-`; only ASCII characters may be listed.
    pub fn parse(class: &str) -> Option<Self> {
        let chars: Vec<char> = class.chars().collect();
        let mut set = Self::EMPTY;
        let mut rest = chars.as_slice();
        while let [first, tail @ ..] = rest {
            let low = u8::try_from(*first).ok().filter(u8::is_ascii)?;
            if let ['-', last, after @ ..] = tail {
                let high = u8::try_from(*last).ok().filter(u8::is_ascii)?;
                if high < low {
                    return None;
                }
                set = set.or(Self::range(low, high));
                rest = after;
            } else {
                set.insert(low);
                rest = tail;
            }
        }
        (!set.is_empty()).then_some(set)
    }
}

impl std::fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let count: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        write!(f, "ByteSet({count} bytes)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read_as_in_regular_expressions() {
        let set = ByteSet::parse("A-C9_-").unwrap();
        assert!([b'A', b'B', b'C', b'9', b'_', b'-'].iter().all(|&b| set.contains(b)));
        assert!(!set.contains(b'D') && !set.contains(b'#'));
        assert_eq!(ByteSet::parse("z-a"), None);
        assert_eq!(ByteSet::parse(""), None);
        assert_eq!(set.lowest(), Some(b'-'));
    }
}
