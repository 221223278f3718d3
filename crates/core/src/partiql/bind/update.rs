//! Binds assignments and removals.

use std::sync::Arc;

use super::super::ast::{Action, Expr, ExprKind, Span};
use super::condition::unrecognized;
use super::path::{as_path, path};
use super::{Binder, refused};
use crate::error::message::{expression as problem, partiql as message};
use crate::error::{Error, Result};
use crate::expr::bind::update::{Operation, Resolved};
use crate::expr::function::Function;
use crate::expr::{self, Change, Path, Update};
use crate::value::AttributeType;

impl Binder {
    pub(super) fn changes(&mut self, actions: &[Action]) -> Result<Update> {
        let mut bound = Vec::new();
        for action in actions {
            match action {
                Action::Remove(target) => {
                    bound.push(expr::Action { path: path(target)?, change: Change::Remove });
                }
                Action::Set(assignments) => {
                    for (target, value) in assignments {
                        let path = path(target)?;
                        let change = self.assigned(&path, value)?;
                        bound.push(expr::Action { path, change });
                    }
                }
                Action::Insert(_) => return Err(message::update_action()),
            }
        }
        Update::of(bound).map_err(refused)
    }

    fn assigned(&mut self, target: &Path, value: &Expr) -> Result<Change> {
        if let ExprKind::Call(name, arguments) = &value.kind {
            match name.as_str() {
                "set_add" => {
                    return self.set_members(target, "ADD", arguments, value.span).map(Change::Add);
                }
                "set_delete" => {
                    let members = self.set_members(target, "DELETE", arguments, value.span);
                    return members.map(Change::Delete);
                }
                _ => {}
            }
        }
        self.set_operand(value)?.into_set_value().map(Change::Set).map_err(refused)
    }

    /// The members that `set_add` or `set_delete` adds to or removes from its own target.
    fn set_members(
        &mut self,
        target: &Path,
        verb: &str,
        arguments: &[Expr],
        span: Span,
    ) -> Result<Arc<crate::AttributeValue>> {
        let [first, second] = arguments else {
            let what = format_args!("SET_{verb} must have exactly two arguments");
            return Err(message::at(what, span));
        };
        if as_path(first)?.as_ref() != Some(target) {
            let what =
                format_args!("The first argument to SET_{verb} must equal the assignment value");
            return Err(message::at(what, span));
        }
        let members = self.value(second)?;
        if !matches!(
            members.attribute_type(),
            AttributeType::Ss | AttributeType::Ns | AttributeType::Bs
        ) {
            let what =
                format_args!("The second argument to SET_{verb} must be a value with type SET");
            return Err(message::at(what, first.span));
        }
        Ok(Arc::new(members))
    }

    /// The right-hand side of an assignment.
    fn set_operand(&mut self, expr: &Expr) -> Result<Resolved> {
        if let Some(path) = as_path(expr)? {
            return Ok(Resolved::Path(path));
        }
        let (operation, operands): (_, &[&Expr]) = match &expr.kind {
            ExprKind::Binary("+", left, right) => (Operation::Plus, &[left, right]),
            ExprKind::Binary("-", left, right) => (Operation::Minus, &[left, right]),
            ExprKind::Call(name, arguments) => {
                let operation = update_function(name, expr.span)?;
                let operands = arguments.iter().map(|argument| self.set_operand(argument));
                return Ok(Resolved::Call(operation, operands.collect::<Result<_>>()?));
            }
            ExprKind::Parameter(number) => return self.parameter(*number).map(Resolved::Value),
            ExprKind::Is(..) => return Err(message::is_in_update()),
            ExprKind::Missing => return Err(message::missing_compared()),
            kind => match operator(kind) {
                Some(operator) => {
                    let what = format_args!(
                        "Unsupported operator in Update Expression. Operator: {operator}"
                    );
                    return Err(message::at(what, expr.span));
                }
                None => return self.value(expr).map(|value| Resolved::Value(Arc::new(value))),
            },
        };
        let operands = operands.iter().map(|operand| self.set_operand(operand));
        Ok(Resolved::Call(operation, operands.collect::<Result<_>>()?))
    }
}

/// A function that computes a value.
fn update_function(name: &str, span: Span) -> Result<Operation, Error> {
    match Function::named(name) {
        Some(Function::IfNotExists) => Ok(Operation::IfNotExists),
        Some(Function::ListAppend) => Ok(Operation::ListAppend),
        Some(_) => Err(refused(problem::function_not_in_update(name))),
        None => Err(unrecognized(name, span)),
    }
}

/// The operator of an expression that is not a value.
fn operator(kind: &ExprKind) -> Option<&'static str> {
    Some(match kind {
        ExprKind::Binary(operator, ..) | ExprKind::Signed(operator, _) => operator,
        ExprKind::And(_) => "and",
        ExprKind::Or(_) => "or",
        ExprKind::Not(_) => "not",
        ExprKind::Between(_) => "between",
        _ => return None,
    })
}
