//! Timestamps of signatures: `20150830T123600Z`.

use keyloom_core::calendar::{DateTime, days_to};

/// A UTC time with one-second resolution in ISO 8601's basic format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Timestamp {
    text: String,
    seconds: u64,
}

impl Timestamp {
    /// Parses the basic format only.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let bytes: &[u8; 16] = text.as_bytes().try_into().ok()?;
        let [date @ .., b'T', h1, h2, m1, m2, s1, s2, b'Z'] = bytes else { return None };
        let number = |digits: &[u8]| {
            digits.iter().try_fold(0, |sum, digit| {
                digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'))
            })
        };
        let date = number(date)?;
        let (hour, minute, second) =
            (number(&[*h1, *h2])?, number(&[*m1, *m2])?, number(&[*s1, *s2])?);
        let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let seconds = days_to(year, month, day)? * 86_400 + hour * 3600 + minute * 60 + second;
        // Not before 1970.
        Some(Self { text: text.to_owned(), seconds: u64::try_from(seconds).ok()? })
    }

    /// The time `seconds` after the start of 1970.
    pub(super) fn from_seconds(seconds: u64) -> Self {
        let DateTime { year, month, day, hour, minute, second, .. } =
            DateTime::of_ms(seconds.saturating_mul(1000));
        let text = format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z");
        Self { text, seconds }
    }

    /// Parses the format of the `Date` header, e.g. `Sun, 30 Aug 2015 12:36:00 GMT`.
    pub(super) fn parse_http(text: &str) -> Option<Self> {
        let time = httpdate::parse_http_date(text).ok()?;
        let elapsed = time.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Self::from_seconds(elapsed.as_secs()))
    }

    /// The basic format.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// `YYYYMMDD`.
    pub(super) fn date(&self) -> &str {
        self.text.get(..8).unwrap_or_default()
    }

    /// Seconds since the start of 1970.
    pub(super) fn seconds(&self) -> u64 {
        self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_read_and_write() {
        let table = [
            ("19700101T000000Z", 0),
            ("20000229T235959Z", 951_868_799),
            ("20150830T123600Z", 1_440_938_160),
            ("20261231T000001Z", 1_798_675_201),
            ("21000301T000000Z", 4_107_542_400),
        ];
        for (text, seconds) in table {
            assert_eq!(Timestamp::parse(text).unwrap().seconds(), seconds, "{text}");
            assert_eq!(Timestamp::from_seconds(seconds).as_str(), text);
        }
        let http = Timestamp::parse_http("Sun, 30 Aug 2015 12:36:00 GMT").unwrap();
        assert_eq!((http.as_str(), http.date()), ("20150830T123600Z", "20150830"));
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "",
            "20150830",
            "20150830T123600",
            "2015-08-30T12:36Z",
            "20151330T123600Z",
            "20150231T123600Z",
            "20150830T243600Z",
            "2015083ÄT12360Z",
            "18000101T000000Z",
            "+0150830T123600Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
