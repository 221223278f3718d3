//! Conditions on one field, as programs state them.

use std::borrow::Cow;

use crate::value::Value;

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `=`; for a period such as a day given to a time field, anywhere within it.
    Eq,
    /// `<`; for a period, before its start.
    Lt,
    /// `<=`; for a period, up to its end.
    Le,
    /// `>`; for a period, after its end.
    Gt,
    /// `>=`; for a period, from its start.
    Ge,
}

impl Operator {
    /// The symbol of the operator.
    pub const fn symbol(self) -> &'static str {
        match self {
            Operator::Eq => "=",
            Operator::Lt => "<",
            Operator::Le => "<=",
            Operator::Gt => ">",
            Operator::Ge => ">=",
        }
    }

    /// The operator that holds with its operands swapped.
    pub(crate) const fn flipped(self) -> Self {
        match self {
            Operator::Eq => Operator::Eq,
            Operator::Lt => Operator::Gt,
            Operator::Le => Operator::Ge,
            Operator::Gt => Operator::Lt,
            Operator::Ge => Operator::Le,
        }
    }
}

/// One requirement on a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term<'a> {
    /// A comparison with a value.
    Compare(Operator, Value<'a>),
    /// The encoded value begins with this text.
    BeginsWith(Cow<'a, str>),
}

/// The requirements on one field, all of which must hold.
///
/// ```
/// use keyloom_keys::FieldCondition;
///
/// let first_quarter = FieldCondition::half_open("day", "2024-01-01", "2024-04-01");
/// assert_eq!(first_quarter, FieldCondition::ge("day", "2024-01-01").and_lt("2024-04-01"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldCondition<'a> {
    field: Cow<'a, str>,
    terms: Vec<Term<'a>>,
}

impl<'a> FieldCondition<'a> {
    fn compare(
        field: impl Into<Cow<'a, str>>,
        operator: Operator,
        value: impl Into<Value<'a>>,
    ) -> Self {
        FieldCondition { field: field.into(), terms: vec![Term::Compare(operator, value.into())] }
    }

    /// A condition with one term.
    pub fn new(field: impl Into<Cow<'a, str>>, term: Term<'a>) -> Self {
        FieldCondition { field: field.into(), terms: vec![term] }
    }

    /// The field equals the value, or lies within it when the value is a period.
    pub fn eq(field: impl Into<Cow<'a, str>>, value: impl Into<Value<'a>>) -> Self {
        Self::compare(field, Operator::Eq, value)
    }

    /// The field is below the value.
    pub fn lt(field: impl Into<Cow<'a, str>>, value: impl Into<Value<'a>>) -> Self {
        Self::compare(field, Operator::Lt, value)
    }

    /// The field is at most the value.
    pub fn le(field: impl Into<Cow<'a, str>>, value: impl Into<Value<'a>>) -> Self {
        Self::compare(field, Operator::Le, value)
    }

    /// The field is above the value.
    pub fn gt(field: impl Into<Cow<'a, str>>, value: impl Into<Value<'a>>) -> Self {
        Self::compare(field, Operator::Gt, value)
    }

    /// The field is at least the value.
    pub fn ge(field: impl Into<Cow<'a, str>>, value: impl Into<Value<'a>>) -> Self {
        Self::compare(field, Operator::Ge, value)
    }

    /// The field lies between the values, both included; a day as the upper one is included to its end.
    pub fn between(
        field: impl Into<Cow<'a, str>>,
        from: impl Into<Value<'a>>,
        to: impl Into<Value<'a>>,
    ) -> Self {
        Self::ge(field, from).and_le(to)
    }

    /// The field lies between the values, the upper one excluded.
    pub fn half_open(
        field: impl Into<Cow<'a, str>>,
        from: impl Into<Value<'a>>,
        to: impl Into<Value<'a>>,
    ) -> Self {
        Self::ge(field, from).and_lt(to)
    }

    /// The encoded value begins with the text: `2024-12` for a date, `Sam` for a name.
    pub fn begins_with(field: impl Into<Cow<'a, str>>, text: impl Into<Cow<'a, str>>) -> Self {
        Self::new(field, Term::BeginsWith(text.into()))
    }

    /// Adds a term.
    #[must_use]
    pub fn and(mut self, term: Term<'a>) -> Self {
        self.terms.push(term);
        self
    }

    /// Adds: at most the value.
    #[must_use]
    pub fn and_le(self, value: impl Into<Value<'a>>) -> Self {
        self.and(Term::Compare(Operator::Le, value.into()))
    }

    /// Adds: below the value.
    #[must_use]
    pub fn and_lt(self, value: impl Into<Value<'a>>) -> Self {
        self.and(Term::Compare(Operator::Lt, value.into()))
    }

    /// The name of the field.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The terms that must all hold.
    pub fn terms(&self) -> &[Term<'a>] {
        &self.terms
    }
}
