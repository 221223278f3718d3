//! Expressions as inputs carry them: as text, or as trees that need no parsing.

use keyloom_core::expr::{
    Bindings, Condition, ExpressionKind, KeyConditionTree, Placeholders, Projection, Update,
};
use keyloom_core::{AttributeValue, Result, Str};

use crate::JsonWriter;

/// An expression: the text of a request, whose names and values stand beside it, or a tree that holds its own.
///
/// ```
/// use keyloom_api::Expression;
/// use keyloom_core::expr::{Condition, Path};
///
/// let text: Expression<Condition> = "attribute_exists(#s)".into();
/// let tree = Expression::Tree(Condition::Exists(Path::attribute("status")));
/// # drop((text, tree));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Expression<T> {
    /// In DynamoDB's expression language.
    Text(String),
    /// Already bound: no placeholder is left.
    Tree(T),
}

impl<T> From<&str> for Expression<T> {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T> From<String> for Expression<T> {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Expression<Condition> {
    /// The tree of a `ConditionExpression`.
    pub fn condition(&self, bindings: &mut Bindings) -> Result<Condition> {
        match self {
            Self::Text(text) => bindings.condition(text),
            Self::Tree(tree) => checked(tree, ExpressionKind::Condition),
        }
    }

    /// The tree of a `FilterExpression`.
    pub fn filter(&self, bindings: &mut Bindings) -> Result<Condition> {
        match self {
            Self::Text(text) => bindings.filter(text),
            Self::Tree(tree) => checked(tree, ExpressionKind::Filter),
        }
    }

    /// The tree of a `KeyConditionExpression`.
    pub fn key_condition(&self, bindings: &mut Bindings) -> Result<KeyConditionTree> {
        match self {
            Self::Text(text) => bindings.key_condition(text),
            Self::Tree(tree) => KeyConditionTree::of(tree.clone()),
        }
    }
}

fn checked(tree: &Condition, kind: ExpressionKind) -> Result<Condition> {
    tree.check(kind)?;
    Ok(tree.clone())
}

impl Expression<Update> {
    /// The tree of an `UpdateExpression`.
    pub fn update(&self, bindings: &mut Bindings) -> Result<Update> {
        match self {
            Self::Text(text) => bindings.update(text),
            Self::Tree(tree) => {
                tree.check()?;
                Ok(tree.clone())
            }
        }
    }
}

impl Expression<Projection> {
    /// The tree of a `ProjectionExpression`.
    pub fn projection(&self, bindings: &mut Bindings) -> Result<Projection> {
        match self {
            Self::Text(text) => bindings.projection(text),
            Self::Tree(tree) => Ok(tree.clone()),
        }
    }
}

/// Writes the expressions of one request, and behind them the names and values that they use.
pub(crate) struct ExpressionWriter<'w> {
    json: &'w mut JsonWriter,
    placeholders: Placeholders,
}

impl<'w> ExpressionWriter<'w> {
    /// Begins with the names and values of the expressions that are given as text.
    pub(crate) fn new(
        json: &'w mut JsonWriter,
        names: Option<&Vec<(Str, Str)>>,
        values: Option<&Vec<(Str, AttributeValue)>>,
    ) -> Self {
        let names = names.cloned().unwrap_or_default();
        let values = values.cloned().unwrap_or_default();
        Self { json, placeholders: Placeholders::beside(names, values) }
    }

    /// Writes a condition, filter or key condition, if there is one.
    pub(crate) fn condition(&mut self, kind: ExpressionKind, of: Option<&Expression<Condition>>) {
        self.write(kind, of, Placeholders::condition);
    }

    /// Writes an update, if there is one.
    pub(crate) fn update(&mut self, of: Option<&Expression<Update>>) {
        self.write(ExpressionKind::Update, of, Placeholders::update);
    }

    /// Writes a projection, if there is one.
    pub(crate) fn projection(&mut self, of: Option<&Expression<Projection>>) {
        self.write(ExpressionKind::Projection, of, Placeholders::projection);
    }

    fn write<T>(
        &mut self,
        kind: ExpressionKind,
        expression: Option<&Expression<T>>,
        print: impl FnOnce(&mut Placeholders, &T) -> String,
    ) {
        match expression {
            None => {}
            Some(Expression::Text(text)) => self.json.string(kind.parameter(), text),
            Some(Expression::Tree(tree)) => {
                let text = print(&mut self.placeholders, tree);
                self.json.string(kind.parameter(), &text);
            }
        }
    }

    /// Writes the names and values, unless there are none.
    pub(crate) fn finish(self) {
        let Self { json, placeholders } = self;
        if !placeholders.names().is_empty() {
            json.structure("ExpressionAttributeNames", |json| {
                for (placeholder, name) in placeholders.names() {
                    json.string(placeholder, name);
                }
            });
        }
        if !placeholders.values().is_empty() {
            json.structure("ExpressionAttributeValues", |json| {
                for (placeholder, value) in placeholders.values() {
                    json.attribute(placeholder, value);
                }
            });
        }
    }
}
