//! The constraints of the API model: lengths, ranges, patterns and enumerations.
//!
//! AWS checks them all and reports up to ten at once in one envelope:
//! `2 validation errors detected: Value … at '…' failed to satisfy constraint: …; Value …`.

use keyloom_core::{Error, Result, limits};

/// How many violations one message lists.
const MAX_REPORTED: usize = 10;

/// Collects violations of the API model's constraints.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    violations: Vec<String>,
}

impl Constraints {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Reports everything that was collected.
    pub(crate) fn finish(self) -> Result<()> {
        let count = self.violations.len();
        if count == 0 {
            return Ok(());
        }
        let plural = if count == 1 { "" } else { "s" };
        let listed = self.violations.get(..MAX_REPORTED).unwrap_or(&self.violations);
        Err(Error::Validation(format!(
            "{count} validation error{plural} detected: {}",
            listed.join("; ")
        )))
    }

    /// Adds a violation: `shown` is the value as the message quotes it.
    pub(crate) fn violated(&mut self, shown: &str, path: &str, rule: &str) {
        self.violations
            .push(format!("Value {shown} at '{path}' failed to satisfy constraint: {rule}"));
    }

    /// The member must be there.
    pub(crate) fn required(&mut self, present: bool, path: &str) {
        if !present {
            self.violated("null", path, "Member must not be null");
        }
    }

    /// A table that a data operation names: a name or an ARN.
    pub(crate) fn table_name(&mut self, name: Option<&str>) {
        self.table_name_at(name, "tableName", 1);
    }

    /// Checks a table's name before anything else of the request, as AWS's item operations do.
    pub(crate) fn only_table_name(name: &str) -> Result<()> {
        let mut constraints = Self::new();
        constraints.table_name(Some(name));
        constraints.finish()
    }

    /// A table name at any place of the request, with its minimum length.
    pub(crate) fn table_name_at(&mut self, name: Option<&str>, path: &str, minimum: usize) {
        let Some(name) = name else { return self.required(false, path) };
        if name.starts_with("arn:") {
            return self.length(name, path, 1, limits::MAX_TABLE_ARN_CHARS);
        }
        self.resource_name(name, path, minimum);
    }

    /// An index name.
    pub(crate) fn index_name(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            self.resource_name(name, "indexName", limits::MIN_TABLE_NAME_CHARS);
        }
    }

    /// The pattern and length of table and index names.
    pub(crate) fn resource_name(&mut self, name: &str, path: &str, minimum: usize) {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if !name.is_empty() && !name.chars().all(legal) {
            self.violated(
                &format!("'{name}'"),
                path,
                "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
            );
        }
        self.length(name, path, minimum, limits::MAX_TABLE_NAME_CHARS);
    }

    /// The length of a string in characters.
    pub(crate) fn length(&mut self, text: &str, path: &str, minimum: usize, maximum: usize) {
        let length = text.chars().count();
        if length < minimum {
            let rule = format!("Member must have length greater than or equal to {minimum}");
            self.violated(&format!("'{text}'"), path, &rule);
        } else if length > maximum {
            let rule = format!("Member must have length less than or equal to {maximum}");
            self.violated(&format!("'{text}'"), path, &rule);
        }
    }

    /// The number of members of a list or map; `shown` is what the message quotes of it.
    pub(crate) fn count(
        &mut self,
        length: usize,
        shown: &str,
        path: &str,
        minimum: usize,
        maximum: usize,
    ) {
        if length < minimum {
            let rule = format!("Member must have length greater than or equal to {minimum}");
            self.violated(&format!("'{shown}'"), path, &rule);
        } else if length > maximum {
            let rule = format!("Member must have length less than or equal to {maximum}");
            self.violated(&format!("'{shown}'"), path, &rule);
        }
    }

    /// The range of a number.
    pub(crate) fn range(&mut self, value: Option<i64>, path: &str, minimum: i64, maximum: i64) {
        let Some(value) = value else { return };
        if value < minimum {
            let rule = format!("Member must have value greater than or equal to {minimum}");
            self.violated(&format!("'{value}'"), path, &rule);
        } else if value > maximum {
            let rule = format!("Member must have value less than or equal to {maximum}");
            self.violated(&format!("'{value}'"), path, &rule);
        }
    }

    /// One of a set of names; gives the typed value.
    pub(crate) fn one_of<T: Copy>(
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
        let rule = format!("Member must satisfy enum value set: [{}]", names.join(", "));
        self.violated(&format!("'{value}'"), path, &rule);
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
