//! Requests that must fail.

use keyloom_engine::Database;
use serde_json::Value;

use crate::calls::call;

/// Calls an operation that must fail; gives the code and the message.
#[track_caller]
pub(crate) fn err(db: &Database, operation: &str, body: Value) -> (String, String) {
    let (status, reply) = call(db, operation, &body);
    assert_eq!(status, 400, "{operation} {body}: {reply}");
    let code = reply["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
    let message = reply["message"].as_str().or(reply["Message"].as_str()).unwrap_or_default();
    (code, message.to_owned())
}
