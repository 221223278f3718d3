//! Exact decimal numbers of up to 38 significant digits.

/// A DynamoDB number: exact, at most 38 significant digits, magnitude 1E-130 to 9.99…E+125.
///
/// Kept normalised (no trailing zeros in the coefficient), so that equality is structural.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    negative: bool,
    exponent: i16,
    coefficient: [u64; 2],
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        let magnitude = value.unsigned_abs();
        Self { negative: value < 0, exponent: 0, coefficient: [0, magnitude] }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.negative, self.exponent, self.coefficient).cmp(&(
            other.negative,
            other.exponent,
            other.coefficient,
        ))
    }
}
