//! Conversions from and to machine numbers.

use super::{Number, NumberError, power_of_ten};

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::from_integer(value < 0, value.unsigned_abs())
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Self {
        Self::from(i64::from(value))
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self::from_integer(false, value)
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Self {
        Self::from(u64::from(value))
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}

impl Number {
    fn from_integer(negative: bool, mut magnitude: u64) -> Self {
        let mut exponent = 0;
        while magnitude != 0 && magnitude.is_multiple_of(10) {
            magnitude /= 10;
            exponent += 1;
        }
        Self { high: 0, low: magnitude, exponent, negative }
    }

    /// The shortest decimal that reads back as this float. NaN and infinities are refused.
    pub fn from_f64(value: f64) -> Result<Self, NumberError> {
        Self::parse(&format!("{value:e}"))
    }

    /// The value as a 64-bit integer, if it is one.
    pub fn to_i64(&self) -> Option<i64> {
        let power = power_of_ten(u32::try_from(self.exponent).ok()?)?;
        let magnitude = i128::try_from(self.coefficient().checked_mul(power)?).ok()?;
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    /// The nearest float.
    pub fn to_f64(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        // The standard parser rounds correctly, which multiplying would not.
        format!("{sign}{}e{}", self.coefficient(), self.exponent).parse().unwrap_or(f64::NAN)
    }
}
