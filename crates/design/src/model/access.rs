//! Access patterns: their conditions, order and typed inputs.

use std::fmt;
use std::sync::Arc;

use keyloom_keys::Value;

use super::Entity;
use crate::condition::{self, Comparison, Condition};
use crate::draft::Rate;
use crate::source::{Span, Spanned};

/// An access pattern.
#[derive(Clone, Debug)]
pub struct Access {
    /// The pattern's name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// The entities it returns.
    pub find: Vec<Arc<Entity>>,
    /// The entity through which the found ones are reached.
    pub via: Option<Arc<Entity>>,
    /// The conditions, at most one range per field. With alternatives, those that all of them share.
    pub terms: Vec<Question>,
    /// Alternatives of `or`, one of which must hold besides: none, or at least two.
    pub alternatives: Vec<Vec<Question>>,
    /// The inputs, in the order of the text.
    pub inputs: Vec<Input>,
    /// The order asked for.
    pub order: Vec<OrderBy>,
    /// The number of items wanted.
    pub limit: Option<u64>,
    /// The index to use.
    pub index: Option<Spanned<String>>,
    /// The fields wanted; all if empty.
    pub returns: Vec<String>,
    /// Whether the read must see the latest write.
    pub consistent: bool,
    /// How often it is called.
    pub rate: Option<Rate>,
    /// Items one call returns.
    pub items: Option<f64>,
    /// Whether all pages are read on purpose.
    pub all_pages: bool,
    /// The share of read items that a filter keeps.
    pub keeps: Option<f64>,
    /// The most requests that one call may make.
    pub max_requests: Option<u64>,
    /// A hand-written request.
    pub raw: Option<RawRead>,
    /// What it is for.
    pub description: String,
    /// The relationship that implies it.
    pub implied_by: Option<String>,
}

/// A hand-written key condition and filter.
#[derive(Clone, Debug)]
pub struct RawRead {
    /// The key condition.
    pub key: Condition,
    /// Where its text stands.
    pub key_span: Span,
    /// The filter that is applied to what was read.
    pub filter: Option<Condition>,
    /// Where the filter's text stands.
    pub filter_span: Span,
}

/// One field's condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The field that is asked for.
    pub field: String,
    /// What must hold.
    pub test: Test,
    /// Where it stands.
    pub span: Span,
}

/// What must hold of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Equal to one value.
    Equal(Operand),
    /// Not equal to one value.
    NotEqual(Operand),
    /// Inside a range with one or two bounds.
    Range {
        /// The lower bound.
        low: Option<End>,
        /// The upper bound.
        high: Option<End>,
    },
    /// The text starts with the operand.
    BeginsWith(Operand),
    /// Equal to one of the operands.
    In(Vec<Operand>),
    /// Has a value.
    Exists,
    /// Has no value.
    Missing,
    /// Contains the operand.
    Contains(Operand),
    /// Does not contain the operand.
    Lacks(Operand),
}

/// One bound of a range.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// The value at the end of the range.
    pub operand: Operand,
    /// Whether the bound is inclusive.
    pub inclusive: bool,
}

/// What a field is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// The input with this name.
    Input(String),
    /// A value.
    Value(Value<'static>),
}

/// An input of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The input's name.
    pub name: String,
    /// The field it is compared with.
    pub field: String,
    /// Its role in the condition.
    pub role: InputRole,
}

/// The role of an input in a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputRole {
    /// A value of the field.
    Value,
    /// The lower bound of a range.
    Low,
    /// The upper bound of a range.
    High,
    /// The prefix of a text.
    Prefix,
}

/// One field of the order asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderBy {
    /// The name of the field.
    pub field: String,
    /// Whether the order is descending.
    pub descending: bool,
    /// Where it stands.
    pub span: Span,
}

/// As design files write it: `created_at desc`.
impl fmt::Display for OrderBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.field, if self.descending { " desc" } else { "" })
    }
}

impl Access {
    /// The order asked for, as design files write it; empty if there is none.
    pub fn order_text(&self) -> String {
        self.order.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// The operand of the equality on a field, if there is one.
    pub fn equality(&self, field: &str) -> Option<&Operand> {
        self.terms.iter().find_map(|term| match &term.test {
            Test::Equal(operand) if term.field == field => Some(operand),
            _ => None,
        })
    }

    /// The pattern once for each alternative, without `or`: together they ask for the same rows.
    pub fn each(&self) -> Vec<Self> {
        if self.alternatives.is_empty() {
            return vec![self.clone()];
        }
        let alone = |alternative: &Vec<Question>| {
            let mut access = self.clone();
            access.alternatives.clear();
            access.terms.extend(alternative.iter().cloned());
            access
        };
        self.alternatives.iter().map(alone).collect()
    }

    /// Every condition, whichever alternative it belongs to.
    pub fn questions(&self) -> impl Iterator<Item = &Question> {
        self.terms.iter().chain(self.alternatives.iter().flatten())
    }

    /// The conditions in the design language; `operand` prints the operands.
    pub(crate) fn where_text(&self, operand: impl Fn(&Operand) -> String) -> String {
        let joined = |terms: &[Question]| {
            let texts: Vec<String> =
                terms.iter().map(|term| term.test.design_text(&term.field, &operand)).collect();
            texts.join(" and ")
        };
        let mut parts: Vec<String> = Vec::new();
        parts.extend((!self.terms.is_empty()).then(|| joined(&self.terms)));
        if !self.alternatives.is_empty() {
            let texts: Vec<String> = self.alternatives.iter().map(|terms| joined(terms)).collect();
            parts.push(format!("({})", texts.join(" or ")));
        }
        parts.join(" and ")
    }

    /// The entity whose fields the conditions are on: the intermediate one, or the first one returned.
    pub fn asked(&self) -> Option<&Arc<Entity>> {
        self.via.as_ref().or(self.find.first())
    }

    /// Whether the pattern returns an entity.
    pub fn finds(&self, entity: &Entity) -> bool {
        self.find.iter().any(|found| found.name == entity.name)
    }
}

impl Test {
    /// The names of its inputs, from left to right.
    pub fn inputs(&self) -> Vec<&str> {
        let names = self.conditions().into_iter().flat_map(|test| {
            let operands = test.operands().into_iter().copied().collect::<Vec<_>>();
            operands.into_iter().filter_map(|operand| match operand {
                Operand::Input(name) => Some(name.as_str()),
                Operand::Value(_) => None,
            })
        });
        names.collect()
    }

    /// As people read it: inputs as `?name`.
    pub fn describe(&self, field: &str) -> String {
        self.design_text(field, Operand::describe)
    }

    /// The conditions in the design language, joined by `and`; `operand` prints the operands.
    pub(crate) fn design_text(&self, field: &str, operand: impl Fn(&Operand) -> String) -> String {
        let written: Vec<String> = self
            .conditions()
            .iter()
            .map(|test| test.design_text(field, |value| operand(value)))
            .collect();
        written.join(" and ")
    }

    /// The same as conditions of the design language: a range with an open end is up to two of them.
    fn conditions(&self) -> Vec<condition::Test<&Operand>> {
        use condition::Test as Written;
        vec![match self {
            Self::Equal(value) => Written::Compare(Comparison::Equal, value),
            Self::NotEqual(value) => Written::Compare(Comparison::NotEqual, value),
            Self::Range { low: Some(low), high: Some(high) } if low.inclusive && high.inclusive => {
                Written::Between(&low.operand, &high.operand)
            }
            Self::Range { low, high } => {
                let sign = |end: &End, open, closed| if end.inclusive { closed } else { open };
                let low = low.iter().map(|end| {
                    let sign = sign(end, Comparison::Greater, Comparison::GreaterOrEqual);
                    Written::Compare(sign, &end.operand)
                });
                let high = high.iter().map(|end| {
                    let sign = sign(end, Comparison::Less, Comparison::LessOrEqual);
                    Written::Compare(sign, &end.operand)
                });
                return low.chain(high).collect();
            }
            Self::BeginsWith(value) => Written::BeginsWith(value),
            Self::In(values) => Written::In(values.iter().collect()),
            Self::Exists => Written::Exists,
            Self::Missing => Written::Missing,
            Self::Contains(value) => Written::Contains(value),
            Self::Lacks(value) => Written::Lacks(value),
        }]
    }
}

impl Operand {
    /// As people write it: `?name` or the value.
    pub fn describe(&self) -> String {
        match self {
            Self::Input(name) => format!("?{name}"),
            Self::Value(Value::Text(text)) => format!("{text:?}"),
            Self::Value(value) => value.to_string(),
        }
    }
}
