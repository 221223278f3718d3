//! Calendar times, as part of a [`Language`]: only times that exist.

use super::Language;
use crate::byteset::ByteSet;
use crate::time::Precision;

/// Two digits, each one of a set.
type Pair = [&'static str; 2];

const ANY: &str = "0123456789";
const ANY_YEAR: [&str; 4] = [ANY, ANY, ANY, ANY];
/// Multiples of four, of a hundred only if they are multiples of four hundred.
const LEAP_YEARS: [[&str; 4]; 5] = [
    [ANY, ANY, "02468", "48"],
    [ANY, ANY, "13579", "26"],
    [ANY, ANY, "2468", "0"],
    ["02468", "048", "0", "0"],
    ["13579", "26", "0", "0"],
];
const MONTHS: &[Pair] = &[["0", "123456789"], ["1", "012"]];
/// Months, and the days that each of them has in every year.
const DAYS: [(&[Pair], &[Pair]); 3] = [
    (MONTHS, &[["0", "123456789"], ["1", ANY], ["2", "012345678"]]),
    (&[["0", "13456789"], ["1", "012"]], &[["2", "9"], ["3", "0"]]),
    (&[["0", "13578"], ["1", "02"]], &[["3", "1"]]),
];
const LEAP_DAY: (&[Pair], &[Pair]) = (&[["0", "2"]], &[["2", "9"]]);
const HOURS: &[Pair] = &[["01", ANY], ["2", "0123"]];
const SIXTY: &[Pair] = &[["012345", ANY]];

/// Appends times of a precision, written as in `2024-01-15T10:30:00.250Z` up to there; compact ones without `-` and `:`.
pub(super) fn append(
    language: &mut Language,
    precision: Precision,
    complemented: bool,
    compact: bool,
) {
    let mut writer = Writer { language, complemented, compact };
    match precision {
        Precision::Year => return writer.one_of(&[ANY_YEAR]),
        Precision::Month => {
            writer.one_of(&[ANY_YEAR]);
            return writer.then("-", MONTHS);
        }
        _ => writer.day(),
    }
    let clock_mark = if precision == Precision::Hour { "-" } else { "T" };
    let clock = [
        (Precision::Hour, clock_mark, HOURS),
        (Precision::Minute, ":", SIXTY),
        (Precision::Second, ":", SIXTY),
    ];
    for (_, mark, numbers) in clock.into_iter().take_while(|(part, ..)| *part <= precision) {
        writer.then(mark, numbers);
    }
    if precision == Precision::Millisecond {
        writer.language.literal(b".");
        writer.one_of(&[[ANY, ANY, ANY]]);
    }
    if precision >= Precision::Second {
        writer.language.literal(b"Z");
    }
}

struct Writer<'l> {
    language: &'l mut Language,
    /// Whether each digit is written as its nine's complement.
    complemented: bool,
    /// Whether `-` and `:` are left out.
    compact: bool,
}

impl Writer<'_> {
    fn day(&mut self) {
        let start = self.language.ends.clone();
        self.one_of(&[ANY_YEAR]);
        let any_year = std::mem::replace(&mut self.language.ends, start);
        self.one_of(&LEAP_YEARS);
        let leap_year = std::mem::take(&mut self.language.ends);
        let common = DAYS.into_iter().map(|dates| (&any_year, dates));
        let mut ends = Vec::new();
        for (years, (months, days)) in common.chain([(&leap_year, LEAP_DAY)]) {
            self.language.ends.clone_from(years);
            self.then("-", months);
            self.then("-", days);
            ends.append(&mut self.language.ends);
        }
        self.language.ends = ends;
    }

    fn then(&mut self, mark: &str, numbers: &[Pair]) {
        if !self.compact || mark == "T" {
            self.language.literal(mark.as_bytes());
        }
        self.one_of(numbers);
    }

    fn one_of<const N: usize>(&mut self, numbers: &[[&str; N]]) {
        let places = |number: &[&str; N]| number.iter().map(|digits| self.places(digits)).collect();
        let numbers: Vec<Vec<ByteSet>> = numbers.iter().map(places).collect();
        self.language.alternatives(numbers);
    }

    fn places(&self, digits: &str) -> ByteSet {
        let written = |digit: u8| if self.complemented { b'0' + b'9' - digit } else { digit };
        digits.bytes().fold(ByteSet::EMPTY, |set, digit| set.with(written(digit)))
    }
}
