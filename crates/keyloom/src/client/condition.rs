//! Conditions and filters of the untyped client: tests on attributes, joined by `and` and `or`.

use keyloom_core::expr::ast::Comparator;
use keyloom_core::expr::{Condition as Tree, Operand};
use keyloom_core::{AttributeType, AttributeValue};

use crate::error::{Error, Result};
use crate::expression;

/// A test on one attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// The attribute equals the value.
    Eq(AttributeValue),
    /// The attribute differs from the value.
    Ne(AttributeValue),
    /// The attribute is less than the value.
    Lt(AttributeValue),
    /// Less or equal.
    Le(AttributeValue),
    /// The attribute is greater than the value.
    Gt(AttributeValue),
    /// Greater or equal.
    Ge(AttributeValue),
    /// From one to another, both included.
    Between(AttributeValue, AttributeValue),
    /// The attribute begins with the value.
    BeginsWith(AttributeValue),
    /// One of these.
    In(Vec<AttributeValue>),
    /// Contains, as text or as member.
    Contains(AttributeValue),
    /// Has this type, by its letters in DynamoDB: `S`, `N`, `L` and so on.
    IsType(&'static str),
    /// Its size passes this test: characters of a text, bytes of a binary, members of the rest.
    Size(Box<Op>),
    /// The item has the attribute.
    Exists,
    /// Is not there.
    Missing,
}

macro_rules! constructors {
    ($($name:ident = $variant:ident: $doc:literal;)*) => {
        impl Op {
            $(#[doc = $doc]
            pub fn $name(value: impl Into<AttributeValue>) -> Self {
                Self::$variant(value.into())
            })*
        }
    };
}
constructors! {
    eq = Eq: "Equal to this.";
    ne = Ne: "Not equal to this.";
    lt = Lt: "Less than this.";
    le = Le: "At most this.";
    gt = Gt: "Greater than this.";
    ge = Ge: "At least this.";
    begins_with = BeginsWith: "Starts with this.";
    contains = Contains: "Contains this.";
}

impl Op {
    /// From one to another, both included.
    pub fn between(low: impl Into<AttributeValue>, high: impl Into<AttributeValue>) -> Self {
        Self::Between(low.into(), high.into())
    }

    /// One of these.
    pub fn one_of<T: Into<AttributeValue>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::In(values.into_iter().map(Into::into).collect())
    }

    /// A test of the size: `Op::size(Op::gt(3))`.
    pub fn size(test: Op) -> Self {
        Self::Size(Box::new(test))
    }

    /// The test on an operand.
    pub(super) fn tree(&self, on: Operand) -> Result<Tree> {
        let value = |value: &AttributeValue| Operand::value(value.clone());
        let compare = |comparator, on, with| Ok(Tree::Compare(comparator, on, value(with)));
        match self {
            Self::Eq(with) => compare(Comparator::Equal, on, with),
            Self::Ne(with) => compare(Comparator::NotEqual, on, with),
            Self::Lt(with) => compare(Comparator::Less, on, with),
            Self::Le(with) => compare(Comparator::LessOrEqual, on, with),
            Self::Gt(with) => compare(Comparator::Greater, on, with),
            Self::Ge(with) => compare(Comparator::GreaterOrEqual, on, with),
            Self::Between(low, high) => Ok(Tree::Between(on, value(low), value(high))),
            Self::BeginsWith(prefix) => Ok(Tree::BeginsWith(on, value(prefix))),
            Self::In(values) => Ok(Tree::In(on, values.iter().map(value).collect())),
            Self::Contains(part) => Ok(Tree::Contains(on, value(part))),
            Self::IsType(kind) => {
                let known = AttributeType::from_wire(kind);
                let known = known.ok_or_else(|| {
                    Error::Config(format!(
                        "`{kind}` is no type: `S`, `N`, `BOOL`, `L` and so on are"
                    ))
                })?;
                Ok(Tree::HasType(on, known))
            }
            Self::Size(test) => test.tree(Operand::Size(Box::new(on))),
            Self::Exists | Self::Missing => {
                let Operand::Path(path) = on else {
                    return Err(Error::Config("a size is always there: compare it".into()));
                };
                Ok(if *self == Self::Exists { Tree::Exists(path) } else { Tree::NotExists(path) })
            }
        }
    }
}

/// What an item must be like: one test, or several joined.
///
/// One pair of path and test, or an array of pairs that must all hold, is a condition, too.
///
/// ```
/// use keyloom::{Condition, Op};
///
/// let open = Condition::when("status", Op::eq("open"));
/// let due = Condition::when("due", Op::lt("2024-02")).or(Condition::when("urgent", Op::eq(true)));
/// let wanted = open.and(due).and(!Condition::when("owner", Op::Exists));
/// # drop(wanted);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition(Tests);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Tests {
    Test(String, Op),
    All(Vec<Tests>),
    Any(Vec<Tests>),
    Not(Box<Tests>),
}

impl Condition {
    /// A test on one attribute. Paths may be nested: `address.city`, `tags[0]`.
    pub fn when(path: &str, op: Op) -> Self {
        Self(Tests::Test(path.to_owned(), op))
    }

    /// Holds if both conditions hold.
    #[must_use]
    pub fn and(self, other: impl Into<Self>) -> Self {
        Self(Tests::All(vec![self.0, other.into().0]))
    }

    /// Either, or both.
    #[must_use]
    pub fn or(self, other: impl Into<Self>) -> Self {
        Self(Tests::Any(vec![self.0, other.into().0]))
    }

    /// The tree of the condition; none if it is empty.
    pub(super) fn tree(&self) -> Result<Option<Tree>> {
        self.0.tree()
    }
}

impl std::ops::Not for Condition {
    type Output = Self;

    fn not(self) -> Self {
        Self(Tests::Not(Box::new(self.0)))
    }
}

impl Tests {
    fn tree(&self) -> Result<Option<Tree>> {
        let joined = |parts: &[Self], join: fn(Vec<Tree>) -> Tree| {
            let parts = parts.iter().filter_map(|part| part.tree().transpose());
            let mut parts: Vec<Tree> = parts.collect::<Result<_>>()?;
            Ok(match parts.len() {
                0 | 1 => parts.pop(),
                _ => Some(join(parts)),
            })
        };
        match self {
            Self::All(parts) => joined(parts, Tree::And),
            Self::Any(parts) => joined(parts, Tree::Or),
            Self::Test(path, op) => op.tree(Operand::Path(expression::path(path)?)).map(Some),
            Self::Not(inner) => Ok(inner.tree()?.map(|inner| Tree::Not(Box::new(inner)))),
        }
    }
}

impl From<(&str, Op)> for Condition {
    fn from((path, op): (&str, Op)) -> Self {
        Self::when(path, op)
    }
}

impl<const N: usize> From<[(&str, Op); N]> for Condition {
    fn from(tests: [(&str, Op); N]) -> Self {
        let tests = tests.into_iter().map(|(path, op)| Tests::Test(path.to_owned(), op));
        Self(Tests::All(tests.collect()))
    }
}

impl From<&[(&str, Op)]> for Condition {
    fn from(tests: &[(&str, Op)]) -> Self {
        let tests = tests.iter().map(|(path, op)| Tests::Test((*path).to_owned(), op.clone()));
        Self(Tests::All(tests.collect()))
    }
}

#[cfg(test)]
mod tests {
    use keyloom_core::expr::Placeholders;

    use super::*;

    #[test]
    fn joined_conditions_keep_their_meaning_in_parentheses() {
        let text = |condition: Condition| {
            let tree = condition.tree().unwrap();
            tree.map(|tree| Placeholders::default().condition(&tree)).unwrap_or_default()
        };
        let when = |path| Condition::when(path, Op::Exists);
        let (a, b, c) = ("attribute_exists(#n0)", "attribute_exists(#n1)", "attribute_exists(#n2)");
        assert_eq!(text(when("a").or(when("b")).and(when("c"))), format!("({a} OR {b}) AND {c}"));
        assert_eq!(text(!when("a").or(when("b"))), format!("NOT ({a} OR {b})"));
        assert_eq!(text([("a", Op::Exists), ("b", Op::Exists)].into()), format!("{a} AND {b}"));
        assert_eq!(text(Condition::when("a", Op::size(Op::gt(3)))), "size(#n0) > :v0");
        assert_eq!(text(Condition::when("a", Op::IsType("L"))), "attribute_type(#n0, :v0)");
        let nothing: [(&str, Op); 0] = [];
        assert_eq!(text(nothing.into()), "");
    }

    #[test]
    fn what_no_expression_can_say_is_refused() {
        for (path, op) in
            [("a", Op::IsType("TEXT")), ("a", Op::size(Op::Exists)), ("a[b]", Op::Exists)]
        {
            let tree = Condition::when(path, op.clone()).tree();
            assert!(matches!(tree, Err(Error::Config(_))), "{path} {op:?}");
        }
    }
}
