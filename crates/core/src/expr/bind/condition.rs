//! Binds conditions: functions and reserved words are checked over the whole expression, then the
//! operands of each comparison or function in turn.

use super::super::ast::{self, Call, Comparator};
use super::super::condition::Condition;
use super::super::eval::order;
use super::super::function::Function;
use super::super::parser;
use super::operand::{self, Resolved};
use super::{Bindings, Problem, problem, resolve};
use crate::limits::MAX_IN_OPERANDS;
use crate::value::{AttributeType, AttributeValue};

impl Bindings {
    pub(super) fn bind_condition(&mut self, text: &str) -> Result<Condition, Problem> {
        let parsed = parser::parse_condition(text)?;
        if parsed.redundant_parentheses {
            return Err(problem::redundant_parentheses());
        }
        let mut tests = Tests::default();
        tests.collect(&parsed.tree);
        tests.check_functions()?;
        tests.paths.iter().try_for_each(|path| resolve::check_names(path))?;
        self.bind_tree(&parsed.tree)
    }

    fn bind_tree(&mut self, tree: &ast::Condition) -> Result<Condition, Problem> {
        Ok(match tree {
            ast::Condition::And(members) => Condition::And(self.bind_all(members)?),
            ast::Condition::Or(members) => Condition::Or(self.bind_all(members)?),
            ast::Condition::Not(condition) => Condition::Not(Box::new(self.bind_tree(condition)?)),
            ast::Condition::Compare { comparator, left, right } => {
                let [left, right] = [self.operand(left)?, self.operand(right)?];
                compare(*comparator, left, right)?
            }
            ast::Condition::Between { operand, low, high } => {
                between(self.operand(operand)?, self.operand(low)?, self.operand(high)?)?
            }
            ast::Condition::In { operand, candidates } => {
                is_in(self.operand(operand)?, self.operands(candidates)?)?
            }
            ast::Condition::Call(call) => {
                let operands = self.operands(&call.arguments)?;
                function(&call.function, operands)?
            }
        })
    }

    fn bind_all(&mut self, members: &[ast::Condition]) -> Result<Vec<Condition>, Problem> {
        members.iter().map(|member| self.bind_tree(member)).collect()
    }
}

pub(crate) fn compare(
    comparator: Comparator,
    left: Resolved,
    right: Resolved,
) -> Result<Condition, Problem> {
    let operator = comparator.symbol();
    let operands = [left, right];
    operand::check_counts(&operands)?;
    operand::check_distinct(operator, &operands)?;
    operand::check_inner_types(&operands)?;
    if !matches!(comparator, Comparator::Equal | Comparator::NotEqual) {
        operand::check_types(operator, &operands, operand::is_ordered)?;
    }
    let [left, right] = operands.map(Resolved::into_operand);
    Ok(Condition::Compare(comparator, left, right))
}

pub(crate) fn between(
    operand: Resolved,
    low: Resolved,
    high: Resolved,
) -> Result<Condition, Problem> {
    let operands = [operand, low, high];
    operand::check_counts(&operands)?;
    operand::check_distinct("BETWEEN", &operands)?;
    operand::check_inner_types(&operands)?;
    operand::check_types("BETWEEN", &operands, operand::is_ordered)?;
    if let [_, Resolved::Value(low), Resolved::Value(high)] = &operands {
        if low.attribute_type() != high.attribute_type() {
            return Err(problem::bounds_of_different_types(low, high));
        }
        if order(low, high).is_some_and(std::cmp::Ordering::is_gt) {
            return Err(problem::bounds_out_of_order(low, high));
        }
    }
    let [operand, low, high] = operands.map(Resolved::into_operand);
    Ok(Condition::Between(operand, low, high))
}

pub(crate) fn is_in(operand: Resolved, candidates: Vec<Resolved>) -> Result<Condition, Problem> {
    let mut operands = candidates;
    operands.insert(0, operand);
    operand::check_counts(&operands)?;
    if operands.len() - 1 > MAX_IN_OPERANDS {
        return Err(problem::too_many_candidates(operands.len() - 1));
    }
    operand::check_distinct("IN", &operands)?;
    operand::check_inner_types(&operands)?;
    let mut operands = operands.into_iter().map(Resolved::into_operand);
    match operands.next() {
        Some(operand) => Ok(Condition::In(operand, operands.collect())),
        None => Err(problem::operand_count("IN", 0)),
    }
}

/// A boolean function; [`Tests::check_functions`] has refused all others.
pub(crate) fn function(name: &str, operands: Vec<Resolved>) -> Result<Condition, Problem> {
    let function = Function::named(name).ok_or_else(|| problem::unknown_function(name))?;
    operand::check_counts(&operands)?;
    if operands.len() != function.operand_count() {
        return Err(problem::operand_count(name, operands.len()));
    }
    operand::check_distinct(name, &operands)?;
    operand::check_inner_types(&operands)?;
    let mut operands = operands.into_iter();
    let first = operands.next();
    match (function, first, operands.next()) {
        (Function::AttributeExists, Some(Resolved::Path(path)), _) => Ok(Condition::Exists(path)),
        (Function::AttributeNotExists, Some(Resolved::Path(path)), _) => {
            Ok(Condition::NotExists(path))
        }
        (Function::AttributeExists | Function::AttributeNotExists, ..) => {
            Err(problem::path_required(name))
        }
        (Function::AttributeType, Some(operand), Some(wanted)) => {
            Ok(Condition::HasType(operand.into_operand(), type_name(&wanted)?))
        }
        (Function::BeginsWith, Some(operand), Some(prefix)) => {
            let operands = [operand, prefix];
            let is_text = |kind| matches!(kind, AttributeType::S | AttributeType::B);
            operand::check_types(name, &operands, is_text)?;
            let [operand, prefix] = operands.map(Resolved::into_operand);
            Ok(Condition::BeginsWith(operand, prefix))
        }
        (Function::Contains, Some(operand), Some(part)) => {
            Ok(Condition::Contains(operand.into_operand(), part.into_operand()))
        }
        _ => Err(problem::misused_function(name)),
    }
}

/// The second operand of `attribute_type`: a string value that names a type.
fn type_name(operand: &Resolved) -> Result<AttributeType, Problem> {
    /// The type of a path is unknown without an item.
    const ANY: &str = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}";
    let function = Function::AttributeType.name();
    match operand {
        Resolved::Value(value) => match value.as_ref() {
            AttributeValue::S(name) => {
                AttributeType::from_wire(name).ok_or_else(|| problem::unknown_attribute_type(name))
            }
            other => Err(problem::operand_type(function, other.attribute_type().as_str())),
        },
        Resolved::Size(_) => Err(problem::operand_type(function, AttributeType::N.as_str())),
        Resolved::Truth(_) => Err(problem::operand_type(function, AttributeType::Bool.as_str())),
        Resolved::Path(_) => Err(problem::operand_type(function, ANY)),
    }
}

/// The function calls and paths of a condition.
#[derive(Default)]
struct Tests<'a> {
    /// Inner calls before outer ones, each with whether it is used as a condition or an operand.
    calls: Vec<(&'a Call, Place)>,
    /// In source order.
    paths: Vec<&'a ast::Path>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Condition,
    Operand,
}

impl<'a> Tests<'a> {
    fn collect(&mut self, tree: &'a ast::Condition) {
        match tree {
            ast::Condition::And(members) | ast::Condition::Or(members) => {
                for member in members {
                    self.collect(member);
                }
            }
            ast::Condition::Not(condition) => self.collect(condition),
            ast::Condition::Compare { left, right, .. } => self.operands([left, right]),
            ast::Condition::Between { operand, low, high } => self.operands([operand, low, high]),
            ast::Condition::In { operand, candidates } => {
                self.operands(std::iter::once(operand).chain(candidates));
            }
            ast::Condition::Call(call) => {
                self.operands(&call.arguments);
                self.calls.push((call, Place::Condition));
            }
        }
    }

    fn operands(&mut self, operands: impl IntoIterator<Item = &'a ast::Operand>) {
        for operand in operands {
            match operand {
                ast::Operand::Path(path) => self.paths.push(path),
                ast::Operand::Value(_) => {}
                ast::Operand::Call(call) => {
                    self.operands(&call.arguments);
                    self.calls.push((call, Place::Operand));
                }
            }
        }
    }

    /// Refuses functions that do not exist, belong to updates, or are misplaced: `size` is an
    /// operand, all others are conditions.
    fn check_functions(&self) -> Result<(), Problem> {
        let mut functions = Vec::with_capacity(self.calls.len());
        for (call, place) in &self.calls {
            let function = Function::named(&call.function)
                .ok_or_else(|| problem::unknown_function(&call.function))?;
            functions.push((function, *place));
        }
        if let Some((function, _)) =
            functions.iter().find(|(function, _)| function.is_for_updates())
        {
            return Err(problem::function_not_in_condition(function.name()));
        }
        let misplaced = |(function, place): &&(Function, Place)| {
            (*function == Function::Size) != (*place == Place::Operand)
        };
        match functions.iter().find(misplaced) {
            Some((function, _)) => Err(problem::misused_function(function.name())),
            None => Ok(()),
        }
    }
}
