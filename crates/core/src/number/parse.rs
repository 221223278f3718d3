//! Parses numbers: DynamoDB's grammar in one pass over the bytes.
//!
//! `sign? (digits ("." digits?)? | "." digits) (("e" | "E") sign? digits)?` — nothing else, no spaces.

use std::str::FromStr;

use super::{MAX_DIGITS, Number, NumberError, check_range, power_of_ten};

/// Texts with at most this many digits need no 128-bit arithmetic and cannot violate a limit.
const SHORT: usize = 18;

impl Number {
    /// Parses a number.
    pub fn parse(text: &str) -> Result<Self, NumberError> {
        if let Some(number) = short_integer(text.as_bytes()) {
            return Ok(number);
        }
        scan(text).ok_or_else(|| NumberError::NotNumeric(text.to_owned()))?.number()
    }
}

impl FromStr for Number {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Self, NumberError> {
        Self::parse(text)
    }
}

/// Fast path: a plain integer of few digits.
fn short_integer(text: &[u8]) -> Option<Number> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > SHORT {
        return None;
    }
    let mut value = 0i64;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(byte - b'0');
    }
    Some(Number::from(if negative { -value } else { value }))
}

/// The parts of a well-formed number, before limits are checked.
#[derive(Default)]
struct Scanned {
    negative: bool,
    /// The leading significant digits; meaningless if there are more than 38.
    coefficient: u128,
    /// The number of significant digits up to the last one that is not zero.
    digits: u64,
    /// The number of zeros after that digit, on either side of the point.
    zeros: u64,
    /// The number of digits after the point.
    fraction: u64,
    /// The exponent as written, saturated.
    exponent: i64,
}

impl Scanned {
    fn digit(&mut self, digit: u8) {
        if digit == 0 {
            // Leading zeros are not significant; a later one is only if another digit follows.
            if self.digits > 0 {
                self.zeros += 1;
            }
            return;
        }
        self.digits += self.zeros + 1;
        if self.digits <= u64::from(MAX_DIGITS) {
            let power = power_of_ten(self.zeros as u32 + 1).unwrap_or_default();
            self.coefficient = self.coefficient * power + u128::from(digit);
        }
        self.zeros = 0;
    }

    fn number(self) -> Result<Number, NumberError> {
        if self.digits == 0 {
            return Ok(Number::ZERO);
        }
        let exponent = (self.zeros as i64 - self.fraction as i64).saturating_add(self.exponent);
        let magnitude = exponent.saturating_add(self.digits as i64 - 1);
        check_range(magnitude.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)?;
        if self.digits > u64::from(MAX_DIGITS) {
            return Err(NumberError::TooManyDigits);
        }
        Number::from_parts(self.negative, self.coefficient, exponent as i32)
    }
}

/// Matches the grammar; `None` if the text does not.
fn scan(text: &str) -> Option<Scanned> {
    let mut scanned = Scanned::default();
    let mut bytes = text.as_bytes();
    match bytes.split_first() {
        Some((b'-', rest)) => {
            scanned.negative = true;
            bytes = rest;
        }
        Some((b'+', rest)) => bytes = rest,
        _ => {}
    }
    let mut any_digit = false;
    let mut after_point = false;
    while let Some((&byte, rest)) = bytes.split_first() {
        match byte {
            b'0'..=b'9' => {
                any_digit = true;
                scanned.fraction += u64::from(after_point);
                scanned.digit(byte - b'0');
            }
            b'.' if !after_point => after_point = true,
            b'e' | b'E' => {
                scanned.exponent = scan_exponent(rest)?;
                break;
            }
            _ => return None,
        }
        bytes = rest;
    }
    any_digit.then_some(scanned)
}

fn scan_exponent(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, bytes),
    };
    if digits.is_empty() {
        return None;
    }
    let mut exponent = 0i64;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        exponent = exponent.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
    }
    Some(if negative { -exponent } else { exponent })
}
