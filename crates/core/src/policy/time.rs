//! Dates of policies: ISO 8601, or seconds since 1970.

use crate::calendar::{DateTime, days_to};

/// The seconds since 1970 of a date; none if it is not one.
pub(super) fn parse(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse::<i64>() {
        return Some(seconds);
    }
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let midnight = days_to(year, month, day)? * 86_400;
    let Some(time) = time else { return Some(midnight) };
    let (clock, offset) = split_offset(time)?;
    let clock = clock.split_once('.').map_or(clock, |(clock, _)| clock);
    let [hours, minutes, seconds] = match clock.matches(':').count() {
        2 => numbers(clock, ':', [2, 2, 2])?,
        _ => numbers(&format!("{clock}:00"), ':', [2, 2, 2])?,
    };
    let is_time = hours < 24 && minutes < 60 && seconds < 60;
    is_time.then_some(midnight + hours * 3600 + minutes * 60 + seconds - offset)
}

/// A time of day, and how many seconds its zone is ahead of UTC.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix('Z') {
        return Some((clock, 0));
    }
    let at = time.rfind(['+', '-'])?;
    let (clock, zone) = time.split_at_checked(at)?;
    let (sign, zone) = match zone.strip_prefix('-') {
        Some(zone) => (-1, zone),
        None => (1, zone.strip_prefix('+')?),
    };
    let [hours, minutes] = numbers(zone, ':', [2, 2])?;
    (hours < 24 && minutes < 60).then_some((clock, sign * (hours * 3600 + minutes * 60)))
}

/// Numbers of so many digits with a separator between.
fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut found = [0; N];
    for (number, width) in found.iter_mut().zip(digits) {
        let part = parts.next()?;
        let fits = part.len() == width && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = part.parse().ok().filter(|_| fits)?;
    }
    parts.next().is_none().then_some(found)
}

/// A time as policies write it: `2026-11-18T01:02:03Z`.
pub(super) fn to_text(seconds: u64) -> String {
    format!("{}Z", DateTime::of_ms(seconds.saturating_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::{parse, to_text};

    #[test]
    fn dates_are_read() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600)),
            ("2026-11-18T01:02:03Z", Some(1_794_963_723)),
            ("2026-11-18T03:02:03+02:00", Some(1_794_963_723)),
            ("2026-11-18T01:02:03.999Z", Some(1_794_963_723)),
            ("2026-11-18T01:02Z", Some(1_794_963_720)),
            ("2026-11-18", Some(1_794_960_000)),
            ("1794963723", Some(1_794_963_723)),
            ("2026-02-29", None),
            ("2026-13-01", None),
            ("2026-11-18T25:00:00Z", None),
            ("2026-11-18T01:02:03", None),
            ("18.11.2026", None),
            ("", None),
        ] {
            assert_eq!(parse(text), seconds, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for seconds in (0..4_000_000_000_u64).step_by(86_400 * 17 + 12_345) {
            assert_eq!(parse(&to_text(seconds)), i64::try_from(seconds).ok(), "{seconds}");
        }
    }
}
