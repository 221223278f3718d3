//! Syntax trees of expressions, before `#names` and `:values` are resolved.
//!
//! The depth of a tree is bounded by the parser ([`super::parser`]), so walking one recursively is safe.

use crate::value::Str;

/// An attribute name in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// A literal name.
    Literal(Str),
    /// `#name`, with the `#`.
    Placeholder(Str),
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPart {
    /// An attribute of the item or of a map.
    Name(Name),
    /// An element of a list.
    Index(u64),
}

/// A document path such as `#a.b[0]`; the first part is a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(pub Vec<PathPart>);

/// An operand: a path, a `:value`, or a function call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The value at a path of the item.
    Path(Path),
    /// `:value`, with the `:`.
    Value(Str),
    /// A function call.
    Call(Call),
}

/// A function call; whether the function exists is checked later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function's name, which is case-sensitive.
    pub function: Str,
    /// At least one operand.
    pub arguments: Vec<Operand>,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparator {
    /// The operator as written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// A condition, filter or key condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `left = right` and the like.
    Compare {
        /// How the operands are compared.
        comparator: Comparator,
        /// The operand before it.
        left: Operand,
        /// The operand after it.
        right: Operand,
    },
    /// `operand BETWEEN low AND high`
    Between {
        /// The tested operand.
        operand: Operand,
        /// The lower bound, inclusive.
        low: Operand,
        /// The upper bound, inclusive.
        high: Operand,
    },
    /// `operand IN (candidates…)`
    In {
        /// The tested operand.
        operand: Operand,
        /// At least one operand.
        candidates: Vec<Operand>,
    },
    /// A boolean function.
    Call(Call),
    /// Two or more conditions joined by `AND`.
    And(Vec<Condition>),
    /// Two or more conditions joined by `OR`.
    Or(Vec<Condition>),
    /// `NOT condition`
    Not(Box<Condition>),
}

/// A projection: one or more paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection(pub Vec<Path>);

/// An update: one or more sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update(pub Vec<Section>);

/// A section of an update with one or more actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Section {
    /// `SET path = value, …`
    Set(Vec<(Path, SetValue)>),
    /// `REMOVE path, …`
    Remove(Vec<Path>),
    /// `ADD path :value, …`
    Add(Vec<(Path, Str)>),
    /// `DELETE path :value, …`
    Delete(Vec<(Path, Str)>),
}

impl Section {
    /// The section's keyword.
    pub fn keyword(&self) -> &'static str {
        match self {
            Self::Set(_) => "SET",
            Self::Remove(_) => "REMOVE",
            Self::Add(_) => "ADD",
            Self::Delete(_) => "DELETE",
        }
    }
}

/// The right-hand side of `SET`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetValue {
    /// A single operand.
    Operand(Operand),
    /// `left + right`
    Plus(Operand, Operand),
    /// `left - right`
    Minus(Operand, Operand),
}
