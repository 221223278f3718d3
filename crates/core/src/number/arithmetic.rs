//! Addition and subtraction: exact or refused.
//!
//! DynamoDB does not round. A result that needs more than 38 digits (`1E50 + 1`) is refused with
//! the overflow message, as a test suite run against AWS shows.

use std::ops::Neg;

use super::{Number, NumberError, power_of_ten};

impl Number {
    /// The exact sum, unless it is out of range or needs more than 38 digits.
    pub fn add(&self, other: &Self) -> Result<Self, NumberError> {
        if self.is_zero() {
            return Ok(*other);
        }
        if other.is_zero() {
            return Ok(*self);
        }
        let (high, low) =
            if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        // If `high` does not fit when written with the exponent of `low`, the sum has at least 39
        // digits: `low` has at most 38, and its last digit is not zero.
        let shift = u32::from((high.exponent - low.exponent).unsigned_abs());
        let aligned = power_of_ten(shift)
            .and_then(|power| high.coefficient().checked_mul(power))
            .ok_or(NumberError::Overflow)?;
        let (negative, coefficient) = if high.negative == low.negative {
            let sum = aligned.checked_add(low.coefficient()).ok_or(NumberError::Overflow)?;
            (high.negative, sum)
        } else if aligned >= low.coefficient() {
            (high.negative, aligned - low.coefficient())
        } else {
            (low.negative, low.coefficient() - aligned)
        };
        match Self::from_parts(negative, coefficient, low.exponent()) {
            Err(NumberError::TooManyDigits) => Err(NumberError::Overflow),
            result => result,
        }
    }

    /// The exact difference, unless it is out of range or needs more than 38 digits.
    pub fn sub(&self, other: &Self) -> Result<Self, NumberError> {
        self.add(&-*other)
    }
}

impl Neg for Number {
    type Output = Self;

    fn neg(self) -> Self {
        Self { negative: !self.negative && !self.is_zero(), ..self }
    }
}
