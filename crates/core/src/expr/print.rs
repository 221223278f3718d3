//! Writes syntax trees as expressions: parsing what is written here gives the same tree.

use std::fmt::{Display, Formatter, Result};

use super::ast::{
    Call, Condition, Name, Operand, Path, PathPart, Projection, Section, SetValue, Update,
};

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (Self::Literal(text) | Self::Placeholder(text)) = self;
        f.write_str(text)
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (position, part) in self.0.iter().enumerate() {
            match part {
                PathPart::Name(name) if position == 0 => write!(f, "{name}")?,
                PathPart::Name(name) => write!(f, ".{name}")?,
                PathPart::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Path(path) => write!(f, "{path}"),
            Self::Value(name) => f.write_str(name),
            Self::Call(call) => write!(f, "{call}"),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}(", self.function)?;
        separated(f, ", ", &self.arguments)?;
        f.write_str(")")
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Compare { comparator, left, right } => {
                write!(f, "{left} {} {right}", comparator.symbol())
            }
            Self::Between { operand, low, high } => {
                write!(f, "{operand} BETWEEN {low} AND {high}")
            }
            Self::In { operand, candidates } => {
                write!(f, "{operand} IN (")?;
                separated(f, ", ", candidates)?;
                f.write_str(")")
            }
            Self::Call(call) => write!(f, "{call}"),
            Self::And(members) => {
                separated(f, " AND ", members.iter().map(|m| Member(m, Level::And)))
            }
            Self::Or(members) => separated(f, " OR ", members.iter().map(|m| Member(m, Level::Or))),
            Self::Not(condition) => write!(f, "NOT {}", Member(condition, Level::Not)),
        }
    }
}

/// What a condition is part of.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Or,
    And,
    Not,
}

/// A part of a larger condition, in parentheses where it would be read differently without.
struct Member<'a>(&'a Condition, Level);

impl Display for Member<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let in_parentheses = match self.0 {
            Condition::Or(_) => true,
            Condition::And(_) => self.1 != Level::Or,
            _ => false,
        };
        if in_parentheses { write!(f, "({})", self.0) } else { write!(f, "{}", self.0) }
    }
}

impl Display for Projection {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        separated(f, ", ", &self.0)
    }
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        separated(f, " ", &self.0)
    }
}

impl Display for Section {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} ", self.keyword())?;
        match self {
            Self::Set(actions) => {
                separated(f, ", ", actions.iter().map(|(path, value)| format!("{path} = {value}")))
            }
            Self::Remove(paths) => separated(f, ", ", paths),
            Self::Add(actions) | Self::Delete(actions) => {
                separated(f, ", ", actions.iter().map(|(path, value)| format!("{path} {value}")))
            }
        }
    }
}

impl Display for SetValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Operand(operand) => write!(f, "{operand}"),
            Self::Plus(left, right) => write!(f, "{left} + {right}"),
            Self::Minus(left, right) => write!(f, "{left} - {right}"),
        }
    }
}

fn separated<T: Display>(
    f: &mut Formatter<'_>,
    separator: &str,
    elements: impl IntoIterator<Item = T>,
) -> Result {
    for (position, element) in elements.into_iter().enumerate() {
        if position > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{element}")?;
    }
    Ok(())
}
