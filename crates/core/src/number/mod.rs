//! Exact decimal numbers of up to 38 significant digits.
//!
//! A number is a sign, a coefficient of at most 38 digits and a power of ten. The coefficient has no
//! trailing zeros, so that one value has one form and equality is structural: `100`, `1E2` and
//! `100.00` are the same bits.

mod arithmetic;
mod convert;
mod parse;
mod print;
mod scale;

use std::cmp::Ordering;
use std::fmt;

use crate::error::{Error, message};

pub(crate) use print::write_decimal;
pub use scale::{has_readable_scale, scale_error};

/// Maximum number of significant digits.
pub const MAX_DIGITS: u32 = 38;
/// Maximum power of ten of a number's first digit: 9.99…E+125.
pub const MAX_MAGNITUDE: i32 = 125;
/// Minimum power of ten of a number's first digit: 1E-130.
pub const MIN_MAGNITUDE: i32 = -130;

/// A DynamoDB number: exact, at most 38 significant digits, magnitude 1E-130 to 9.99…E+125.
///
/// ```
/// use keyloom_core::Number;
///
/// let price: Number = "+12.50".parse().unwrap();
/// assert_eq!(price.to_string(), "12.5");
/// assert_eq!(price, Number::parse("1.25E1").unwrap());
/// assert_eq!(price.add(&Number::from(1)).unwrap().to_string(), "13.5");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number {
    // Two halves instead of one `u128`: its alignment of 16 would make this 32 bytes.
    high: u64,
    low: u64,
    exponent: i16,
    negative: bool,
}

/// Why a text or a result is not a DynamoDB number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// The text does not match the number grammar.
    NotNumeric(String),
    /// More than 38 significant digits.
    TooManyDigits,
    /// The magnitude is above 9.99…E+125.
    Overflow,
    /// The magnitude is below 1E-130.
    Underflow,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&message::value::number(self))
    }
}

impl std::error::Error for NumberError {}

impl From<NumberError> for Error {
    fn from(error: NumberError) -> Self {
        Self::validation(message::value::number(&error))
    }
}

impl Number {
    /// The number zero.
    pub const ZERO: Self = Self { high: 0, low: 0, exponent: 0, negative: false };

    /// Whether this is zero.
    pub fn is_zero(&self) -> bool {
        self.high == 0 && self.low == 0
    }

    /// Whether this is below zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The number of significant digits; zero has none.
    pub fn digits(&self) -> u32 {
        digit_count(self.coefficient())
    }

    /// The integer of the significant digits, without trailing zeros.
    pub(crate) fn coefficient(&self) -> u128 {
        (u128::from(self.high) << 64) | u128::from(self.low)
    }

    /// The power of ten by which the coefficient is multiplied.
    pub(crate) fn exponent(&self) -> i32 {
        i32::from(self.exponent)
    }

    /// The power of ten of the first significant digit.
    fn magnitude(&self) -> i32 {
        self.exponent() + self.digits() as i32 - 1
    }

    /// The number `±coefficient × 10^exponent` in normal form, if it is in range.
    pub(crate) fn from_parts(
        negative: bool,
        coefficient: u128,
        exponent: i32,
    ) -> Result<Self, NumberError> {
        if coefficient == 0 {
            return Ok(Self::ZERO);
        }
        // Fast path: twenty digits in the middle of the range cannot violate a limit.
        if let Ok(small) = u64::try_from(coefficient)
            && (MIN_MAGNITUDE..=MAX_MAGNITUDE - 20).contains(&exponent)
        {
            let (low, zeros) = strip_small_zeros(small);
            return Ok(Self { high: 0, low, exponent: (exponent + zeros) as i16, negative });
        }
        let (coefficient, zeros) = strip_zeros(coefficient);
        let exponent = exponent.saturating_add(zeros);
        let digits = digit_count(coefficient);
        check_range(exponent.saturating_add(digits as i32 - 1))?;
        if digits > MAX_DIGITS {
            return Err(NumberError::TooManyDigits);
        }
        Ok(Self {
            high: (coefficient >> 64) as u64,
            low: coefficient as u64,
            exponent: exponent as i16,
            negative,
        })
    }
}

/// Checks the power of ten of the first digit.
fn check_range(magnitude: i32) -> Result<(), NumberError> {
    if magnitude > MAX_MAGNITUDE {
        return Err(NumberError::Overflow);
    }
    if magnitude < MIN_MAGNITUDE {
        return Err(NumberError::Underflow);
    }
    Ok(())
}

/// The number of decimal digits of a coefficient; 0 for zero.
fn digit_count(coefficient: u128) -> u32 {
    match u64::try_from(coefficient) {
        Ok(small) => small.checked_ilog10().map_or(0, |log| log + 1),
        Err(_) => coefficient.ilog10() + 1,
    }
}

/// Divides out factors of ten; returns their number.
fn strip_zeros(mut coefficient: u128) -> (u128, i32) {
    let mut zeros = 0;
    while coefficient > u128::from(u64::MAX) {
        if !coefficient.is_multiple_of(10) {
            return (coefficient, zeros);
        }
        coefficient /= 10;
        zeros += 1;
    }
    let (small, more) = strip_small_zeros(coefficient as u64);
    (u128::from(small), zeros + more)
}

fn strip_small_zeros(mut coefficient: u64) -> (u64, i32) {
    let mut zeros = 0;
    while coefficient != 0 && coefficient.is_multiple_of(10) {
        coefficient /= 10;
        zeros += 1;
    }
    (coefficient, zeros)
}

/// `10^power`, if it fits.
fn power_of_ten(power: u32) -> Option<u128> {
    10u128.checked_pow(power)
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.is_zero(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| {
            let by_magnitude = self.cmp_magnitude(other);
            if self.negative { by_magnitude.reverse() } else { by_magnitude }
        })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Number {
    /// Compares the absolute values of two numbers, neither or both of which are zero.
    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        if self.exponent == other.exponent {
            return self.coefficient().cmp(&other.coefficient());
        }
        self.magnitude().cmp(&other.magnitude()).then_with(|| {
            // Equal magnitudes: the exponents differ by less than 38, so both fit when aligned.
            let common = self.exponent.min(other.exponent);
            self.aligned(common).cmp(&other.aligned(common))
        })
    }

    fn aligned(&self, exponent: i16) -> u128 {
        let shift = u32::from((self.exponent - exponent).unsigned_abs());
        power_of_ten(shift)
            .and_then(|power| self.coefficient().checked_mul(power))
            .unwrap_or(u128::MAX)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Number({self})")
    }
}

#[cfg(test)]
mod tests;
