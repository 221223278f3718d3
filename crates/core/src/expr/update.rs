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
    targets: Projection,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The path to change.
    pub path: Path,
    /// The change.
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
        let targets = Projection::new(actions.iter().map(|action| action.path.clone()).collect());
        Self { actions, targets }
    }

    /// The changes, in source order.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The changed paths.
    ///
    /// Applied to the old item this gives `UPDATED_OLD`, to the new item `UPDATED_NEW`.
    pub fn targets(&self) -> &Projection {
        &self.targets
    }

    /// All paths, written and read.
    pub fn paths(&self) -> Vec<&Path> {
        let mut paths = Vec::new();
        for action in &self.actions {
            paths.push(&action.path);
            if let Change::Set(value) = &action.change {
                value.collect_paths(&mut paths);
            }
        }
        paths
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
    fn collect_paths<'a>(&'a self, paths: &mut Vec<&'a Path>) {
        match self {
            Self::Path(path) => paths.push(path),
            Self::Value(_) => {}
            Self::IfNotExists(path, otherwise) => {
                paths.push(path);
                otherwise.collect_paths(paths);
            }
            Self::ListAppend(a, b) | Self::Plus(a, b) | Self::Minus(a, b) => {
                a.collect_paths(paths);
                b.collect_paths(paths);
            }
        }
    }
}
