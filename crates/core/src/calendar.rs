//! Dates of the Gregorian calendar, counted in days since the start of 1970. The arithmetic is that of `datealgo`.

use datealgo::{RD_MAX, RD_MIN, YEAR_MAX, YEAR_MIN, date_to_rd, days_in_month, rd_to_date};

/// The days from the start of 1970 to a date; none if there is no such date.
///
/// ```
/// use keyloom_core::calendar::{date_of, days_to};
///
/// assert_eq!(days_to(2000, 2, 29), Some(11_016));
/// assert_eq!(days_to(2026, 2, 29), None);
/// assert_eq!(date_of(11_016), (2000, 2, 29));
/// ```
pub fn days_to(year: i64, month: i64, day: i64) -> Option<i64> {
    let year = i32::try_from(year).ok().filter(|year| (YEAR_MIN..=YEAR_MAX).contains(year))?;
    let month = u8::try_from(month).ok().filter(|month| (1..=12).contains(month))?;
    let days = 1..=days_in_month(year, month);
    let day = u8::try_from(day).ok().filter(|day| days.contains(day))?;
    Some(date_to_rd((year, month, day)).into())
}

/// The year, month and day of so many days after the start of 1970: the inverse of [`days_to`]. Beyond a million years
/// it is the last date there is.
pub fn date_of(days: i64) -> (i64, i64, i64) {
    let (year, month, day) = rd_to_date(days.clamp(RD_MIN.into(), RD_MAX.into()) as i32);
    (year.into(), month.into(), day.into())
}

/// The date and time of day of so many milliseconds after the start of 1970.
///
/// ```
/// use keyloom_core::calendar::DateTime;
///
/// let time = DateTime::of_ms(951_826_154_321);
/// assert_eq!(time.to_string(), "2000-02-29T12:09:14");
/// assert_eq!(time.ms, 321);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateTime {
    /// The year of the calendar.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day, from 1.
    pub day: i64,
    /// The hour of the day, from 0.
    pub hour: u64,
    /// The minute of the hour, from 0.
    pub minute: u64,
    /// The second of the minute, from 0.
    pub second: u64,
    /// The millisecond of the second, from 0.
    pub ms: u64,
}

impl DateTime {
    /// Of milliseconds since the start of 1970, in UTC.
    pub fn of_ms(ms: u64) -> Self {
        let (year, month, day) = date_of((ms / 86_400_000).cast_signed());
        let (hour, minute, second) = (ms / 3_600_000 % 24, ms / 60_000 % 60, ms / 1000 % 60);
        Self { year, month, day, hour, minute, second, ms: ms % 1000 }
    }
}

/// In ISO 8601's extended format, to the second and without a zone.
impl std::fmt::Display for DateTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { year, month, day, hour, minute, second, .. } = self;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_eight_centuries_round_trips() {
        let mut before = None;
        for days in -146_097..146_097 {
            let date = date_of(days);
            assert_eq!(days_to(date.0, date.1, date.2), Some(days), "{date:?}");
            assert!(before < Some(date));
            before = Some(date);
        }
    }

    #[test]
    fn days_that_do_not_exist_are_refused() {
        for (year, month, day) in
            [(2026, 2, 29), (1900, 2, 29), (2026, 4, 31), (2026, 13, 1), (2026, 0, 1), (2026, 1, 0)]
        {
            assert_eq!(days_to(year, month, day), None, "{year}-{month}-{day}");
        }
        for extreme in [i64::MIN, -1, 256 + 1, i64::MAX] {
            assert_eq!(days_to(2026, extreme, 1), None, "{extreme}");
            assert_eq!(days_to(2026, 1, extreme), None, "{extreme}");
        }
    }

    #[test]
    fn no_count_of_days_overflows() {
        assert_eq!(date_of(i64::MAX), (YEAR_MAX.into(), 12, 31));
        assert_eq!(date_of(i64::MIN), (YEAR_MIN.into(), 1, 1));
        assert_eq!(days_to(i64::MAX, 1, 1), None);
        assert_eq!(DateTime::of_ms(u64::MAX).year, i64::from(YEAR_MAX));
    }
}
