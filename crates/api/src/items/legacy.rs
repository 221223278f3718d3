//! The legacy parameters as requests state them, decoded into the core's types.

use keyloom_core::legacy::{
    AttributeAction, AttributeUpdate, ComparisonOperator, ConditionalOperator, ExpectedAttribute,
    LegacyCondition,
};
use keyloom_core::{Result, Str};

use crate::{Constraints, Fields};

/// `ConditionalOperator`.
pub(crate) fn conditional_operator(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
) -> Option<ConditionalOperator> {
    let choices = [("OR", ConditionalOperator::Or), ("AND", ConditionalOperator::And)];
    let value = fields.string("ConditionalOperator");
    constraints.one_of(value, "conditionalOperator", &choices)
}

/// `Expected`.
pub(super) fn expected(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
) -> Result<Option<Vec<(Str, ExpectedAttribute)>>> {
    let Some(entries) = fields.entries("Expected") else { return Ok(None) };
    let mut expected = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        let fields = Fields::of(value);
        let path = format!("expected.{name}.member.comparisonOperator");
        let operator = comparison_operator(&fields, constraints, &path);
        expected.push((
            Str::from(name),
            ExpectedAttribute {
                exists: fields.boolean("Exists"),
                value: fields.attribute("Value")?,
                operator,
                values: fields.attributes("AttributeValueList")?,
            },
        ));
    }
    Ok(Some(expected))
}

/// `KeyConditions`, `QueryFilter` or `ScanFilter`.
pub(crate) fn conditions(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
    member: &str,
    path: &str,
) -> Result<Option<Vec<(Str, LegacyCondition)>>> {
    let Some(entries) = fields.entries(member) else { return Ok(None) };
    let mut conditions = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        let fields = Fields::of(value);
        let path = format!("{path}.{name}.member.comparisonOperator");
        let operator = comparison_operator(&fields, constraints, &path);
        constraints.required(fields.has("ComparisonOperator"), &path);
        let values = fields.attributes("AttributeValueList")?.unwrap_or_default();
        let operator = operator.unwrap_or(ComparisonOperator::Eq);
        conditions.push((Str::from(name), LegacyCondition { operator, values }));
    }
    Ok(Some(conditions))
}

/// `AttributeUpdates`.
pub(super) fn attribute_updates(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
) -> Result<Option<Vec<(Str, AttributeUpdate)>>> {
    let Some(entries) = fields.entries("AttributeUpdates") else { return Ok(None) };
    let actions = [
        ("ADD", AttributeAction::Add),
        ("PUT", AttributeAction::Put),
        ("DELETE", AttributeAction::Delete),
    ];
    let mut updates = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        let fields = Fields::of(value);
        let path = format!("attributeUpdates.{name}.member.action");
        let action = constraints.one_of(fields.string("Action"), &path, &actions);
        let value = fields.attribute("Value")?;
        let action = action.unwrap_or_default();
        updates.push((Str::from(name), AttributeUpdate { action, value }));
    }
    Ok(Some(updates))
}

fn comparison_operator(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
    path: &str,
) -> Option<ComparisonOperator> {
    let choices = ComparisonOperator::ALL.map(|operator| (operator.as_str(), operator));
    constraints.one_of(fields.string("ComparisonOperator"), path, &choices)
}
