//! Messages about keys, indexes and table definitions.

use crate::error::Error;
use crate::schema::{IndexSchema, KeyAttribute, KeyRole, KeySchema};
use crate::value::AttributeValue;

/// The prefix of many messages.
const INVALID: &str = "One or more parameter values were invalid: ";

fn invalid(what: impl std::fmt::Display) -> Error {
    Error::Validation(format!("{INVALID}{what}"))
}

/// A key that does not match the table's schema.
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

/// An index key attribute of the wrong type.
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

/// An empty index key attribute.
pub fn index_key_empty(index: &str, attribute: &KeyAttribute, value: &AttributeValue) -> Error {
    Error::Validation(format!(
        "One or more parameter values are not valid. A value specified for a secondary index key is \
         not supported. The AttributeValue for a key attribute cannot contain an empty {} value. \
         IndexName: {}, IndexKey: {}",
        kind_of_empty(value),
        index,
        attribute.name
    ))
}

/// An update that sets an index key to an empty value.
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

/// A table whose key uses an undefined attribute, without its name.
pub fn key_undefined() -> Error {
    Error::validation("Invalid KeySchema: Some index key attribute have no definition")
}

/// A key that uses undefined attributes.
pub fn attributes_undefined(keys: &[&str], defined: &[&str]) -> Error {
    invalid(format_args!(
        "Some index key attributes are not defined in AttributeDefinitions. Keys: [{}], \
         AttributeDefinitions: [{}]",
        keys.join(", "),
        defined.join(", ")
    ))
}

/// A table without indexes that defines unused attributes.
pub fn attribute_count() -> Error {
    invalid(
        "Number of attributes in KeySchema does not exactly match number of attributes defined in \
         AttributeDefinitions",
    )
}

/// A table with indexes that defines unused attributes.
pub fn attributes_unused(defined: &[&str], used: &[&str]) -> Error {
    invalid(format_args!(
        "Some AttributeDefinitions are not used. AttributeDefinitions: [{}], keys used: [{}]",
        defined.join(", "),
        used.join(", ")
    ))
}

/// An attribute that is defined twice.
pub fn attribute_defined_twice(name: &str) -> Error {
    Error::Validation(format!("Attribute Name is duplicated: {name}"))
}

/// An index creation that gives an attribute another type than it has; the key that has it, and as it would be.
pub fn attribute_redefined(existing: &KeySchema, new: &KeySchema) -> Error {
    invalid(format_args!(
        "Attributes cannot be redefined. Please check that your attribute has the same type as \
         previously defined. Existing schema: {} New schema: {}",
        shown_key(existing),
        shown_key(new)
    ))
}

fn shown_key(key: &KeySchema) -> String {
    let elements = key.roles().map(|(role, attribute)| {
        let role = match role {
            KeyRole::Hash => "HASH",
            KeyRole::Range => "RANGE",
        };
        format!("SchemaElement: key{{{}:{}:{role}}}", attribute.name, attribute.kind)
    });
    format!("Schema:[{}]", elements.collect::<Vec<_>>().join(", "))
}

/// An attribute that a projection lists twice.
pub fn projected_twice(name: &str) -> Error {
    invalid(format_args!("Duplicate element in NonKeyAttributes: {name}"))
}

/// A key with the same attribute twice.
pub fn key_repeated() -> Error {
    Error::validation(
        "Both the Hash Key and the Range Key element in the KeySchema have the same name",
    )
}

/// A key that does not begin with a partition key.
pub fn first_not_hash() -> Error {
    Error::validation("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
}

/// A key whose second element is not a sort key.
pub fn second_not_range() -> Error {
    Error::validation("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
}

/// A multi-attribute key with the same attribute twice.
pub fn key_attribute_repeated() -> Error {
    Error::validation("The KeySchema contains multiple key attributes with the same name")
}

/// A multi-attribute key in which a partition key follows a sort key.
pub fn hash_after_range() -> Error {
    invalid("All HASH key attributes must precede RANGE key attributes in the KeySchema")
}

/// A multi-attribute key with too many attributes of one role.
pub fn too_many_key_attributes(role: &str) -> Error {
    invalid(format_args!(
        "The KeySchema exceeds the maximum allowed number of {role} key attributes"
    ))
}

/// `LocalSecondaryIndexes: []`, or the same of `GlobalSecondaryIndexes`.
pub fn index_list_empty(parameter: &str) -> Error {
    invalid(format_args!("List of {parameter} is empty"))
}

/// A local index on a table without a sort key.
pub fn local_index_without_table_range() -> Error {
    invalid(
        "Table KeySchema does not have a range key, which is required when specifying a \
         LocalSecondaryIndex",
    )
}

/// A local index without a sort key.
pub fn local_index_without_range(index: &str) -> Error {
    invalid(format_args!("Index KeySchema does not have a range key for index: {index}"))
}

/// A local index whose partition key differs from the table's.
pub fn local_index_other_hash(index: &str, index_hash: &str, table_hash: &str) -> Error {
    invalid(format_args!(
        "Index KeySchema does not have the same leading hash key as table KeySchema for index: \
         {index}. index hash key: {index_hash}, table hash key: {table_hash}"
    ))
}

/// A projection without a type.
pub fn projection_type_missing() -> Error {
    invalid("Unknown ProjectionType: null")
}

/// A list of attributes for a projection type without one.
pub fn projection_with_attributes(projection: &str) -> Error {
    invalid(format_args!("ProjectionType is {projection}, but NonKeyAttributes is specified"))
}

/// `INCLUDE` without a list of attributes.
pub fn projection_without_attributes() -> Error {
    invalid("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
}

/// More than 100 attributes in projections. AWS's wording is unknown.
pub fn too_many_projected(limit: usize) -> Error {
    invalid(format_args!(
        "Number of NonKeyAttributes projected by all indexes exceeds the per-table limit of {limit}"
    ))
}

/// Two indexes with the same name.
pub fn index_repeated(name: &str) -> Error {
    invalid(format_args!("Duplicate index name: {name}"))
}

/// More than five local indexes.
pub fn too_many_local_indexes() -> Error {
    invalid("Number of LocalSecondaryIndexes exceeds per-table limit of 5")
}

/// More than twenty global indexes.
pub fn too_many_global_indexes() -> Error {
    invalid("GlobalSecondaryIndex count exceeds the per-table limit of 20")
}

/// An update that adds an index that already exists.
pub fn index_exists() -> Error {
    Error::validation("Attempting to create an index which already exists")
}
