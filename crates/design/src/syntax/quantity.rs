//! Quantities with units: `"1.2 KB"`, `"300/s"`, `"10%/month"`.

use super::section::{Section, Value};
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::Rate;
use crate::source::Spanned;

/// A number of bytes: `"1.2 KB"`, `"400 B"`, or a plain number of bytes.
pub(crate) fn bytes(section: &mut Section, key: &'static str) -> Option<f64> {
    let value = section.value(key)?;
    if !value.is_text() {
        return section.number_of(key, value).map(|number| number.value);
    }
    let text = section.text_of(key, value)?;
    let parsed = split_unit(&text.value).and_then(|(number, unit)| {
        let factor = match unit.to_ascii_lowercase().as_str() {
            "b" | "byte" | "bytes" | "" => 1.0,
            "kb" | "kib" => 1024.0,
            "mb" | "mib" => 1024.0 * 1024.0,
            "gb" | "gib" => 1024.0 * 1024.0 * 1024.0,
            _ => return None,
        };
        Some(number * factor)
    });
    refuse_unless(section, &text, key, "a size such as \"1.2 KB\"", parsed)
}

/// Calls per second: `"300/s"`, `"5000/day"`, or `{ average = "20/s", peak = "300/s" }`.
pub(crate) fn rate(section: &mut Section, key: &'static str) -> Option<Rate> {
    let value = section.value(key)?;
    if value.is_table() {
        let name = Spanned::new(key.to_owned(), value.span);
        let mut parts = section.value_section(&name, value)?;
        let average = parts.value("average").and_then(|value| rate_text(&parts, "average", value));
        let peak = parts.value("peak").and_then(|value| rate_text(&parts, "peak", value));
        parts.finish();
        if let (Some(average), Some(peak)) = (average, peak)
            && peak < average
        {
            let message = "the `peak` of a rate cannot be below its `average`";
            let problem = Diagnostic::error(Code::BadValue, name.span, message)
                .fix(Some("exchange the two, or correct one".to_owned()));
            section.error(problem);
            return None;
        }
        return match (average, peak) {
            (Some(average), peak) => Some(Rate { average, peak: peak.unwrap_or(average) }),
            (None, Some(peak)) => Some(Rate { average: peak, peak }),
            (None, None) => None,
        };
    }
    rate_text(section, key, value).map(|per_second| Rate { average: per_second, peak: per_second })
}

fn rate_text(section: &Section, key: &str, value: Value) -> Option<f64> {
    let text = section.text_of(key, value)?;
    let parsed = text.value.split_once('/').and_then(|(number, unit)| {
        let seconds = match unit.trim() {
            "s" | "sec" | "second" => 1.0,
            "min" | "minute" | "m" => 60.0,
            "h" | "hour" => 3600.0,
            "d" | "day" => 86_400.0,
            "month" => 730.0 * 3600.0,
            _ => return None,
        };
        plain_number(number).map(|number| number / seconds)
    });
    refuse_unless(section, &text, key, "a rate such as \"300/s\" or \"5000/day\"", parsed)
}

/// A share of one: `"40%"` or `0.4`.
pub(crate) fn share(section: &Section, key: &str, value: Value) -> Option<f64> {
    let (number, span) = if value.is_text() {
        let text = section.text_of(key, value)?;
        let parsed = text.value.trim().strip_suffix('%').and_then(plain_number);
        let percent = refuse_unless(section, &text, key, "a share such as \"40%\"", parsed)?;
        (percent / 100.0, text.span)
    } else {
        let number = section.number_of(key, value)?;
        (number.value, number.span)
    };
    if number <= 1.0 {
        return Some(number);
    }
    let message = format!("`{key}` is a share and cannot pass 1 (100 %)");
    section.error(Diagnostic::error(Code::BadValue, span, message));
    None
}

/// Growth per month: `"10%/month"` gives 0.1.
pub(crate) fn growth(section: &mut Section, key: &'static str) -> Option<f64> {
    let text = section.text(key)?;
    let parsed = text.value.split_once('%').and_then(|(number, unit)| {
        let per_year = unit.trim().trim_start_matches('/').trim();
        let percent = plain_number(number)?;
        match per_year {
            "month" => Some(percent / 100.0),
            "year" => Some((1.0 + percent / 100.0).powf(1.0 / 12.0) - 1.0),
            _ => None,
        }
    });
    refuse_unless(section, &text, key, "a growth such as \"10%/month\"", parsed)
}

/// A length of time in seconds: `"30 days"` or `"12 hours"`.
pub(crate) fn time_span(section: &mut Section, key: &'static str) -> Option<Spanned<f64>> {
    let text = section.text(key)?;
    let parsed = split_unit(&text.value).and_then(|(number, unit)| {
        let seconds = match unit {
            "s" | "second" | "seconds" => 1.0,
            "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            "week" | "weeks" => 7.0 * 86_400.0,
            "month" | "months" => 730.0 * 3600.0,
            "year" | "years" => 8760.0 * 3600.0,
            _ => return None,
        };
        (number > 0.0).then_some(number * seconds)
    });
    let seconds = refuse_unless(section, &text, key, "a time such as \"30 days\"", parsed)?;
    Some(Spanned::new(seconds, text.span))
}

fn refuse_unless(
    section: &Section,
    text: &Spanned<String>,
    key: &str,
    expected: &str,
    parsed: Option<f64>,
) -> Option<f64> {
    if parsed.is_none() {
        let message = format!("`{key}` must be {expected}, not `{}`", text.value);
        let problem = Diagnostic::error(Code::BadValue, text.span, message);
        section.error(problem.fix(decimal_point(&text.value)));
    }
    parsed
}

/// A comma groups digits by threes; anywhere else a decimal point was probably meant.
fn decimal_point(text: &str) -> Option<String> {
    let (before, after) = text.split_once(',')?;
    let meant = format!("{before}.{after}");
    let number = meant.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    number.parse::<f64>().is_ok().then(|| format!("write \"{meant}\" with a decimal point"))
}

fn split_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    Some((plain_number(number)?, unit.trim()))
}

/// A number of zero or more; `_` may stand between digits, `,` groups them by threes, `k` and `M` multiply.
pub(super) fn plain_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1e6),
            None => (text, 1.0),
        },
    };
    let digits = digits.trim();
    let whole = digits.split_once('.').map_or(digits, |(whole, _)| whole);
    let mut groups = whole.split(',');
    let first = groups.next()?;
    if whole.contains(',') && !((1..=3).contains(&first.len()) && groups.all(|g| g.len() == 3)) {
        return None;
    }
    let plain = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '_' | ',' | '.'));
    let cleaned: String = whole.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    let fraction = digits.split_once('.').map_or("", |(_, fraction)| fraction);
    let number = format!("{cleaned}.{fraction}0").parse::<f64>().ok().filter(|_| plain)?;
    Some(number * factor).filter(|n| n.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_units_are_split() {
        assert_eq!(split_unit("1.5 KB"), Some((1.5, "KB")));
        assert_eq!(split_unit("300"), Some((300.0, "")));
        assert_eq!(split_unit("x"), None);
        assert_eq!(plain_number("2_000_000"), Some(2_000_000.0));
        assert_eq!(plain_number("3k"), Some(3000.0));
        assert_eq!(plain_number("1,234.5"), Some(1234.5));
        for wrong in [
            "-1", "1,5", "1,5 KB", "12,34", "1,2345", ",5", "1e3", "NaN", "inf", "", "1.2.3",
            "1.5,000",
        ] {
            assert_eq!(plain_number(wrong), None, "{wrong}");
        }
    }
}
