//! `Condition`: operators, and whether one holds for a request.
//!
//! The operator compares each value of the key in the request with the values in the policy. A plain
//! operator holds for a value if one of the policy's values fits, a negated one if none does. On top of
//! that, as IAM documents it:
//!
//! - A key that the request lacks: plain operators fail, negated ones hold, `…IfExists` holds,
//!   `ForAllValues:` holds and `ForAnyValue:` fails.
//! - `ForAllValues:` asks it of every value, `ForAnyValue:` of one at least.
//!
//! IAM leaves two cases open, and this evaluation takes the side that grants less: a key of several values
//! without a set operator is asked for all of its values in an Allow and for any in a Deny; a condition on
//! a value that could not be determined, or with a variable that has none, fails in an Allow. In a Deny the
//! undetermined value fulfils the condition, and a variable without a value fits nothing.

use std::net::IpAddr;

use super::Effect;
use super::key::ConditionKey;
use super::pattern::{ArnPattern, Pattern};
use super::request::{Known, Request};
use super::time;
use crate::number::Number;

/// One operator on one key, with the values that the policy lists.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub(super) operator: Operator,
    pub(super) key: ConditionKey,
    pub(super) operands: Vec<Operand>,
}

/// An operator as it is written: `ForAllValues:StringNotLikeIfExists`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operator {
    pub(super) test: Test,
    pub(super) negated: bool,
    pub(super) if_exists: bool,
    pub(super) quantifier: Option<Quantifier>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    All,
    Any,
}

/// What an operator compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    StringEquals,
    StringEqualsIgnoreCase,
    StringLike,
    Numeric(Ordered),
    Date(Ordered),
    Bool,
    IpAddress,
    Arn,
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ordered {
    Equals,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A value of the policy, read as the operator needs it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Text(Pattern),
    Arn(ArnPattern),
    Number(Number),
    Date(i64),
    Bool(bool),
    Network(IpAddr, u8),
}

impl Operator {
    /// The operator of this name; none if there is no such operator.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (quantifier, rest) = match name.split_once(':') {
            None => (None, name),
            Some(("ForAllValues", rest)) => (Some(Quantifier::All), rest),
            Some(("ForAnyValue", rest)) => (Some(Quantifier::Any), rest),
            Some(_) => return None,
        };
        let (base, if_exists) = match rest.strip_suffix("IfExists") {
            Some(base) => (base, true),
            None => (rest, false),
        };
        let (test, negated) = test(base)?;
        if test == Test::Null && (if_exists || quantifier.is_some()) {
            return None;
        }
        Some(Self { test, negated, if_exists, quantifier })
    }
}

fn test(name: &str) -> Option<(Test, bool)> {
    let ordered = |name: &str| {
        Some(match name {
            "Equals" => (Ordered::Equals, false),
            "NotEquals" => (Ordered::Equals, true),
            "LessThan" => (Ordered::Less, false),
            "LessThanEquals" => (Ordered::LessOrEqual, false),
            "GreaterThan" => (Ordered::Greater, false),
            "GreaterThanEquals" => (Ordered::GreaterOrEqual, false),
            _ => return None,
        })
    };
    if let Some(rest) = name.strip_prefix("Numeric") {
        return ordered(rest).map(|(order, negated)| (Test::Numeric(order), negated));
    }
    if let Some(rest) = name.strip_prefix("Date") {
        return ordered(rest).map(|(order, negated)| (Test::Date(order), negated));
    }
    Some(match name {
        "StringEquals" => (Test::StringEquals, false),
        "StringNotEquals" => (Test::StringEquals, true),
        "StringEqualsIgnoreCase" => (Test::StringEqualsIgnoreCase, false),
        "StringNotEqualsIgnoreCase" => (Test::StringEqualsIgnoreCase, true),
        "StringLike" => (Test::StringLike, false),
        "StringNotLike" => (Test::StringLike, true),
        "Bool" => (Test::Bool, false),
        "IpAddress" => (Test::IpAddress, false),
        "NotIpAddress" => (Test::IpAddress, true),
        "ArnEquals" | "ArnLike" => (Test::Arn, false),
        "ArnNotEquals" | "ArnNotLike" => (Test::Arn, true),
        "Null" => (Test::Null, false),
        _ => return None,
    })
}

impl Condition {
    /// Whether it holds for a request, in a statement of this effect.
    pub(super) fn holds(&self, request: &Request<'_>, effect: Effect) -> bool {
        let values = match request.values(&self.key) {
            Known::Unknown => return effect == Effect::Deny,
            Known::Absent => None,
            Known::Is(values) => Some(values),
        };
        let Operator { test, negated, if_exists, quantifier } = self.operator;
        if test == Test::Null {
            let is_absent = values.is_none();
            return self.operands.contains(&Operand::Bool(is_absent));
        }
        let Some(values) = values else {
            return if_exists
                || match quantifier {
                    Some(Quantifier::All) => true,
                    Some(Quantifier::Any) => false,
                    None => negated,
                };
        };
        let mut is_resolved = true;
        let mut holds_for = |value: &String| {
            let fits = self.operands.iter().any(|operand| {
                let fits = operand.fits(test, value, request);
                is_resolved &= fits.is_some();
                fits.unwrap_or(false)
            });
            fits != negated
        };
        let holds = match (quantifier, effect) {
            (Some(Quantifier::All), _) => values.iter().all(&mut holds_for),
            (Some(Quantifier::Any), _) | (None, Effect::Deny) => values.iter().any(&mut holds_for),
            (None, Effect::Allow) => !values.is_empty() && values.iter().all(&mut holds_for),
        };
        // A variable without a value must not widen what is allowed: not even a negated condition holds.
        holds && (is_resolved || effect == Effect::Deny || !negated)
    }
}

impl Operand {
    /// Whether a value of the request fits; none if a variable has no value.
    fn fits(&self, test: Test, value: &str, request: &Request<'_>) -> Option<bool> {
        Some(match (self, test) {
            (Self::Text(pattern), Test::StringEqualsIgnoreCase) => {
                return pattern.matches_ignoring_case(value, request);
            }
            (Self::Text(pattern), _) => return pattern.matches(value, request),
            (Self::Arn(pattern), _) => return pattern.matches(value, request),
            (Self::Number(number), Test::Numeric(order)) => {
                Number::parse(value).is_ok_and(|value| order.holds(&value, number))
            }
            (Self::Date(date), Test::Date(order)) => {
                time::parse(value).is_some_and(|value| order.holds(&value, date))
            }
            (Self::Bool(expected), _) => value.eq_ignore_ascii_case(&expected.to_string()),
            (Self::Network(network, bits), _) => {
                value.parse().is_ok_and(|address| is_in(address, *network, *bits))
            }
            (Self::Number(_) | Self::Date(_), _) => false,
        })
    }
}

impl Ordered {
    fn holds<T: Ord>(self, value: &T, operand: &T) -> bool {
        match self {
            Self::Equals => value == operand,
            Self::Less => value < operand,
            Self::LessOrEqual => value <= operand,
            Self::Greater => value > operand,
            Self::GreaterOrEqual => value >= operand,
        }
    }
}

/// Whether an address is in a network of so many leading bits.
fn is_in(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    match (address.to_canonical(), network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            address.to_bits() & mask == network.to_bits() & mask
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            address.to_bits() & mask == network.to_bits() & mask
        }
        _ => false,
    }
}
