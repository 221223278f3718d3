//! Constraints of the API model on table definitions: presence, lengths, patterns, enumerations.
//!
//! The checks are separate so that an operation can report them, together with the constraints of
//! its other parameters, in AWS's order: attributes, name, (billing), key, indexes.

use std::fmt;

use super::definition::{
    AttributeDefinition, IndexDefinition, KeyElement, ProjectionDefinition, TableDefinition,
};
use super::{KeyRole, ScalarType};
use crate::error::constraint::{Constraint, Constraints};
use crate::limits::{
    MAX_KEY_NAME_BYTES, MAX_PROJECTED_ATTRIBUTES_PER_INDEX, MAX_TABLE_NAME_CHARS,
    MIN_TABLE_NAME_CHARS,
};
use crate::value::Str;

const NAME_PATTERN: &str = "[a-zA-Z0-9_.-]+";
const KEY_TYPES: &[&str] = &["HASH", "RANGE"];
const ATTRIBUTE_TYPES: &[&str] = &["B", "N", "S"];
const PROJECTION_TYPES: &[&str] = &["ALL", "INCLUDE", "KEYS_ONLY"];

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
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    // For an empty name only the length is reported.
    if !name.chars().all(allowed) {
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

impl TableDefinition {
    /// Checks `AttributeDefinitions`.
    pub fn check_attributes(&self, constraints: &mut Constraints) {
        let path = "attributeDefinitions";
        match &self.attributes {
            None => constraints.null(path),
            Some(attributes) => check_attributes(attributes, path, constraints),
        }
    }

    /// Checks `KeySchema`.
    pub fn check_key(&self, constraints: &mut Constraints) {
        check_key_schema(self.key.as_deref(), "keySchema", Some(2), constraints);
    }

    /// Checks `LocalSecondaryIndexes` and `GlobalSecondaryIndexes`.
    pub fn check_indexes(&self, constraints: &mut Constraints) {
        for (position, index) in self.local.iter().flatten().enumerate() {
            let path = format!("localSecondaryIndexes.{}.member", position + 1);
            index.check(&path, Some(2), constraints);
        }
        for (position, index) in self.global.iter().flatten().enumerate() {
            let path = format!("globalSecondaryIndexes.{}.member", position + 1);
            index.check(&path, None, constraints);
        }
    }
}

/// Checks attribute definitions.
pub fn check_attributes(
    attributes: &[AttributeDefinition],
    path: &str,
    constraints: &mut Constraints,
) {
    for (position, attribute) in attributes.iter().enumerate() {
        let path = format!("{path}.{}.member", position + 1);
        check_attribute_name(attribute.name.as_ref(), &path, constraints);
        let path = format!("{path}.attributeType");
        match &attribute.kind {
            None => constraints.null(path),
            Some(kind) if ScalarType::from_wire(kind).is_none() => {
                constraints.violated(kind, path, Constraint::OneOf(ATTRIBUTE_TYPES));
            }
            Some(_) => {}
        }
    }
}

impl IndexDefinition {
    /// Checks an index. `key_limit` is the maximum number of elements of its `KeySchema`, if the
    /// model has a limit.
    pub fn check(&self, path: &str, key_limit: Option<usize>, constraints: &mut Constraints) {
        let key_path = format!("{path}.keySchema");
        check_key_schema(self.key.as_deref(), &key_path, key_limit, constraints);
        match &self.projection {
            None => constraints.null(format_args!("{path}.projection")),
            Some(projection) => projection.check(&format!("{path}.projection"), constraints),
        }
        let path = format!("{path}.indexName");
        match &self.name {
            None => constraints.null(path),
            Some(name) => check_new_name(name, path, constraints),
        }
    }
}

impl ProjectionDefinition {
    pub(super) fn check(&self, path: &str, constraints: &mut Constraints) {
        if let Some(kind) = &self.kind
            && !PROJECTION_TYPES.contains(&kind.as_str())
        {
            let path = format!("{path}.projectionType");
            constraints.violated(kind, path, Constraint::OneOf(PROJECTION_TYPES));
        }
        let Some(attributes) = &self.attributes else { return };
        let path = format!("{path}.nonKeyAttributes");
        let list = || format!("[{}]", attributes.join(", "));
        if attributes.is_empty() {
            constraints.violated(list(), &path, Constraint::MinLength(1));
        }
        if attributes.len() > MAX_PROJECTED_ATTRIBUTES_PER_INDEX {
            let limit = Constraint::MaxLength(MAX_PROJECTED_ATTRIBUTES_PER_INDEX);
            constraints.violated(list(), &path, limit);
        }
        for (position, name) in attributes.iter().enumerate() {
            check_length(name, &format!("{path}.{}.member", position + 1), constraints);
        }
    }
}

fn check_key_schema(
    elements: Option<&[KeyElement]>,
    path: &str,
    limit: Option<usize>,
    constraints: &mut Constraints,
) {
    let Some(elements) = elements else {
        constraints.null(path);
        return;
    };
    if elements.is_empty() {
        constraints.violated("[]", path, Constraint::MinLength(1));
    }
    if let Some(limit) = limit.filter(|&limit| elements.len() > limit) {
        let list: Vec<String> = elements.iter().map(ToString::to_string).collect();
        let list = format!("[{}]", list.join(", "));
        constraints.violated(list, path, Constraint::MaxLength(limit));
    }
    for (position, element) in elements.iter().enumerate() {
        let path = format!("{path}.{}.member", position + 1);
        check_attribute_name(element.name.as_ref(), &path, constraints);
        let path = format!("{path}.keyType");
        match &element.role {
            None => constraints.null(path),
            Some(role) if KeyRole::from_wire(role).is_none() => {
                constraints.violated(role, path, Constraint::OneOf(KEY_TYPES));
            }
            Some(_) => {}
        }
    }
}

/// Checks the name of an attribute used by keys or indexes.
pub(super) fn check_attribute_name(name: Option<&Str>, path: &str, constraints: &mut Constraints) {
    let path = format!("{path}.attributeName");
    match name {
        None => constraints.null(path),
        Some(name) => check_length(name, &path, constraints),
    }
}

fn check_length(name: &str, path: &str, constraints: &mut Constraints) {
    if name.is_empty() {
        constraints.violated(name, path, Constraint::MinLength(1));
    }
    if name.len() > MAX_KEY_NAME_BYTES {
        constraints.violated(name, path, Constraint::MaxLength(MAX_KEY_NAME_BYTES));
    }
}
