//! Key conditions: the range of a table or index that a query reads.
//!
//! A `KeyConditionExpression` passes three stages: it is parsed as any condition
//! ([`Bindings::key_condition`](super::Bindings::key_condition)), its shape is checked
//! ([`KeyConditionTree::into_clauses`]), and once the table is known its clauses are matched with
//! the key ([`KeyCondition::resolve`]).

use super::ast::Comparator;
use super::condition::{Condition, Operand};
use crate::error::{Result, message::expression, message::legacy};
use crate::schema::KeyAttribute;
use crate::value::{AttributeValue, Str};

/// A key condition whose syntax, names and values have been checked, but not its shape.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyConditionTree(pub(crate) Condition);

/// One clause per attribute, in source order.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct KeyCondition {
    clauses: Vec<KeyClause>,
}

/// A condition on one attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyClause {
    /// The key attribute that it is about.
    pub attribute: Str,
    /// The test of its value.
    pub operator: KeyOperator,
}

/// The test of a key attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyOperator {
    /// `=`
    Equal(AttributeValue),
    /// `<`
    Less(AttributeValue),
    /// `<=`
    LessOrEqual(AttributeValue),
    /// `>`
    Greater(AttributeValue),
    /// `>=`
    GreaterOrEqual(AttributeValue),
    /// `BETWEEN`, inclusive at both ends.
    Between(AttributeValue, AttributeValue),
    /// `begins_with`
    BeginsWith(AttributeValue),
    /// A legacy operator that keys do not support; [`KeyCondition::resolve`] refuses it.
    NotIndexable,
}

impl KeyOperator {
    /// The values it compares with.
    pub fn values(&self) -> Vec<&AttributeValue> {
        match self {
            Self::Equal(value)
            | Self::Less(value)
            | Self::LessOrEqual(value)
            | Self::Greater(value)
            | Self::GreaterOrEqual(value)
            | Self::BeginsWith(value) => vec![value],
            Self::Between(low, high) => vec![low, high],
            Self::NotIndexable => Vec::new(),
        }
    }

    fn comparing(comparator: Comparator, value: AttributeValue) -> Result<Self> {
        Ok(match comparator {
            Comparator::Equal => Self::Equal(value),
            Comparator::Less => Self::Less(value),
            Comparator::LessOrEqual => Self::LessOrEqual(value),
            Comparator::Greater => Self::Greater(value),
            Comparator::GreaterOrEqual => Self::GreaterOrEqual(value),
            Comparator::NotEqual => {
                return Err(expression::key_condition_operator(comparator.symbol()));
            }
        })
    }
}

/// A key condition matched with the key of a table or index.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedKeyCondition {
    /// The value of each partition key attribute, in key order.
    pub hash: Vec<AttributeValue>,
    /// The values of the leading sort key attributes that are compared with `=`, in key order.
    pub range_prefix: Vec<AttributeValue>,
    /// The test of the next sort key attribute, if any; never [`KeyOperator::Equal`].
    pub range: Option<KeyOperator>,
}

impl KeyConditionTree {
    /// Checks that the condition is a conjunction of clauses on key attributes.
    pub fn into_clauses(self) -> Result<KeyCondition> {
        let mut clauses = Vec::new();
        collect(self.0, &mut clauses)?;
        Ok(KeyCondition::new(clauses))
    }
}

fn collect(condition: Condition, clauses: &mut Vec<KeyClause>) -> Result<()> {
    let refused = |operator| Err(expression::key_condition_operator(operator));
    let clause = match condition {
        Condition::And(members) => {
            return members.into_iter().try_for_each(|member| collect(member, clauses));
        }
        Condition::Compare(Comparator::NotEqual, ..) => {
            return refused(Comparator::NotEqual.symbol());
        }
        Condition::Compare(comparator, left, right) => compare(comparator, left, right)?,
        Condition::Between(operand, low, high) => {
            let attribute = key_first("BETWEEN", operand)?;
            let (low, high) = (constant(low)?, constant(high)?);
            KeyClause { attribute, operator: KeyOperator::Between(low, high) }
        }
        Condition::BeginsWith(operand, prefix) => {
            let attribute = key_first("begins_with", operand)?;
            KeyClause { attribute, operator: KeyOperator::BeginsWith(constant(prefix)?) }
        }
        Condition::Or(_) => return refused("OR"),
        Condition::Not(_) => return refused("NOT"),
        Condition::In(..) => return refused("IN"),
        Condition::Exists(_) => return refused("attribute_exists"),
        Condition::NotExists(_) => return refused("attribute_not_exists"),
        Condition::HasType(..) => return refused("attribute_type"),
        Condition::Contains(..) => return refused("contains"),
    };
    if clauses.iter().any(|other| other.attribute == clause.attribute) {
        return Err(expression::key_condition_repeated());
    }
    clauses.push(clause);
    Ok(())
}

/// `attribute < :value`, or `:value > attribute`.
fn compare(comparator: Comparator, left: Operand, right: Operand) -> Result<KeyClause> {
    let (attribute, comparator, value) = match (attribute(left)?, right) {
        (Ok(name), value) => (name, comparator, constant(value)?),
        (Err(value), right) => match attribute(right)? {
            Ok(name) => (name, mirrored(comparator), value),
            Err(_) => return Err(expression::key_condition_no_attribute()),
        },
    };
    Ok(KeyClause { attribute, operator: KeyOperator::comparing(comparator, value)? })
}

/// `a < b` is `b > a`.
fn mirrored(comparator: Comparator) -> Comparator {
    match comparator {
        Comparator::Less => Comparator::Greater,
        Comparator::LessOrEqual => Comparator::GreaterOrEqual,
        Comparator::Greater => Comparator::Less,
        Comparator::GreaterOrEqual => Comparator::LessOrEqual,
        Comparator::Equal | Comparator::NotEqual => comparator,
    }
}

/// The attribute or the value of an operand.
fn attribute(operand: Operand) -> Result<Result<Str, AttributeValue>> {
    match operand {
        Operand::Path(path) if path.is_nested() => {
            Err(expression::key_condition_nested_attribute())
        }
        Operand::Path(path) => Ok(Ok(path.attribute)),
        Operand::Value(value) => Ok(Err(AttributeValue::clone(&value))),
        Operand::Size(_) | Operand::Truth(_) => Err(expression::key_condition_nested_operation()),
    }
}

fn key_first(operator: &str, operand: Operand) -> Result<Str> {
    match operand {
        Operand::Path(_) => {
            attribute(operand)?.map_err(|_| expression::key_condition_operand_order(operator))
        }
        _ => Err(expression::key_condition_operand_order(operator)),
    }
}

/// The value of an operand after a key attribute.
fn constant(operand: Operand) -> Result<AttributeValue> {
    match operand {
        Operand::Value(value) => Ok(AttributeValue::clone(&value)),
        Operand::Path(_) => Err(expression::key_condition_two_attributes()),
        Operand::Size(_) | Operand::Truth(_) => Err(expression::key_condition_nested_operation()),
    }
}

impl KeyCondition {
    /// A key condition of these clauses; refused if two of them have the same attribute.
    pub fn of(clauses: Vec<KeyClause>) -> Result<Self> {
        let again = |(position, clause): (usize, &KeyClause)| {
            clauses.iter().take(position).any(|other| other.attribute == clause.attribute)
        };
        if clauses.iter().enumerate().any(again) {
            return Err(expression::key_condition_repeated());
        }
        Ok(Self::new(clauses))
    }

    /// A key condition of these clauses, one per attribute.
    pub(crate) fn new(clauses: Vec<KeyClause>) -> Self {
        Self { clauses }
    }

    /// The clauses, in source order.
    pub fn clauses(&self) -> &[KeyClause] {
        &self.clauses
    }

    /// Matches the clauses with a key: `=` for every partition key attribute; for the sort key
    /// attributes from the left, without a gap, `=` for all but the last one with a clause.
    pub fn resolve(
        &self,
        hash: &[KeyAttribute],
        range: &[KeyAttribute],
    ) -> Result<ResolvedKeyCondition> {
        let single = hash.len() == 1 && range.len() <= 1;
        if single && self.clauses.len() > 2 {
            return Err(expression::key_condition_count());
        }
        if single && range.is_empty() && self.clauses.len() > 1 {
            return Err(expression::key_condition_not_supported());
        }
        if !single {
            self.check_equalities(hash)?;
        }
        let hash = hash.iter().map(|key| self.hash_value(key)).collect::<Result<Vec<_>>>()?;
        self.check_attributes(hash.len(), range)?;
        self.check_gaps(range)?;
        let mut resolved = ResolvedKeyCondition { hash, range_prefix: Vec::new(), range: None };
        for key in range {
            let Some(operator) = self.operator(&key.name) else { break };
            match checked(operator, key)? {
                KeyOperator::Equal(value) => resolved.range_prefix.push(value.clone()),
                operator => resolved.range = Some(operator.clone()),
            }
        }
        Ok(resolved)
    }

    fn operator(&self, attribute: &str) -> Option<&KeyOperator> {
        let clause = self.clauses.iter().find(|clause| clause.attribute == attribute);
        clause.map(|clause| &clause.operator)
    }

    fn hash_value(&self, key: &KeyAttribute) -> Result<AttributeValue> {
        let missing = || expression::key_condition_missing(&key.name);
        match checked(self.operator(&key.name).ok_or_else(missing)?, key)? {
            KeyOperator::Equal(value) => Ok(value.clone()),
            _ => Err(expression::key_condition_not_supported()),
        }
    }

    /// Refuses clauses on attributes outside the key; AWS reports the sort key without a clause
    /// instead.
    fn check_attributes(&self, hash_count: usize, range: &[KeyAttribute]) -> Result<()> {
        let with_clause = range.iter().filter(|key| self.operator(&key.name).is_some()).count();
        if hash_count + with_clause == self.clauses.len() {
            return Ok(());
        }
        Err(match range.iter().find(|key| self.operator(&key.name).is_none()) {
            Some(key) => expression::key_condition_missing(&key.name),
            None => expression::key_condition_not_supported(),
        })
    }

    /// Refuses a condition on a multi-attribute key that is not `=` on every partition key attribute.
    fn check_equalities(&self, hash: &[KeyAttribute]) -> Result<()> {
        let is_equal = |name| matches!(self.operator(name), Some(KeyOperator::Equal(_)));
        let names = hash.iter().map(|key| key.name.as_str());
        let missing: Vec<&str> = names.filter(|name| !is_equal(name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(expression::key_condition_hash_missing(&missing))
    }

    fn check_gaps(&self, range: &[KeyAttribute]) -> Result<()> {
        let mut missing = Vec::new();
        for name in range.iter().map(|key| key.name.as_str()) {
            let operator = self.operator(name);
            if operator.is_some() && !missing.is_empty() {
                return Err(expression::key_condition_gap(&missing, name));
            }
            if !matches!(operator, Some(KeyOperator::Equal(_))) {
                missing.push(name);
            }
        }
        Ok(())
    }
}

/// The operator, if it is valid for this key attribute.
fn checked<'a>(operator: &'a KeyOperator, key: &KeyAttribute) -> Result<&'a KeyOperator> {
    if *operator == KeyOperator::NotIndexable {
        return Err(legacy::not_indexable());
    }
    if operator.values().iter().any(|value| !key.kind.accepts(value)) {
        return Err(expression::key_condition_type());
    }
    Ok(operator)
}
