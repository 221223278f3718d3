//! Messages about expressions, verbatim from DynamoDB.
//!
//! A [`Problem`] is the part after `Invalid ConditionExpression: `; it becomes an [`Error`] once
//! the parameter is known.

use std::fmt;

use crate::error::Error;
use crate::value::AttributeValue;

/// What is wrong with an expression, without the name of its parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem(String);

impl Problem {
    /// The error for a request whose parameter `parameter` (e.g. `FilterExpression`) has this problem.
    pub fn in_parameter(&self, parameter: &str) -> Error {
        Error::Validation(format!("Invalid {parameter}: {}", self.0))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

pub(crate) fn empty() -> Problem {
    Problem("The expression can not be empty;".into())
}

pub(crate) fn too_long(size: usize) -> Problem {
    Problem(format!(
        "Expression size has exceeded the maximum allowed size; expression size: {size}"
    ))
}

pub(crate) fn syntax(token: &str, near: &str) -> Problem {
    Problem(format!("Syntax error; token: \"{token}\", near: \"{near}\""))
}

pub(crate) fn too_many_operators(count: usize) -> Problem {
    Problem(format!("The expression contains too many operators; operator count: {count}"))
}

pub(crate) fn redundant_parentheses() -> Problem {
    Problem("The expression has redundant parentheses;".into())
}

pub(crate) fn unknown_function(name: &str) -> Problem {
    Problem(format!("Invalid function name; function: {name}"))
}

pub(crate) fn function_not_in_condition(name: &str) -> Problem {
    Problem(format!("The function is not allowed in a condition expression; function: {name}"))
}

pub(crate) fn function_not_in_update(name: &str) -> Problem {
    Problem(format!("The function is not allowed in an update expression; function: {name}"))
}

pub(crate) fn misused_function(name: &str) -> Problem {
    Problem(format!(
        "The function is not allowed to be used this way in an expression; function: {name}"
    ))
}

pub(crate) fn reserved_word(word: &str) -> Problem {
    Problem(format!("Attribute name is a reserved keyword; reserved keyword: {word}"))
}

pub(crate) fn list_index_out_of_range(index: u64) -> Problem {
    Problem(format!("List index is not within the allowable range; index: [{index}]"))
}

pub(crate) fn path_too_deep(levels: usize) -> Problem {
    Problem(format!("The document path has too many nesting levels; nesting levels: {levels}"))
}

pub(crate) fn undefined_name(name: &str) -> Problem {
    Problem(format!(
        "An expression attribute name used in the document path is not defined; \
         attribute name: {name}"
    ))
}

pub(crate) fn undefined_value(name: &str) -> Problem {
    Problem(format!(
        "An expression attribute value used in expression is not defined; attribute value: {name}"
    ))
}

pub(crate) fn operand_count(operator: &str, count: usize) -> Problem {
    Problem(format!(
        "Incorrect number of operands for operator or function; \
         operator or function: {operator}, number of operands: {count}"
    ))
}

pub(crate) fn operand_type(operator: &str, operand_type: &str) -> Problem {
    Problem(format!(
        "Incorrect operand type for operator or function; \
         operator or function: {operator}, operand type: {operand_type}"
    ))
}

/// `ADD` and `DELETE` have their own wording, with long type names.
pub(crate) fn action_operand_type(action: &str, operand_type: &str) -> Problem {
    Problem(format!(
        "Incorrect operand type for operator or function; \
         operator: {action}, operand type: {operand_type}, typeSet: ALLOWED_FOR_{action}_OPERAND"
    ))
}

pub(crate) fn path_required(function: &str) -> Problem {
    Problem(format!(
        "Operator or function requires a document path; operator or function: {function}"
    ))
}

pub(crate) fn operands_not_distinct(operator: &str, path: &impl fmt::Display) -> Problem {
    Problem(format!(
        "The first operand must be distinct from the remaining operands for this operator or \
         function; operator: {operator}, first operand: {path}"
    ))
}

pub(crate) fn unknown_attribute_type(name: &str) -> Problem {
    Problem(format!(
        "Invalid attribute type name found; type: {name}, \
         valid types: {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}"
    ))
}

pub(crate) fn too_many_candidates(count: usize) -> Problem {
    Problem(format!(
        "The IN operator is provided with too many operands; number of operands: {count}"
    ))
}

pub(crate) fn bounds_of_different_types(low: &AttributeValue, high: &AttributeValue) -> Problem {
    Problem(format!(
        "The BETWEEN operator requires same data type for lower and upper bounds; {}",
        bounds(low, high)
    ))
}

pub(crate) fn bounds_out_of_order(low: &AttributeValue, high: &AttributeValue) -> Problem {
    Problem(format!(
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; {}",
        bounds(low, high)
    ))
}

fn bounds(low: &AttributeValue, high: &AttributeValue) -> String {
    format!("lower bound operand: {}, upper bound operand: {}", Shown(low), Shown(high))
}

/// A scalar as AWS prints it in messages about `BETWEEN` and about start keys.
pub(crate) struct Shown<'a>(pub(crate) &'a AttributeValue);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.0.attribute_type().as_str();
        match self.0 {
            AttributeValue::S(text) => write!(f, "AttributeValue: {{{kind}:{text}}}"),
            AttributeValue::N(number) => write!(f, "AttributeValue: {{{kind}:{number}}}"),
            AttributeValue::B(bytes) => write!(
                f,
                "AttributeValue: {{{kind}:java.nio.HeapByteBuffer[pos=0 lim={0} cap={0}]}}",
                bytes.len()
            ),
            _ => write!(f, "AttributeValue: {{{kind}}}"),
        }
    }
}

pub(crate) fn paths_overlap(one: &impl fmt::Display, two: &impl fmt::Display) -> Problem {
    Problem(format!(
        "Two document paths overlap with each other; \
         must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    ))
}

pub(crate) fn paths_conflict(one: &impl fmt::Display, two: &impl fmt::Display) -> Problem {
    Problem(format!(
        "Two document paths conflict with each other; \
         must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    ))
}

pub(crate) fn repeated_section(keyword: &str) -> Problem {
    Problem(format!("The \"{keyword}\" section can only be used once in an update expression;"))
}

/// `ExpressionAttributeNames` or `ExpressionAttributeValues` is `{}`.
pub fn empty_map(parameter: &str) -> Error {
    Error::Validation(format!("{parameter} must not be empty"))
}

/// A key of `ExpressionAttributeNames` or `ExpressionAttributeValues` is not `#name` or `:value`.
pub fn invalid_map_key(parameter: &str, key: &str) -> Error {
    Error::Validation(format!("{parameter} contains invalid key: Syntax error; key: \"{key}\""))
}

/// A key of `ExpressionAttributeNames` or `ExpressionAttributeValues` is over 255 bytes.
pub fn map_key_too_long(parameter: &str, key: &str) -> Error {
    Error::Validation(format!(
        "{parameter} contains invalid key: The expression attribute map contains a key that is \
         too long; key: \"{key}\""
    ))
}

/// A name or value of `ExpressionAttributeNames` or `ExpressionAttributeValues` is invalid; `reason` says why.
pub fn invalid_map_value(parameter: &str, reason: &Error, key: &str) -> Error {
    let reason = reason.message();
    Error::Validation(format!("{parameter} contains invalid value: {reason} for key {key}"))
}

/// Keys of `ExpressionAttributeNames` or `ExpressionAttributeValues` are not used in any
/// expression.
pub fn unused(parameter: &str, keys: &[&str]) -> Error {
    Error::Validation(format!(
        "Value provided in {parameter} unused in expressions: keys: {{{}}}",
        keys.join(", ")
    ))
}

/// Expressions and legacy parameters in one request.
pub fn mixed_parameters(legacy: &[&str], expressions: &[&str]) -> Error {
    Error::Validation(format!(
        "Can not use both expression and non-expression parameters in the same request: \
         Non-expression parameters: {{{}}} Expression parameters: {{{}}}",
        legacy.join(", "),
        expressions.join(", ")
    ))
}

/// `ExpressionAttributeNames` in a request without expressions.
pub fn names_without_expression() -> Error {
    Error::Validation(
        "ExpressionAttributeNames can only be specified when using expressions".into(),
    )
}

/// `ExpressionAttributeValues` in a request without an expression that could use them.
pub fn values_without_expression(expressions: &[&str]) -> Error {
    Error::Validation(format!(
        "ExpressionAttributeValues can only be specified when using expressions: {} {} null",
        expressions.join(" and "),
        if expressions.len() > 1 { "are" } else { "is" }
    ))
}

/// An operator that key conditions do not support.
pub fn key_condition_operator(operator: &str) -> Error {
    Error::Validation(format!("Invalid operator used in KeyConditionExpression: {operator}"))
}

/// `size()` in a key condition.
pub fn key_condition_nested_operation() -> Error {
    Error::Validation("KeyConditionExpressions cannot contain nested operations".into())
}

/// A path of more than one element in a key condition.
pub fn key_condition_nested_attribute() -> Error {
    Error::Validation("KeyConditionExpressions cannot have conditions on nested attributes".into())
}

/// `BETWEEN` or `begins_with` whose first operand is not a key attribute.
pub fn key_condition_operand_order(operator: &str) -> Error {
    Error::Validation(format!(
        "Invalid condition in KeyConditionExpression: {operator} operator must have the key \
         attribute as its first operand"
    ))
}

/// Two paths in one condition on a key.
pub fn key_condition_two_attributes() -> Error {
    Error::Validation(
        "Invalid condition in KeyConditionExpression: \
         Multiple attribute names used in one condition"
            .into(),
    )
}

/// A condition on a key without a path.
pub fn key_condition_no_attribute() -> Error {
    Error::Validation(
        "Invalid condition in KeyConditionExpression: No key attribute specified".into(),
    )
}

/// Two conditions on one key attribute.
pub fn key_condition_repeated() -> Error {
    Error::Validation("KeyConditionExpressions must only contain one condition per key".into())
}

/// More conditions than a table's key has attributes, or none.
pub fn key_condition_count() -> Error {
    Error::Validation("Conditions can be of length 1 or 2 only".into())
}

/// A required condition on a key attribute is missing.
pub fn key_condition_missing(attribute: &str) -> Error {
    Error::Validation(format!("Query condition missed key schema element: {attribute}"))
}

/// The partition key can only be compared with `=`.
pub fn key_condition_not_supported() -> Error {
    Error::Validation("Query key condition not supported".into())
}

/// The value in a key condition has a different type than the key attribute.
pub fn key_condition_type() -> Error {
    Error::Validation(
        "One or more parameter values were invalid: \
         Condition parameter type does not match schema type"
            .into(),
    )
}

/// Partition key attributes of a multi-attribute key without `=`.
pub fn key_condition_hash_missing(missing: &[&str]) -> Error {
    Error::Validation(format!(
        "HASH key attributes {} must have equality conditions specified in the query",
        missing.join(", ")
    ))
}

/// A sort key attribute is skipped, or has a range condition and is not the last one with a condition.
pub fn key_condition_gap(missing: &[&str], present: &str) -> Error {
    Error::Validation(format!(
        "RANGE key attributes {} must have equality conditions specified in the query because a \
         condition is present on key attribute {present}",
        missing.join(", ")
    ))
}

/// A filter on a key attribute of the query; `parameter` is `Filter Expression`, `QueryFilter`…
pub fn filter_on_key(parameter: &str, attribute: &str) -> Error {
    Error::Validation(format!(
        "{parameter} can only contain non-primary key attributes: \
         Primary key attribute: {attribute}"
    ))
}

/// A path into an attribute that is part of the table's key (`Key`) or an index's (`IndexKey`).
pub fn key_not_scalar(role: &str, attribute: &str) -> Error {
    Error::Validation(format!(
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not \
         allowed: {role}: {attribute}"
    ))
}

/// An update that would change the item's key.
pub fn update_of_key(attribute: &str) -> Error {
    Error::Validation(format!(
        "One or more parameter values were invalid: Cannot update attribute {attribute}. \
         This attribute is part of the key"
    ))
}

/// An update reads a missing attribute.
pub fn update_reads_missing_attribute() -> Error {
    Error::Validation(
        "The provided expression refers to an attribute that does not exist in the item".into(),
    )
}

/// An update writes below something that is not a map or list.
pub fn update_path_invalid() -> Error {
    Error::Validation(
        "The document path provided in the update expression is invalid for update".into(),
    )
}

/// An update computes with a value of the wrong type.
pub fn update_operand_type() -> Error {
    Error::Validation("An operand in the update expression has an incorrect data type".into())
}
