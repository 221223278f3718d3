//! Expressions of the typed client, built as syntax trees. An embedded database takes the tree; for an endpoint it is
//! printed.

use keyloom_api::Expression;
use keyloom_api::items::{ConditionInput, ProjectionInput};
use keyloom_core::expr::ast::Comparator;
use keyloom_core::expr::{
    Action, Change, Condition, ExpressionKind, Operand, Path, Projection, SetValue, Step, Update,
};
use keyloom_core::{AttributeValue, Item, Number};

use crate::error::{Error, Result};

/// The place that a dotted path names: `address.city`, `tags[0]`.
pub(crate) fn path(text: &str) -> Result<Path> {
    let no_path =
        || Error::Config(format!("`{text}` is no path: write `address.city` or `tags[0]`"));
    let mut steps = Vec::new();
    for part in text.split('.') {
        let (name, positions) = part.split_at(part.find('[').unwrap_or(part.len()));
        if name.is_empty() {
            return Err(no_path());
        }
        steps.push(Step::Key(name.into()));
        let positions = positions.strip_prefix('[').map(|rest| rest.strip_suffix(']'));
        if let Some(positions) = positions {
            for position in positions.ok_or_else(no_path)?.split("][") {
                steps.push(Step::Index(position.parse().map_err(|_| no_path())?));
            }
        }
    }
    match steps.remove(0) {
        Step::Key(attribute) => Ok(Path { attribute, steps }),
        Step::Index(_) => Err(no_path()),
    }
}

/// The condition that an attribute has this value.
pub(crate) fn equal(attribute: &str, value: AttributeValue) -> Condition {
    let attribute = Operand::Path(Path::attribute(attribute));
    Condition::Compare(Comparator::Equal, attribute, Operand::value(value))
}

/// The condition that an attribute is absent, or has this value if there is one.
pub(crate) fn absent_or(attribute: &str, value: Option<&AttributeValue>) -> Condition {
    let absent = Condition::NotExists(Path::attribute(attribute));
    match value {
        Some(value) => Condition::Or(vec![absent, equal(attribute, value.clone())]),
        None => absent,
    }
}

/// All of these conditions, of which there is at least one.
pub(crate) fn all(mut conditions: Vec<Condition>) -> Condition {
    if conditions.len() == 1 { conditions.remove(0) } else { Condition::And(conditions) }
}

/// A condition as requests carry it.
pub(crate) fn when(condition: Option<Condition>) -> ConditionInput {
    ConditionInput { expression: condition.map(Expression::Tree), ..ConditionInput::default() }
}

/// Whether an attribute is present.
pub(crate) fn presence(attribute: &str, present: bool) -> ConditionInput {
    let path = Path::attribute(attribute);
    when(Some(if present { Condition::Exists(path) } else { Condition::NotExists(path) }))
}

/// The condition that every attribute is as it was read.
pub(crate) fn unchanged(item: &Item) -> ConditionInput {
    let tests = item.iter().map(|(name, value)| equal(name, value.clone()));
    when(Some(all(tests.collect())))
}

/// The condition that one attribute is as it was read.
pub(crate) fn attribute_is(attribute: &str, value: Option<&AttributeValue>) -> ConditionInput {
    match value {
        Some(value) => when(Some(equal(attribute, value.clone()))),
        None => presence(attribute, false),
    }
}

/// The projection on these paths; none if there are none.
pub(crate) fn projection<'p>(paths: impl IntoIterator<Item = &'p str>) -> Result<ProjectionInput> {
    let paths: Vec<Path> = paths.into_iter().map(path).collect::<Result<_>>()?;
    if paths.is_empty() {
        return Ok(ProjectionInput::default());
    }
    let tree = Projection::of(paths).map_err(refused(ExpressionKind::Projection))?;
    Ok(ProjectionInput { expression: Some(Expression::Tree(tree)), ..ProjectionInput::default() })
}

/// The error of an expression that every database would refuse.
fn refused(kind: ExpressionKind) -> impl Fn(keyloom_core::expr::Problem) -> Error {
    move |problem| Error::Database(problem.in_parameter(kind.parameter()))
}

/// An update that is being put together.
#[derive(Debug, Default)]
pub(crate) struct Changes(Vec<Action>);

impl Changes {
    /// Adds a change at a path.
    pub(crate) fn push(&mut self, path: Path, change: Change) {
        self.0.push(Action { path, change });
    }

    /// Sets an attribute, or removes it.
    pub(crate) fn assign(&mut self, attribute: &str, value: Option<AttributeValue>) {
        let change = match value {
            Some(value) => Change::Set(SetValue::Value(value.into())),
            None => Change::Remove,
        };
        self.push(Path::attribute(attribute), change);
    }

    /// Adds to a number.
    pub(crate) fn add(&mut self, attribute: &str, by: i64) {
        let by = AttributeValue::from(Number::from(by));
        self.push(Path::attribute(attribute), Change::Add(by.into()));
    }

    /// Whether the update is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The update; none if it is empty.
    pub(crate) fn finish(self) -> Result<Option<Expression<Update>>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let update = Update::of(self.0).map_err(refused(ExpressionKind::Update))?;
        Ok(Some(Expression::Tree(update)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_or_refused() {
        let read = |text: &str| path(text).ok().map(|path| path.to_string());
        assert_eq!(read("a").as_deref(), Some("[a]"));
        assert_eq!(read("a.b[0][12].c").as_deref(), Some("[a, b, [0], [12], c]"));
        for text in ["", ".", "a.", "[0]", "a[", "a[]", "a[x]", "a[0", "a[0]b"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
