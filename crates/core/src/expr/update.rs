//! Updates with resolved names and values, applied by [`super::apply`].

use std::sync::Arc;

use super::path::{self, Path};
use super::projection::Projection;
use crate::error::Result;
use crate::error::message::expression::{self, Problem};
use crate::value::AttributeValue;

/// A list of changes to an item; their paths neither overlap nor conflict.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Update {
    actions: Vec<Action>,
}

/// One change that an update expression makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The path to change.
    pub path: Path,
    /// What is done at the path.
    pub change: Change,
}

/// A change at a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Set a value.
    Set(SetValue),
    /// Remove the value.
    Remove,
    /// Add a number to a number, or members to a set; a missing value counts as zero or the empty
    /// set.
    Add(Arc<AttributeValue>),
    /// Remove members from a set.
    Delete(Arc<AttributeValue>),
    /// The legacy `ADD` action: as [`Change::Add`], and appends to lists.
    LegacyAdd(Arc<AttributeValue>),
    /// The legacy `DELETE` action with a value: as [`Change::Delete`] with another message.
    LegacyDelete(Arc<AttributeValue>),
}

/// The right-hand side of `SET`.
#[derive(Clone, Debug, PartialEq)]
pub enum SetValue {
    /// The value at a path.
    Path(Path),
    /// A value of the request.
    Value(Arc<AttributeValue>),
    /// The value at a path, or a default if there is none.
    IfNotExists(Path, Box<SetValue>),
    /// The concatenation of two lists.
    ListAppend(Box<SetValue>, Box<SetValue>),
    /// The sum of two numbers.
    Plus(Box<SetValue>, Box<SetValue>),
    /// The difference of two numbers.
    Minus(Box<SetValue>, Box<SetValue>),
}

impl Update {
    /// An update of these changes; refused if their paths overlap or conflict.
    pub fn of(actions: Vec<Action>) -> Result<Self, Problem> {
        path::check_distinct(&actions.iter().map(|action| &action.path).collect::<Vec<_>>())?;
        Ok(Self::new(actions))
    }

    /// An update of these changes, whose paths must not overlap.
    pub(crate) fn new(actions: Vec<Action>) -> Self {
        Self { actions }
    }

    /// The changes, in source order.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The changed paths.
    ///
    /// Applied to the old item this gives `UPDATED_OLD`, to the new item `UPDATED_NEW`.
    pub fn targets(&self) -> Projection {
        Projection::new(self.actions.iter().map(|action| action.path.clone()).collect())
    }

    /// All paths, written and read.
    pub fn paths(&self) -> Vec<&Path> {
        let mut paths = Vec::new();
        self.visit_paths(&mut |path| paths.push(path));
        paths
    }

    /// The paths that lead into a map or list, written and read.
    pub fn nested_paths(&self) -> Vec<&Path> {
        let mut nested = Vec::new();
        self.visit_paths(&mut |path| nested.extend(Some(path).filter(|path| path.is_nested())));
        nested
    }

    fn visit_paths<'a>(&'a self, visit: &mut dyn FnMut(&'a Path)) {
        for action in &self.actions {
            visit(&action.path);
            if let Change::Set(value) = &action.change {
                value.visit_paths(visit);
            }
        }
    }

    /// Refuses an update that would change one of these key attributes.
    pub fn check_excludes_keys<'a>(&self, keys: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let changed = |key: &str| self.actions.iter().any(|action| action.path.attribute == key);
        match keys.into_iter().find(|key| changed(key)) {
            Some(key) => Err(expression::update_of_key(key)),
            None => Ok(()),
        }
    }

    /// Whether the update creates a missing item. One that only removes does not.
    pub fn creates_item(&self) -> bool {
        self.actions.is_empty()
            || self.actions.iter().any(|action| {
                !matches!(
                    action.change,
                    Change::Remove | Change::Delete(_) | Change::LegacyDelete(_)
                )
            })
    }
}

impl SetValue {
    fn visit_paths<'a>(&'a self, visit: &mut dyn FnMut(&'a Path)) {
        match self {
            Self::Path(path) => visit(path),
            Self::Value(_) => {}
            Self::IfNotExists(path, otherwise) => {
                visit(path);
                otherwise.visit_paths(visit);
            }
            Self::ListAppend(a, b) | Self::Plus(a, b) | Self::Minus(a, b) => {
                a.visit_paths(visit);
                b.visit_paths(visit);
            }
        }
    }
}
