//! Binds attribute names and paths, and the columns of a read.

use super::super::ast::{Expr, ExprKind, PathStep};
use super::{Column, refused};
use crate::error::message::expression as problem;
use crate::error::message::partiql as message;
use crate::error::{Error, Result};
use crate::expr::path::{MAX_DEPTH, MAX_INDEX};
use crate::expr::{Path, Step};
use crate::value::Str;

/// The path of an expression, if it is one.
pub(super) fn as_path(expr: &Expr) -> Result<Option<Path>> {
    match &expr.kind {
        ExprKind::Name(..) | ExprKind::Path(..) => path(expr).map(Some),
        _ => Ok(None),
    }
}

/// The path of an expression, which must be one.
pub(super) fn path(expr: &Expr) -> Result<Path> {
    let (root, steps): (&Expr, &[PathStep]) = match &expr.kind {
        ExprKind::Path(root, steps) => (root, steps),
        _ => (expr, &[]),
    };
    let ExprKind::Name(attribute, _) = &root.kind else { return Err(unexpected(root)) };
    if attribute.is_empty() {
        return Err(message::empty_path_component());
    }
    if steps.len() >= MAX_DEPTH {
        return Err(refused(problem::path_too_deep(steps.len() + 1)));
    }
    let steps = steps.iter().map(step).collect::<Result<_>>()?;
    Ok(Path { attribute: attribute.clone(), steps })
}

fn step(step: &PathStep) -> Result<Step> {
    match step {
        PathStep::Name(name, _) if name.is_empty() => Err(message::empty_path_component()),
        PathStep::Name(name, _) => Ok(Step::Key(name.clone())),
        PathStep::Unpivot => Err(message::unpivot()),
        PathStep::Wildcard => Err(message::wildcard()),
        PathStep::Index(expr) => match &expr.kind {
            ExprKind::String(name) if name.is_empty() => Err(message::empty_path_component()),
            ExprKind::String(name) => Ok(Step::Key(name.clone())),
            ExprKind::Number(text) => index(text, expr),
            _ => Err(unexpected(expr)),
        },
    }
}

fn index(text: &str, expr: &Expr) -> Result<Step> {
    let digits = text.trim_start_matches('-');
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(unexpected(expr));
    }
    let index = digits.parse::<u64>().ok().filter(|index| *index <= MAX_INDEX);
    match index {
        Some(0) => Ok(Step::Index(0)),
        Some(index) if !text.starts_with('-') => Ok(Step::Index(index as usize)),
        _ => {
            let range = "List index is not within the allowable range";
            Err(message::at(format_args!("{range}; index: [{text}]"), expr.span))
        }
    }
}

/// The columns of a read; their names must be distinct.
pub(super) fn columns(columns: &[(Expr, bool)]) -> Result<Vec<Column>> {
    let mut bound: Vec<Column> = Vec::with_capacity(columns.len());
    for (expr, alias) in columns {
        if *alias {
            return Err(message::aliasing());
        }
        let path = path(expr)?;
        let name = column_name(&path);
        if bound.iter().any(|column| column.name == name) {
            return Err(message::duplicate_column(&name));
        }
        bound.push(Column { name, path });
    }
    Ok(bound)
}

/// `a.b[0]` is returned as `b[0]`.
fn column_name(path: &Path) -> Str {
    let mut name = path.attribute.clone();
    for step in &path.steps {
        match step {
            Step::Key(key) => name.clone_from(key),
            Step::Index(index) => name.push_str(&format!("[{index}]")),
        }
    }
    name
}

fn unexpected(expr: &Expr) -> Error {
    message::at(message::UNEXPECTED_PATH, expr.span)
}
