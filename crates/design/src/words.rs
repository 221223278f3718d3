//! Numbers with their nouns: `1 index`, `3 entities`.

use std::fmt;

use crate::lint::short;

/// A number of things: `1 warning`, `2 warnings`.
pub fn counted(count: impl fmt::Display, noun: &str) -> String {
    let number = count.to_string();
    if number == "1" { format!("1 {noun}") } else { format!("{number} {}", plural(noun)) }
}

/// A rounded number of things: `1 page`, `2.5 pages`, `3.2M items`.
pub(crate) fn about(count: f64, noun: &str) -> String {
    counted(short(count), noun)
}

fn plural(noun: &str) -> String {
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if noun.ends_with(['x', 's']) => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(counted(1, "warning"), "1 warning");
        assert_eq!(counted(0, "warning"), "0 warnings");
        assert_eq!(counted(2, "entity"), "2 entities");
        assert_eq!(counted(3, "index"), "3 indexes");
        assert_eq!(counted(2, "key"), "2 keys");
        assert_eq!(about(1.0, "page"), "1 page");
        assert_eq!(about(0.5, "read unit"), "0.50 read units");
    }
}
