//! Update expressions of the untyped client.

use keyloom_api::Expression;
use keyloom_core::AttributeValue;
use keyloom_core::expr::{self as tree, SetValue, Update as Tree};

use crate::error::Result;
use crate::expression::{self, Changes};

/// Changes to an item. Paths may be nested: `address.city`, `tags[0]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    changes: Vec<(String, AttributeEdit)>,
}

#[derive(Clone, Debug, PartialEq)]
enum AttributeEdit {
    Set(AttributeValue),
    SetIfAbsent(AttributeValue),
    Append(AttributeValue),
    Add(AttributeValue),
    Delete(AttributeValue),
    Remove,
}

impl Update {
    /// No changes yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn with(mut self, path: &str, change: AttributeEdit) -> Self {
        self.changes.push((path.to_owned(), change));
        self
    }

    /// Sets an attribute.
    #[must_use]
    pub fn set(self, path: &str, value: impl Into<AttributeValue>) -> Self {
        self.with(path, AttributeEdit::Set(value.into()))
    }

    /// Sets an attribute that is not there.
    #[must_use]
    pub fn set_if_absent(self, path: &str, value: impl Into<AttributeValue>) -> Self {
        self.with(path, AttributeEdit::SetIfAbsent(value.into()))
    }

    /// Appends to a list, which is created if it does not exist.
    #[must_use]
    pub fn append(self, path: &str, value: impl Into<AttributeValue>) -> Self {
        self.with(path, AttributeEdit::Append(value.into()))
    }

    /// Adds to a number, which counts from zero, or to a set.
    #[must_use]
    pub fn add(self, path: &str, value: impl Into<AttributeValue>) -> Self {
        self.with(path, AttributeEdit::Add(value.into()))
    }

    /// Takes members out of a set.
    #[must_use]
    pub fn take_out(self, path: &str, members: impl Into<AttributeValue>) -> Self {
        self.with(path, AttributeEdit::Delete(members.into()))
    }

    /// Removes an attribute.
    #[must_use]
    pub fn remove(self, path: &str) -> Self {
        self.with(path, AttributeEdit::Remove)
    }

    /// Whether doing it twice is doing it once.
    pub(super) fn is_repeatable(&self) -> bool {
        self.changes.iter().all(|(path, change)| match change {
            AttributeEdit::Add(_) | AttributeEdit::Append(_) => false,
            // The elements behind a removed one move up, and one that is set behind the end is appended.
            AttributeEdit::Set(_) | AttributeEdit::SetIfAbsent(_) | AttributeEdit::Remove => {
                !path.ends_with(']')
            }
            AttributeEdit::Delete(_) => true,
        })
    }

    /// The update as a tree; none if it is empty.
    pub(super) fn into_expression(self) -> Result<Option<Expression<Tree>>> {
        let mut changes = Changes::default();
        for (path, change) in self.changes {
            let path = expression::path(&path)?;
            let value = |value: AttributeValue| SetValue::Value(value.into());
            let or = |otherwise| SetValue::IfNotExists(path.clone(), Box::new(value(otherwise)));
            let change = match change {
                AttributeEdit::Set(new) => tree::Change::Set(value(new)),
                AttributeEdit::SetIfAbsent(new) => tree::Change::Set(or(new)),
                AttributeEdit::Append(new) => {
                    let before = or(AttributeValue::L(Vec::new()));
                    let more = value(AttributeValue::L(vec![new]));
                    tree::Change::Set(SetValue::ListAppend(Box::new(before), Box::new(more)))
                }
                AttributeEdit::Add(by) => tree::Change::Add(by.into()),
                AttributeEdit::Delete(members) => tree::Change::Delete(members.into()),
                AttributeEdit::Remove => tree::Change::Remove,
            };
            changes.push(path, change);
        }
        changes.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ends_in_the_same_item_is_repeated() {
        for again in [
            Update::new().set("a", 1).remove("b.c"),
            Update::new().set("list[0].name", "x"),
            Update::new().set_if_absent("a", 1).take_out("list[0]", "x"),
        ] {
            assert!(again.is_repeatable(), "{again:?}");
        }
        for once in [
            Update::new().add("a", 1),
            Update::new().append("a", 1),
            Update::new().set("a", 1).remove("list[0]"),
            Update::new().set("list[9]", 1),
            Update::new().set_if_absent("list[9]", 1),
        ] {
            assert!(!once.is_repeatable(), "{once:?}");
        }
    }
}
