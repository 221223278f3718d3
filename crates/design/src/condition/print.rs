//! Conditions in the design language as text, and in DynamoDB's as a tree, which the core prints.

use std::fmt;

use keyloom_core::expr::ast;

use super::{Condition, Operand, Term, Test};

impl<O> Test<O> {
    /// The condition in the design language; `operand` prints its operands.
    pub fn design_text(&self, name: &str, mut operand: impl FnMut(&O) -> String) -> String {
        match self {
            Self::Compare(operator, value) => {
                format!("{name} {} {}", operator.symbol(), operand(value))
            }
            Self::Between(low, high) => {
                format!("{name} between {} and {}", operand(low), operand(high))
            }
            Self::BeginsWith(value) => format!("begins_with({name}, {})", operand(value)),
            Self::In(list) => {
                let list: Vec<String> = list.iter().map(operand).collect();
                format!("{name} in ({})", list.join(", "))
            }
            Self::Exists => format!("exists({name})"),
            Self::Missing => format!("missing({name})"),
            Self::Contains(value) => format!("contains({name}, {})", operand(value)),
            Self::Lacks(value) => format!("not contains({name}, {})", operand(value)),
        }
    }

    /// The condition as an expression of DynamoDB on the attribute with this `#name`. `value` gives the
    /// placeholder of an operand; it is told the operand's part in the condition, such as `_from`, to name the
    /// placeholder by.
    pub fn expression(
        &self,
        name: &str,
        mut value: impl FnMut(&O, &str) -> String,
    ) -> ast::Condition {
        let path = || {
            let name = ast::Name::Placeholder(name.into());
            ast::Operand::Path(ast::Path(vec![ast::PathPart::Name(name)]))
        };
        let mut value = |operand: &O, part: &str| ast::Operand::Value(value(operand, part).into());
        let call = |function: &str, more: Option<ast::Operand>| {
            let arguments = std::iter::once(path()).chain(more).collect();
            ast::Condition::Call(ast::Call { function: function.into(), arguments })
        };
        match self {
            Self::Compare(comparator, operand) => ast::Condition::Compare {
                comparator: *comparator,
                left: path(),
                right: value(operand, ""),
            },
            Self::Between(low, high) => ast::Condition::Between {
                operand: path(),
                low: value(low, "_from"),
                high: value(high, "_to"),
            },
            Self::In(list) => {
                let list = list.iter().enumerate();
                let candidates = list.map(|(at, operand)| value(operand, &format!("_{at}")));
                ast::Condition::In { operand: path(), candidates: candidates.collect() }
            }
            Self::BeginsWith(operand) => call("begins_with", Some(value(operand, ""))),
            Self::Exists => call("attribute_exists", None),
            Self::Missing => call("attribute_not_exists", None),
            Self::Contains(operand) => call("contains", Some(value(operand, ""))),
            Self::Lacks(operand) => {
                ast::Condition::Not(Box::new(call("contains", Some(value(operand, "")))))
            }
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Input(None) => f.write_str("?"),
            Self::Input(Some(name)) => write!(f, ":{name}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(text) => f.write_str(text),
            Self::Boolean(flag) => write!(f, "{flag}"),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.test.design_text(&self.name, ToString::to_string))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            write!(f, "{}{term}", if i > 0 { " and " } else { "" })?;
        }
        Ok(())
    }
}
