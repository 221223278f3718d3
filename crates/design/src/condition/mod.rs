//! The language of `where`, `filter`, `key` and `order`: conditions on names, joined by `and`.
//!
//! `project_id = ? and created_at between ? and ? and begins_with(title, ?)`; functions may also be
//! written between their operands (`title begins_with ?`). A `?` is an input named after its field,
//! `:name` an input with its own name, and texts, numbers, `true` and `false` stand for themselves.

mod lexer;
mod order;
mod parser;

use std::fmt;

pub use self::order::{OrderTerm, parse_order};
pub use self::parser::parse;
use crate::source::Span;

/// Conditions that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// The conditions.
    pub terms: Vec<Term>,
}

/// One condition on one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The field or attribute tested.
    pub name: String,
    /// Where the name stands, relative to the text.
    pub name_span: Span,
    /// What must hold of it.
    pub test: Test,
    /// Where the whole condition stands, relative to the text.
    pub span: Span,
}

/// What must hold of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// A comparison.
    Compare(Comparison, Operand),
    /// From one value to another, both included.
    Between(Operand, Operand),
    /// The text starts so.
    BeginsWith(Operand),
    /// One of these.
    In(Vec<Operand>),
    /// Has a value at all.
    Exists,
    /// Has no value.
    Missing,
    /// The text or list contains it.
    Contains(Operand),
    /// The text or list does not contain it.
    Lacks(Operand),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// What a name is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// An input of the pattern, with its own name if it has one.
    Input(Option<String>),
    /// A text.
    Text(String),
    /// A number, as written.
    Number(String),
    /// True or false.
    Boolean(bool),
}

/// Why a text is not a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    /// What is wrong.
    pub message: String,
    /// Where, relative to the text.
    pub span: Span,
    /// How to put it right.
    pub fix: Option<String>,
}

impl ConditionError {
    fn new(message: impl Into<String>, span: Span) -> Self {
        Self { message: message.into(), span, fix: None }
    }

    fn fix(mut self, fix: &str) -> Self {
        self.fix = Some(fix.to_owned());
        self
    }
}

impl Comparison {
    /// As DynamoDB writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

impl Test {
    /// The operands, from left to right.
    pub fn operands(&self) -> Vec<&Operand> {
        match self {
            Self::Compare(_, a) | Self::BeginsWith(a) | Self::Contains(a) | Self::Lacks(a) => {
                vec![a]
            }
            Self::Between(a, b) => vec![a, b],
            Self::In(list) => list.iter().collect(),
            Self::Exists | Self::Missing => Vec::new(),
        }
    }

    /// Whether it holds for exactly one value.
    pub fn is_equality(&self) -> bool {
        matches!(self, Self::Compare(Comparison::Equal, _))
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Input(None) => f.write_str("?"),
            Self::Input(Some(name)) => write!(f, ":{name}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(text) => f.write_str(text),
            Self::Boolean(flag) => write!(f, "{flag}"),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = &self.name;
        match &self.test {
            Test::Compare(operator, value) => write!(f, "{name} {} {value}", operator.as_str()),
            Test::Between(low, high) => write!(f, "{name} between {low} and {high}"),
            Test::BeginsWith(value) => write!(f, "begins_with({name}, {value})"),
            Test::In(list) => {
                write!(f, "{name} in (")?;
                for (i, value) in list.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Test::Exists => write!(f, "exists({name})"),
            Test::Missing => write!(f, "missing({name})"),
            Test::Contains(value) => write!(f, "contains({name}, {value})"),
            Test::Lacks(value) => write!(f, "not contains({name}, {value})"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            write!(f, "{}{term}", if i > 0 { " and " } else { "" })?;
        }
        Ok(())
    }
}
