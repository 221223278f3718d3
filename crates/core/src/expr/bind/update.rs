//! Binds updates: each kind of error is checked over the whole expression before the next kind.

use std::sync::Arc;

use super::super::ast::{self, Section};
use super::super::function::Function;
use super::super::parser;
use super::super::path::{self, Path};
use super::super::update::{Action, Change, SetValue, Update};
use super::{Bindings, Problem, problem, resolve};
use crate::value::{AttributeType, AttributeValue, Str};

impl Bindings {
    pub(super) fn bind_update(&mut self, text: &str) -> Result<Update, Problem> {
        let parsed = parser::parse_update(text)?;
        if parsed.redundant_parentheses {
            return Err(problem::redundant_parentheses());
        }
        let written = written_actions(&parsed.tree);
        check_names(&written)?;
        check_functions(&written)?;
        check_sections(&parsed.tree)?;
        self.look_up_names(&written)?;
        let mut resolved = Vec::with_capacity(written.len());
        for action in &written {
            resolved.push(self.resolve_action(action)?);
        }
        path::check_distinct(&resolved.iter().map(|(path, _)| path).collect::<Vec<_>>())?;
        resolved.iter().try_for_each(|(_, change)| change.check_set_operand())?;
        let bind = |(path, change): (Path, ResolvedChange)| {
            change.into_change().map(|change| Action { path, change })
        };
        Ok(Update::new(resolved.into_iter().map(bind).collect::<Result<_, _>>()?))
    }

    /// AWS reports undefined names of the whole expression before undefined values.
    fn look_up_names(&mut self, actions: &[Written<'_>]) -> Result<(), Problem> {
        for action in actions {
            self.path(action.path)?;
            for path in action.paths_read() {
                self.path(path)?;
            }
        }
        Ok(())
    }

    fn resolve_action(&mut self, action: &Written<'_>) -> Result<(Path, ResolvedChange), Problem> {
        let change = match action.change {
            WrittenChange::Set(value) => ResolvedChange::Set(self.resolve_set_value(value)?),
            WrittenChange::Remove => ResolvedChange::Remove,
            WrittenChange::Add(key) => ResolvedChange::Add(self.value(key)?),
            WrittenChange::Delete(key) => ResolvedChange::Delete(self.value(key)?),
        };
        Ok((self.path(action.path)?, change))
    }

    fn resolve_set_value(&mut self, value: &ast::SetValue) -> Result<Resolved, Problem> {
        let (operation, operands) = match value {
            ast::SetValue::Operand(operand) => return self.resolve_operand(operand),
            ast::SetValue::Plus(left, right) => (Operation::Plus, [left, right]),
            ast::SetValue::Minus(left, right) => (Operation::Minus, [left, right]),
        };
        self.resolve_call(operation, operands)
    }

    fn resolve_operand(&mut self, operand: &ast::Operand) -> Result<Resolved, Problem> {
        match operand {
            ast::Operand::Path(path) => self.path(path).map(Resolved::Path),
            ast::Operand::Value(key) => self.value(key).map(Resolved::Value),
            ast::Operand::Call(call) => {
                let operation = Operation::named(&call.function)
                    .ok_or_else(|| problem::unknown_function(&call.function))?;
                self.resolve_call(operation, &call.arguments)
            }
        }
    }

    fn resolve_call<'a>(
        &mut self,
        operation: Operation,
        operands: impl IntoIterator<Item = &'a ast::Operand>,
    ) -> Result<Resolved, Problem> {
        let operands = operands.into_iter().map(|operand| self.resolve_operand(operand));
        Ok(Resolved::Call(operation, operands.collect::<Result<_, _>>()?))
    }
}

/// One action as parsed.
struct Written<'a> {
    path: &'a ast::Path,
    change: WrittenChange<'a>,
}

#[derive(Clone, Copy)]
enum WrittenChange<'a> {
    Set(&'a ast::SetValue),
    Remove,
    Add(&'a Str),
    Delete(&'a Str),
}

fn written_actions(tree: &ast::Update) -> Vec<Written<'_>> {
    let write = |path, change| Written { path, change };
    let mut actions = Vec::new();
    for section in &tree.0 {
        match section {
            Section::Set(set) => actions
                .extend(set.iter().map(|(path, value)| write(path, WrittenChange::Set(value)))),
            Section::Remove(paths) => {
                actions.extend(paths.iter().map(|path| write(path, WrittenChange::Remove)));
            }
            Section::Add(add) => actions
                .extend(add.iter().map(|(path, value)| write(path, WrittenChange::Add(value)))),
            Section::Delete(delete) => actions.extend(
                delete.iter().map(|(path, value)| write(path, WrittenChange::Delete(value))),
            ),
        }
    }
    actions
}

impl<'a> Written<'a> {
    /// The operands of a `SET`.
    fn operands(&self) -> Vec<&'a ast::Operand> {
        match self.change {
            WrittenChange::Set(ast::SetValue::Operand(operand)) => vec![operand],
            WrittenChange::Set(
                ast::SetValue::Plus(left, right) | ast::SetValue::Minus(left, right),
            ) => {
                vec![left, right]
            }
            _ => Vec::new(),
        }
    }

    /// The paths read by a `SET`.
    fn paths_read(&self) -> Vec<&'a ast::Path> {
        fn collect<'a>(operand: &'a ast::Operand, paths: &mut Vec<&'a ast::Path>) {
            match operand {
                ast::Operand::Path(path) => paths.push(path),
                ast::Operand::Value(_) => {}
                ast::Operand::Call(call) => {
                    call.arguments.iter().for_each(|operand| collect(operand, paths));
                }
            }
        }
        let mut paths = Vec::new();
        self.operands().into_iter().for_each(|operand| collect(operand, &mut paths));
        paths
    }

    /// The calls in a `SET`, inner ones first, each with whether it is nested.
    fn calls(&self) -> Vec<(&'a ast::Call, bool)> {
        fn collect<'a>(
            operand: &'a ast::Operand,
            nested: bool,
            calls: &mut Vec<(&'a ast::Call, bool)>,
        ) {
            if let ast::Operand::Call(call) = operand {
                call.arguments.iter().for_each(|operand| collect(operand, true, calls));
                calls.push((call, nested));
            }
        }
        let mut calls = Vec::new();
        self.operands().into_iter().for_each(|operand| collect(operand, false, &mut calls));
        calls
    }
}

fn check_names(actions: &[Written<'_>]) -> Result<(), Problem> {
    for action in actions {
        resolve::check_names(action.path)?;
        action.paths_read().into_iter().try_for_each(resolve::check_names)?;
    }
    Ok(())
}

/// Refuses functions that do not exist, belong to conditions, or are misplaced.
fn check_functions(actions: &[Written<'_>]) -> Result<(), Problem> {
    let mut functions = Vec::new();
    for (call, nested) in actions.iter().flat_map(Written::calls) {
        let function = Function::named(&call.function)
            .ok_or_else(|| problem::unknown_function(&call.function))?;
        functions.push((function, nested));
    }
    if let Some((function, _)) = functions.iter().find(|(function, _)| !function.is_for_updates()) {
        return Err(problem::function_not_in_update(function.name()));
    }
    match functions.iter().find(|(function, nested)| *nested && *function == Function::ListAppend) {
        Some((function, _)) => Err(problem::misused_function(function.name())),
        None => Ok(()),
    }
}

fn check_sections(tree: &ast::Update) -> Result<(), Problem> {
    let mut seen: Vec<&str> = Vec::with_capacity(tree.0.len());
    for keyword in tree.0.iter().map(Section::keyword) {
        if seen.contains(&keyword) {
            return Err(problem::repeated_section(keyword));
        }
        seen.push(keyword);
    }
    Ok(())
}

/// An action with resolved names and values.
enum ResolvedChange {
    Set(Resolved),
    Remove,
    Add(Arc<AttributeValue>),
    Delete(Arc<AttributeValue>),
}

/// An operand of `SET`. Its functions may still have the wrong number or types of operands.
pub(crate) enum Resolved {
    Path(Path),
    Value(Arc<AttributeValue>),
    Call(Operation, Vec<Resolved>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    IfNotExists,
    ListAppend,
    Plus,
    Minus,
}

impl Operation {
    fn named(function: &str) -> Option<Self> {
        match Function::named(function)? {
            Function::IfNotExists => Some(Self::IfNotExists),
            Function::ListAppend => Some(Self::ListAppend),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::IfNotExists => Function::IfNotExists.name(),
            Self::ListAppend => Function::ListAppend.name(),
            Self::Plus => "+",
            Self::Minus => "-",
        }
    }
}

/// `ADD` takes a number or a set, `DELETE` a set.
pub(super) fn check_set_operand(action: &str, value: &AttributeValue) -> Result<(), Problem> {
    let long_name = match value.attribute_type() {
        AttributeType::Ss | AttributeType::Ns | AttributeType::Bs => return Ok(()),
        AttributeType::N if action == "ADD" => return Ok(()),
        AttributeType::S => "STRING",
        AttributeType::N => "NUMBER",
        AttributeType::B => "BINARY",
        AttributeType::Bool => "BOOLEAN",
        AttributeType::Null => "NULL",
        AttributeType::L => "LIST",
        AttributeType::M => "MAP",
    };
    Err(problem::action_operand_type(action, long_name))
}

impl ResolvedChange {
    fn check_set_operand(&self) -> Result<(), Problem> {
        match self {
            Self::Add(value) => check_set_operand("ADD", value),
            Self::Delete(value) => check_set_operand("DELETE", value),
            Self::Set(_) | Self::Remove => Ok(()),
        }
    }

    fn into_change(self) -> Result<Change, Problem> {
        Ok(match self {
            Self::Set(value) => Change::Set(value.into_set_value()?),
            Self::Remove => Change::Remove,
            Self::Add(value) => Change::Add(value),
            Self::Delete(value) => Change::Delete(value),
        })
    }
}

impl Resolved {
    /// The type, if known without an item.
    fn known_type(&self) -> Option<AttributeType> {
        match self {
            Self::Value(value) => Some(value.attribute_type()),
            Self::Call(Operation::ListAppend, _) => Some(AttributeType::L),
            Self::Call(Operation::Plus | Operation::Minus, _) => Some(AttributeType::N),
            Self::Path(_) | Self::Call(Operation::IfNotExists, _) => None,
        }
    }

    pub(crate) fn into_set_value(self) -> Result<SetValue, Problem> {
        let (operation, operands) = match self {
            Self::Path(path) => return Ok(SetValue::Path(path)),
            Self::Value(value) => return Ok(SetValue::Value(value)),
            Self::Call(operation, operands) => (operation, operands),
        };
        let types: Vec<_> = operands.iter().map(Self::known_type).collect();
        let mut operands =
            operands.into_iter().map(Self::into_set_value).collect::<Result<Vec<_>, _>>()?;
        let (Some(second), Some(first), true) = (operands.pop(), operands.pop(), types.len() == 2)
        else {
            return Err(problem::operand_count(operation.name(), types.len()));
        };
        let wanted = match operation {
            Operation::IfNotExists => None,
            Operation::ListAppend => Some(AttributeType::L),
            Operation::Plus | Operation::Minus => Some(AttributeType::N),
        };
        let unfit = |kind: &AttributeType| wanted.is_some_and(|wanted| wanted != *kind);
        if let Some(kind) = types.into_iter().flatten().find(unfit) {
            return Err(problem::operand_type(operation.name(), kind.as_str()));
        }
        let (first, second) = (first, Box::new(second));
        Ok(match (operation, first) {
            (Operation::IfNotExists, SetValue::Path(path)) => SetValue::IfNotExists(path, second),
            (Operation::IfNotExists, _) => return Err(problem::path_required(operation.name())),
            (Operation::ListAppend, first) => SetValue::ListAppend(Box::new(first), second),
            (Operation::Plus, first) => SetValue::Plus(Box::new(first), second),
            (Operation::Minus, first) => SetValue::Minus(Box::new(first), second),
        })
    }
}
