//! Conversions from and to machine numbers.

use super::{Number, NumberError, power_of_ten};

/// The powers of ten that are exact 64-bit floats.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

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

    /// The value as an unsigned 64-bit integer, if it is one.
    #[inline]
    pub(crate) fn as_u64(&self) -> Option<u64> {
        if self.negative || self.high != 0 {
            return None;
        }
        match self.exponent {
            0 => Some(self.low),
            exponent => self.low.checked_mul(10u64.checked_pow(u32::try_from(exponent).ok()?)?),
        }
    }

    /// The value as a 64-bit integer, if it is one.
    pub fn to_i64(&self) -> Option<i64> {
        let power = power_of_ten(u32::try_from(self.exponent).ok()?)?;
        let magnitude = i128::try_from(self.coefficient().checked_mul(power)?).ok()?;
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    /// The nearest 32-bit float; infinite if out of range.
    pub fn to_f32(&self) -> f32 {
        /// The mantissa bits of a 64-bit float that a 32-bit one lacks, and the first of them
        /// alone.
        const LOST: u64 = (1 << 29) - 1;
        const HALF: u64 = 1 << 28;
        let exponent = self.exponent();
        let power = EXACT_POWERS.get(exponent.unsigned_abs() as usize);
        if let Some(power) = power.filter(|_| self.coefficient() < 1 << f64::MANTISSA_DIGITS) {
            let digits = self.low as f64;
            // Both operands are exact, so the result is correctly rounded.
            let double = if exponent < 0 { digits / power } else { digits * power };
            // Double rounding is wrong only exactly halfway between two 32-bit floats.
            if double.to_bits() & LOST != HALF {
                let float = double as f32;
                return if self.negative { -float } else { float };
            }
        }
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}e{}", self.coefficient(), self.exponent).parse().unwrap_or(f32::NAN)
    }

    /// The nearest float.
    pub fn to_f64(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        // The standard parser rounds correctly; multiplying would not.
        format!("{sign}{}e{}", self.coefficient(), self.exponent).parse().unwrap_or(f64::NAN)
    }
}
