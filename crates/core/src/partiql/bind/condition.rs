//! Binds conditions.

use super::super::ast::{Expr, ExprKind, Span};
use super::path::{as_path, path};
use super::value::is_literal;
use super::{Binder, refused};
use crate::error::message::{expression as problem, partiql as message};
use crate::error::{Error, Result};
use crate::expr::Condition;
use crate::expr::ast::Comparator;
use crate::expr::bind::condition::{between, compare, function, is_in};
use crate::expr::bind::operand::Resolved;
use crate::expr::function::Function;
use crate::value::AttributeType;

impl Binder {
    /// An expression that must be boolean; `otherwise` is the error if it is not.
    pub(super) fn condition(
        &mut self,
        expr: &Expr,
        otherwise: impl Fn() -> Error,
    ) -> Result<Condition> {
        self.test(expr)?.ok_or_else(otherwise)
    }

    /// The condition of an expression; `None` if it is a value.
    fn test(&mut self, expr: &Expr) -> Result<Option<Condition>> {
        Ok(Some(match &expr.kind {
            ExprKind::And(members) => Condition::And(self.members(members)?),
            ExprKind::Or(members) => Condition::Or(self.members(members)?),
            ExprKind::Not(operand) => {
                Condition::Not(Box::new(self.condition(operand, message::not_operand)?))
            }
            ExprKind::Binary("in", left, right) => self.is_in(left, right)?,
            ExprKind::Binary(operator, left, right) => {
                let Some(comparator) = comparator(operator) else {
                    return Err(unsupported(operator, expr.span));
                };
                let (left, right) = (self.operand(left)?, self.operand(right)?);
                compare(comparator, left, right).map_err(refused)?
            }
            ExprKind::Between(operands) => {
                let [operand, low, high] = operands.as_ref();
                let (operand, low) = (self.operand(operand)?, self.operand(low)?);
                between(operand, low, self.operand(high)?).map_err(refused)?
            }
            ExprKind::Is(operand, kind) => self.is_type(operand, kind, expr.span)?,
            ExprKind::Call(name, arguments) => {
                return match Function::named(name) {
                    Some(Function::Size) => Ok(None),
                    Some(function) if function.is_for_updates() => {
                        Err(refused(problem::function_not_in_condition(name)))
                    }
                    Some(_) => self.call(name, arguments).map(Some),
                    None => Err(unrecognized(name, expr.span)),
                };
            }
            _ => return Ok(None),
        }))
    }

    fn members(&mut self, members: &[Expr]) -> Result<Vec<Condition>> {
        members.iter().map(|member| self.condition(member, message::and_or_operand)).collect()
    }

    fn is_in(&mut self, left: &Expr, right: &Expr) -> Result<Condition> {
        let candidates = match &right.kind {
            ExprKind::List(members) | ExprKind::Bag(members) if !members.is_empty() => members,
            _ => return Err(message::in_operand()),
        };
        let operand = self.operand(left)?;
        is_in(operand, self.operands(candidates)?).map_err(refused)
    }

    fn is_type(&mut self, operand: &Expr, kind: &str, span: Span) -> Result<Condition> {
        let operand = match &operand.kind {
            ExprKind::Name(..) | ExprKind::Path(..) => Resolved::Path(path(operand)?),
            ExprKind::Parameter(_) => self.operand(operand)?,
            _ if is_literal(operand) => self.operand(operand)?,
            _ => return Err(message::is_operand()),
        };
        let wanted = match (kind, operand) {
            ("MISSING", Resolved::Path(path)) => return Ok(Condition::NotExists(path)),
            ("MISSING", _) => {
                return Err(refused(problem::path_required(Function::AttributeNotExists.name())));
            }
            ("NULL", operand) => (operand, AttributeType::Null),
            ("BOOLEAN", operand) => (operand, AttributeType::Bool),
            ("BLOB", operand) => (operand, AttributeType::B),
            ("STRING", operand) => (operand, AttributeType::S),
            ("NUMERIC", operand) => (operand, AttributeType::N),
            ("STRUCT" | "TUPLE", operand) => (operand, AttributeType::M),
            ("LIST", operand) => (operand, AttributeType::L),
            _ => return Err(message::at(message::is_type(kind), span)),
        };
        Ok(Condition::HasType(wanted.0.into_operand(), wanted.1))
    }

    fn call(&mut self, name: &str, arguments: &[Expr]) -> Result<Condition> {
        let operands = self.operands(arguments)?;
        function(name, operands).map_err(refused)
    }

    fn operands(&mut self, exprs: &[Expr]) -> Result<Vec<Resolved>> {
        exprs.iter().map(|expr| self.operand(expr)).collect()
    }

    fn operand(&mut self, expr: &Expr) -> Result<Resolved> {
        if let Some(condition) = self.test(expr)? {
            return Ok(Resolved::Truth(condition));
        }
        if let Some(path) = as_path(expr)? {
            return Ok(Resolved::Path(path));
        }
        match &expr.kind {
            ExprKind::Parameter(number) => self.parameter(*number).map(Resolved::Value),
            ExprKind::Call(_, arguments) => self.operands(arguments).map(Resolved::Size),
            ExprKind::Missing => Err(message::missing_compared()),
            ExprKind::CountAll => Err(unrecognized("count", expr.span)),
            ExprKind::Signed(operator, _) => Err(unsupported(operator, expr.span)),
            _ if is_literal(expr) => {
                self.value(expr).map(|value| Resolved::Value(std::sync::Arc::new(value)))
            }
            kind => {
                let node = kind.node();
                let what = format_args!("Unsupported token in expression: {node}");
                Err(message::at(what, expr.span))
            }
        }
    }
}

fn comparator(operator: &str) -> Option<Comparator> {
    Some(match operator {
        "=" => Comparator::Equal,
        "<>" => Comparator::NotEqual,
        "<" => Comparator::Less,
        "<=" => Comparator::LessOrEqual,
        ">" => Comparator::Greater,
        ">=" => Comparator::GreaterOrEqual,
        _ => return None,
    })
}

fn unsupported(operator: &str, span: Span) -> Error {
    let what = format_args!("Unsupported operator in Condition Expression. Operator: {operator}");
    message::at(what, span)
}

/// An unknown function, or one that is not allowed here.
pub(super) fn unrecognized(name: &str, span: Span) -> Error {
    message::at(format_args!("Unrecognized function: {name}"), span)
}
