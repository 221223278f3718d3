//! The envelope of AWS's service framework: `2 validation errors detected: …; …`.
//!
//! Violations of the API model's constraints (lengths, patterns, enumerations) are reported
//! together, up to ten.

use std::fmt;

use super::{Error, Result};

/// Maximum number of violations in one response.
const MAX_REPORTED: usize = 10;

/// A constraint of the API model on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint<'a> {
    /// The member is required.
    NotNull,
    /// Minimum number of characters or elements.
    MinLength(usize),
    /// Maximum number of characters or elements.
    MaxLength(usize),
    /// Minimum value.
    MinValue(i64),
    /// Maximum value.
    MaxValue(i64),
    /// A regular expression.
    Pattern(&'a str),
    /// One of these names.
    OneOf(&'a [&'a str]),
}

impl fmt::Display for Constraint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNull => f.write_str("Member must not be null"),
            Self::MinLength(length) => {
                write!(f, "Member must have length greater than or equal to {length}")
            }
            Self::MaxLength(length) => {
                write!(f, "Member must have length less than or equal to {length}")
            }
            Self::MinValue(value) => {
                write!(f, "Member must have value greater than or equal to {value}")
            }
            Self::MaxValue(value) => {
                write!(f, "Member must have value less than or equal to {value}")
            }
            Self::Pattern(pattern) => {
                write!(f, "Member must satisfy regular expression pattern: {pattern}")
            }
            Self::OneOf(values) => {
                write!(f, "Member must satisfy enum value set: [{}]", values.join(", "))
            }
        }
    }
}

/// Collects violations of the API model.
///
/// ```
/// use keyloom_core::error::constraint::{Constraint, Constraints};
///
/// let mut constraints = Constraints::default();
/// constraints.violated("ab", "tableName", Constraint::MinLength(3));
/// assert_eq!(
///     constraints.finish().unwrap_err().message(),
///     "1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: \
///      Member must have length greater than or equal to 3"
/// );
/// ```
#[derive(Clone, Debug, Default)]
pub struct Constraints {
    violations: Vec<String>,
}

impl Constraints {
    /// Records a missing member.
    pub fn null(&mut self, path: impl fmt::Display) {
        let constraint = Constraint::NotNull;
        self.add(format!("Value null at '{path}' failed to satisfy constraint: {constraint}"));
    }

    /// Records a violated constraint with the member's value.
    pub fn violated(
        &mut self,
        value: impl fmt::Display,
        path: impl fmt::Display,
        constraint: Constraint<'_>,
    ) {
        self.add(format!("Value '{value}' at '{path}' failed to satisfy constraint: {constraint}"));
    }

    /// Records a violated constraint without quoting the value.
    pub fn violated_unquoted(&mut self, path: impl fmt::Display, constraint: Constraint<'_>) {
        self.add(format!("Value at '{path}' failed to satisfy constraint: {constraint}"));
    }

    /// Whether nothing was violated.
    pub fn is_empty(&self) -> bool {
        self.violations.is_empty()
    }

    /// The error with all violations, if there are any.
    pub fn finish(self) -> Result<()> {
        let plural = match self.violations.len() {
            0 => return Ok(()),
            1 => "",
            _ => "s",
        };
        Err(Error::Validation(format!(
            "{} validation error{plural} detected: {}",
            self.violations.len(),
            self.violations.join("; ")
        )))
    }

    fn add(&mut self, violation: String) {
        if self.violations.len() < MAX_REPORTED {
            self.violations.push(violation);
        }
    }
}
