//! UUID and ULID: 128-bit identifiers with a canonical text whose byte order is their numeric order.

use std::fmt;
use std::str::FromStr;

use crate::error::ValueError;

const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A UUID of any version; in keys, 36 lower-case characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub u128);

/// A ULID; in keys, 26 upper-case Crockford base-32 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ulid(pub u128);

impl Uuid {
    pub(crate) const TEXT_LEN: usize = 36;

    /// The canonical text.
    pub(crate) fn encode(self) -> [u8; Self::TEXT_LEN] {
        let mut text = [b'-'; Self::TEXT_LEN];
        let mut bits = self.0;
        for (at, slot) in text.iter_mut().enumerate().rev() {
            if !is_hyphen(at) {
                *slot = hex_digit((bits & 15) as u8);
                bits >>= 4;
            }
        }
        text
    }

    /// Parses 32 hex digits with hyphens; only lower case if `strict`.
    pub(crate) fn decode(text: &[u8], strict: bool) -> Option<Self> {
        if text.len() != Self::TEXT_LEN {
            return None;
        }
        let mut bits = 0;
        for (at, &byte) in text.iter().enumerate() {
            if is_hyphen(at) {
                if byte != b'-' {
                    return None;
                }
            } else {
                let digit = hex_value(byte)?;
                if strict && byte.is_ascii_uppercase() {
                    return None;
                }
                bits = bits << 4 | u128::from(digit);
            }
        }
        Some(Uuid(bits))
    }
}

/// Whether the canonical UUID text has a hyphen at this position.
pub(crate) const fn is_hyphen(at: usize) -> bool {
    matches!(at, 8 | 13 | 18 | 23)
}

impl Ulid {
    pub(crate) const TEXT_LEN: usize = 26;

    /// The canonical text.
    pub(crate) fn encode(self) -> [u8; Self::TEXT_LEN] {
        // 8, 60 and 60 bits: whole digits that fit 64-bit arithmetic, which is several times faster than 128-bit.
        let mut text = [b'0'; Self::TEXT_LEN];
        let (head, tail) = text.split_at_mut(2);
        let (middle, end) = tail.split_at_mut(12);
        let parts = [(head, self.0 >> 120), (middle, self.0 >> 60), (end, self.0)];
        for (slots, bits) in parts {
            let mut bits = bits as u64;
            for slot in slots.iter_mut().rev() {
                *slot = CROCKFORD.get((bits & 31) as usize).copied().unwrap_or_default();
                bits >>= 5;
            }
        }
        text
    }

    /// Parses 26 digits; only canonical upper case if `strict`.
    pub(crate) fn decode(text: &[u8], strict: bool) -> Option<Self> {
        let text: &[u8; Self::TEXT_LEN] = text.try_into().ok()?;
        let (head, tail) = text.split_at(2);
        let (middle, end) = tail.split_at(12);
        let [first, ..] = text;
        if !(b'0'..=b'7').contains(first) {
            return None;
        }
        let part = |digits: &[u8]| {
            let mut bits = 0_u64;
            for &byte in digits {
                let byte = if strict { byte } else { byte.to_ascii_uppercase() };
                bits = bits << 5 | u64::from(crockford_value(byte)?);
            }
            Some(u128::from(bits))
        };
        Some(Ulid(part(head)? << 120 | part(middle)? << 60 | part(end)?))
    }
}

/// The value of each byte as a canonical Crockford digit: `I`, `L`, `O` and `U` are left out of the alphabet.
const CROCKFORD_VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut rest: &[u8] = CROCKFORD;
    let mut value = 0;
    while let [digit, tail @ ..] = rest {
        #[expect(
            clippy::indexing_slicing,
            reason = "a byte is below 256, and this runs at compile time"
        )]
        {
            values[*digit as usize] = value;
        }
        value += 1;
        rest = tail;
    }
    values
};

/// Marks a byte that is not a digit.
const NO_DIGIT: u8 = u8::MAX;

fn crockford_value(byte: u8) -> Option<u8> {
    CROCKFORD_VALUES.get(usize::from(byte)).copied().filter(|value| *value != NO_DIGIT)
}

/// The lower-case hex digit of a value below 16.
pub(crate) fn hex_digit(value: u8) -> u8 {
    char::from_digit(u32::from(value & 15), 16).map_or(0, |digit| digit as u8)
}

/// The value of a hex digit of either case.
pub(crate) const fn hex_value(byte: u8) -> Option<u8> {
    match (byte as char).to_digit(16) {
        Some(value) => Some(value as u8),
        None => None,
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.encode()).unwrap_or_default())
    }
}

impl fmt::Display for Ulid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.encode()).unwrap_or_default())
    }
}

impl FromStr for Uuid {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        Uuid::decode(text.as_bytes(), false).ok_or_else(|| {
            ValueError::malformed(text, "a UUID such as 018e6f2c-4a00-7000-8000-000000000001")
        })
    }
}

impl FromStr for Ulid {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        Ulid::decode(text.as_bytes(), false).ok_or_else(|| {
            ValueError::malformed(
                text,
                "a ULID of 26 characters such as 01HM5KXJ8M0000000000000001",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crockford_digit_has_its_place() {
        for (value, &byte) in CROCKFORD.iter().enumerate() {
            assert_eq!(crockford_value(byte), Some(value as u8));
        }
        for byte in *b"ILOUilou" {
            assert_eq!(crockford_value(byte), None);
        }
    }

    #[test]
    fn text_is_canonical() {
        assert_eq!(Ulid(u128::MAX).to_string(), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        assert_eq!(Uuid(1).to_string(), "00000000-0000-0000-0000-000000000001");
        let id: Uuid = "018E6F2C-4A00-7000-8000-00000000ABCD".parse().unwrap();
        assert_eq!(id.to_string(), "018e6f2c-4a00-7000-8000-00000000abcd");
        let id: Ulid = "01hm5kxj8m0000000000000001".parse().unwrap();
        assert_eq!(id.to_string(), "01HM5KXJ8M0000000000000001");
    }

    #[test]
    fn broken_identifiers_are_refused() {
        for text in [
            "",
            "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "01HM5KXJ8M000000000000000",
            "01HM5KXJ8M000000000000000U",
        ] {
            assert!(text.parse::<Ulid>().is_err(), "{text}");
        }
        for text in ["", "018e6f2c4a0070008000000000000001", "018e6f2c-4a00-7000-8000-00000000000g"]
        {
            assert!(text.parse::<Uuid>().is_err(), "{text}");
        }
    }
}
