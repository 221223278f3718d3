//! The language of `where`, `filter`, `key` and `order`: conditions on names, joined by `and`; in `where` also by `or`,
//! with parentheses.
//!
//! `project_id = ? and created_at between ? and ? and begins_with(title, ?)`; functions may also be
//! written between their operands (`title begins_with ?`). A `?` is an input named after its field,
//! `:name` an input with its own name, and texts, numbers, `true` and `false` stand for themselves.

mod lexer;
mod order;
mod parser;
mod print;

use std::convert::Infallible;

pub use self::order::{OrderTerm, parse_order};
pub use self::parser::{parse, parse_any};
use crate::source::Span;
/// A comparison operator: those of DynamoDB.
pub use keyloom_core::expr::ast::Comparator as Comparison;

/// Conditions that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// The conditions that must all hold.
    pub terms: Vec<Term>,
}

/// One condition on one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The field or attribute tested.
    pub name: String,
    /// The position of the name, relative to the text.
    pub name_span: Span,
    /// The test that must hold.
    pub test: Test,
    /// The position of the whole condition, relative to the text.
    pub span: Span,
}

/// A test of a field or attribute. Operands are those of a design file, or the values of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test<O = Operand> {
    /// A comparison with one operand.
    Compare(Comparison, O),
    /// From one value to another, both included.
    Between(O, O),
    /// The text starts with the operand.
    BeginsWith(O),
    /// Equal to one of the operands.
    In(Vec<O>),
    /// Has a value at all.
    Exists,
    /// Has no value.
    Missing,
    /// The text or list contains the operand.
    Contains(O),
    /// The text or list does not contain the operand.
    Lacks(O),
}

/// The operand of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// An input of the pattern, with its own name if it has one.
    Input(Option<String>),
    /// A text in quotes.
    Text(String),
    /// A number, as written.
    Number(String),
    /// True or false.
    Boolean(bool),
}

/// Why a condition cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    /// What is wrong.
    pub message: String,
    /// The position, relative to the text.
    pub span: Span,
    /// How to fix it.
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

impl<O> Test<O> {
    /// The same test of other operands, each made from one of these.
    pub fn try_map<P, E>(&self, mut to: impl FnMut(&O) -> Result<P, E>) -> Result<Test<P>, E> {
        Ok(match self {
            Self::Compare(comparison, operand) => Test::Compare(*comparison, to(operand)?),
            Self::Between(low, high) => Test::Between(to(low)?, to(high)?),
            Self::BeginsWith(operand) => Test::BeginsWith(to(operand)?),
            Self::In(list) => Test::In(list.iter().map(to).collect::<Result<_, _>>()?),
            Self::Exists => Test::Exists,
            Self::Missing => Test::Missing,
            Self::Contains(operand) => Test::Contains(to(operand)?),
            Self::Lacks(operand) => Test::Lacks(to(operand)?),
        })
    }

    /// As [`Test::try_map`], where nothing fails.
    pub fn map<P>(&self, mut to: impl FnMut(&O) -> P) -> Test<P> {
        let Ok(test) = self.try_map(|operand| Ok::<_, Infallible>(to(operand)));
        test
    }

    /// The operands, from left to right.
    pub fn operands(&self) -> Vec<&O> {
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
