//! Tests on attributes, for conditions and filters.

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

    /// The test as an expression.
    pub(super) fn expression(&self, placeholders: &mut Placeholders, path: &str) -> String {
        let name = placeholders.path(path);
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
            Self::Exists => format!("attribute_exists({name})"),
            Self::Missing => format!("attribute_not_exists({name})"),
        }
    }
}

/// All tests joined; none if there are none.
pub(super) fn all<N: AsRef<str>>(
    placeholders: &mut Placeholders,
    tests: &[(N, Op)],
) -> Option<String> {
    let parts: Vec<String> =
        tests.iter().map(|(path, op)| op.expression(placeholders, path.as_ref())).collect();
    (!parts.is_empty()).then(|| parts.join(" AND "))
}
