//! Checks the constraints of the model: required members, lengths, ranges, patterns and enumerations.
//!
//! All violations are reported together, in the order of the model, an object's or list's before those inside it.

use std::fmt::Write as _;

use keyloom_core::Result;
use keyloom_core::error::constraint::Constraint;
use keyloom_core::error::{request, table};
use keyloom_core::json::{Json, JsonObject};

use super::{Limit, Pattern, Shape, Structure, has_constraints, input};
use crate::{Constraints, Operation};

/// Checks a request of the right shape against the constraints of its operation's input.
pub(crate) fn check_constraints(operation: Operation, body: &Json<'_>) -> Result<()> {
    let Json::Object(object) = body else { return Ok(()) };
    if !has_constraints(operation) {
        return Ok(());
    }
    let structure = input(operation);
    check_named(operation, structure, object)?;
    let mut constraints = Constraints::new();
    members(structure, object, "", &mut constraints);
    constraints.finish()
}

/// For a request that does not name its table, or the resource of its tags, only that is reported, as on AWS.
fn check_named(operation: Operation, input: &Structure, object: &JsonObject<'_>) -> Result<()> {
    use Operation::{ListTagsOfResource, TagResource, UntagResource};
    let is_missing = |name: &str| {
        let value = object.get(name).filter(|json| !matches!(json, Json::Null));
        input.required.contains(&name) && value.is_none()
    };
    if is_missing("TableName") {
        return Err(request::parameter_missing("TableName"));
    }
    let is_of_tags = matches!(operation, TagResource | UntagResource | ListTagsOfResource);
    if is_of_tags && is_missing("ResourceArn") {
        return Err(table::resource_arn_missing());
    }
    Ok(())
}

fn members(
    structure: &Structure,
    object: &JsonObject<'_>,
    path: &str,
    constraints: &mut Constraints,
) {
    for (name, shape) in structure.members {
        let path = format!("{path}{}{}", if path.is_empty() { "" } else { "." }, spelled(name));
        match object.get(name).filter(|json| !matches!(json, Json::Null)) {
            Some(json) => value(*shape, json, &path, constraints),
            None => constraints.required(!structure.required.contains(name), &path),
        }
    }
}

fn value(shape: Shape, json: &Json<'_>, path: &str, constraints: &mut Constraints) {
    let (shape, limit) = shape.limit();
    if let Some(limit) = limit {
        check(shape, limit, json, path, constraints);
    }
    match (shape, json) {
        (Shape::Struct(structure), Json::Object(object)) => {
            members(structure, object, path, constraints);
        }
        (Shape::List(of), Json::Array(elements)) => {
            for (position, json) in elements.iter().enumerate() {
                value(*of, json, &format!("{path}.{}.member", position + 1), constraints);
            }
        }
        (Shape::Map(of), Json::Object(object)) => {
            for (name, json) in object.iter() {
                value(*of, json, &format!("{path}.{name}.member"), constraints);
            }
        }
        _ => {}
    }
}

fn check(shape: Shape, limit: Limit, json: &Json<'_>, path: &str, constraints: &mut Constraints) {
    match (limit, json) {
        (Limit::Chars(least, most), Json::Str(text)) => constraints.length(text, path, least, most),
        (Limit::Bytes(least, most), Json::Str(text)) => {
            constraints.count(text.len(), text, path, least, most);
        }
        (Limit::Matching(pattern, least, most), Json::Str(text)) => {
            matching(text, pattern, least, path, constraints);
            constraints.length(text, path, least, most);
        }
        (Limit::NameOrArn, Json::Str(text)) => constraints.table_name_at(Some(text), path),
        (Limit::OneOf(names), Json::Str(text)) if !names.contains(&text.as_ref()) => {
            constraints.violations().violated(text, path, Constraint::OneOf(names));
        }
        (Limit::Range(least, most), Json::Number(number)) => {
            let number = number.as_whole();
            constraints.range(number, path, least, most);
        }
        (Limit::Count(least, most), Json::Array(elements)) => {
            let (is_short, length) = (elements.len() < least, elements.len());
            let shown = if is_short || length > most { shown(shape, json) } else { String::new() };
            constraints.count(length, &shown, path, least, most);
        }
        _ => {}
    }
}

/// Of an empty text only the length is reported, if it is too short.
fn matching(
    text: &str,
    pattern: &Pattern,
    least: usize,
    path: &str,
    constraints: &mut Constraints,
) {
    if !(pattern.matches)(text) && (least == 0 || !text.is_empty()) {
        constraints.violations().violated(text, path, Constraint::Pattern(pattern.text));
    }
}

/// A member's name as paths spell it.
fn spelled(member: &str) -> String {
    let mut chars = member.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

/// A value as messages quote it: `[KeySchemaElement(attributeName=a, keyType=HASH)]`.
fn shown(shape: Shape, json: &Json<'_>) -> String {
    match (shape.limit().0, json) {
        (Shape::List(of), Json::Array(elements)) => {
            let elements: Vec<String> = elements.iter().map(|one| shown(*of, one)).collect();
            format!("[{}]", elements.join(", "))
        }
        (Shape::Struct(structure), Json::Object(object)) => {
            let mut text = format!("{}(", structure.name);
            for (position, (name, shape)) in structure.members.iter().enumerate() {
                let comma = if position > 0 { ", " } else { "" };
                let value = object.get(name).map_or("null".into(), |json| shown(*shape, json));
                // Writing to a string does not fail.
                let _ = write!(text, "{comma}{}={value}", spelled(name));
            }
            text + ")"
        }
        (_, Json::Str(text)) => text.to_string(),
        (_, Json::Bool(value)) => value.to_string(),
        (_, Json::Number(number)) => number.as_whole().unwrap_or_default().to_string(),
        _ => "null".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Body;

    fn refusal(operation: Operation, body: &str) -> String {
        Body::parse(operation, body.as_bytes())
            .map_or_else(|error| error.message(), |_| "right".into())
    }

    fn violation(value: &str, path: &str, must: &str) -> String {
        format!("Value {value} at '{path}' failed to satisfy constraint: Member must {must}")
    }

    /// Wordings that others have recorded of AWS, one violation each.
    #[test]
    fn recorded_wordings() {
        let table = r#""AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]"#;
        let long = "a".repeat(256);
        for (name, value, must) in [
            ("ab", "'ab'", "have length greater than or equal to 3"),
            ("", "''", "have length greater than or equal to 3"),
            ("bad name", "'bad name'", "satisfy regular expression pattern: [a-zA-Z0-9_.-]+"),
            (long.as_str(), &format!("'{long}'"), "have length less than or equal to 255"),
        ] {
            let body = format!(r#"{{"TableName":"{name}",{table}}}"#);
            let expected = violation(value, "tableName", must);
            let expected = format!("1 validation error detected: {expected}");
            assert_eq!(refusal(Operation::CreateTable, &body), expected);
        }
        let missing = "The parameter 'TableName' is required but was not present in the request";
        for operation in
            [Operation::CreateTable, Operation::DeleteTable, Operation::UpdateTimeToLive]
        {
            assert_eq!(refusal(operation, "{}"), missing);
        }
        assert_eq!(refusal(Operation::TagResource, "{}"), "Invalid TableArn");
        let arn = r#"{"TableName":"arn:aws:dynamodb:r:1:table/a"}"#;
        assert_eq!(refusal(Operation::DescribeTable, arn), "right");
    }

    #[test]
    fn violations_come_together_in_the_order_of_the_model() {
        let body = r#"{
            "BillingMode": "A", "ProvisionedThroughput": {"WriteCapacityUnits": -1}, "TableName": "abc;",
            "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "SS"}],
            "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "b"}, {}]
        }"#;
        let expected = [
            violation(
                "'SS'",
                "attributeDefinitions.1.member.attributeType",
                "satisfy enum value set: [B, N, S]",
            ),
            violation("'abc;'", "tableName", "satisfy regular expression pattern: [a-zA-Z0-9_.-]+"),
            violation(
                "'[KeySchemaElement(attributeName=a, keyType=HASH), KeySchemaElement(attributeName=b, keyType=null), \
                 KeySchemaElement(attributeName=null, keyType=null)]'",
                "keySchema",
                "have length less than or equal to 2",
            ),
            violation("null", "keySchema.2.member.keyType", "not be null"),
            violation("null", "keySchema.3.member.attributeName", "not be null"),
            violation("null", "keySchema.3.member.keyType", "not be null"),
            violation(
                "'A'",
                "billingMode",
                "satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]",
            ),
            violation("null", "provisionedThroughput.readCapacityUnits", "not be null"),
            violation(
                "'-1'",
                "provisionedThroughput.writeCapacityUnits",
                "have value greater than or equal to 1",
            ),
        ];
        let expected = format!("9 validation errors detected: {}", expected.join("; "));
        assert_eq!(refusal(Operation::CreateTable, body), expected);
    }

    #[test]
    fn at_most_ten_violations_are_listed() {
        let body = r#"{"TableName":"abc","GlobalSecondaryIndexes":[{},{},{},{},{}]}"#;
        let message = refusal(Operation::CreateTable, body);
        assert!(message.starts_with("10 validation errors detected: "), "{message}");
        assert_eq!(message.matches("Member must not be null").count(), 10);
    }

    #[test]
    fn patterns_judge_the_whole_text() {
        let source = |bucket: &str, owner: &str| {
            let table = r#"{"TableName":"abc","AttributeDefinitions":[],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]}"#;
            let body = format!(
                r#"{{"InputFormat":"CSV","S3BucketSource":{{"S3Bucket":"{bucket}","S3BucketOwner":"{owner}"}},"TableCreationParameters":{table}}}"#
            );
            refusal(Operation::ImportTable, &body)
        };
        let account = "123456789012";
        assert_eq!(source("a.b-c_d", account), "right");
        for bucket in ["", "a", "-ab", "ab-", "a/b"] {
            assert!(source(bucket, account).contains("'s3BucketSource.s3Bucket'"), "{bucket}");
        }
        for owner in ["", "12345678901", "1234567890123", "12345678901x"] {
            assert!(source("bucket", owner).contains("'s3BucketSource.s3BucketOwner'"), "{owner}");
        }
        let page = |token: &str| {
            refusal(Operation::ListBulkOperations, &format!(r#"{{"NextToken":"{token}"}}"#))
        };
        assert_eq!(page("0123456789abcdef"), "right");
        for token in ["0123456789abcdeF", "0123456789abcde", "0123456789abcdef0"] {
            assert!(page(token).contains("([0-9a-f]{16})+"), "{token}");
        }
    }
}
