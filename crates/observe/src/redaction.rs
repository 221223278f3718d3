//! Redaction of key values in reports.

use std::fmt::Write as _;
use std::str::FromStr;

use keyloom_core::AttributeValue;
use keyloom_core::hex::Hex;
use serde::{Deserialize, Serialize};

use crate::sketch::hash_of;

/// How much of key values reports show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Redaction {
    /// All of them.
    #[default]
    None,
    /// The text up to the first separator, and a hash: keys can be told apart, not read. Who can
    /// guess a key can confirm the guess.
    Hash,
    /// The text up to the first separator. Beside each key there is still the number by which keys are
    /// told apart, a hash: who can guess a key can confirm the guess.
    Prefix,
}

impl Redaction {
    /// A key as reports show it.
    pub fn apply(self, key: &str) -> String {
        let prefix = prefix(key);
        match self {
            Self::None => key.to_owned(),
            Self::Hash => format!("{prefix}…{:08x}", hash_of(key.as_bytes()) >> 32),
            Self::Prefix => format!("{prefix}…"),
        }
    }

    /// What hides more of the two: what is hidden once cannot be shown again.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Prefix, _) | (_, Self::Prefix) => Self::Prefix,
            (Self::Hash, _) | (_, Self::Hash) => Self::Hash,
            _ => Self::None,
        }
    }
}

impl FromStr for Redaction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "hash" => Ok(Self::Hash),
            "prefix" => Ok(Self::Prefix),
            other => Err(format!("`{other}` is not a way to redact keys: none, hash or prefix")),
        }
    }
}

/// The kind of a key: its letters up to and with the first separator.
pub(crate) fn prefix(key: &str) -> &str {
    let end = key.find(['#', ':', '/', '|']).map_or(0, |at| at + 1);
    let prefix = key.get(..end).unwrap_or_default();
    let word = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '-';
    if prefix.chars().rev().skip(1).all(word) { prefix } else { "" }
}

/// A key's values as people read them.
pub(crate) fn label(values: &[AttributeValue]) -> String {
    let mut text = String::new();
    for (position, value) in values.iter().enumerate() {
        if position > 0 {
            text.push_str(" + ");
        }
        match value {
            AttributeValue::S(value) => text.push_str(value),
            AttributeValue::N(number) => {
                let _ = write!(text, "{number}");
            }
            AttributeValue::B(bytes) => {
                let shown = bytes.get(..24).unwrap_or(bytes);
                let _ = write!(text, "0x{}", Hex(shown));
            }
            _ => text.push('?'),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redaction_keeps_the_kind_and_hides_the_value() {
        for (key, hash, prefix) in [
            ("USER#alice", "USER#…", "USER#…"),
            ("alice", "…", "…"),
            ("alice@example.com#1", "…", "…"),
            ("TENANT#acme#ORDER#1", "TENANT#…", "TENANT#…"),
        ] {
            assert_eq!(Redaction::None.apply(key), key);
            assert_eq!(Redaction::Prefix.apply(key), prefix);
            let hashed = Redaction::Hash.apply(key);
            assert!(hashed.starts_with(hash) && hashed.len() == hash.len() + 8, "{hashed}");
            assert!(!hashed.contains("alice") && !hashed.contains("acme"));
        }
        assert_ne!(Redaction::Hash.apply("USER#a"), Redaction::Hash.apply("USER#b"));
        assert_eq!(Redaction::None.stricter(Redaction::Hash), Redaction::Hash);
    }
}
