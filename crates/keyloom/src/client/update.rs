//! Changes of attributes.

use keyloom_core::AttributeValue;

use crate::expression::Placeholders;

/// Changes to an item. Paths may be nested: `address.city`, `tags[0]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    changes: Vec<(String, Change)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Change {
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

    fn with(mut self, path: &str, change: Change) -> Self {
        self.changes.push((path.to_owned(), change));
        self
    }

    /// Sets an attribute.
    #[must_use]
    pub fn set(self, path: &str, value: impl Into<AttributeValue>) -> Self {
        self.with(path, Change::Set(value.into()))
    }

    /// Sets an attribute that is not there.
    #[must_use]
    pub fn set_if_absent(self, path: &str, value: impl Into<AttributeValue>) -> Self {
        self.with(path, Change::SetIfAbsent(value.into()))
    }

    /// Appends to a list, which is made if it is not there.
    #[must_use]
    pub fn append(self, path: &str, value: impl Into<AttributeValue>) -> Self {
        self.with(path, Change::Append(value.into()))
    }

    /// Adds to a number, which counts from zero, or to a set.
    #[must_use]
    pub fn add(self, path: &str, value: impl Into<AttributeValue>) -> Self {
        self.with(path, Change::Add(value.into()))
    }

    /// Takes members out of a set.
    #[must_use]
    pub fn take_out(self, path: &str, members: impl Into<AttributeValue>) -> Self {
        self.with(path, Change::Delete(members.into()))
    }

    /// Removes an attribute.
    #[must_use]
    pub fn remove(self, path: &str) -> Self {
        self.with(path, Change::Remove)
    }

    /// Whether doing it twice is doing it once.
    pub(super) fn is_repeatable(&self) -> bool {
        self.changes.iter().all(|(path, change)| match change {
            Change::Add(_) | Change::Append(_) => false,
            // The elements behind a removed one move up, and one that is set behind the end is appended.
            Change::Set(_) | Change::SetIfAbsent(_) | Change::Remove => !path.ends_with(']'),
            Change::Delete(_) => true,
        })
    }

    pub(super) fn into_expression(self, placeholders: &mut Placeholders) -> String {
        let (mut sets, mut removes) = (Vec::new(), Vec::new());
        let (mut adds, mut deletes) = (Vec::new(), Vec::new());
        for (path, change) in self.changes {
            let name = placeholders.path(&path);
            match change {
                Change::Set(value) => sets.push(format!("{name} = {}", placeholders.value(value))),
                Change::SetIfAbsent(value) => {
                    let value = placeholders.value(value);
                    sets.push(format!("{name} = if_not_exists({name}, {value})"));
                }
                Change::Append(value) => {
                    let more = placeholders.value(AttributeValue::L(vec![value]));
                    let none = placeholders.value(AttributeValue::L(Vec::new()));
                    let list = format!("if_not_exists({name}, {none})");
                    sets.push(format!("{name} = list_append({list}, {more})"));
                }
                Change::Add(value) => adds.push(format!("{name} {}", placeholders.value(value))),
                Change::Delete(value) => {
                    deletes.push(format!("{name} {}", placeholders.value(value)));
                }
                Change::Remove => removes.push(name),
            }
        }
        let clauses = [("SET", sets), ("REMOVE", removes), ("ADD", adds), ("DELETE", deletes)];
        let parts: Vec<String> = clauses
            .into_iter()
            .filter(|(_, parts)| !parts.is_empty())
            .map(|(word, parts)| format!("{word} {}", parts.join(", ")))
            .collect();
        parts.join(" ")
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
