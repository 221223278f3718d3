//! The order-preserving key codec: the byte order of encoded keys is DynamoDB's order of the
//! values.
//!
//! Key values are concatenated; tuples compare part by part, left to right.
//!
//! | type | bytes |
//! |---|---|
//! | S, B | the bytes, each `00` as `00 FF`, then `00 00`; so a proper prefix comes first |
//! | N, zero | `02` |
//! | N, positive | `03`, the exponent to base 100 plus 128, the digit pairs plus 1, `00` |
//! | N, negative | `01`, then as positive with every byte complemented |
//!
//! Types are not encoded: they come from the schema.

use std::fmt::{self, Write as _};

use crate::error::{Error, Result, message};
use crate::hex::Hex;
use crate::number::Number;
use crate::schema::ScalarType;
use crate::value::{AttributeValue, Str};

const NEGATIVE: u8 = 0x01;
const ZERO: u8 = 0x02;
const POSITIVE: u8 = 0x03;

/// Encodes a zero byte of the value.
const ESCAPED_ZERO: [u8; 2] = [0x00, 0xFF];
/// Terminates a string or binary value.
const TERMINATOR: [u8; 2] = [0x00, 0x00];

/// Added to the base-100 exponent (-64 to 63) to make a byte.
const EXPONENT_BIAS: i32 = 128;

/// Appends one key value.
///
/// Only strings, numbers and binaries can be keys; any other type is refused.
pub fn encode_key_value(value: &AttributeValue, out: &mut Vec<u8>) -> Result<()> {
    match value {
        AttributeValue::S(text) => encode_bytes(text.as_bytes(), out),
        AttributeValue::B(bytes) => encode_bytes(bytes, out),
        AttributeValue::N(number) => encode_number(number, out),
        _ => return Err(message::schema::key_mismatch()),
    }
    Ok(())
}

/// Encodes the values of a partition key, or of a sort key.
///
/// Fails if one of them cannot be part of a key.
pub fn encode_key_values<'v>(
    values: impl IntoIterator<Item = &'v AttributeValue>,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    values.into_iter().try_for_each(|value| encode_key_value(value, &mut out))?;
    Ok(out)
}

/// Appends the common prefix of all encoded key values that begin with `prefix` (a string or
/// binary).
///
/// All keys of `begins_with` have this prefix.
pub fn encode_key_prefix(prefix: &AttributeValue, out: &mut Vec<u8>) -> Result<()> {
    match prefix {
        AttributeValue::S(text) => escape(text.as_bytes(), out),
        AttributeValue::B(bytes) => escape(bytes, out),
        _ => return Err(message::schema::key_mismatch()),
    }
    Ok(())
}

/// Decodes one key value from the front of `input` and advances it.
pub fn decode_key_value(kind: ScalarType, input: &mut &[u8]) -> Result<AttributeValue> {
    let value = match kind {
        ScalarType::S => {
            decode_bytes(input).and_then(|bytes| Str::from_utf8(bytes).ok()).map(AttributeValue::S)
        }
        ScalarType::B => decode_bytes(input).map(AttributeValue::B),
        ScalarType::N => decode_number(input).map(AttributeValue::N),
    };
    value.ok_or_else(|| Error::InternalServer(format!("stored key is corrupt: no {kind} value")))
}

/// The encoded length of the key value at the front of `input`, without decoding it; `None` if it
/// is damaged.
pub fn key_value_len(kind: ScalarType, input: &[u8]) -> Option<usize> {
    match kind {
        ScalarType::S | ScalarType::B => {
            let mut from = 0;
            loop {
                let zero = from + input.get(from..)?.iter().position(|&byte| byte == 0)?;
                from = zero + TERMINATOR.len();
                match *input.get(zero..)?.first_chunk::<2>()? {
                    TERMINATOR => return Some(from),
                    ESCAPED_ZERO => {}
                    _ => return None,
                }
            }
        }
        ScalarType::N => {
            let flip = match *input.first()? {
                ZERO => return Some(1),
                POSITIVE => 0x00,
                NEGATIVE => 0xFF,
                _ => return None,
            };
            let end = input.get(2..)?.iter().position(|&byte| byte ^ flip == 0)?;
            Some(2 + end + 1)
        }
    }
}

fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    escape(bytes, out);
    out.extend_from_slice(&TERMINATOR);
}

fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + TERMINATOR.len());
    // Keys seldom contain a zero byte: without one they are copied unchanged.
    if !bytes.contains(&0) {
        out.extend_from_slice(bytes);
        return;
    }
    let mut parts = bytes.split(|&byte| byte == 0);
    out.extend_from_slice(parts.next().unwrap_or_default());
    for part in parts {
        out.extend_from_slice(&ESCAPED_ZERO);
        out.extend_from_slice(part);
    }
}

fn decode_bytes(input: &mut &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let zero = input.iter().position(|&byte| byte == 0)?;
        bytes.extend_from_slice(input.get(..zero)?);
        let (marker, rest) = input.get(zero..)?.split_first_chunk::<2>()?;
        *input = rest;
        match *marker {
            TERMINATOR => return Some(bytes),
            ESCAPED_ZERO => bytes.push(0),
            _ => return None,
        }
    }
}

fn encode_number(number: &Number, out: &mut Vec<u8>) {
    if number.is_zero() {
        out.push(ZERO);
        return;
    }
    let start = out.len() + 1;
    out.push(if number.is_negative() { NEGATIVE } else { POSITIVE });
    // The value is 0.d1d2d3… × 10^point; digit pairs are aligned so that the point in base 100
    // falls between them.
    let point = number.exponent() + number.digits() as i32;
    out.push(((point + 1).div_euclid(2) + EXPONENT_BIAS) as u8);
    let mut pairs = [0u8; 20];
    let mut count = 0;
    let mut coefficient = number.coefficient();
    // With an odd exponent the last pair is one digit and a padding zero.
    let odd = number.exponent() & 1 != 0;
    for (position, slot) in pairs.iter_mut().enumerate() {
        if coefficient == 0 {
            break;
        }
        let (digits, scale) = if odd && position == 0 { (10, 10) } else { (100, 1) };
        *slot = (coefficient % digits) as u8 * scale + 1;
        coefficient /= digits;
        count += 1;
    }
    out.extend(pairs.iter().take(count).rev());
    out.push(0);
    if number.is_negative() {
        for byte in out.iter_mut().skip(start) {
            *byte = !*byte;
        }
    }
}

fn decode_number(input: &mut &[u8]) -> Option<Number> {
    let (&class, rest) = input.split_first()?;
    let flip = match class {
        ZERO => {
            *input = rest;
            return Some(Number::ZERO);
        }
        POSITIVE => 0x00,
        NEGATIVE => 0xFF,
        _ => return None,
    };
    let (&exponent, mut rest) = rest.split_first()?;
    let point = (i32::from(exponent ^ flip) - EXPONENT_BIAS) * 2;
    let end = rest.iter().position(|&byte| byte ^ flip == 0)?;
    let (last, pairs) = rest.get(..end)?.split_last()?;
    let pair = |byte: u8| (byte ^ flip).checked_sub(1).filter(|&pair| pair < 100).map(u128::from);
    let mut coefficient = 0u128;
    for &byte in pairs {
        coefficient = coefficient.checked_mul(100)?.checked_add(pair(byte)?)?;
    }
    let mut exponent = point - 2 * end as i32;
    // The last pair may end in a padding zero: drop it, 39 digits do not fit.
    let (scale, digits) = match pair(*last)? {
        tens if tens % 10 == 0 => {
            exponent += 1;
            (10, tens / 10)
        }
        both => (100, both),
    };
    coefficient = coefficient.checked_mul(scale)?.checked_add(digits)?;
    rest = rest.get(end + 1..)?;
    *input = rest;
    Number::from_parts(class == NEGATIVE, coefficient, exponent).ok()
}

/// Displays an encoded key readably: `"USER#1" 42 0x00ff`.
///
/// Bytes that do not match the given types are shown in hexadecimal after a `!`.
#[derive(Clone, Copy, Debug)]
pub struct KeyDisplay<'a> {
    /// The types of the key values.
    pub types: &'a [ScalarType],
    /// The encoded key.
    pub bytes: &'a [u8],
}

impl fmt::Display for KeyDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.bytes;
        for (position, &kind) in self.types.iter().enumerate() {
            if rest.is_empty() {
                break;
            }
            if position > 0 {
                f.write_char(' ')?;
            }
            let before = rest;
            match decode_key_value(kind, &mut rest) {
                Ok(AttributeValue::S(text)) => write!(f, "{:?}", text.as_str())?,
                Ok(AttributeValue::N(number)) => write!(f, "{number}")?,
                Ok(AttributeValue::B(bytes)) => write!(f, "0x{}", Hex(&bytes))?,
                _ => {
                    rest = before;
                    break;
                }
            }
        }
        if !rest.is_empty() {
            write!(f, "!0x{}", Hex(rest))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
