//! UUID and ULID: 128-bit identifiers with a canonical text whose byte order is their numeric order.

use std::fmt;
use std::str::FromStr;

use crate::error::ValueError;

const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const HEX: &[u8; 16] = b"0123456789abcdef";

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

    /// Reads 32 hex digits with hyphens in their places; only lower case when `strict`.
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

/// Whether the canonical UUID text has a hyphen here.
pub(crate) const fn is_hyphen(at: usize) -> bool {
    matches!(at, 8 | 13 | 18 | 23)
}

impl Ulid {
    pub(crate) const TEXT_LEN: usize = 26;

    /// The canonical text.
    pub(crate) fn encode(self) -> [u8; Self::TEXT_LEN] {
        let mut text = [b'0'; Self::TEXT_LEN];
        let mut bits = self.0;
        for slot in text.iter_mut().rev() {
            *slot = CROCKFORD.get((bits & 31) as usize).copied().unwrap_or_default();
            bits >>= 5;
        }
        text
    }

    /// Reads 26 digits; only canonical upper case when `strict`.
    pub(crate) fn decode(text: &[u8], strict: bool) -> Option<Self> {
        let (&first, rest) = text.split_first()?;
        if text.len() != Self::TEXT_LEN || !(b'0'..=b'7').contains(&first) {
            return None;
        }
        let mut bits = u128::from(first - b'0');
        for &byte in rest {
            let byte = if strict { byte } else { byte.to_ascii_uppercase() };
            bits = bits << 5 | u128::from(crockford_value(byte)?);
        }
        Some(Ulid(bits))
    }
}

/// The value of a canonical Crockford digit: `I`, `L`, `O` and `U` are left out of the alphabet.
const fn crockford_value(byte: u8) -> Option<u8> {
    let value = match byte {
        b'0'..=b'9' => byte - b'0',
        b'A'..=b'H' => byte - b'A' + 10,
        b'J' | b'K' => byte - b'J' + 18,
        b'M' | b'N' => byte - b'M' + 20,
        b'P'..=b'T' => byte - b'P' + 22,
        b'V'..=b'Z' => byte - b'V' + 27,
        _ => return None,
    };
    Some(value)
}

/// The lower-case hex digit of a value below 16.
pub(crate) fn hex_digit(value: u8) -> u8 {
    HEX.get(usize::from(value & 15)).copied().unwrap_or_default()
}

/// The value of a hex digit of either case.
pub(crate) const fn hex_value(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
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
