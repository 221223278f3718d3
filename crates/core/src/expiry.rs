//! Item expiry by a table's time-to-live attribute.

use crate::value::AttributeValue;

/// Items that expired longer ago than five years are kept: such timestamps are likely mistakes.
pub const OLDEST_EXPIRY_S: u64 = 5 * 365 * 24 * 60 * 60;

/// When an item expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Never, or so long ago that the timestamp is taken for a mistake.
    Never,
    /// At this second since 1970, possibly in the past.
    At(u64),
}

impl Expiry {
    /// Reads the time-to-live attribute. Only numbers count, as seconds since 1970.
    ///
    /// ```
    /// use keyloom_core::expiry::Expiry;
    ///
    /// let now = 1_794_700_800;
    /// assert_eq!(Expiry::of(Some(&1_794_700_900.into()), now), Expiry::At(1_794_700_900));
    /// assert_eq!(Expiry::of(Some(&"1794700900".into()), now), Expiry::Never);
    /// ```
    pub fn of(value: Option<&AttributeValue>, now_s: u64) -> Self {
        let Some(AttributeValue::N(number)) = value else { return Self::Never };
        let seconds = number.to_f64();
        if seconds.is_sign_negative() || (seconds as u64) < now_s.saturating_sub(OLDEST_EXPIRY_S) {
            return Self::Never;
        }
        Self::At(seconds.ceil() as u64)
    }

    /// Whether the item has expired.
    pub fn is_past(self, now_s: u64) -> bool {
        matches!(self, Self::At(second) if second < now_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_are_seconds_expire() {
        let now_s = 1_794_700_800;
        let number = |text: &str| AttributeValue::N(text.parse().unwrap());
        let cases = [
            (Some(number("1794700799")), Expiry::At(now_s - 1)),
            (Some(number("1794700799.5")), Expiry::At(now_s)),
            (Some(number("1794700900")), Expiry::At(now_s + 100)),
            (Some(number("1794700800000")), Expiry::At(now_s * 1000)),
            (Some(number("1637020800")), Expiry::At(now_s - OLDEST_EXPIRY_S)),
            (Some(number("1637020799")), Expiry::Never),
            (Some(number("0")), Expiry::Never),
            (Some(number("-5")), Expiry::Never),
            (Some(number("1E100")), Expiry::At(u64::MAX)),
            (Some(AttributeValue::from("1794700799")), Expiry::Never),
            (None, Expiry::Never),
        ];
        for (value, expected) in cases {
            assert_eq!(Expiry::of(value.as_ref(), now_s), expected, "{value:?}");
        }
    }
}
