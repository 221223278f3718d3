//! The API model's rules for names of tables and indexes.

use std::fmt;

use crate::error::constraint::{Constraint, Constraints};
use crate::limits::{MAX_TABLE_NAME_CHARS, MIN_TABLE_NAME_CHARS};

/// The pattern of names, as messages show it.
pub const NAME_PATTERN: &str = "[a-zA-Z0-9_.-]+";

/// Whether a text matches [`NAME_PATTERN`], or is empty.
pub fn has_only_name_characters(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// Checks the name of a new table or index: 3 to 255 characters of `[a-zA-Z0-9_.-]`.
pub fn check_new_name(name: &str, path: impl fmt::Display, constraints: &mut Constraints) {
    check_name(name, &path, MIN_TABLE_NAME_CHARS, constraints);
}

/// Checks a table or index name in a data operation: one character is enough.
pub fn check_used_name(name: &str, path: impl fmt::Display, constraints: &mut Constraints) {
    check_name(name, &path, 1, constraints);
}

fn check_name(
    name: &str,
    path: &impl fmt::Display,
    shortest: usize,
    constraints: &mut Constraints,
) {
    // For an empty name only the length is reported.
    if !has_only_name_characters(name) {
        constraints.violated(name, path, Constraint::Pattern(NAME_PATTERN));
    }
    let length = name.chars().count();
    if length < shortest {
        constraints.violated(name, path, Constraint::MinLength(shortest));
    }
    if length > MAX_TABLE_NAME_CHARS {
        constraints.violated(name, path, Constraint::MaxLength(MAX_TABLE_NAME_CHARS));
    }
}
