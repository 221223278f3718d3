//! Judges the shape of a request body: the first member of the wrong JSON type, in the order of the text.
//!
//! AWS does this before anything else, so a request that is wrong in several ways answers with a
//! `SerializationException`. The wording is that of Java classes; it depends on whether a value is a member of a
//! structure or an element of a list or map. Members that the model does not have are ignored, whatever they hold.

use keyloom_core::error::message::value as message;
use keyloom_core::json::shape::{boolean, check_item, check_value, list, not_a, string};
use keyloom_core::json::{Json, JsonObject};
use keyloom_core::{Error, Result};

use super::{Shape, Structure};

/// The package of AWS's classes.
const PACKAGE: &str = "com.amazonaws.dynamodb.v20120810";

/// Judges a body by the shape of its operation's input.
pub(crate) fn check(input: &Structure, body: &Json<'_>) -> Result<()> {
    match body {
        Json::Object(object) => members(input, object),
        Json::Array(_) => Err(message::unexpected_list("class java.lang.String")),
        _ => Err(message::unexpected_field()),
    }
}

/// The members of a structure. A member that is `null` counts as absent.
fn members(structure: &Structure, object: &JsonObject<'_>) -> Result<()> {
    for (name, json) in object.iter() {
        if !matches!(json, Json::Null)
            && let Some(shape) = structure.member(name)
        {
            value(shape, json, message::unexpected_field)?;
        }
    }
    Ok(())
}

/// The elements of a list or the values of a map.
fn elements<'j, 'a: 'j>(
    shape: Shape,
    values: impl IntoIterator<Item = &'j Json<'a>>,
) -> Result<()> {
    let unexpected = match shape.limit().0 {
        Shape::List(_) | Shape::Map(_) => message::unexpected_generic,
        _ => message::unexpected_value,
    };
    values.into_iter().try_for_each(|json| value(shape, json, unexpected))
}

/// Judges one value; `unexpected` is the error for a scalar where a list or an object belongs.
fn value(shape: Shape, json: &Json<'_>, unexpected: fn() -> Error) -> Result<()> {
    match (shape, json) {
        (Shape::Limited(shape, _), _) => value(*shape, json, unexpected),
        (Shape::Text, _) => string(json).map(drop),
        (Shape::Boolean, _) => boolean(json).map(drop),
        (Shape::Integer | Shape::Long | Shape::Double | Shape::Timestamp, Json::Number(_)) => {
            Ok(())
        }
        (Shape::Integer, _) => Err(not_a("Integer", json)),
        (Shape::Long, _) => Err(not_a("Long", json)),
        (Shape::Double, _) => Err(not_a("Double", json)),
        (Shape::Timestamp, Json::Array(_)) => Err(message::unexpected_list("class java.util.Date")),
        (Shape::Timestamp, _) => Err(not_a("milliseconds since epoch", json)),
        (Shape::Value, Json::Object(_) | Json::Array(_) | Json::Null) => check_value(json),
        (Shape::List(of), Json::Array(_) | Json::Object(_)) => elements(*of, list(json)?),
        (Shape::Map(Shape::Value), Json::Object(_)) => check_item(json),
        (Shape::Map(of), Json::Object(object)) => {
            elements(*of, object.iter().map(|(_, value)| value))
        }
        (Shape::Struct(structure), Json::Object(object)) => members(structure, object),
        (Shape::Map(of), Json::Array(_)) => Err(message::unexpected_list(&map_of(of))),
        (Shape::Struct(structure), Json::Array(_)) => {
            Err(message::unexpected_list(&format!("class {PACKAGE}.{}", structure.name)))
        }
        (Shape::Value | Shape::List(_) | Shape::Map(_) | Shape::Struct(_), _) => Err(unexpected()),
    }
}

/// The Java class of a map with such values.
fn map_of(values: &Shape) -> String {
    format!("java.util.Map<java.lang.String, {}>", class(values))
}

/// The Java class of a value.
fn class(shape: &Shape) -> String {
    match shape {
        Shape::Text => "java.lang.String".into(),
        Shape::Integer => "java.lang.Integer".into(),
        Shape::Long => "java.lang.Long".into(),
        Shape::Double => "java.lang.Double".into(),
        Shape::Boolean => "java.lang.Boolean".into(),
        Shape::Timestamp => "java.util.Date".into(),
        Shape::Value => format!("{PACKAGE}.AttributeValue"),
        Shape::Struct(structure) => format!("{PACKAGE}.{}", structure.name),
        Shape::List(of) => format!("java.util.List<{}>", class(of)),
        Shape::Map(of) => map_of(of),
        Shape::Limited(shape, _) => class(shape),
    }
}

#[cfg(test)]
mod tests {
    use keyloom_core::json;

    use super::*;
    use crate::Operation;
    use crate::model::input;

    fn judged(operation: Operation, body: &str) -> String {
        let body = json::parse(body.as_bytes()).unwrap();
        match check(input(operation), &body) {
            Ok(()) => "right".into(),
            Err(error) => error.message(),
        }
    }

    /// Wordings that others have recorded of AWS.
    #[test]
    fn the_wording_depends_on_shape_and_position() {
        use Operation::*;
        for (operation, body, expected) in [
            (DeleteItem, r#"{"ReturnValues":23}"#, "NUMBER_VALUE cannot be converted to String"),
            (
                DeleteItem,
                r#"{"ReturnValues":{}}"#,
                "Start of structure or map found where not expected.",
            ),
            (ListTables, r#"{"Limit":"1"}"#, "STRING_VALUE cannot be converted to Integer"),
            (ListTables, r#"{"Limit":[]}"#, "Unrecognized collection type class java.lang.Integer"),
            (GetItem, r#"{"ConsistentRead":1}"#, "NUMBER_VALUE cannot be converted to Boolean"),
            (GetItem, r#"{"ConsistentRead":"abc"}"#, "Unexpected token received from parser"),
            (GetItem, r#"{"ConsistentRead":"true"}"#, "right"),
            (GetItem, r#"{"AttributesToGet":"a"}"#, "Unexpected field type"),
            (GetItem, r#"{"Key":"a"}"#, "Unexpected field type"),
            (GetItem, r#"{"Key":{"a":"b"}}"#, "Unexpected value type in payload"),
            (
                GetItem,
                r#"{"ExpressionAttributeNames":[]}"#,
                "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>",
            ),
            (
                CreateTable,
                r#"{"ProvisionedThroughput":{"ReadCapacityUnits":"1"}}"#,
                "STRING_VALUE cannot be converted to Long",
            ),
            (CreateTable, r#"{"ProvisionedThroughput":1}"#, "Unexpected field type"),
            (
                CreateTable,
                r#"{"ProvisionedThroughput":[]}"#,
                "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.ProvisionedThroughput",
            ),
            (CreateTable, r#"{"KeySchema":[1]}"#, "Unexpected value type in payload"),
            (
                BatchWriteItem,
                r#"{"RequestItems":[]}"#,
                "Unrecognized collection type java.util.Map<java.lang.String, \
                 java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>>",
            ),
            (
                BatchWriteItem,
                r#"{"RequestItems":{"t":1}}"#,
                "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class \
                 java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and \
                 java.lang.Class are in module java.base of loader 'bootstrap')",
            ),
            (PutItem, r#"{"Expected":{"a":{"Value":1}}}"#, "Unexpected field type"),
            (PutItem, r#"{"Unknown":{"TableName":1},"Item":null}"#, "right"),
            (PutItem, "[]", "Unrecognized collection type class java.lang.String"),
            (PutItem, "7", "Unexpected field type"),
        ] {
            assert_eq!(judged(operation, body), expected, "{} {body}", operation.name());
        }
    }

    #[test]
    fn the_first_wrong_member_of_the_text_is_reported() {
        let late = r#"{"ConsistentRead":1,"TableName":2}"#;
        assert_eq!(judged(Operation::GetItem, late), "NUMBER_VALUE cannot be converted to Boolean");
    }
}
