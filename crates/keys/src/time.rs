//! Calendar time in UTC, the only time zone whose texts sort chronologically.
//!
//! A [`Timestamp`] is an instant in milliseconds together with the precision it was written with, so that `2024-01-31`
//! in a condition can mean the whole day and not its first instant.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use datealgo::{RD_MAX, RD_MIN, YEAR_MAX, YEAR_MIN, date_to_rd, days_in_month, rd_to_date};

use crate::error::ValueError;

/// Milliseconds in a second.
const SECOND: i64 = 1000;
/// Milliseconds in a minute.
const MINUTE: i64 = 60 * SECOND;
/// Milliseconds in an hour.
const HOUR: i64 = 60 * MINUTE;
/// Milliseconds in a day.
const DAY: i64 = 24 * HOUR;

/// First instant a key can hold: `0000-01-01T00:00:00.000Z`.
pub(crate) const MIN_MS: i64 = -62_167_219_200_000;
/// Last instant a key can hold: `9999-12-31T23:59:59.999Z`.
pub(crate) const MAX_MS: i64 = 253_402_300_799_999;

const EXPECTED: &str =
    "a UTC time such as 2024-01-15, 2024-01-15T10:30:00Z or 2024-01-15T10:30:00.250Z";

/// The precision of a time; coarser precisions sort first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    /// A whole year, `2024`.
    Year,
    /// A whole month, `2024-01`.
    Month,
    /// A whole day, `2024-01-15`.
    Day,
    /// A whole hour, `2024-01-15T10`.
    Hour,
    /// A whole minute, `2024-01-15T10:30`.
    Minute,
    /// A second, `2024-01-15T10:30:00Z`.
    Second,
    /// A millisecond, `2024-01-15T10:30:00.250Z`.
    Millisecond,
}

impl Precision {
    /// The number of periods of this precision from 1970 to the instant, rounded down.
    pub fn index_of(self, ms: i64) -> i64 {
        match self {
            Precision::Year => Civil::from_ms(ms).year,
            Precision::Month => {
                let civil = Civil::from_ms(ms);
                civil.year * 12 + i64::from(civil.month) - 1
            }
            Precision::Day => ms.div_euclid(DAY),
            Precision::Hour => ms.div_euclid(HOUR),
            Precision::Minute => ms.div_euclid(MINUTE),
            Precision::Second => ms.div_euclid(SECOND),
            Precision::Millisecond => ms,
        }
    }

    /// The first instant of the period with this index; the inverse of [`Precision::index_of`].
    pub(crate) fn start_of(self, index: i64) -> i64 {
        match self {
            Precision::Year => start_of_month(index, 1),
            Precision::Month => {
                start_of_month(index.div_euclid(12), index.rem_euclid(12) as u32 + 1)
            }
            Precision::Day => index.saturating_mul(DAY),
            Precision::Hour => index.saturating_mul(HOUR),
            Precision::Minute => index.saturating_mul(MINUTE),
            Precision::Second => index.saturating_mul(SECOND),
            Precision::Millisecond => index,
        }
    }
}

/// An instant or period in UTC: a time with a precision.
///
/// ```
/// use keyloom_keys::{Precision, Timestamp};
///
/// let day: Timestamp = "2024-01-31".parse()?;
/// assert_eq!(day.precision(), Precision::Day);
/// assert_eq!(day.last_millisecond().to_string(), "2024-01-31T23:59:59.999Z");
/// // Offsets are converted, because only UTC sorts.
/// let local: Timestamp = "2024-01-31T01:00:00+02:00".parse()?;
/// assert_eq!(local.to_string(), "2024-01-30T23:00:00Z");
/// # Ok::<(), keyloom_keys::ValueError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    ms: i64,
    precision: Precision,
}

impl Timestamp {
    /// An instant from milliseconds since 1970-01-01T00:00:00Z.
    pub const fn from_millis(ms: i64) -> Self {
        Timestamp { ms, precision: Precision::Millisecond }
    }

    /// An instant from whole seconds since 1970-01-01T00:00:00Z.
    pub const fn from_secs(seconds: i64) -> Self {
        Timestamp { ms: seconds.saturating_mul(SECOND), precision: Precision::Second }
    }

    /// A time that is known to be the start of a period of its precision.
    pub(crate) const fn aligned(ms: i64, precision: Precision) -> Self {
        Timestamp { ms, precision }
    }

    /// A whole day; `None` when the calendar has no such day.
    pub fn from_date(year: u16, month: u8, day: u8) -> Option<Self> {
        let civil = Civil {
            year: i64::from(year),
            month: u32::from(month),
            day: u32::from(day),
            ..Civil::default()
        };
        Some(Timestamp { ms: civil.to_ms()?, precision: Precision::Day })
    }

    /// The start in milliseconds since 1970-01-01T00:00:00Z.
    pub const fn millis(self) -> i64 {
        self.ms
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down, as in a TTL attribute.
    pub const fn seconds(self) -> i64 {
        self.ms.div_euclid(SECOND)
    }

    /// The precision of this time.
    pub const fn precision(self) -> Precision {
        self.precision
    }

    /// The time truncated to a coarser precision; a finer one changes only the precision.
    #[must_use]
    pub fn at(self, precision: Precision) -> Self {
        Timestamp { ms: precision.start_of(precision.index_of(self.ms)), precision }
    }

    /// The last millisecond that this time covers: the end of the day for a day.
    #[must_use]
    pub fn last_millisecond(self) -> Self {
        let next = self.precision.start_of(self.precision.index_of(self.ms).saturating_add(1));
        Timestamp::from_millis(next.saturating_sub(1))
    }

    /// The time so many milliseconds later.
    #[must_use]
    pub const fn plus_millis(self, ms: i64) -> Self {
        Timestamp { ms: self.ms.saturating_add(ms), precision: self.precision }
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Timestamp::from_millis(millis(after)),
            Err(before) => Timestamp::from_millis(-millis(before.duration())),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = Civil::from_ms(self.ms);
        let (year, month, day, hour) = (c.year, c.month, c.day, c.hour);
        match self.precision {
            Precision::Year => write!(f, "{year:04}"),
            Precision::Month => write!(f, "{year:04}-{month:02}"),
            Precision::Day => write!(f, "{year:04}-{month:02}-{day:02}"),
            Precision::Hour => write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}"),
            Precision::Minute => {
                write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{:02}Z", c.minute)
            }
            Precision::Second => write!(
                f,
                "{year:04}-{month:02}-{day:02}T{hour:02}:{:02}:{:02}Z",
                c.minute, c.second
            ),
            Precision::Millisecond => write!(
                f,
                "{year:04}-{month:02}-{day:02}T{hour:02}:{:02}:{:02}.{:03}Z",
                c.minute, c.second, c.millisecond
            ),
        }
    }
}

impl FromStr for Timestamp {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        read(text).ok_or_else(|| ValueError::malformed(text, EXPECTED))
    }
}

/// Parses ISO 8601 with any precision from years to milliseconds, with `Z`, an offset, or neither (UTC).
fn read(text: &str) -> Option<Timestamp> {
    let mut rest = text;
    let mut civil = Civil { month: 1, day: 1, ..Civil::default() };
    let done = |civil: &Civil, precision| Some(Timestamp { ms: civil.to_ms()?, precision });

    civil.year = i64::from(digits(&mut rest, 4)?);
    if rest.is_empty() {
        return done(&civil, Precision::Year);
    }
    civil.month = part(&mut rest, '-')?;
    if rest.is_empty() {
        return done(&civil, Precision::Month);
    }
    civil.day = part(&mut rest, '-')?;
    if rest.is_empty() {
        return done(&civil, Precision::Day);
    }
    civil.hour = part(&mut rest, 'T')?;
    let mut precision = Precision::Hour;
    if rest.starts_with(':') {
        civil.minute = part(&mut rest, ':')?;
        precision = Precision::Minute;
    }
    if precision == Precision::Minute && rest.starts_with(':') {
        civil.second = part(&mut rest, ':')?;
        precision = Precision::Second;
    }
    if precision == Precision::Second && rest.starts_with('.') {
        civil.millisecond = fraction(&mut rest)?;
        precision = Precision::Millisecond;
    }
    let offset = offset_minutes(rest)?;
    let time = done(&civil, precision)?;
    Some(time.plus_millis(-offset * MINUTE))
}

/// A one-character mark followed by two digits.
fn part(rest: &mut &str, mark: char) -> Option<u32> {
    *rest = rest.strip_prefix(mark)?;
    digits(rest, 2)
}

fn digits(rest: &mut &str, count: usize) -> Option<u32> {
    let (head, tail) = rest.split_at_checked(count)?;
    *rest = tail;
    head.bytes().all(|b| b.is_ascii_digit()).then(|| head.parse().ok())?
}

/// One to nine digits after a point; digits below a millisecond must be zero, because they cannot be stored.
fn fraction(rest: &mut &str) -> Option<u32> {
    let body = rest.strip_prefix('.')?;
    let length = body.bytes().take_while(u8::is_ascii_digit).count();
    let (text, tail) = body.split_at_checked(length)?;
    if length == 0 || length > 9 || text.bytes().skip(3).any(|b| b != b'0') {
        return None;
    }
    *rest = tail;
    let kept = text.bytes().chain(std::iter::repeat(b'0')).take(3);
    Some(kept.fold(0, |sum, b| sum * 10 + u32::from(b - b'0')))
}

fn offset_minutes(rest: &str) -> Option<i64> {
    let (sign, mut body) = match rest {
        "" | "Z" | "z" => return Some(0),
        _ => match (rest.strip_prefix('+'), rest.strip_prefix('-')) {
            (Some(body), _) => (1, body),
            (_, Some(body)) => (-1, body),
            _ => return None,
        },
    };
    let hours = digits(&mut body, 2)?;
    let minutes = part(&mut body, ':')?;
    (body.is_empty() && hours < 24 && minutes < 60).then(|| sign * i64::from(hours * 60 + minutes))
}

/// The calendar and clock fields of an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    pub(crate) millisecond: u32,
}

impl Civil {
    pub(crate) fn from_ms(ms: i64) -> Self {
        let (year, month, day) = date_of(ms.div_euclid(DAY));
        let in_day = ms.rem_euclid(DAY) as u32;
        let in_hour = in_day % HOUR as u32;
        let in_minute = in_hour % MINUTE as u32;
        Civil {
            year,
            month,
            day,
            hour: in_day / HOUR as u32,
            minute: in_hour / MINUTE as u32,
            second: in_minute / SECOND as u32,
            millisecond: in_minute % SECOND as u32,
        }
    }

    /// The instant; `None` if there is no such date or time.
    pub(crate) fn to_ms(self) -> Option<i64> {
        let date = (self.year as i32, self.month as u8, self.day as u8);
        let valid = (0..=9999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=u32::from(days_in_month(date.0, date.1))).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
            && self.millisecond < 1000;
        valid.then(|| {
            i64::from(date_to_rd(date)) * DAY
                + i64::from(self.hour) * HOUR
                + i64::from(self.minute) * MINUTE
                + i64::from(self.second) * SECOND
                + i64::from(self.millisecond)
        })
    }
}

/// The date so many days after the start of 1970; those beyond a million years have the last one.
fn date_of(days: i64) -> (i64, u32, u32) {
    let days = days.clamp(RD_MIN.into(), RD_MAX.into()) as i32;
    let (year, month, day) = rd_to_date(days);
    (year.into(), month.into(), day.into())
}

/// The start of a month in milliseconds since 1970.
fn start_of_month(year: i64, month: u32) -> i64 {
    let year = year.clamp(YEAR_MIN.into(), YEAR_MAX.into()) as i32;
    i64::from(date_to_rd((year, month as u8, 1))) * DAY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("0000-01-01T00:00:00.000Z", MIN_MS),
            ("9999-12-31T23:59:59.999Z", MAX_MS),
            ("2000-02-29", 951_782_400_000),
            ("2024-02-29T12:34:56.789Z", 1_709_210_096_789),
            ("2024-01-15T10:30:00.5Z", 1_705_314_600_500),
            ("1969-12-31T23:59:59.999Z", -1),
        ] {
            let time: Timestamp = text.parse().unwrap();
            assert_eq!(time.millis(), ms, "{text}");
        }
    }

    #[test]
    fn days_and_dates_are_inverse_over_every_day_that_a_key_can_hold() {
        let mut previous = (-1, 12, 31);
        for days in (MIN_MS / DAY)..=(MAX_MS / DAY) {
            let civil = Civil::from_ms(days * DAY);
            assert_eq!(civil.to_ms(), Some(days * DAY));
            let (year, month, day) = (civil.year, civil.month, civil.day);
            assert!((year, month, day) > previous);
            previous = (year, month, day);
        }
        assert_eq!(previous, (9999, 12, 31));
    }

    #[test]
    fn impossible_times_are_refused() {
        for text in [
            "",
            "24",
            "2024-",
            "2024-13",
            "2023-02-29",
            "2024-02-30",
            "2024-01-15T",
            "2024-01-15T24",
            "2024-01-15T10:60",
            "2024-01-15T10:30:60",
            "2024-01-15T10:30:00.",
            "2024-01-15 10:30:00",
            "2024-01-15T10:30:00.1234Z",
            "2024-01-15T10:30:00+2",
            "2024-01-15Z",
            "20240115",
            "２０２４",
            "+024-01-01",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn printing_and_reading_are_inverse_at_each_precision() {
        for text in [
            "2024",
            "2024-01",
            "2024-01-15",
            "2024-01-15T10",
            "2024-01-15T10:30Z",
            "2024-01-15T10:30:05Z",
            "2024-01-15T10:30:05.070Z",
        ] {
            assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn extreme_instants_do_not_overflow() {
        for ms in [i64::MIN, i64::MAX] {
            let time = Timestamp::from_millis(ms);
            let _ = time.at(Precision::Month).last_millisecond().to_string();
            let _ = time.at(Precision::Day).last_millisecond().to_string();
        }
    }
}
