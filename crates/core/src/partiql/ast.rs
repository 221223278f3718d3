//! Syntax trees of statements, before parameters and table are known.
//!
//! The depth of a tree is bounded by the parser ([`super::parser`]), so walking one recursively is safe.

pub use super::lexer::Span;
use crate::value::Str;

/// A parsed PartiQL statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// `SELECT … FROM …`
    Select(Select),
    /// `INSERT INTO …`
    Insert(Insert),
    /// `UPDATE …`, or the form with `FROM` first.
    Update(Update),
    /// `DELETE FROM …`
    Delete(Delete),
    /// Any other parsed expression: `EXISTS(…)`, or what DynamoDB does not support.
    Expression(Expr),
}

/// A node of the syntax tree with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    /// What kind it is.
    pub kind: ExprKind,
    /// The position of its main token: an operator, a name, a literal.
    pub span: Span,
}

/// An expression without its position.
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
    /// A name, and whether it is quoted.
    Name(Str, bool),
    /// A path into a value.
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
    /// A sign before something that is not a number literal.
    Signed(&'static str, Box<Expr>),
    /// Two or more joined by `AND`.
    And(Vec<Expr>),
    /// Two or more joined by `OR`.
    Or(Vec<Expr>),
    /// A binary operator: `=`, `in`, `+`, `like`…
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `a BETWEEN b AND c`
    Between(Box<[Expr; 3]>),
    /// `a IS type`; the type is in upper case.
    Is(Box<Expr>, &'static str),
    /// A query inside an expression.
    Select(Box<Select>),
    /// A nested write.
    Write(Box<Statement>),
}

impl ExprKind {
    /// The node's name in the syntax tree that AWS's messages quote.
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
    /// `.name`, and whether it is quoted.
    Name(Str, bool),
    /// `[…]`
    Index(Expr),
    /// `.*`
    Unpivot,
    /// `[*]`
    Wildcard,
}

/// A `SELECT` statement or subquery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    /// Whether it has `DISTINCT`.
    pub distinct: bool,
    /// What the query returns.
    pub projection: Projection,
    /// What the query reads.
    pub from: From,
    /// `WHERE …`
    pub filter: Option<Expr>,
    /// A clause that DynamoDB does not support, with its position.
    pub unsupported: Option<(&'static str, Span)>,
    /// `ORDER BY …`, each with whether it is descending.
    pub order: Vec<(Expr, bool)>,
}

/// The projection of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// `*`
    All,
    /// Columns, each with whether it has an alias.
    Columns(Vec<(Expr, bool)>),
    /// `VALUE …`
    Value(Expr),
}

/// The table or index of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct From {
    /// A name, or a path of table and index.
    pub source: Expr,
    /// Whether it has an alias.
    pub alias: bool,
    /// Whether other sources are joined to it.
    pub joined: bool,
}

/// A parsed `INSERT` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insert {
    /// The table to insert into.
    pub target: Expr,
    /// The inserted value.
    pub value: Expr,
    /// Whether `VALUE` was used, which means a single item.
    pub single: bool,
    /// Whether it has an `AT` clause.
    pub at: bool,
    /// `RETURNING …`
    pub returning: Vec<Returning>,
}

/// A parsed `UPDATE` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The table to update.
    pub from: From,
    /// The actions, in source order.
    pub actions: Vec<Action>,
    /// `WHERE …`
    pub filter: Option<Expr>,
    /// `RETURNING …`
    pub returning: Vec<Returning>,
    /// Whether `FROM` came first.
    pub from_first: bool,
}

/// One action of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `SET path = value, …`
    Set(Vec<(Expr, Expr)>),
    /// `REMOVE path`
    Remove(Expr),
    /// `INSERT INTO …`, which DynamoDB refuses here.
    Insert(Box<Insert>),
}

/// A parsed `DELETE` statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// The table to delete from.
    pub from: From,
    /// `WHERE …`
    pub filter: Option<Expr>,
    /// `RETURNING …`
    pub returning: Vec<Returning>,
}

/// An element of `RETURNING`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returning {
    /// Which image and attributes are returned.
    pub scope: ReturningScope,
    /// Whether all columns are requested (`*`).
    pub all_columns: bool,
}

/// The scope of `RETURNING`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturningScope {
    /// The item before the write.
    AllOld,
    /// The item after the write.
    AllNew,
    /// The modified attributes before the write.
    ModifiedOld,
    /// The modified attributes after the write.
    ModifiedNew,
}

impl ReturningScope {
    /// The keywords that stand for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::AllOld => "ALL OLD",
            Self::AllNew => "ALL NEW",
            Self::ModifiedOld => "MODIFIED OLD",
            Self::ModifiedNew => "MODIFIED NEW",
        }
    }
}
