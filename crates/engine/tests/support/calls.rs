//! Requests to a database in the JSON of the wire, for the tests of this folder.

use std::borrow::Borrow;

use keyloom_engine::Database;
use serde_json::Value;

/// Calls an operation; gives the status and the body, an empty object if there is none.
pub(crate) fn call(db: &Database, operation: &str, body: &Value) -> (u16, Value) {
    let service = match operation {
        "ListStreams" | "DescribeStream" | "GetShardIterator" | "GetRecords" => {
            "DynamoDBStreams_20120810"
        }
        _ => "DynamoDB_20120810",
    };
    let reply = db.call(&format!("{service}.{operation}"), body.to_string().as_bytes());
    let body = if reply.body.is_empty() { b"{}".to_vec() } else { reply.body };
    (reply.status, serde_json::from_slice(&body).unwrap())
}

/// Calls an operation that must succeed.
#[track_caller]
pub(crate) fn ok(db: &Database, operation: &str, body: impl Borrow<Value>) -> Value {
    let body: &Value = body.borrow();
    let (status, reply) = call(db, operation, body);
    assert_eq!(status, 200, "{operation} {body}: {reply}");
    reply
}
