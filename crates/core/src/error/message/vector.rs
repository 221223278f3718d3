//! Messages about vector indexes and searches, verbatim where they were captured.

use crate::error::Error;
use crate::number::Number;
use crate::schema::{KeyAttribute, KeyRole, VectorFault, VectorIndexSchema};
use crate::value::AttributeValue;

fn invalid(what: impl std::fmt::Display) -> Error {
    Error::Validation(format!("One or more parameter values were invalid: {what}"))
}

/// A vector index on a provisioned table.
pub fn needs_on_demand() -> Error {
    invalid("Vector indexes are only supported for PAY_PER_REQUEST tables")
}

/// The number of dimensions is out of range.
pub fn dimensions_out_of_range() -> Error {
    invalid("Number of dimensions must be between 1 and 4096 inclusive.")
}

/// A new table with too many vector indexes.
pub fn too_many_vector_indexes(limit: usize) -> Error {
    invalid(format_args!("VectorIndex count exceeds the per-table limit of {limit}"))
}

/// One vector index more than a table may have.
pub fn one_vector_index_too_many(limit: usize) -> Error {
    Error::LimitExceeded(format!(
        "Subscriber limit exceeded: Number of vector secondary indexes exceeds per-table limit of \
         {limit}"
    ))
}

/// Two indexes over one attribute with different dimensions.
pub fn dimensions_differ(attribute: &str) -> Error {
    invalid(format_args!(
        "Conflicting attribute definition for '{attribute}'. All VectorIndexes on the same vector \
         attribute must use the same dimensions."
    ))
}

/// A vector attribute in `AttributeDefinitions`.
pub fn vector_attribute_defined(attribute: &str) -> Error {
    invalid(format_args!(
        "Conflicting attribute definition for '{attribute}'. An attribute cannot be defined in \
         AttributeDefinitions when used as a VectorAttribute."
    ))
}

/// A vector attribute that is a key of the table or of an index.
pub fn vector_attribute_is_key(
    index: &VectorIndexSchema,
    role: KeyRole,
    key: &KeyAttribute,
) -> Error {
    let name = &key.name;
    invalid(format_args!(
        "Attributes cannot be redefined. Please check that your attribute has the same type as \
         previously defined. Existing schema: Schema:[SchemaElement: key{{{name}:{}:{}}}] New \
         schema: VectorIndexSchema:[VectorAttribute: key{{{name}:L:{}}}]",
        key.kind,
        role.as_str(),
        index.dimensions
    ))
}

/// An attribute of a search schema without a definition.
pub fn search_attribute_undefined() -> Error {
    invalid("One element in SearchSchema is not defined in attribute definitions")
}

/// A duplicate attribute in a search schema.
pub fn search_attribute_repeated() -> Error {
    invalid("SearchSchema contains a duplicate AttributeName")
}

/// More than one partition attribute in a search schema.
pub fn several_search_hashes(count: usize) -> Error {
    invalid(format_args!(
        "Value '{count}' at 'SearchSchema' failed to satisfy constraint: Member must have HASH \
         count less than or equal to 1"
    ))
}

/// Too many inline filters. AWS's wording is unknown.
pub fn too_many_inline_filters(limit: usize) -> Error {
    invalid(format_args!(
        "Number of INLINE_FILTER elements in SearchSchema exceeds the per-index limit of {limit}"
    ))
}

/// An item with an invalid vector for the index. The punctuation is AWS's.
pub fn fault(index: &VectorIndexSchema, fault: &VectorFault) -> Error {
    let (attribute, name) = (&index.attribute, &index.name);
    let what = match fault {
        VectorFault::NotAList => format!(
            "Invalid type for parameter {attribute}, Expected: 32-bit floating point number list"
        ),
        VectorFault::Size(actual) => format!(
            "Invalid size for parameter {attribute}, Expected: {}, Actual: {actual}",
            index.dimensions
        ),
        VectorFault::Element(position, actual) => format!(
            "Invalid type for parameter {attribute}[{position}], Expected: 32-bit floating point \
             number, Actual: {}.",
            actual.as_str()
        ),
        VectorFault::Range(position, number) => format!(
            "Invalid value for parameter {attribute}[{position}], Value: {} is outside valid range \
             [-3.4028235E38, 3.4028235E38].",
            scientific(number)
        ),
    };
    Error::Validation(format!(
        "One or more parameter values were invalid. {what} IndexName: {name}"
    ))
}

/// A large number as AWS prints it: `1E+39`, `-3.5E+38`.
fn scientific(number: &Number) -> String {
    let sign = if number.is_negative() { "-" } else { "" };
    let digits = number.coefficient().to_string();
    let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
    let point = if rest.is_empty() { "" } else { "." };
    let magnitude = number.exponent() + rest.len() as i32;
    format!("{sign}{first}{point}{rest}E{magnitude:+}")
}

/// An item whose search attribute has a different type than declared.
pub fn search_type_mismatch(
    index: &VectorIndexSchema,
    attribute: &KeyAttribute,
    value: &AttributeValue,
) -> Error {
    Error::Validation(format!(
        "One or more parameter values were invalid. Attribute '{}' type mismatch. Expected: {}, \
         Actual: {}. IndexName: {}",
        attribute.name,
        attribute.kind,
        value.attribute_type().as_str(),
        index.name
    ))
}

/// A query of a vector index.
pub fn query_not_supported() -> Error {
    Error::validation("Query operation not supported on this index type.")
}

/// A scan of a vector index, PartiQL's included.
pub fn scan_not_supported() -> Error {
    Error::validation("Scan operation not supported on this index type")
}

/// A search of an index that is still being built.
pub fn index_backfilling(name: &str) -> Error {
    Error::Validation(format!("Cannot search backfilling vector index: {name}"))
}

/// An empty element of `VectorIndexUpdates`. AWS's wording is unknown.
pub fn update_empty() -> Error {
    invalid("One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null")
}

/// The deletion of an index whose creation has barely started.
pub fn index_being_allocated(table: &str, index: &str) -> Error {
    Error::ResourceInUse(format!(
        "Attempt to change a resource which is still in use: Index creation is in resource \
         allocation phase. Retry deletion during backfilling phase or when the index is active. \
         Table: {table} Index: {index}"
    ))
}

/// The deletion of a table with an index that is being built.
pub fn table_has_unfinished_index() -> Error {
    Error::ResourceInUse(
        "Attempt to change a resource which is still in use: Cannot delete table while indexes are \
         being created, updated, or deleted."
            .into(),
    )
}

/// A `TopK` above the limit.
pub fn top_k_out_of_range(value: usize, limit: usize) -> Error {
    Error::Validation(format!(
        "Provided TopK value '{value}' is out of valid range. The value must be between 1 and \
         {limit} inclusive"
    ))
}

/// A search vector with elements that are not 32-bit floats.
pub fn search_vector_invalid() -> Error {
    Error::validation(
        "Search vector contains invalid values. All values in the search vector must be a 32-bit \
         floating-point number attribute",
    )
}

/// A search vector with a different number of dimensions than the index.
pub fn search_vector_size(actual: usize, expected: usize) -> Error {
    Error::Validation(format!(
        "Input search vector dimension {actual} does not match vector index dimension {expected}"
    ))
}

/// A missing search condition for a partitioned index.
pub fn search_condition_missing() -> Error {
    Error::validation("SearchConditionExpression must be provided when SearchSchema has a HASH key")
}

/// A search condition without the partition attribute.
pub fn search_condition_without_hash() -> Error {
    Error::validation(
        "SearchConditionExpression must have all HASH attributes in configured SearchSchema",
    )
}

/// A search condition on an attribute outside the search schema.
pub fn search_condition_attribute(name: &str) -> Error {
    Error::Validation(format!(
        "SearchConditionExpression must not contain any attributes that is not in SearchSchema. \
         Invalid attribute: {name}"
    ))
}

/// A search condition other than equalities joined by `AND`.
pub fn search_condition_comparator() -> Error {
    in_search_condition("Invalid comparator used in SearchConditionExpression")
}

/// A search condition on a nested attribute.
pub fn search_condition_nested() -> Error {
    in_search_condition("SearchConditionExpression cannot have conditions on nested attributes")
}

/// Two conditions on one attribute.
pub fn search_condition_repeated() -> Error {
    in_search_condition("SearchConditionExpression must only contain one condition per attribute")
}

/// A search condition with a value of a different type than declared.
pub fn search_condition_type(attribute: &KeyAttribute, value: &AttributeValue) -> Error {
    Error::Validation(format!(
        "Type of '{}' attribute in SearchConditionExpression ({}) does not match type in search \
         schema ({})",
        attribute.name,
        value.attribute_type().as_str(),
        attribute.kind
    ))
}

fn in_search_condition(what: &str) -> Error {
    Error::Validation(format!("Invalid SearchConditionExpression: {what}"))
}
