//! The table that most tests begin with.

use std::borrow::Borrow;

use serde_json::{Value, json};

/// CreateTable's body for an on-demand table with the key `pk` (a string), `sk` (a number), and further members.
pub(crate) fn table(name: &str, more: impl Borrow<Value>) -> Value {
    let mut body = json!({
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
    });
    let more: &Value = more.borrow();
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}
