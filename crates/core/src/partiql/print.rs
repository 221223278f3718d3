//! Prints syntax trees as statements. The result means the same as the parsed statement, if
//! DynamoDB accepts it; aliases, joins and other constructs that it refuses anyway are left out.

use std::fmt::{Display, Formatter, Result};

use super::ast::{
    Action, Delete, Expr, ExprKind, From, Insert, PathStep, Projection, Returning, Select,
    Statement, Update,
};
use super::keywords;

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Select(select) => write!(f, "{select}"),
            Self::Insert(insert) => write!(f, "{insert}"),
            Self::Update(update) => write!(f, "{update}"),
            Self::Delete(delete) => write!(f, "{delete}"),
            Self::Expression(expr) => write!(f, "{expr}"),
        }
    }
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(if self.distinct { "SELECT DISTINCT " } else { "SELECT " })?;
        match &self.projection {
            Projection::All => f.write_str("*")?,
            Projection::Columns(columns) => {
                separated(f, columns.iter().map(|(column, _)| column))?;
            }
            Projection::Value(expr) => write!(f, "VALUE {expr}")?,
        }
        write!(f, " FROM {}", self.from)?;
        filter(f, self.filter.as_ref())?;
        for (position, (expr, falls)) in self.order.iter().enumerate() {
            f.write_str(if position == 0 { " ORDER BY " } else { ", " })?;
            write!(f, "{expr}{}", if *falls { " DESC" } else { " ASC" })?;
        }
        Ok(())
    }
}

impl Display for From {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}", self.source)
    }
}

impl Display for Insert {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let value = if self.single { " VALUE" } else { "" };
        write!(f, "INSERT INTO {}{value} {}", self.target, self.value)?;
        returning(f, &self.returning)
    }
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.from_first {
            write!(f, "FROM {}", self.from)?;
            filter(f, self.filter.as_ref())?;
        } else {
            write!(f, "UPDATE {}", self.from)?;
        }
        for action in &self.actions {
            write!(f, " {action}")?;
        }
        if !self.from_first {
            filter(f, self.filter.as_ref())?;
        }
        returning(f, &self.returning)
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Set(assignments) => {
                for (position, (target, value)) in assignments.iter().enumerate() {
                    f.write_str(if position == 0 { "SET " } else { ", " })?;
                    write!(f, "{target} = {value}")?;
                }
                Ok(())
            }
            Self::Remove(target) => write!(f, "REMOVE {target}"),
            Self::Insert(insert) => write!(f, "{insert}"),
        }
    }
}

impl Display for Delete {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "DELETE FROM {}", self.from)?;
        filter(f, self.filter.as_ref())?;
        returning(f, &self.returning)
    }
}

fn filter(f: &mut Formatter<'_>, filter: Option<&Expr>) -> Result {
    match filter {
        Some(expr) => write!(f, " WHERE {expr}"),
        None => Ok(()),
    }
}

fn returning(f: &mut Formatter<'_>, elements: &[Returning]) -> Result {
    for (position, element) in elements.iter().enumerate() {
        f.write_str(if position == 0 { " RETURNING " } else { ", " })?;
        // A column other than `*` is refused, whichever it is.
        let column = if element.all_columns { "*" } else { "a" };
        write!(f, "{} {column}", element.scope.words())?;
    }
    Ok(())
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            ExprKind::String(text) => quoted(f, '\'', text),
            ExprKind::Number(text) => f.write_str(text),
            ExprKind::Bool(value) => write!(f, "{value}"),
            ExprKind::Null => f.write_str("NULL"),
            ExprKind::Missing => f.write_str("MISSING"),
            ExprKind::Ion(text) => write!(f, "`{text}`"),
            ExprKind::Parameter(_) => f.write_str("?"),
            ExprKind::Name(name, is_quoted) => named(f, name, *is_quoted),
            ExprKind::Path(root, steps) => {
                operand(f, root, TERM)?;
                steps.iter().try_for_each(|step| write!(f, "{step}"))
            }
            ExprKind::List(members) => within(f, "[", members, "]"),
            ExprKind::Bag(members) => within(f, "<<", members, ">>"),
            ExprKind::Struct(fields) => {
                f.write_str("{")?;
                for (position, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if position == 0 { "" } else { ", " })?;
                    write!(f, "{name}: {value}")?;
                }
                f.write_str("}")
            }
            ExprKind::Call(name, arguments) => {
                named(f, name, !is_callable(name))?;
                within(f, "(", arguments, ")")
            }
            ExprKind::CountAll => f.write_str("count(*)"),
            ExprKind::Select(select) => write!(f, "({select})"),
            ExprKind::Write(statement) => write!(f, "({statement})"),
            _ => self.operation(f),
        }
    }
}

/// The precedence of a kind of expression; a term has the highest.
fn binding(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::Or(_) => 2,
        ExprKind::And(_) => 3,
        ExprKind::Not(_) => 4,
        ExprKind::Is(..) => 5,
        ExprKind::Between(_) => 6,
        ExprKind::Binary(operator, ..) => match *operator {
            "=" | "<>" | "in" => 5,
            "<" | "<=" | ">" | ">=" | "like" => 6,
            "+" | "-" | "||" => 7,
            "*" | "/" | "%" => 8,
            _ => 1,
        },
        ExprKind::Signed(..) => 9,
        ExprKind::Number(text) if text.starts_with('-') => 9,
        _ => TERM,
    }
}

const TERM: u8 = 10;

/// An operand, in parentheses if its precedence is below `least`.
fn operand(f: &mut Formatter<'_>, expr: &Expr, least: u8) -> Result {
    if binding(&expr.kind) < least { write!(f, "({expr})") } else { write!(f, "{expr}") }
}

impl Expr {
    fn operation(&self, f: &mut Formatter<'_>) -> Result {
        let own = binding(&self.kind);
        match &self.kind {
            ExprKind::Not(expr) => {
                f.write_str("NOT ")?;
                operand(f, expr, own)
            }
            ExprKind::Signed(operator, expr) => {
                // Without the space, two signs in a row might start a comment.
                let space = if binding(&expr.kind) == own { " " } else { "" };
                write!(f, "{operator}{space}")?;
                operand(f, expr, own)
            }
            ExprKind::And(members) | ExprKind::Or(members) => {
                let word = if own == 3 { " AND " } else { " OR " };
                for (position, member) in members.iter().enumerate() {
                    f.write_str(if position == 0 { "" } else { word })?;
                    operand(f, member, own + 1)?;
                }
                Ok(())
            }
            ExprKind::Between(operands) => {
                let [expr, low, high] = operands.as_ref();
                operand(f, expr, own)?;
                f.write_str(" BETWEEN ")?;
                operand(f, low, own + 1)?;
                f.write_str(" AND ")?;
                operand(f, high, own + 1)
            }
            ExprKind::Is(expr, kind) => {
                operand(f, expr, own)?;
                let kind = match *kind {
                    "DOUBLE_PRECISION" => "DOUBLE PRECISION",
                    "CHARACTER_VARYING" => "CHARACTER VARYING",
                    kind => kind,
                };
                write!(f, " IS {kind}")
            }
            ExprKind::Binary(operator, left, right) => {
                operand(f, left, own)?;
                write!(f, " {} ", operator.replace('_', " ").to_uppercase())?;
                operand(f, right, own + 1)
            }
            _ => Ok(()),
        }
    }
}

impl Display for PathStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Name(name, is_quoted) => {
                f.write_str(".")?;
                named(f, name, *is_quoted)
            }
            Self::Index(expr) => write!(f, "[{expr}]"),
            Self::Unpivot => f.write_str(".*"),
            Self::Wildcard => f.write_str("[*]"),
        }
    }
}

fn named(f: &mut Formatter<'_>, name: &str, is_quoted: bool) -> Result {
    if is_quoted { quoted(f, '"', name) } else { f.write_str(name) }
}

fn quoted(f: &mut Formatter<'_>, quote: char, text: &str) -> Result {
    let doubled = text.replace(quote, &format!("{quote}{quote}"));
    write!(f, "{quote}{doubled}{quote}")
}

/// Whether a name can precede parentheses without quotes.
fn is_callable(name: &str) -> bool {
    if keywords::FUNCTIONS.contains(&name) {
        return true;
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    let is_word = name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit());
    is_word && !name.is_empty() && keywords::keyword(name).is_none() && !is_special(name)
}

fn is_special(name: &str) -> bool {
    matches!(name, "true" | "false" | "null" | "missing") || keywords::OPERATORS.contains(&name)
}

fn within(f: &mut Formatter<'_>, open: &str, members: &[Expr], close: &str) -> Result {
    f.write_str(open)?;
    separated(f, members.iter())?;
    f.write_str(close)
}

fn separated<'a>(f: &mut Formatter<'_>, members: impl Iterator<Item = &'a Expr>) -> Result {
    for (position, member) in members.enumerate() {
        f.write_str(if position == 0 { "" } else { ", " })?;
        write!(f, "{member}")?;
    }
    Ok(())
}
