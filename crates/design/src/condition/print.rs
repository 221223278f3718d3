//! The two printers of conditions: the design language, and DynamoDB's expressions as requests and people see them.

use std::fmt;

use super::{Comparison, Condition, Operand, Term, Test};

impl Comparison {
    /// The operator, the same in both languages.
    pub fn as_str(self) -> &'static str {
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

impl<O> Test<O> {
    /// The condition in the design language; `operand` prints its operands.
    pub fn design_text(&self, name: &str, mut operand: impl FnMut(&O) -> String) -> String {
        match self {
            Self::Compare(operator, value) => {
                format!("{name} {} {}", operator.as_str(), operand(value))
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

    /// The condition as an expression of DynamoDB. `value` gives the placeholder of an operand; it is told the
    /// operand's part in the condition, such as `_from`, to name the placeholder by.
    pub fn expression_text(&self, name: &str, mut value: impl FnMut(&O, &str) -> String) -> String {
        match self {
            Self::Compare(operator, operand) => {
                format!("{name} {} {}", operator.as_str(), value(operand, ""))
            }
            Self::Between(low, high) => {
                format!("{name} BETWEEN {} AND {}", value(low, "_from"), value(high, "_to"))
            }
            Self::BeginsWith(operand) => format!("begins_with({name}, {})", value(operand, "")),
            Self::In(list) => {
                let list = list.iter().enumerate();
                let list: Vec<String> =
                    list.map(|(at, operand)| value(operand, &format!("_{at}"))).collect();
                format!("{name} IN ({})", list.join(", "))
            }
            Self::Exists => format!("attribute_exists({name})"),
            Self::Missing => format!("attribute_not_exists({name})"),
            Self::Contains(operand) => format!("contains({name}, {})", value(operand, "")),
            Self::Lacks(operand) => format!("NOT contains({name}, {})", value(operand, "")),
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
