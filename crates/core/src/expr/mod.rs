//! The expression languages: conditions and filters, key conditions, projections and updates.
//!
//! An expression passes these stages:
//!
//! 1. [`lexer`] splits the text into tokens;
//! 2. [`parser`] builds a syntax tree ([`ast`]), within limits of size and depth;
//! 3. [`Bindings`] resolves names and values and refuses everything that can be refused without an
//!    item;
//! 4. the result, a [`Condition`], [`KeyCondition`], [`Projection`] or [`Update`], is applied to
//!    items.
//!
//! [`Placeholders`] turns a result back into a syntax tree, and [`mod@print`] prints a syntax tree as text. The
//! legacy parameters ([`crate::legacy`]) are lowered to the result types of step 3.

mod apply;
pub mod ast;
pub(crate) mod bind;
mod condition;
mod eval;
pub(crate) mod function;
mod key_condition;
pub mod lexer;
mod parameters;
pub mod parser;
pub(crate) mod path;
mod placeholders;
pub mod print;
mod projection;
mod reserved;
mod search;
#[cfg(test)]
pub(crate) mod tests;
mod update;

pub use crate::error::message::expression::Problem;
pub use bind::{Bindings, undecodable_value};
pub use condition::{Condition, Operand};
pub(crate) use eval::order;
pub use key_condition::{
    KeyClause, KeyCondition, KeyConditionTree, KeyOperator, ResolvedKeyCondition,
};
pub use parameters::Parameters;
pub use path::{Path, Step, check_keys_are_scalars};
pub use placeholders::Placeholders;
pub use projection::Projection;
pub use reserved::is_reserved;
pub use search::{ResolvedSearch, SearchCondition};
pub use update::{Action, Change, SetValue, Update};

/// The parameters that hold expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionKind {
    /// `ConditionExpression`
    Condition,
    /// `FilterExpression`
    Filter,
    /// `KeyConditionExpression`
    KeyCondition,
    /// `UpdateExpression`
    Update,
    /// `ProjectionExpression`
    Projection,
    /// `SearchConditionExpression`
    SearchCondition,
}

impl ExpressionKind {
    /// The name of the parameter.
    pub fn parameter(self) -> &'static str {
        match self {
            Self::Condition => "ConditionExpression",
            Self::Filter => "FilterExpression",
            Self::KeyCondition => "KeyConditionExpression",
            Self::Update => "UpdateExpression",
            Self::Projection => "ProjectionExpression",
            Self::SearchCondition => "SearchConditionExpression",
        }
    }
}
