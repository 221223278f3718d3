//! Binds expressions: `#names` and `:values` are resolved, and everything that can be refused
//! without an item is refused, in AWS's order.
//!
//! One [`Bindings`] serves all expressions of a request, because each name or value must be used in
//! at least one of them.

pub(crate) mod condition;
pub(crate) mod operand;
mod resolve;
mod tree;
pub(crate) mod update;

use std::sync::Arc;

use super::ExpressionKind;
use super::condition::Condition;
use super::key_condition::KeyConditionTree;
use super::parser;
use super::path;
use super::projection::Projection;
use super::search::SearchCondition;
use super::update::Update;
use crate::error::message::expression::{self as problem, Problem};
use crate::error::{Error, Result, message::expression};
use crate::limits::MAX_SUBSTITUTION_TOKEN_BYTES;
use crate::value::{AttributeValue, Str, check_attribute_name};
use resolve::Definition;

const NAMES: &str = "ExpressionAttributeNames";
const VALUES: &str = "ExpressionAttributeValues";

/// The `ExpressionAttributeNames` and `ExpressionAttributeValues` of a request.
///
/// Call the methods for the request's expressions in AWS's order (update, condition, key condition,
/// filter, projection), then [`finish`](Self::finish).
///
/// ```
/// use keyloom_core::expr::Bindings;
/// use keyloom_core::{AttributeValue, Item};
///
/// let mut bindings = Bindings::new(
///     Some(vec![("#s".into(), "status".into())]),
///     Some(vec![(":open".into(), AttributeValue::from("open"))]),
/// )?;
/// let condition = bindings.condition("#s = :open AND attribute_not_exists(closed_at)")?;
/// bindings.finish()?;
///
/// let mut item = Item::new();
/// item.insert("status", "open");
/// assert!(condition.matches(Some(&item)));
/// assert!(!condition.matches(None));
/// # Ok::<(), keyloom_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    names: Vec<Definition<Str>>,
    values: Vec<Definition<Arc<AttributeValue>>>,
}

impl Bindings {
    /// Takes the two maps of a request, if present, and refuses malformed ones.
    pub fn new(
        names: Option<Vec<(Str, Str)>>,
        values: Option<Vec<(Str, AttributeValue)>>,
    ) -> Result<Self> {
        check_names(names.as_deref())?;
        if let Some(values) = &values {
            check_keys(VALUES, ':', values.iter().map(|(key, _)| key.as_str()))?;
        }
        let values = values.unwrap_or_default().into_iter();
        Ok(Self {
            names: Definition::sorted(names.unwrap_or_default()),
            values: Definition::sorted(values.map(|(key, value)| (key, Arc::new(value)))),
        })
    }

    /// Parses and binds a `ConditionExpression`.
    pub fn condition(&mut self, text: &str) -> Result<Condition> {
        self.read(ExpressionKind::Condition, |bindings| bindings.bind_condition(text))
    }

    /// Parses and binds a `FilterExpression`.
    pub fn filter(&mut self, text: &str) -> Result<Condition> {
        self.read(ExpressionKind::Filter, |bindings| bindings.bind_condition(text))
    }

    /// Parses and binds a `KeyConditionExpression`. Rules of key conditions are checked afterwards,
    /// by [`KeyConditionTree::into_clauses`], as AWS does.
    pub fn key_condition(&mut self, text: &str) -> Result<KeyConditionTree> {
        self.read(ExpressionKind::KeyCondition, |bindings| bindings.bind_condition(text))
            .map(KeyConditionTree)
    }

    /// Parses and binds a `SearchConditionExpression`.
    pub fn search_condition(&mut self, text: &str) -> Result<SearchCondition> {
        let kind = ExpressionKind::SearchCondition;
        SearchCondition::of(self.read(kind, |bindings| bindings.bind_condition(text))?)
    }

    /// Parses and binds an `UpdateExpression`.
    pub fn update(&mut self, text: &str) -> Result<Update> {
        self.read(ExpressionKind::Update, |bindings| bindings.bind_update(text))
    }

    /// Parses and binds a `ProjectionExpression`.
    pub fn projection(&mut self, text: &str) -> Result<Projection> {
        self.read(ExpressionKind::Projection, |bindings| bindings.bind_projection(text))
    }

    /// Refuses names and values that no expression has used.
    pub fn finish(self) -> Result<()> {
        let unused = Definition::unused(&self.names);
        if !unused.is_empty() {
            return Err(expression::unused(NAMES, &unused));
        }
        let unused = Definition::unused(&self.values);
        if !unused.is_empty() {
            return Err(expression::unused(VALUES, &unused));
        }
        Ok(())
    }

    fn read<T>(
        &mut self,
        kind: ExpressionKind,
        read: impl FnOnce(&mut Self) -> Result<T, Problem>,
    ) -> Result<T> {
        read(self).map_err(|problem| problem.in_parameter(kind.parameter()))
    }

    fn bind_projection(&mut self, text: &str) -> Result<Projection, Problem> {
        let tree = parser::parse_projection(text)?;
        tree.0.iter().try_for_each(resolve::check_names)?;
        let paths: Vec<_> =
            tree.0.iter().map(|path| self.path(path)).collect::<Result<_, Problem>>()?;
        path::check_distinct(&paths.iter().collect::<Vec<_>>())?;
        Ok(Projection::new(paths))
    }
}

fn check_names(names: Option<&[(Str, Str)]>) -> Result<()> {
    let Some(names) = names else { return Ok(()) };
    check_keys(NAMES, '#', names.iter().map(|(key, _)| key.as_str()))?;
    names.iter().try_for_each(|(key, name)| {
        check_attribute_name(name)
            .map_err(|reason| expression::invalid_map_value(NAMES, &reason, key))
    })
}

/// The error for a request in which the value of the last of `keys` cannot be decoded for this `reason`. AWS
/// looks at the names before the values, and at each value's key before the value.
pub fn undecodable_value(names: Option<&[(Str, Str)]>, keys: &[&str], reason: &Error) -> Error {
    let earlier =
        check_names(names).and_then(|()| check_keys(VALUES, ':', keys.iter().copied())).err();
    let key = keys.last().copied().unwrap_or_default();
    earlier.unwrap_or_else(|| expression::invalid_map_value(VALUES, reason, key))
}

/// Checks the keys of one of the two maps: not empty, each a marker and a word.
fn check_keys<'a>(
    parameter: &str,
    marker: char,
    keys: impl ExactSizeIterator<Item = &'a str>,
) -> Result<()> {
    if keys.len() == 0 {
        return Err(expression::empty_map(parameter));
    }
    for key in keys {
        let word = key.strip_prefix(marker).unwrap_or_default();
        if word.is_empty() || !word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(expression::invalid_map_key(parameter, key));
        }
        if key.len() > MAX_SUBSTITUTION_TOKEN_BYTES {
            return Err(expression::map_key_too_long(parameter, key));
        }
    }
    Ok(())
}
