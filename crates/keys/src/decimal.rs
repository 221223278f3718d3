//! Exact decimal numbers with a fixed number of digits after the point.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::error::ValueError;

/// The maximum number of digits of a decimal, as in DynamoDB's numbers.
pub(crate) const MAX_DIGITS: u32 = 38;

/// A decimal number: an integer and the number of its digits after the point.
///
/// ```
/// use keyloom_keys::Decimal;
///
/// let price: Decimal = "-12.50".parse()?;
/// assert_eq!((price.unscaled(), price.scale()), (-1250, 2));
/// assert_eq!(price, Decimal::new(-125, 1).expect("in range"));
/// # Ok::<(), keyloom_keys::ValueError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    unscaled: i128,
    scale: u8,
}

impl Decimal {
    /// `unscaled / 10^scale`; `None` beyond 38 digits.
    pub fn new(unscaled: i128, scale: u8) -> Option<Self> {
        let fits =
            unscaled.unsigned_abs() < 10_u128.pow(MAX_DIGITS) && u32::from(scale) <= MAX_DIGITS;
        fits.then_some(Decimal { unscaled, scale })
    }

    /// The digits as an integer, without the point.
    pub const fn unscaled(self) -> i128 {
        self.unscaled
    }

    /// The number of digits after the point.
    pub const fn scale(self) -> u8 {
        self.scale
    }

    /// The number in units of `10^-scale`: rounded down, and whether that was exact. Saturates far out of range.
    pub(crate) fn floor_at(self, scale: u8) -> (i128, bool) {
        let steps = i32::from(scale) - i32::from(self.scale);
        let factor = 10_i128.pow(steps.unsigned_abs().min(MAX_DIGITS));
        if steps >= 0 {
            return (self.unscaled.saturating_mul(factor), true);
        }
        (self.unscaled.div_euclid(factor), self.unscaled.rem_euclid(factor) == 0)
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Decimal { unscaled: i128::from(value), scale: 0 }
    }
}

impl FromStr for Decimal {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        read(text).ok_or_else(|| {
            ValueError::malformed(text, "a decimal number of at most 38 digits, such as -12.50")
        })
    }
}

fn read(text: &str) -> Option<Decimal> {
    let (negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
    let pointed = body.len() > whole.len();
    let digits = whole.bytes().chain(fraction.bytes());
    if whole.is_empty()
        || (pointed && fraction.is_empty())
        || !digits.clone().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let mut unscaled: i128 = 0;
    for digit in digits {
        unscaled = unscaled.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    let scale = u8::try_from(fraction.len()).ok()?;
    Decimal::new(if negative { -unscaled } else { unscaled }, scale)
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.unscaled < 0 { "-" } else { "" };
        let factor = 10_u128.pow(u32::from(self.scale));
        let magnitude = self.unscaled.unsigned_abs();
        write!(f, "{sign}{}", magnitude / factor)?;
        if self.scale > 0 {
            write!(f, ".{:0width$}", magnitude % factor, width = usize::from(self.scale))?;
        }
        Ok(())
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        let (mine, _) = self.floor_at(scale);
        let (theirs, _) = other.floor_at(scale);
        // The number that already has this scale is below 10^38, so a saturated other cannot tie with it.
        mine.cmp(&theirs)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        for text in ["0", "-1", "12.50", "-0.05", "99999999999999999999999999999999999999"] {
            assert_eq!(text.parse::<Decimal>().unwrap().to_string(), text);
        }
        for text in
            ["", "-", ".5", "5.", "1e3", "+1", "1.2.3", "999999999999999999999999999999999999999"]
        {
            assert!(text.parse::<Decimal>().is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_far_apart_in_scale_still_compare() {
        let big: Decimal = "99999999999999999999999999999999999999".parse().unwrap();
        let bigger_scale: Decimal = "0.00000000000000000000000000000000000001".parse().unwrap();
        assert!(big > bigger_scale);
        assert!(Decimal::from(-5) < bigger_scale);
        assert_eq!(Decimal::new(50, 1), Decimal::new(5, 0));
    }
}
