//! Conditions with resolved names and values, evaluated by [`super::eval`].

use std::sync::Arc;

use super::ast::Comparator;
use super::path::Path;
use crate::error::{Result, message::expression};
use crate::value::{AttributeType, AttributeValue};

/// A condition on an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// A comparison of two operands.
    Compare(Comparator, Operand, Operand),
    /// The first operand is between the others, inclusive.
    Between(Operand, Operand, Operand),
    /// The operand equals one of the candidates.
    In(Operand, Vec<Operand>),
    /// The path has a value.
    Exists(Path),
    /// The path has no value.
    NotExists(Path),
    /// The operand has this type.
    HasType(Operand, AttributeType),
    /// The first operand, a string or binary, begins with the second.
    BeginsWith(Operand, Operand),
    /// The first operand, a string, binary, set or list, contains the second.
    Contains(Operand, Operand),
    /// All of these conditions hold.
    And(Vec<Condition>),
    /// Any of these conditions holds.
    Or(Vec<Condition>),
    /// The condition does not hold.
    Not(Box<Condition>),
}

/// An operand of a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// The value at a path of the item.
    Path(Path),
    /// A value of the request.
    Value(Arc<AttributeValue>),
    /// The `size()` of an operand.
    Size(Box<Operand>),
    /// The boolean result of a condition. Only PartiQL has these.
    Truth(Box<Condition>),
}

impl Condition {
    /// All paths of the condition, in source order.
    pub fn paths(&self) -> Vec<&Path> {
        let mut paths = Vec::new();
        self.visit_paths(&mut |path| paths.push(path));
        paths
    }

    /// The paths that lead into a map or list, in source order; few conditions have any.
    pub fn nested_paths(&self) -> Vec<&Path> {
        let mut nested = Vec::new();
        self.visit_paths(&mut |path| nested.extend(Some(path).filter(|path| path.is_nested())));
        nested
    }

    fn visit_paths<'a>(&'a self, visit: &mut dyn FnMut(&'a Path)) {
        match self {
            Self::Compare(_, a, b) | Self::BeginsWith(a, b) | Self::Contains(a, b) => {
                for operand in [a, b] {
                    operand.visit_paths(visit);
                }
            }
            Self::Between(a, b, c) => {
                for operand in [a, b, c] {
                    operand.visit_paths(visit);
                }
            }
            Self::In(operand, candidates) => {
                for operand in std::iter::once(operand).chain(candidates) {
                    operand.visit_paths(visit);
                }
            }
            Self::Exists(path) | Self::NotExists(path) => visit(path),
            Self::HasType(operand, _) => operand.visit_paths(visit),
            Self::And(members) | Self::Or(members) => {
                for member in members {
                    member.visit_paths(visit);
                }
            }
            Self::Not(condition) => condition.visit_paths(visit),
        }
    }

    /// Refuses a filter on a key attribute of the query.
    ///
    /// `parameter` is the name AWS's message gives the filter: `Filter Expression`, `QueryFilter`…
    pub fn check_excludes_keys<'a>(
        &self,
        parameter: &str,
        keys: impl IntoIterator<Item = &'a str>,
    ) -> Result<()> {
        let paths = self.paths();
        match keys.into_iter().find(|key| paths.iter().any(|path| path.attribute == key)) {
            Some(key) => Err(expression::filter_on_key(parameter, key)),
            None => Ok(()),
        }
    }
}

impl Operand {
    /// A value of the request.
    pub fn value(value: AttributeValue) -> Self {
        Self::Value(Arc::new(value))
    }

    /// The value, if it is one of the request.
    pub fn as_value(&self) -> Option<&AttributeValue> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    fn visit_paths<'a>(&'a self, visit: &mut dyn FnMut(&'a Path)) {
        match self {
            Self::Path(path) => visit(path),
            Self::Value(_) => {}
            Self::Size(operand) => operand.visit_paths(visit),
            Self::Truth(condition) => condition.visit_paths(visit),
        }
    }
}
