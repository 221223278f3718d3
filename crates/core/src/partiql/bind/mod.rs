//! Binds statements: parameters are substituted, and everything that can be refused without a table
//! is refused.

mod condition;
mod parameter;
mod path;
mod update;
mod value;

use std::sync::Arc;

use super::ast::{self, Expr, ExprKind, PathStep, Projection, ReturningScope};
use crate::error::message::expression::Problem;
use crate::error::message::partiql as message;
use crate::error::{Error, Result};
use crate::expr::{self, Condition, Path};
use crate::value::{AttributeValue, Item, Str};

pub use parameter::parameter_from;

/// A statement with its parameters substituted.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A read.
    Select(Select),
    /// An insert.
    Insert(Insert),
    /// An update.
    Update(Update),
    /// A delete.
    Delete(Delete),
    /// A condition check of a transaction.
    Exists(Select),
}

/// A read with its parameters bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// The table, by name or ARN.
    pub table: Str,
    /// The name of the index, if one is read.
    pub index: Option<Str>,
    /// The returned columns; `None` for all.
    pub columns: Option<Vec<Column>>,
    /// The condition on rows.
    pub condition: Option<Condition>,
    /// `ORDER BY`: attributes, each with whether it is descending.
    pub order: Vec<(Str, bool)>,
}

/// A column of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name under which it is returned: the last name of the path, and the steps after it.
    pub name: Str,
    /// The path of its value.
    pub path: Path,
}

/// An insert with its parameters bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// The table, by name or ARN.
    pub table: Str,
    /// The item to insert.
    pub item: Item,
}

/// An update with its parameters bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The table, by name or ARN.
    pub table: Str,
    /// What is changed in the item.
    pub update: expr::Update,
    /// The key and the condition of the item.
    pub condition: Option<Condition>,
    /// What to return.
    pub returning: Option<ReturningScope>,
}

/// A delete with its parameters bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// The table, by name or ARN.
    pub table: Str,
    /// The key and the condition of the item.
    pub condition: Option<Condition>,
    /// Whether the item is returned.
    pub returning: bool,
}

/// Substitutes the parameters of a statement.
///
/// ```
/// use keyloom_core::partiql::{Statement, bind, parse};
///
/// let statement = parse(r#"SELECT a.b FROM "music"."by-year" WHERE year = ?"#)?;
/// let Statement::Select(select) = bind(&statement, vec![1999.into()])? else { unreachable!() };
/// assert_eq!(select.index.as_deref(), Some("by-year"));
/// assert_eq!(select.columns.unwrap()[0].name, "b");
/// # Ok::<(), keyloom_core::Error>(())
/// ```
pub fn bind(statement: &ast::Statement, parameters: Vec<AttributeValue>) -> Result<Statement> {
    let parameters = parameters.into_iter().map(Arc::new).collect();
    let mut binder = Binder { parameters, used: 0 };
    let bound = binder.statement(statement)?;
    // Parameters are numbered in order, so the last one gives the count.
    if binder.used < binder.parameters.len() {
        return Err(message::parameter_count());
    }
    Ok(bound)
}

/// The table, and the index if any, of a statement, if they are well-formed enough to be looked up.
pub fn target(statement: &ast::Statement) -> Option<(&str, Option<&str>)> {
    let source = match statement {
        ast::Statement::Select(select) => &select.from.source,
        ast::Statement::Update(update) => &update.from.source,
        ast::Statement::Delete(delete) => &delete.from.source,
        ast::Statement::Insert(insert) => &insert.target,
        ast::Statement::Expression(Expr { kind: ExprKind::Call(name, arguments), .. })
            if name == "exists" =>
        {
            let [Expr { kind: ExprKind::Select(select), .. }] = arguments.as_slice() else {
                return None;
            };
            &select.from.source
        }
        ast::Statement::Expression(_) => return None,
    };
    match &source.kind {
        ExprKind::Name(table, _) => Some((table, None)),
        ExprKind::Path(root, steps) => match (&root.kind, steps.as_slice()) {
            (ExprKind::Name(table, _), [PathStep::Name(index, _)]) => Some((table, Some(index))),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a statement is an `EXISTS`.
pub fn is_exists(statement: &ast::Statement) -> bool {
    matches!(
        statement,
        ast::Statement::Expression(Expr { kind: ExprKind::Call(name, _), .. }) if name == "exists"
    )
}

struct Binder {
    parameters: Vec<Arc<AttributeValue>>,
    /// The number of parameters used so far.
    used: usize,
}

impl Binder {
    fn statement(&mut self, statement: &ast::Statement) -> Result<Statement> {
        match statement {
            ast::Statement::Select(select) => self.select(select).map(Statement::Select),
            ast::Statement::Insert(insert) => self.insert(insert).map(Statement::Insert),
            ast::Statement::Update(update) => self.update(update).map(Statement::Update),
            ast::Statement::Delete(delete) => self.delete(delete).map(Statement::Delete),
            ast::Statement::Expression(expr) => match &expr.kind {
                ExprKind::Call(name, arguments) if name == "exists" => {
                    let [Expr { kind: ExprKind::Select(select), .. }] = arguments.as_slice() else {
                        return Err(message::exists_condition());
                    };
                    self.select(select).map(Statement::Exists)
                }
                kind => Err(message::unsupported_operation(kind.node())),
            },
        }
    }

    fn select(&mut self, select: &ast::Select) -> Result<Select> {
        let (table, index) = source(&select.from)?;
        if select.distinct {
            return Err(message::unsupported_clause("DISTINCT"));
        }
        let columns = match &select.projection {
            Projection::All => None,
            Projection::Columns(columns) => Some(path::columns(columns)?),
            Projection::Value(_) => return Err(message::select_value()),
        };
        let condition = self.filter(select.filter.as_ref())?;
        if let Some((clause, span)) = select.unsupported {
            return Err(message::at(message::unsupported_clause(clause).message(), span));
        }
        let order = select.order.iter().map(|(expr, falls)| match &expr.kind {
            ExprKind::Name(name, _) => Ok((name.clone(), *falls)),
            kind => Err(message::order_expression(kind.node())),
        });
        Ok(Select { table, index, columns, condition, order: order.collect::<Result<_>>()? })
    }

    fn insert(&mut self, insert: &ast::Insert) -> Result<Insert> {
        let table = match &insert.target.kind {
            ExprKind::Name(table, _) if table.is_empty() => {
                return Err(message::empty_path_component());
            }
            ExprKind::Name(table, _) => table.clone(),
            _ => return Err(message::at(message::WRITE_TARGET, insert.target.span)),
        };
        if !insert.single {
            return Err(message::several_items());
        }
        if insert.at {
            return Err(message::insert_at());
        }
        if !insert.returning.is_empty() {
            return Err(message::insert_returning());
        }
        let ExprKind::Struct(fields) = &insert.value.kind else {
            return Err(message::item_syntax());
        };
        Ok(Insert { table, item: self.item(fields)? })
    }

    fn update(&mut self, update: &ast::Update) -> Result<Update> {
        let table = written_table(&update.from)?;
        if let Some(ast::Action::Insert(_)) = update.actions.first()
            && update.from_first
        {
            return Err(message::insert_from());
        }
        // Parameters are counted in source order.
        let early =
            if update.from_first { Some(self.filter(update.filter.as_ref())?) } else { None };
        let changes = self.changes(&update.actions)?;
        let condition = match early {
            Some(condition) => condition,
            None => self.filter(update.filter.as_ref())?,
        };
        Ok(Update { table, update: changes, condition, returning: returning(&update.returning)? })
    }

    fn delete(&mut self, delete: &ast::Delete) -> Result<Delete> {
        let table = written_table(&delete.from)?;
        let condition = self.filter(delete.filter.as_ref())?;
        let returning = match returning(&delete.returning)? {
            None => false,
            Some(ReturningScope::AllOld) => true,
            Some(other) => return Err(message::delete_returning(other.words())),
        };
        Ok(Delete { table, condition, returning })
    }

    fn filter(&mut self, filter: Option<&Expr>) -> Result<Option<Condition>> {
        filter.map(|expr| self.condition(expr, message::where_not_boolean)).transpose()
    }

    fn parameter(&mut self, number: usize) -> Result<Arc<AttributeValue>> {
        self.used = self.used.max(number + 1);
        self.parameters.get(number).cloned().ok_or_else(message::parameter_count)
    }
}

/// The table and the index after `FROM`.
fn source(from: &ast::From) -> Result<(Str, Option<Str>)> {
    if from.joined {
        return Err(message::several_sources());
    }
    if from.alias {
        return Err(message::aliasing());
    }
    let unexpected = || message::at(message::UNEXPECTED_SOURCE, from.source.span);
    let (table, index) = match &from.source.kind {
        ExprKind::Name(table, _) => (table, None),
        ExprKind::Path(root, steps) => {
            let ExprKind::Name(table, _) = &root.kind else { return Err(unexpected()) };
            match steps.as_slice() {
                [PathStep::Name(index, _)] => (table, Some(index)),
                [_, _, ..] => return Err(message::source_too_long()),
                _ => return Err(unexpected()),
            }
        }
        _ => return Err(unexpected()),
    };
    if table.is_empty() || index.is_some_and(Str::is_empty) {
        return Err(message::empty_path_component());
    }
    Ok((table.clone(), index.cloned()))
}

/// The table of a write.
fn written_table(from: &ast::From) -> Result<Str> {
    match source(from)? {
        (table, None) => Ok(table),
        (_, Some(_)) => Err(message::write_on_index()),
    }
}

fn returning(elements: &[ast::Returning]) -> Result<Option<ReturningScope>> {
    match elements {
        [] => Ok(None),
        [element] if element.all_columns => Ok(Some(element.scope)),
        [_] => Err(message::returning_column()),
        _ => Err(message::returning_elements()),
    }
}

/// An operand or path error, without the name of an expression parameter.
fn refused(problem: Problem) -> Error {
    Error::Validation(problem.to_string())
}

#[cfg(test)]
mod tests;
