//! The legacy parameters that expressions replaced: `Expected`, `ConditionalOperator`,
//! `AttributeUpdates`, `KeyConditions`, `QueryFilter`, `ScanFilter` and `AttributesToGet`.
//!
//! They are lowered to the same types as expressions, so that conditions are evaluated and items
//! updated in one way only.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::error::{Result, message::expression, message::legacy};
use crate::expr::ast::Comparator;
use crate::expr::{
    Action, Change, Condition, KeyClause, KeyCondition, KeyOperator, Operand, Path, Projection,
    SetValue, Update, order,
};
use crate::value::{AttributeType, AttributeValue, Str, check_attribute_name};

/// `ComparisonOperator`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonOperator {
    /// `EQ`
    Eq,
    /// `NE`
    Ne,
    /// `IN`
    In,
    /// `LE`
    Le,
    /// `LT`
    Lt,
    /// `GE`
    Ge,
    /// `GT`
    Gt,
    /// `BETWEEN`
    Between,
    /// `NOT_NULL`: the attribute exists.
    NotNull,
    /// `NULL`: the attribute does not exist.
    Null,
    /// `CONTAINS`
    Contains,
    /// `NOT_CONTAINS`
    NotContains,
    /// `BEGINS_WITH`
    BeginsWith,
}

impl ComparisonOperator {
    /// All operators, in the order AWS lists them.
    pub const ALL: [Self; 13] = [
        Self::In,
        Self::Null,
        Self::Between,
        Self::Lt,
        Self::NotContains,
        Self::Eq,
        Self::Gt,
        Self::NotNull,
        Self::Ne,
        Self::Le,
        Self::BeginsWith,
        Self::Ge,
        Self::Contains,
    ];

    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "EQ",
            Self::Ne => "NE",
            Self::In => "IN",
            Self::Le => "LE",
            Self::Lt => "LT",
            Self::Ge => "GE",
            Self::Gt => "GT",
            Self::Between => "BETWEEN",
            Self::NotNull => "NOT_NULL",
            Self::Null => "NULL",
            Self::Contains => "CONTAINS",
            Self::NotContains => "NOT_CONTAINS",
            Self::BeginsWith => "BEGINS_WITH",
        }
    }

    /// The operator with this wire name.
    pub fn from_wire(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.as_str() == name)
    }

    fn takes(self, count: usize) -> bool {
        match self {
            Self::NotNull | Self::Null => count == 0,
            Self::In => count > 0,
            Self::Between => count == 2,
            _ => count == 1,
        }
    }

    fn accepts(self, kind: AttributeType) -> bool {
        match self {
            Self::Eq | Self::Ne | Self::NotNull | Self::Null => true,
            Self::BeginsWith => matches!(kind, AttributeType::S | AttributeType::B),
            _ => matches!(kind, AttributeType::S | AttributeType::N | AttributeType::B),
        }
    }
}

/// `ConditionalOperator`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionalOperator {
    /// `AND`
    And,
    /// `OR`
    Or,
}

/// An element of `KeyConditions`, `QueryFilter` or `ScanFilter`.
#[derive(Clone, Debug, PartialEq)]
pub struct LegacyCondition {
    /// `ComparisonOperator`
    pub operator: ComparisonOperator,
    /// `AttributeValueList`; empty if not given.
    pub values: Vec<AttributeValue>,
}

/// An element of `Expected`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ExpectedAttribute {
    /// `Exists`
    pub exists: Option<bool>,
    /// `Value`
    pub value: Option<AttributeValue>,
    /// `ComparisonOperator`
    pub operator: Option<ComparisonOperator>,
    /// `AttributeValueList`
    pub values: Option<Vec<AttributeValue>>,
}

/// `Action` in `AttributeUpdates`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AttributeAction {
    /// Set the value; the default.
    #[default]
    Put,
    /// Add to a number, set or list.
    Add,
    /// Remove the attribute, or members from a set.
    Delete,
}

/// An element of `AttributeUpdates`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AttributeUpdate {
    /// `Action`
    pub action: AttributeAction,
    /// `Value`
    pub value: Option<AttributeValue>,
}

/// Refuses a `ConditionalOperator` unless there are at least two conditions to join.
pub fn check_conditional_operator(
    operator: Option<ConditionalOperator>,
    count: Option<usize>,
) -> Result<()> {
    match (operator, count) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(legacy::operator_without_conditions()),
        (Some(_), Some(0 | 1)) => Err(legacy::operator_with_one_condition()),
        (Some(_), Some(_)) => Ok(()),
    }
}

/// `Expected`; `None` if it is empty.
pub fn expected(
    attributes: Vec<(Str, ExpectedAttribute)>,
    operator: Option<ConditionalOperator>,
) -> Result<Option<Condition>> {
    check_names(&attributes)?;
    let conditions = attributes.into_iter().map(|(name, expected)| {
        let condition = expected.into_condition(&name)?;
        condition.check()?;
        Ok(condition.on(name))
    });
    Ok(join(conditions.collect::<Result<_>>()?, operator))
}

/// `QueryFilter` or `ScanFilter`; `None` if it is empty.
pub fn filter(
    conditions: Vec<(Str, LegacyCondition)>,
    operator: Option<ConditionalOperator>,
) -> Result<Option<Condition>> {
    check_names(&conditions)?;
    conditions.iter().try_for_each(|(_, condition)| condition.check())?;
    let conditions = conditions.into_iter().map(|(name, condition)| condition.on(name));
    Ok(join(conditions.collect(), operator))
}

fn join(
    mut conditions: Vec<Condition>,
    operator: Option<ConditionalOperator>,
) -> Option<Condition> {
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ if operator == Some(ConditionalOperator::Or) => Some(Condition::Or(conditions)),
        _ => Some(Condition::And(conditions)),
    }
}

/// `KeyConditions`
pub fn key_conditions(conditions: Vec<(Str, LegacyCondition)>) -> Result<KeyCondition> {
    check_names(&conditions)?;
    conditions.iter().try_for_each(|(_, condition)| condition.check())?;
    if conditions.is_empty() {
        return Err(expression::key_condition_count());
    }
    let clause = |(attribute, condition): (Str, LegacyCondition)| KeyClause {
        attribute,
        operator: condition.into_key_operator(),
    };
    Ok(KeyCondition::new(conditions.into_iter().map(clause).collect()))
}

/// `AttributesToGet`
pub fn attributes_to_get(names: Vec<Str>) -> Result<Projection> {
    names.iter().try_for_each(|name| check_attribute_name(name))?;
    let mut sorted: Vec<&Str> = names.iter().collect();
    sorted.sort();
    if let Some(twice) = sorted.windows(2).find_map(|pair| match pair {
        [a, b] if a == b => Some(*a),
        _ => None,
    }) {
        return Err(legacy::duplicate_attribute(twice));
    }
    Ok(Projection::new(names.into_iter().map(Path::attribute).collect()))
}

/// `AttributeUpdates`
pub fn attribute_updates(updates: Vec<(Str, AttributeUpdate)>) -> Result<Update> {
    check_names(&updates)?;
    let actions = updates.into_iter().map(|(name, update)| {
        let change = update.into_change()?;
        Ok(Action { path: Path::attribute(name), change })
    });
    Ok(Update::new(actions.collect::<Result<_>>()?))
}

/// Checks the attribute names of a legacy parameter.
fn check_names<T>(entries: &[(Str, T)]) -> Result<()> {
    entries.iter().try_for_each(|(name, _)| check_attribute_name(name))
}

impl AttributeUpdate {
    fn into_change(self) -> Result<Change> {
        let Some(value) = self.value else {
            return match self.action {
                AttributeAction::Delete => Ok(Change::Remove),
                _ => Err(legacy::update_without_value()),
            };
        };
        let kind = value.attribute_type();
        let is_set = matches!(kind, AttributeType::Ss | AttributeType::Ns | AttributeType::Bs);
        let value = Arc::new(value);
        match self.action {
            AttributeAction::Put => Ok(Change::Set(SetValue::Value(value))),
            AttributeAction::Delete if is_set => Ok(Change::LegacyDelete(value)),
            AttributeAction::Delete => Err(legacy::delete_type(kind.as_str())),
            AttributeAction::Add
                if is_set || matches!(kind, AttributeType::N | AttributeType::L) =>
            {
                Ok(Change::LegacyAdd(value))
            }
            AttributeAction::Add => Err(legacy::add_type(kind.as_str())),
        }
    }
}

impl ExpectedAttribute {
    /// The equivalent condition, after checking its members against each other.
    fn into_condition(self, name: &str) -> Result<LegacyCondition> {
        if self.value.is_some() && self.values.is_some() {
            return Err(legacy::value_and_list(name));
        }
        if let Some(operator) = self.operator {
            if self.exists.is_some() {
                return Err(legacy::exists_and_operator(name));
            }
            let compares =
                !matches!(operator, ComparisonOperator::Null | ComparisonOperator::NotNull);
            if compares && self.value.is_none() && self.values.is_none() {
                return Err(legacy::operator_without_value(operator.as_str(), name));
            }
            let values = self.values.unwrap_or_else(|| self.value.into_iter().collect());
            return Ok(LegacyCondition { operator, values });
        }
        if self.values.is_some() {
            return Err(legacy::list_without_operator(name));
        }
        match (self.exists, self.value) {
            (Some(false), None) => {
                Ok(LegacyCondition { operator: ComparisonOperator::Null, values: Vec::new() })
            }
            (Some(false), Some(_)) => Err(legacy::absent_with_value(name)),
            (exists, None) => Err(legacy::exists_without_value(exists, name)),
            (_, Some(value)) => {
                Ok(LegacyCondition { operator: ComparisonOperator::Eq, values: vec![value] })
            }
        }
    }
}

impl LegacyCondition {
    /// Checks the number and types of the values.
    fn check(&self) -> Result<()> {
        let operator = self.operator;
        if !operator.takes(self.values.len()) {
            return Err(legacy::argument_count(operator.as_str()));
        }
        let mut types = self.values.iter().map(AttributeValue::attribute_type);
        let Some(first) = types.next() else { return Ok(()) };
        if types.any(|kind| kind != first) {
            return Err(legacy::mixed_types());
        }
        if !operator.accepts(first) {
            return Err(legacy::argument_type(operator.as_str(), first.as_str()));
        }
        match (operator, self.values.as_slice()) {
            (ComparisonOperator::Between, [low, high])
                if order(low, high).is_some_and(std::cmp::Ordering::is_gt) =>
            {
                Err(legacy::bounds_out_of_order())
            }
            _ => Ok(()),
        }
    }

    /// The condition on the attribute `name`; the values have been checked.
    fn on(self, name: Str) -> Condition {
        let path = Path::attribute(name);
        let attribute = Operand::Path(path.clone());
        let mut values = self.values.into_iter().map(Operand::value);
        let (first, second) = (values.next(), values.next());
        let compare = |comparator, value| Condition::Compare(comparator, attribute.clone(), value);
        match (self.operator, first, second) {
            (ComparisonOperator::Null, ..) => Condition::NotExists(path),
            (ComparisonOperator::NotNull, ..) | (_, None, _) => Condition::Exists(path),
            (ComparisonOperator::Eq, Some(value), _) => compare(Comparator::Equal, value),
            (ComparisonOperator::Ne, Some(value), _) => compare(Comparator::NotEqual, value),
            (ComparisonOperator::Le, Some(value), _) => compare(Comparator::LessOrEqual, value),
            (ComparisonOperator::Lt, Some(value), _) => compare(Comparator::Less, value),
            (ComparisonOperator::Ge, Some(value), _) => compare(Comparator::GreaterOrEqual, value),
            (ComparisonOperator::Gt, Some(value), _) => compare(Comparator::Greater, value),
            (ComparisonOperator::Contains, Some(value), _) => Condition::Contains(attribute, value),
            // Unlike `NE`, this is false if the attribute is missing.
            (ComparisonOperator::NotContains, Some(value), _) => Condition::And(vec![
                Condition::Exists(path),
                Condition::Not(Box::new(Condition::Contains(attribute, value))),
            ]),
            (ComparisonOperator::BeginsWith, Some(value), _) => {
                Condition::BeginsWith(attribute, value)
            }
            (ComparisonOperator::Between, Some(low), high) => {
                Condition::Between(attribute, low.clone(), high.unwrap_or(low))
            }
            (ComparisonOperator::In, Some(value), second) => {
                Condition::In(attribute, [value].into_iter().chain(second).chain(values).collect())
            }
        }
    }

    fn into_key_operator(self) -> KeyOperator {
        let mut values = self.values.into_iter();
        match (self.operator, values.next(), values.next()) {
            (ComparisonOperator::Eq, Some(value), _) => KeyOperator::Equal(value),
            (ComparisonOperator::Lt, Some(value), _) => KeyOperator::Less(value),
            (ComparisonOperator::Le, Some(value), _) => KeyOperator::LessOrEqual(value),
            (ComparisonOperator::Gt, Some(value), _) => KeyOperator::Greater(value),
            (ComparisonOperator::Ge, Some(value), _) => KeyOperator::GreaterOrEqual(value),
            (ComparisonOperator::BeginsWith, Some(value), _) => KeyOperator::BeginsWith(value),
            (ComparisonOperator::Between, Some(low), Some(high)) => KeyOperator::Between(low, high),
            _ => KeyOperator::NotIndexable,
        }
    }
}
