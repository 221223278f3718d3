//! What DynamoDB says about keys, indexes and table definitions.

use crate::error::Error;
use crate::schema::{IndexSchema, KeyAttribute};
use crate::value::AttributeValue;

/// The prefix of many sentences.
const INVALID: &str = "One or more parameter values were invalid: ";

fn invalid(what: impl std::fmt::Display) -> Error {
    Error::Validation(format!("{INVALID}{what}"))
}

/// A key that is not of the table's schema.
pub fn key_mismatch() -> Error {
    Error::validation("The provided key element does not match the schema")
}

/// A key with too few or too many conditions.
pub fn key_condition_count() -> Error {
    Error::validation("The number of conditions on the keys is invalid")
}

/// An item without a key attribute.
pub fn key_missing(name: &str) -> Error {
    invalid(format_args!("Missing the key {name} in the item"))
}

/// An item with a key attribute of the wrong type.
pub fn key_type_mismatch(attribute: &KeyAttribute, value: &AttributeValue) -> Error {
    invalid(format_args!(
        "Type mismatch for key {} expected: {} actual: {}",
        attribute.name,
        attribute.kind,
        value.attribute_type().as_str()
    ))
}

/// An empty string or binary as a key value.
pub fn key_empty(attribute: &KeyAttribute, value: &AttributeValue) -> Error {
    Error::Validation(format!(
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot \
         contain an empty {} value. Key: {}",
        kind_of_empty(value),
        attribute.name
    ))
}

/// An item whose attribute is a key of an index, with the wrong type.
pub fn index_key_type_mismatch(
    index: &IndexSchema,
    attribute: &KeyAttribute,
    value: &AttributeValue,
) -> Error {
    invalid(format_args!(
        "Type mismatch for Index Key {} Expected: {} Actual: {} IndexName: {}",
        attribute.name,
        attribute.kind,
        value.attribute_type().as_str(),
        index.name
    ))
}

/// An item whose attribute is a key of an index, and empty.
pub fn index_key_empty(
    index: &IndexSchema,
    attribute: &KeyAttribute,
    value: &AttributeValue,
) -> Error {
    Error::Validation(format!(
        "One or more parameter values are not valid. A value specified for a secondary index key is \
         not supported. The AttributeValue for a key attribute cannot contain an empty {} value. \
         IndexName: {}, IndexKey: {}",
        kind_of_empty(value),
        index.name,
        attribute.name
    ))
}

/// An update that empties an index key.
pub fn index_key_emptied(value: &AttributeValue) -> Error {
    Error::Validation(format!(
        "One or more parameter values are not valid. The update expression attempted to update a \
         secondary index key to a value that is not supported. The AttributeValue for a key \
         attribute cannot contain an empty {} value.",
        kind_of_empty(value)
    ))
}

fn kind_of_empty(value: &AttributeValue) -> &'static str {
    if matches!(value, AttributeValue::B(_)) { "binary" } else { "string" }
}

/// A partition key value above 2048 bytes. The missing space is AWS's.
pub fn hash_key_too_long() -> Error {
    invalid("Size of hashkey has exceeded the maximum size limit of2048 bytes")
}

/// A sort key value above 1024 bytes.
pub fn range_key_too_long() -> Error {
    invalid("Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
}
