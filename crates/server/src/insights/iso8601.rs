//! Times as forms write them and XML shows them: `2026-11-16T09:00:00Z`.

use keyloom_core::calendar::{DateTime, days_to};

/// Milliseconds since 1970 of a date, or of a date and a time with or without a fraction and an offset;
/// what is earlier is 1970.
pub(super) fn parse(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let (year, month, day) = three(date, '-')?;
    let (time, offset_minutes) = split_offset(time)?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let (hour, minute, second) = match clock.matches(':').count() {
        1 => three(&format!("{clock}:00"), ':')?,
        _ => three(clock, ':')?,
    };
    let plausible = (1970..=9999).contains(&year) && hour <= 23 && minute <= 59 && second <= 60;
    if !plausible || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = format!("{fraction:0<3}");
    let millis: i64 = digits.get(..3)?.parse().ok()?;
    let seconds = days_to(year, month, day)? * 86_400 + hour * 3600 + minute * 60 + second;
    let ms = seconds * 1000 + millis - offset_minutes * 60_000;
    Some(u64::try_from(ms).unwrap_or(0))
}

/// The time without its offset, and that in minutes.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = time.find(['+', '-']) else { return Some((time, 0)) };
    let (time, offset) = time.split_at_checked(at)?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let digits: String = offset.chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = digits.split_at_checked(2)?;
    let hours: i64 = hours.parse().ok()?;
    let minutes: i64 = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
    (hours < 24 && minutes < 60).then_some((time, sign * (hours * 60 + minutes)))
}

fn three(text: &str, separator: char) -> Option<(i64, i64, i64)> {
    let mut numbers = text.split(separator).map(|part| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { part.parse::<i64>().ok() } else { None }
    });
    let three = (numbers.next()??, numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(three)
}

/// A moment to the second.
pub(super) fn format(ms: u64) -> String {
    format!("{}Z", DateTime::of_ms(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_form_that_clients_write() {
        for (text, ms) in [
            ("2015-08-30T12:36:00Z", 1_440_938_160_000),
            ("2015-08-30T12:36:00", 1_440_938_160_000),
            ("2015-08-30T12:36Z", 1_440_938_160_000),
            ("2015-08-30T12:36:00.25Z", 1_440_938_160_250),
            ("2015-08-30T12:36:00.123456+00:00", 1_440_938_160_123),
            ("2015-08-30T14:36:00+02:00", 1_440_938_160_000),
            ("2015-08-30T05:06:00-0730", 1_440_938_160_000),
            ("1970-01-02", 86_400_000),
            ("1970-01-01T00:00:00+01:00", 0),
        ] {
            assert_eq!(parse(text), Some(ms), "{text}");
        }
        assert_eq!(format(1_440_938_160_250), "2015-08-30T12:36:00Z");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "now",
            "2015-13-30T12:36:00Z",
            "2015-08-30T24:36:00Z",
            "2015-08-30T12:36:00.xZ",
            "2015-08-30T12:36:00+x",
            "2015-08-30T12:36:00+99:00",
            "2015-8-30-1",
            "+2015-08-30",
            "1969-12-31T00:00:00Z",
            "99999999999999999999-01-01",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
