//! Tests on attributes, joined to conditions and filters.

use keyloom_core::AttributeValue;

use crate::expression::Placeholders;

/// A test on one attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// Equal.
    Eq(AttributeValue),
    /// Not equal.
    Ne(AttributeValue),
    /// Less.
    Lt(AttributeValue),
    /// Less or equal.
    Le(AttributeValue),
    /// Greater.
    Gt(AttributeValue),
    /// Greater or equal.
    Ge(AttributeValue),
    /// From one to another, both included.
    Between(AttributeValue, AttributeValue),
    /// Starts with.
    BeginsWith(AttributeValue),
    /// One of these.
    In(Vec<AttributeValue>),
    /// Contains, as text or as member.
    Contains(AttributeValue),
    /// Has this type, by its letters in DynamoDB: `S`, `N`, `L` and so on.
    IsType(&'static str),
    /// Its size passes this test: characters of a text, bytes of a binary, members of the rest.
    Size(Box<Op>),
    /// Is there.
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

    /// The test as an expression.
    pub(super) fn expression(&self, placeholders: &mut Placeholders, path: &str) -> String {
        let name = placeholders.path(path);
        self.test(placeholders, &name)
    }

    fn test(&self, placeholders: &mut Placeholders, name: &str) -> String {
        if let Self::Size(test) = self {
            return test.test(placeholders, &format!("size({name})"));
        }
        let mut value = |value: &AttributeValue| placeholders.value(value.clone());
        match self {
            Self::Eq(v) => format!("{name} = {}", value(v)),
            Self::Ne(v) => format!("{name} <> {}", value(v)),
            Self::Lt(v) => format!("{name} < {}", value(v)),
            Self::Le(v) => format!("{name} <= {}", value(v)),
            Self::Gt(v) => format!("{name} > {}", value(v)),
            Self::Ge(v) => format!("{name} >= {}", value(v)),
            Self::Between(low, high) => {
                format!("{name} BETWEEN {} AND {}", value(low), value(high))
            }
            Self::BeginsWith(v) => format!("begins_with({name}, {})", value(v)),
            Self::In(values) => {
                let values: Vec<String> = values.iter().map(value).collect();
                format!("{name} IN ({})", values.join(", "))
            }
            Self::Contains(v) => format!("contains({name}, {})", value(v)),
            Self::IsType(kind) => format!("attribute_type({name}, {})", value(&(*kind).into())),
            Self::Size(_) => String::new(),
            Self::Exists => format!("attribute_exists({name})"),
            Self::Missing => format!("attribute_not_exists({name})"),
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
pub struct Condition(Tree);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Tree {
    Test(String, Op),
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Not(Box<Tree>),
}

impl Condition {
    /// A test on one attribute. Paths may be nested: `address.city`, `tags[0]`.
    pub fn when(path: &str, op: Op) -> Self {
        Self(Tree::Test(path.to_owned(), op))
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: impl Into<Self>) -> Self {
        Self(Tree::All(vec![self.0, other.into().0]))
    }

    /// Either, or both.
    #[must_use]
    pub fn or(self, other: impl Into<Self>) -> Self {
        Self(Tree::Any(vec![self.0, other.into().0]))
    }

    /// The condition as an expression; none if it holds nothing to test.
    pub(super) fn expression(&self, placeholders: &mut Placeholders) -> Option<String> {
        self.0.expression(placeholders)
    }
}

impl std::ops::Not for Condition {
    type Output = Self;

    fn not(self) -> Self {
        Self(Tree::Not(Box::new(self.0)))
    }
}

impl Tree {
    fn expression(&self, placeholders: &mut Placeholders) -> Option<String> {
        let mut joined = |parts: &[Self], word: &str| {
            let parts: Vec<String> =
                parts.iter().filter_map(|part| part.expression(placeholders)).collect();
            match parts.as_slice() {
                [] => None,
                [one] => Some(one.clone()),
                several => Some(format!("({})", several.join(word))),
            }
        };
        match self {
            Self::All(parts) => joined(parts, " AND "),
            Self::Any(parts) => joined(parts, " OR "),
            Self::Test(path, op) => Some(op.expression(placeholders, path)),
            Self::Not(inner) => {
                inner.expression(placeholders).map(|inner| format!("(NOT {inner})"))
            }
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
        let tests = tests.into_iter().map(|(path, op)| Tree::Test(path.to_owned(), op));
        Self(Tree::All(tests.collect()))
    }
}

impl From<&[(&str, Op)]> for Condition {
    fn from(tests: &[(&str, Op)]) -> Self {
        let tests = tests.iter().map(|(path, op)| Tree::Test((*path).to_owned(), op.clone()));
        Self(Tree::All(tests.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_conditions_keep_their_meaning_in_parentheses() {
        let text = |condition: Condition| {
            condition.expression(&mut Placeholders::default()).unwrap_or_default()
        };
        let when = |path| Condition::when(path, Op::Exists);
        let (a, b, c) = ("attribute_exists(#n0)", "attribute_exists(#n1)", "attribute_exists(#n2)");
        assert_eq!(text(when("a").or(when("b")).and(when("c"))), format!("(({a} OR {b}) AND {c})"));
        assert_eq!(text(!when("a").or(when("b"))), format!("(NOT ({a} OR {b}))"));
        assert_eq!(text([("a", Op::Exists), ("b", Op::Exists)].into()), format!("({a} AND {b})"));
        assert_eq!(text(Condition::when("a", Op::size(Op::gt(3)))), "size(#n0) > :v0");
        assert_eq!(text(Condition::when("a", Op::IsType("L"))), "attribute_type(#n0, :v0)");
        let nothing: [(&str, Op); 0] = [];
        assert_eq!(text(nothing.into()), "");
    }
}
