//! Document paths with resolved names.

use std::fmt;

use crate::error::message::expression::{self as problem, Problem};
use crate::error::{Result, message::expression};
use crate::value::{AttributeValue, Item, Str};

/// Maximum number of elements of a path.
pub(crate) const MAX_DEPTH: usize = 32;
/// Maximum list index in a path.
pub(crate) const MAX_INDEX: u64 = i32::MAX as u64;

/// A path to an attribute, or to a value inside its maps and lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The top-level attribute.
    pub attribute: Str,
    /// The steps from there.
    pub steps: Vec<Step>,
}

/// One step into a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Into a map.
    Key(Str),
    /// Into a list.
    Index(usize),
}

impl Path {
    /// The path of a top-level attribute.
    pub fn attribute(name: impl Into<Str>) -> Self {
        Self { attribute: name.into(), steps: Vec::new() }
    }

    /// Whether the path is nested.
    pub fn is_nested(&self) -> bool {
        !self.steps.is_empty()
    }

    /// The value at this path.
    pub fn get<'a>(&self, item: &'a Item) -> Option<&'a AttributeValue> {
        self.steps.iter().try_fold(item.get(&self.attribute)?, |value, step| step.get(value))
    }

    /// Compares two paths of one update or projection.
    fn relation(&self, other: &Self) -> Relation {
        if self.attribute != other.attribute {
            return Relation::Apart;
        }
        for (mine, theirs) in self.steps.iter().zip(&other.steps) {
            match (mine, theirs) {
                (Step::Key(a), Step::Key(b)) if a == b => {}
                (Step::Index(a), Step::Index(b)) if a == b => {}
                (Step::Key(_), Step::Index(_)) | (Step::Index(_), Step::Key(_)) => {
                    return Relation::Conflict;
                }
                _ => return Relation::Apart,
            }
        }
        Relation::Overlap
    }
}

/// The relation of two paths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Apart,
    /// Equal, or one is a prefix of the other.
    Overlap,
    /// One treats a value as a map, the other as a list.
    Conflict,
}

impl Step {
    /// The value one step down.
    pub fn get<'a>(&self, value: &'a AttributeValue) -> Option<&'a AttributeValue> {
        match (self, value) {
            (Self::Key(key), AttributeValue::M(map)) => map.get(key),
            (Self::Index(index), AttributeValue::L(list)) => list.get(*index),
            _ => None,
        }
    }

    /// The value one step down, to change.
    pub fn get_mut<'a>(&self, value: &'a mut AttributeValue) -> Option<&'a mut AttributeValue> {
        match (self, value) {
            (Self::Key(key), AttributeValue::M(map)) => map.get_mut(key),
            (Self::Index(index), AttributeValue::L(list)) => list.get_mut(*index),
            _ => None,
        }
    }
}

/// AWS's form in messages: `[a, b, [1]]`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.attribute)?;
        for step in &self.steps {
            match step {
                Step::Key(key) => write!(f, ", {key}")?,
                Step::Index(index) => write!(f, ", [{index}]")?,
            }
        }
        f.write_str("]")
    }
}

/// Refuses paths that overlap or conflict.
pub(super) fn check_distinct(paths: &[&Path]) -> Result<(), Problem> {
    let clash = |wanted| {
        paths.iter().enumerate().find_map(|(position, two)| {
            let one = paths.iter().take(position).find(|one| one.relation(two) == wanted)?;
            Some((*one, *two))
        })
    };
    if let Some((one, two)) = clash(Relation::Overlap) {
        return Err(problem::paths_overlap(one, two));
    }
    if let Some((one, two)) = clash(Relation::Conflict) {
        return Err(problem::paths_conflict(one, two));
    }
    Ok(())
}

/// Refuses paths into a key attribute of the table or of one of its indexes.
pub fn check_keys_are_scalars<'a>(
    paths: &[&Path],
    table_key: impl IntoIterator<Item = &'a str>,
    index_keys: impl IntoIterator<Item = &'a str>,
) -> Result<()> {
    let nested = |name: &str| paths.iter().any(|path| path.is_nested() && path.attribute == name);
    if let Some(name) = table_key.into_iter().find(|name| nested(name)) {
        return Err(expression::key_not_scalar("Key", name));
    }
    if let Some(name) = index_keys.into_iter().find(|name| nested(name)) {
        return Err(expression::key_not_scalar("IndexKey", name));
    }
    Ok(())
}
