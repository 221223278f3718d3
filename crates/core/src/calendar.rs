//! Dates of the Gregorian calendar, counted in days since the start of 1970.
//!
//! The key library has the same arithmetic for times in keys: it stands alone.

/// Days in 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// Days from the first of March of year 0 to the start of 1970.
const DAYS_TO_1970: i64 = 719_468;

/// The days from the start of 1970 to a date; none if there is no such date.
///
/// Years are counted from March, so that the leap day comes last (Howard Hinnant's algorithm).
///
/// ```
/// use keyloom_core::calendar::{date_of, days_to};
///
/// assert_eq!(days_to(2000, 2, 29), Some(11_016));
/// assert_eq!(days_to(2026, 2, 29), None);
/// assert_eq!(date_of(11_016), (2000, 2, 29));
/// ```
pub fn days_to(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * ERA_DAYS + day_of_era - DAYS_TO_1970)
}

/// The year, month and day of so many days after the start of 1970: the inverse of [`days_to`].
pub fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
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
    /// The year.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day, from 1.
    pub day: i64,
    /// The hour.
    pub hour: u64,
    /// The minute.
    pub minute: u64,
    /// The second.
    pub second: u64,
    /// The millisecond.
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
        for days in -ERA_DAYS..ERA_DAYS {
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
    }
}
