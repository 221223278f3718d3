//! Operands of conditions during binding, and their checks.

use std::sync::Arc;

use super::super::ast;
use super::super::condition::{Condition, Operand};
use super::super::function::Function;
use super::super::path::Path;
use super::{Bindings, Problem, problem};
use crate::value::{AttributeType, AttributeValue};

/// An operand with resolved names and values. `size` may still have too many operands.
pub(crate) enum Resolved {
    Path(Path),
    Value(Arc<AttributeValue>),
    Size(Vec<Resolved>),
    /// The result of a condition, which only PartiQL has.
    Truth(Condition),
}

impl Bindings {
    pub(super) fn operand(&mut self, operand: &ast::Operand) -> Result<Resolved, Problem> {
        Ok(match operand {
            ast::Operand::Path(path) => Resolved::Path(self.path(path)?),
            ast::Operand::Value(key) => Resolved::Value(self.value(key)?),
            ast::Operand::Call(call) => Resolved::Size(self.operands(&call.arguments)?),
        })
    }

    pub(super) fn operands(&mut self, operands: &[ast::Operand]) -> Result<Vec<Resolved>, Problem> {
        operands.iter().map(|operand| self.operand(operand)).collect()
    }
}

impl Resolved {
    /// The type, if known without an item.
    pub(super) fn known_type(&self) -> Option<AttributeType> {
        match self {
            Self::Path(_) => None,
            Self::Value(value) => Some(value.attribute_type()),
            Self::Size(_) => Some(AttributeType::N),
            Self::Truth(_) => Some(AttributeType::Bool),
        }
    }

    /// The operand, after its checks.
    pub(crate) fn into_operand(self) -> Operand {
        match self {
            Self::Path(path) => Operand::Path(path),
            Self::Value(value) => Operand::Value(value),
            Self::Size(operands) => {
                let operand = operands.into_iter().next().map(Self::into_operand);
                // `check_counts` has ensured that there is one.
                Operand::Size(Box::new(operand.unwrap_or(Operand::value(AttributeValue::Null))))
            }
            Self::Truth(condition) => Operand::Truth(Box::new(condition)),
        }
    }
}

/// Checks that every `size` has one operand.
pub(super) fn check_counts(operands: &[Resolved]) -> Result<(), Problem> {
    for operand in operands {
        if let Resolved::Size(inner) = operand {
            check_counts(inner)?;
            if inner.len() != Function::Size.operand_count() {
                return Err(problem::operand_count(Function::Size.name(), inner.len()));
            }
        }
    }
    Ok(())
}

/// Checks that the first operand is not a path that is repeated.
pub(super) fn check_distinct(operator: &str, operands: &[Resolved]) -> Result<(), Problem> {
    let Some((Resolved::Path(first), rest)) = operands.split_first() else { return Ok(()) };
    let again = |other: &Resolved| matches!(other, Resolved::Path(path) if path == first);
    if rest.iter().any(again) {
        return Err(problem::operands_not_distinct(operator, first));
    }
    Ok(())
}

/// Checks that the operands of `size` have a size.
pub(super) fn check_inner_types(operands: &[Resolved]) -> Result<(), Problem> {
    for operand in operands {
        if let Resolved::Size(inner) = operand {
            check_inner_types(inner)?;
            let has_size = |kind| {
                !matches!(kind, AttributeType::N | AttributeType::Bool | AttributeType::Null)
            };
            check_types(Function::Size.name(), inner, has_size)?;
        }
    }
    Ok(())
}

/// Checks the operands whose type is known.
pub(super) fn check_types(
    operator: &str,
    operands: &[Resolved],
    fits: impl Fn(AttributeType) -> bool,
) -> Result<(), Problem> {
    match operands.iter().filter_map(Resolved::known_type).find(|kind| !fits(*kind)) {
        Some(kind) => Err(problem::operand_type(operator, kind.as_str())),
        None => Ok(()),
    }
}

/// Whether values of this type are ordered.
pub(super) fn is_ordered(kind: AttributeType) -> bool {
    matches!(kind, AttributeType::S | AttributeType::N | AttributeType::B)
}
