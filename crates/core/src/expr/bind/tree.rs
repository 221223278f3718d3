//! Checks of trees that were built and not parsed: the same faults are refused, in the same words.

use std::sync::Arc;

use super::super::ExpressionKind;
use super::super::condition::{Condition, Operand};
use super::super::function::Function;
use super::super::key_condition::KeyConditionTree;
use super::super::update::{Change, SetValue, Update};
use super::condition::{between, compare, function, is_in};
use super::operand::Resolved;
use super::update::{Operation, Resolved as ResolvedValue, check_set_operand};
use super::{Problem, problem};
use crate::error::Result;
use crate::limits::MAX_EXPRESSION_OPERATORS;
use crate::value::AttributeValue;

impl Condition {
    /// Refuses what the expression of this kind could not say: operands of the wrong type, bounds out of
    /// order, too many operators.
    pub fn check(&self, kind: ExpressionKind) -> Result<()> {
        let checked = check_condition(self).and_then(|operators| {
            if operators > MAX_EXPRESSION_OPERATORS {
                return Err(problem::too_many_operators(operators));
            }
            Ok(())
        });
        checked.map_err(|problem| problem.in_parameter(kind.parameter()))
    }
}

impl KeyConditionTree {
    /// A key condition from a condition that was built and not parsed.
    pub fn of(condition: Condition) -> Result<Self> {
        condition.check(ExpressionKind::KeyCondition)?;
        Ok(Self(condition))
    }
}

impl Update {
    /// Refuses what an `UpdateExpression` could not say: operands of the wrong type.
    pub fn check(&self) -> Result<()> {
        let in_update = |problem: Problem| problem.in_parameter("UpdateExpression");
        for action in self.actions() {
            match &action.change {
                Change::Add(value) => check_set_operand("ADD", value).map_err(in_update)?,
                Change::Delete(value) => check_set_operand("DELETE", value).map_err(in_update)?,
                Change::Set(value) => {
                    resolved(value).into_set_value().map_err(in_update)?;
                }
                Change::Remove | Change::LegacyAdd(_) | Change::LegacyDelete(_) => {}
            }
        }
        Ok(())
    }
}

/// Checks a condition, and counts its operators as the parser does.
fn check_condition(condition: &Condition) -> Result<usize, Problem> {
    let of = |operand: &Operand| Resolved::from(operand.clone());
    let call = |called: Function, operands: Vec<Resolved>| function(called.name(), operands);
    Ok(match condition {
        Condition::Compare(comparator, left, right) => {
            compare(*comparator, of(left), of(right))?;
            1
        }
        Condition::Between(operand, low, high) => {
            between(of(operand), of(low), of(high))?;
            1
        }
        Condition::In(operand, candidates) => {
            is_in(of(operand), candidates.iter().map(of).collect())?;
            1
        }
        Condition::BeginsWith(operand, prefix) => {
            call(Function::BeginsWith, vec![of(operand), of(prefix)])?;
            1
        }
        Condition::Contains(operand, part) => {
            call(Function::Contains, vec![of(operand), of(part)])?;
            1
        }
        Condition::HasType(operand, kind) => {
            let kind = Resolved::Value(Arc::new(AttributeValue::from(kind.as_str())));
            call(Function::AttributeType, vec![of(operand), kind])?;
            1
        }
        Condition::Exists(_) | Condition::NotExists(_) => 1,
        Condition::And(members) | Condition::Or(members) => {
            let mut operators = members.len().saturating_sub(1);
            for member in members {
                operators += check_condition(member)?;
            }
            operators
        }
        Condition::Not(condition) => 1 + check_condition(condition)?,
    })
}

impl From<Operand> for Resolved {
    fn from(operand: Operand) -> Self {
        match operand {
            Operand::Path(path) => Self::Path(path),
            Operand::Value(value) => Self::Value(value),
            Operand::Size(operand) => Self::Size(vec![Self::from(*operand)]),
            Operand::Truth(condition) => Self::Truth(*condition),
        }
    }
}

fn resolved(value: &SetValue) -> ResolvedValue {
    let call =
        |operation, operands: [ResolvedValue; 2]| ResolvedValue::Call(operation, operands.into());
    match value {
        SetValue::Path(path) => ResolvedValue::Path(path.clone()),
        SetValue::Value(value) => ResolvedValue::Value(Arc::clone(value)),
        SetValue::IfNotExists(path, otherwise) => {
            call(Operation::IfNotExists, [ResolvedValue::Path(path.clone()), resolved(otherwise)])
        }
        SetValue::ListAppend(a, b) => call(Operation::ListAppend, [resolved(a), resolved(b)]),
        SetValue::Plus(a, b) => call(Operation::Plus, [resolved(a), resolved(b)]),
        SetValue::Minus(a, b) => call(Operation::Minus, [resolved(a), resolved(b)]),
    }
}
