//! A forecast for people and programs.

mod html;
mod json;
mod plot;
mod text;

pub use html::{html, pictures};
pub use json::json;
pub use text::{human, markdown};

/// A number of at most three digits, with `k`, `M` or `G`.
fn short(number: f64) -> String {
    let (scaled, unit) = match number.abs() {
        size if size >= 1e9 => (number / 1e9, " G"),
        size if size >= 1e6 => (number / 1e6, " M"),
        size if size >= 1e4 => (number / 1e3, " k"),
        _ => (number, ""),
    };
    match scaled.abs() {
        size if size >= 100.0 || (size - size.round()).abs() < 5e-3 => format!("{scaled:.0}{unit}"),
        size if size >= 10.0 => format!("{scaled:.1}{unit}"),
        _ => format!("{scaled:.2}{unit}"),
    }
}

/// A multiple of the load.
fn times(multiple: f64) -> String {
    format!("{}×", short(multiple))
}

/// A share of a hundred.
fn percent(share: f64) -> String {
    match share {
        share if share <= 0.0 => "–".to_owned(),
        share if share < 0.001 => "< 0.1 %".to_owned(),
        share if share < 0.1 => format!("{:.1} %", share * 100.0),
        share => format!("{:.0} %", share * 100.0),
    }
}

fn dollars(amount: f64) -> String {
    if amount < 100.0 { format!("${amount:.2}") } else { format!("${}", short(amount.round())) }
}

fn milliseconds(waited: f64) -> String {
    match waited {
        waited if waited <= 0.0 => "–".to_owned(),
        waited if waited >= 1000.0 => format!("{:.1} s", waited / 1000.0),
        waited => format!("{waited:.0} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [0.5, 3.4, 13.0, 999.0, 12_300.0, 4.5e6, 2e9].map(short);
        assert_eq!(shown, ["0.50", "3.40", "13", "999", "12.3 k", "4.50 M", "2 G"]);
        assert_eq!([0.0, 0.0005, 0.034, 0.42].map(percent), ["–", "< 0.1 %", "3.4 %", "42 %"]);
        assert_eq!([0.5, 1234.0].map(dollars), ["$0.50", "$1234"]);
    }
}
