//! Messages about the legacy parameters, verbatim from DynamoDB.

use crate::error::Error;

fn invalid_parameter(reason: &str) -> Error {
    Error::Validation(format!("One or more parameter values were invalid: {reason}"))
}

/// `ConditionalOperator` without conditions.
pub fn operator_without_conditions() -> Error {
    Error::Validation("ConditionalOperator cannot be used without Filter or Expected".into())
}

/// `ConditionalOperator` with a single condition.
pub fn operator_with_one_condition() -> Error {
    Error::Validation(
        "ConditionalOperator can only be used when Filter or Expected has two or more elements"
            .into(),
    )
}

/// A comparison operator with too few or too many values.
pub fn argument_count(operator: &str) -> Error {
    invalid_parameter(&format!(
        "Invalid number of argument(s) for the {operator} ComparisonOperator"
    ))
}

/// An `AttributeValueList` of several types.
pub fn mixed_types() -> Error {
    invalid_parameter("AttributeValues inside AttributeValueList must be of same type")
}

/// A comparison operator with a value of an unsupported type.
pub fn argument_type(operator: &str, kind: &str) -> Error {
    invalid_parameter(&format!(
        "ComparisonOperator {operator} is not valid for {kind} AttributeValue type"
    ))
}

/// `BETWEEN` with its bounds in the wrong order.
pub fn bounds_out_of_order() -> Error {
    Error::Validation(
        "The BETWEEN condition was provided a range where the lower bound is greater than the \
         upper bound"
            .into(),
    )
}

/// `Expected` with both `Value` and `AttributeValueList`.
pub fn value_and_list(attribute: &str) -> Error {
    invalid_parameter(&format!(
        "Value and AttributeValueList cannot be used together for Attribute: {attribute}"
    ))
}

/// `Expected` with both `Exists` and `ComparisonOperator`.
pub fn exists_and_operator(attribute: &str) -> Error {
    invalid_parameter(&format!(
        "Exists and ComparisonOperator cannot be used together for Attribute: {attribute}"
    ))
}

/// `Expected` with a `ComparisonOperator` but no value.
pub fn operator_without_value(operator: &str, attribute: &str) -> Error {
    invalid_parameter(&format!(
        "Value or AttributeValueList must be used with ComparisonOperator: {operator} for \
         Attribute: {attribute}"
    ))
}

/// `Expected` with an `AttributeValueList` and no `ComparisonOperator`.
pub fn list_without_operator(attribute: &str) -> Error {
    invalid_parameter(&format!(
        "AttributeValueList can only be used with a ComparisonOperator for Attribute: {attribute}"
    ))
}

/// `Expected` that requires existence without a value.
pub fn exists_without_value(exists: Option<bool>, attribute: &str) -> Error {
    let exists = exists.map_or("null".to_owned(), |exists| exists.to_string());
    invalid_parameter(&format!(
        "Value must be provided when Exists is {exists} for Attribute: {attribute}"
    ))
}

/// `Expected` that requires absence with a value.
pub fn absent_with_value(attribute: &str) -> Error {
    invalid_parameter(&format!(
        "Value cannot be used when Exists is false for Attribute: {attribute}"
    ))
}

/// `AttributesToGet` names an attribute twice.
pub fn duplicate_attribute(attribute: &str) -> Error {
    invalid_parameter(&format!("Duplicate value in attribute name: {attribute}"))
}

/// `AttributeUpdates` with `PUT` or `ADD` and no value.
pub fn update_without_value() -> Error {
    invalid_parameter("Only DELETE action is allowed when no attribute value is specified")
}

/// `AttributeUpdates` with `DELETE` and a value that is not a set.
pub fn delete_type(kind: &str) -> Error {
    invalid_parameter(&format!("DELETE action with value is not supported for the type {kind}"))
}

/// `AttributeUpdates` with `ADD` and a value of an unsupported type.
pub fn add_type(kind: &str) -> Error {
    invalid_parameter(&format!("ADD action is not supported for the type {kind}"))
}

/// `AttributeUpdates` that adds to or deletes from a value of another type.
pub fn update_type_mismatch() -> Error {
    Error::Validation("Type mismatch for attribute to update".into())
}

/// `KeyConditions` with an operator that keys do not support.
pub fn not_indexable() -> Error {
    Error::Validation("Attempted conditional constraint is not an indexable operation".into())
}
