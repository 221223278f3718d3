//! Requests that are refused, in the words of the service that answers searches on AWS.

use keyloom_engine::Database;
use serde_json::{Value, json};

use crate::{documents, err, invalid, search};

#[test]
fn the_reader_of_searches_is_strict() {
    let db = documents();
    let raw = |body: &str| {
        let reply = db.call("DynamoDB_20120810.SearchVectors", body.as_bytes());
        let reply: Value = serde_json::from_slice(&reply.body).unwrap();
        let code = reply["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
        let message = reply["message"].as_str().or(reply["Message"].as_str()).unwrap_or_default();
        (code, message.to_owned())
    };
    for (body, code, message) in [
        (
            r#"{"TableName":null}"#,
            "SerializationException",
            "invalid type: null, expected a string at line 1 column 17",
        ),
        (
            r#"{"SearchVector":null}"#,
            "SerializationException",
            "invalid type: null, expected a sequence at line 1 column 20",
        ),
        (
            r#"{"TopK":null}"#,
            "SerializationException",
            "invalid type: null, expected i32 at line 1 column 12",
        ),
        (
            r#"{"TopK":3.5}"#,
            "SerializationException",
            "invalid type: floating point `3.5`, expected i32 at line 1 column 11",
        ),
        (
            r#"{"ProjectionExpression":null}"#,
            "SerializationException",
            "invalid type: null, expected a string at line 1 column 28",
        ),
        (
            r#"{"IndexName":"ab","SearchVector":[],"TopK":1}"#,
            "ValidationException",
            "missing field `TableName` at line 1 column 45",
        ),
        ("{", "SerializationException", ""),
        (
            "[]",
            "SerializationException",
            "invalid length 0, expected struct Shape with 9 elements at line 1 column 2",
        ),
    ] {
        let (found, text) = raw(body);
        assert_eq!(found, code, "{body}: {text}");
        if body != "[]" {
            assert_eq!(text, message, "{body}");
        }
    }
}

#[test]
fn members_are_measured_before_the_table_is_looked_up() {
    let db = Database::memory();
    let body = json!({"TableName": "none", "IndexName": "ab", "SearchVector": [], "TopK": 0});
    assert_eq!(
        invalid(&db, "SearchVectors", body),
        "3 validation errors detected: Value at 'IndexName' failed to satisfy constraint: Member \
         must have length greater than or equal to 3; Value at 'SearchVector' failed to satisfy \
         constraint: Member must have length greater than or equal to 1; Value at 'TopK' failed to \
         satisfy constraint: Member must have value greater than or equal to 1"
    );
    assert_eq!(
        invalid(&db, "SearchVectors", search("none", &[1.0], 101, json!({}))),
        "Provided TopK value '101' is out of valid range. The value must be between 1 and 100 \
         inclusive"
    );
    assert_eq!(
        invalid(&db, "SearchVectors", search("none", &vec![0.0; 4097], 1, json!({}))),
        "1 validation error detected: Value at 'SearchVector' failed to satisfy constraint: Member \
         must have length less than or equal to 4096"
    );
    let (code, message) = err(&db, "SearchVectors", search("none", &[1.0], 1, json!({})));
    assert_eq!(code, "ResourceNotFoundException");
    assert_eq!(message, "Requested resource not found");
}

#[test]
fn vectors_and_conditions_must_fit_the_index() {
    let db = documents();
    let refused = |index: &str, floats: &[f32], more: Value| {
        invalid(&db, "SearchVectors", search(index, floats, 1, more))
    };
    let query = [1.0, 0.0, 0.0];
    let values = |more: Value| json!({"SearchConditionExpression": more, "ExpressionAttributeValues": {":t": {"S": "x"}}});
    assert_eq!(
        refused("no-such-index", &query, json!({})),
        "The table does not have the specified index: no-such-index"
    );
    assert_eq!(
        refused("plain", &[1.0, 0.0], json!({})),
        "Input search vector dimension 2 does not match vector index dimension 3"
    );
    let bad = "Search vector contains invalid values. All values in the search vector must be a \
               32-bit floating-point number attribute";
    for vector in [json!([{"L": [{"N": "1"}]}]), json!([{"N": "1E+39"}, {"N": "0"}, {"N": "0"}])] {
        assert_eq!(refused("plain", &query, json!({"SearchVector": vector})), bad);
    }
    assert_eq!(
        refused("schema", &query, json!({})),
        "SearchConditionExpression must be provided when SearchSchema has a HASH key"
    );
    assert_eq!(
        refused("schema", &query, values(json!("tenant < :t"))),
        "Invalid SearchConditionExpression: Invalid comparator used in SearchConditionExpression"
    );
    assert_eq!(
        refused("plain", &query, values(json!("tenant = :t"))),
        "SearchConditionExpression must not contain any attributes that is not in SearchSchema. \
         Invalid attribute: tenant"
    );
    assert_eq!(
        refused("plain", &query, json!({"ExpressionAttributeValues": {":t": {"S": "x"}}})),
        "ExpressionAttributeValues can only be specified when using expressions: \
         SearchConditionExpression is null"
    );
    let unused = json!({
        "ProjectionExpression": "pk",
        "ExpressionAttributeNames": {"#x": "x"},
    });
    assert_eq!(
        refused("plain", &query, unused),
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}"
    );
    assert_eq!(
        refused("plain", &query, json!({"ReturnConsumedCapacity": "SOME"})),
        "1 validation error detected: Value 'SOME' at 'returnConsumedCapacity' failed to satisfy \
         constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
    );
}
