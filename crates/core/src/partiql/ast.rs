//! Syntax trees: what a statement says, before its parameters and its table are known.
//!
//! The depth of a tree is bounded by the parser ([`super::parser`]), so walking one recursively is safe.

pub use super::lexer::Span;
use crate::value::Str;

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// `SELECT … FROM …`
    Select(Select),
    /// `INSERT INTO …`
    Insert(Insert),
    /// `UPDATE …`, or the same with `FROM` first.
    Update(Update),
    /// `DELETE FROM …`
    Delete(Delete),
    /// Anything else that can be read: `EXISTS(…)`, or what DynamoDB does not support.
    Expression(Expr),
}

/// A part of a statement, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The token that stands for it: an operator, a name, a literal.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// A string.
    String(Str),
    /// A number as written, with a `-` in front if it is negative.
    Number(Str),
    /// A boolean.
    Bool(bool),
    /// `NULL`
    Null,
    /// `MISSING`
    Missing,
    /// A literal in backticks.
    Ion(Str),
    /// The `?` with this number, from 0.
    Parameter(usize),
    /// A name, and whether it stands in quotes.
    Name(Str, bool),
    /// A way into something.
    Path(Box<Expr>, Vec<PathStep>),
    /// `[…]` or `(a, b)`
    List(Vec<Expr>),
    /// `<<…>>`
    Bag(Vec<Expr>),
    /// `{…}`: names and values.
    Struct(Vec<(Expr, Expr)>),
    /// A function call; the name is in lower case.
    Call(Str, Vec<Expr>),
    /// `COUNT(*)`
    CountAll,
    /// `NOT …`
    Not(Box<Expr>),
    /// A sign in front of something that is no number literal.
    Signed(&'static str, Box<Expr>),
    /// Two or more joined by `AND`.
    And(Vec<Expr>),
    /// Two or more joined by `OR`.
    Or(Vec<Expr>),
    /// Two operands with an operator between: `=`, `in`, `+`, `like`…
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `a BETWEEN b AND c`
    Between(Box<[Expr; 3]>),
    /// `a IS type`; the type is in upper case.
    Is(Box<Expr>, &'static str),
    /// A query inside another statement.
    Select(Box<Select>),
    /// A write inside another statement.
    Write(Box<Statement>),
}

impl ExprKind {
    /// The name of the node in the syntax tree that AWS's messages quote.
    pub fn node(&self) -> &'static str {
        match self {
            Self::String(_) | Self::Number(_) | Self::Bool(_) | Self::Null | Self::Ion(_) => "Lit",
            Self::Missing => "Missing",
            Self::Parameter(_) => "Parameter",
            Self::Name(..) => "Id",
            Self::Path(..) => "Path",
            Self::List(_) => "List",
            Self::Bag(_) => "Bag",
            Self::Struct(_) => "Struct",
            Self::Call(..) => "Call",
            Self::CountAll => "CallAgg",
            Self::Not(_) => "Not",
            Self::Signed("-", _) => "Neg",
            Self::Signed(..) => "Pos",
            Self::And(_) => "And",
            Self::Or(_) => "Or",
            Self::Binary(operator, ..) => match *operator {
                "=" => "Eq",
                "<>" => "Ne",
                "<" => "Lt",
                "<=" => "Lte",
                ">" => "Gt",
                ">=" => "Gte",
                "in" => "InCollection",
                "like" => "Like",
                "+" => "Plus",
                "-" => "Minus",
                "*" => "Times",
                "/" => "Divide",
                "%" => "Modulo",
                "||" => "Concat",
                _ => "BagOp",
            },
            Self::Between(_) => "Between",
            Self::Is(..) => "IsType",
            Self::Select(_) => "Select",
            Self::Write(_) => "Dml",
        }
    }
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// `.name`, and whether it stands in quotes.
    Name(Str, bool),
    /// `[…]`
    Index(Expr),
    /// `.*`
    Unpivot,
    /// `[*]`
    Wildcard,
}

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    /// Whether it says `DISTINCT`.
    pub distinct: bool,
    /// What it returns.
    pub projection: Projection,
    /// What it reads.
    pub from: From,
    /// `WHERE …`
    pub filter: Option<Expr>,
    /// A clause that DynamoDB does not have, and its expression.
    pub unsupported: Option<(&'static str, Span)>,
    /// `ORDER BY …`, each with whether it falls.
    pub order: Vec<(Expr, bool)>,
}

/// What a query returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// `*`
    All,
    /// Columns, each with whether it has an alias.
    Columns(Vec<(Expr, bool)>),
    /// `VALUE …`
    Value(Expr),
}

/// What a statement reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct From {
    /// A name, or a path of table and index.
    pub source: Expr,
    /// Whether it has an alias.
    pub alias: bool,
    /// Whether other sources are joined to it.
    pub joined: bool,
}

/// A new item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insert {
    /// The table.
    pub target: Expr,
    /// What is inserted.
    pub value: Expr,
    /// Whether `VALUE` was written, so that one item is meant.
    pub single: bool,
    /// Whether a position is given.
    pub at: bool,
    /// `RETURNING …`
    pub returning: Vec<Returning>,
}

/// A change of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The table.
    pub from: From,
    /// The changes, in the order they are written.
    pub actions: Vec<Action>,
    /// `WHERE …`
    pub filter: Option<Expr>,
    /// `RETURNING …`
    pub returning: Vec<Returning>,
    /// Whether `FROM` came first.
    pub from_first: bool,
}

/// One change of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `SET path = value, …`
    Set(Vec<(Expr, Expr)>),
    /// `REMOVE path`
    Remove(Expr),
    /// `INSERT INTO …`, which DynamoDB refuses here.
    Insert(Box<Insert>),
}

/// The removal of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// The table.
    pub from: From,
    /// `WHERE …`
    pub filter: Option<Expr>,
    /// `RETURNING …`
    pub returning: Vec<Returning>,
}

/// An element of `RETURNING`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returning {
    /// Which attributes.
    pub scope: ReturningScope,
    /// Whether all columns of it are asked for.
    pub all_columns: bool,
}

/// What a write returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturningScope {
    /// The item before.
    AllOld,
    /// The item after.
    AllNew,
    /// What was changed, before.
    ModifiedOld,
    /// What was changed, after.
    ModifiedNew,
}

impl ReturningScope {
    /// As it is written.
    pub fn words(self) -> &'static str {
        match self {
            Self::AllOld => "ALL OLD",
            Self::AllNew => "ALL NEW",
            Self::ModifiedOld => "MODIFIED OLD",
            Self::ModifiedNew => "MODIFIED NEW",
        }
    }
}
