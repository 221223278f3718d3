//! The constraints of the API model: required members, lengths, ranges and enumerations.
//!
//! AWS checks them all and reports them together; the envelope and the wording are the core's.

use keyloom_core::error::constraint::{Constraint, Constraints as Violations};
use keyloom_core::schema::model;
use keyloom_core::{Result, limits};

/// Collects violations of the API model's constraints.
#[derive(Debug, Default)]
pub struct Constraints {
    violations: Violations,
}

impl Constraints {
    /// No violations yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports everything that was collected.
    pub fn finish(self) -> Result<()> {
        self.violations.finish()
    }

    /// The violations, for checks that live in the core.
    pub fn violations(&mut self) -> &mut Violations {
        &mut self.violations
    }

    /// The member must be there.
    pub fn required(&mut self, present: bool, path: &str) {
        if !present {
            self.violations.null(path);
        }
    }

    /// A table that a data operation names: a name or an ARN.
    pub fn table_name(&mut self, name: Option<&str>) {
        self.table_name_at(name, "tableName");
    }

    /// A table name at any place of the request.
    pub fn table_name_at(&mut self, name: Option<&str>, path: &str) {
        match name {
            None => self.required(false, path),
            Some(arn) if arn.starts_with("arn:") => {
                self.length(arn, path, 1, limits::MAX_TABLE_ARN_CHARS);
            }
            Some(name) => model::check_used_name(name, path, &mut self.violations),
        }
    }

    /// An index that a read names.
    pub fn index_name(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            model::check_new_name(name, "indexName", &mut self.violations);
        }
    }

    /// The length of a string in characters.
    pub fn length(&mut self, text: &str, path: &str, minimum: usize, maximum: usize) {
        self.count(text.chars().count(), text, path, minimum, maximum);
    }

    /// The number of members of a list or map; `shown` is what the message quotes of it.
    pub fn count(
        &mut self,
        length: usize,
        shown: &str,
        path: &str,
        minimum: usize,
        maximum: usize,
    ) {
        if length < minimum {
            self.violations.violated(shown, path, Constraint::MinLength(minimum));
        } else if length > maximum {
            self.violations.violated(shown, path, Constraint::MaxLength(maximum));
        }
    }

    /// The range of a number.
    pub fn range(&mut self, value: Option<i64>, path: &str, minimum: i64, maximum: i64) {
        let Some(value) = value else { return };
        if value < minimum {
            self.violations.violated(value, path, Constraint::MinValue(minimum));
        } else if value > maximum {
            self.violations.violated(value, path, Constraint::MaxValue(maximum));
        }
    }

    /// One of a set of names; gives the typed value.
    pub fn one_of<T: Copy>(
        &mut self,
        value: Option<&str>,
        path: &str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let value = value?;
        if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == value) {
            return Some(*choice);
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        self.violations.violated(value, path, Constraint::OneOf(&names));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_come_in_one_envelope() {
        let mut constraints = Constraints::new();
        constraints.table_name(Some("a!"));
        constraints.range(Some(0), "limit", 1, i64::MAX);
        let error = constraints.finish().unwrap_err();
        assert_eq!(
            error.message(),
            "2 validation errors detected: Value 'a!' at 'tableName' failed to satisfy constraint: \
             Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+; Value '0' at 'limit' \
             failed to satisfy constraint: Member must have value greater than or equal to 1"
        );
    }

    #[test]
    fn a_request_without_violations_passes() {
        let mut constraints = Constraints::new();
        constraints.table_name(Some("t"));
        assert_eq!(constraints.one_of(Some("B"), "x", &[("A", 1), ("B", 2)]), Some(2));
        assert!(constraints.finish().is_ok());
    }
}
