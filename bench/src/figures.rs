//! Numbers as people read them.

/// A number with three digits that mean something.
pub(crate) fn figure(value: f64) -> String {
    if value >= 1000.0 {
        // Whole numbers, rounded to three digits, in groups of three.
        let unit = 10_f64.powf(value.log10().floor() - 2.0);
        return count(((value / unit).round() * unit) as usize);
    }
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.to_owned()
}

/// A whole number in groups of three digits.
pub(crate) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_have_three_digits() {
        let table = [
            (1_234_567.0, "1,230,000"),
            (12_345.0, "12,300"),
            (999.6, "1000"),
            (123.4, "123"),
            (12.34, "12.3"),
            (1.0, "1"),
            (1.3, "1.3"),
            (0.0512, "0.051"),
            (0.0, "0"),
        ];
        for (value, text) in table {
            assert_eq!(figure(value), text);
        }
    }
}
