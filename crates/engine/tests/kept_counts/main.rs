//! Counts that outlive a database: noted when it is closed, taken when it is opened, and never wrong.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod crashes;
mod looked_at;
mod notes;

use std::sync::Arc;

use keyloom_engine::{Database, Options};
use keyloom_store::Store;
use serde_json::{Value, json};

/// The key of the note in the store.
const NOTE: &[u8] = &[5];

/// A database that does nothing by itself.
fn open(store: &Arc<impl Store + 'static>) -> Database {
    let options = Options { background: false, ..Options::default() };
    Database::on(Arc::clone(store) as Arc<dyn Store>, options).unwrap()
}

fn call(database: &Database, operation: &str, body: &Value) -> (u16, Value) {
    let target = format!("DynamoDB_20120810.{operation}");
    let reply = database.call(&target, body.to_string().as_bytes());
    (reply.status, serde_json::from_slice(&reply.body).unwrap())
}

#[track_caller]
fn ok(database: &Database, operation: &str, body: &Value) -> Value {
    let (status, reply) = call(database, operation, body);
    assert_eq!(status, 200, "{operation} {body}: {reply}");
    reply
}

fn keys(hash: &str, range: &str) -> Value {
    json!([
        {"AttributeName": hash, "KeyType": "HASH"},
        {"AttributeName": range, "KeyType": "RANGE"},
    ])
}

/// A table with an index of each kind.
fn create_table(database: &Database) {
    let index = |name: &str, keys: Value, projection: &str| {
        json!({
            "IndexName": name,
            "KeySchema": keys,
            "Projection": {"ProjectionType": projection},
        })
    };
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let table = json!({
        "TableName": "notes",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions":
            [attribute("pk", "S"), attribute("sk", "N"), attribute("g", "S"), attribute("l", "S")],
        "KeySchema": keys("pk", "sk"),
        "GlobalSecondaryIndexes": [index("by-g", keys("g", "sk"), "ALL")],
        "LocalSecondaryIndexes": [index("by-l", keys("pk", "l"), "KEYS_ONLY")],
        "VectorIndexes": [{
            "IndexName": "near",
            "VectorAttribute": {"AttributeName": "v"},
            "Dimensions": 2,
            "DistanceFunction": "EUCLIDEAN",
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
    });
    ok(database, "CreateTable", &table);
}

/// An item; `shape` says which indexes it is in.
fn item(number: u32, shape: u32) -> Value {
    let mut item = json!({
        "pk": {"S": format!("p{}", number % 3)},
        "sk": {"N": number.to_string()},
        "text": {"S": "x".repeat((shape % 37) as usize)},
    });
    if shape & 1 != 0 {
        item["g"] = json!({"S": format!("g{}", shape % 5)});
    }
    if shape & 2 != 0 {
        item["l"] = json!({"S": "l"});
    }
    if shape & 4 != 0 {
        item["v"] = json!({"L": [{"N": shape.to_string()}, {"N": "1"}]});
    }
    item
}

fn put(database: &Database, number: u32, shape: u32) {
    ok(database, "PutItem", &json!({"TableName": "notes", "Item": item(number, shape)}));
}

fn delete(database: &Database, number: u32) {
    let item = item(number, 0);
    let key = json!({"pk": item["pk"], "sk": item["sk"]});
    ok(database, "DeleteItem", &json!({"TableName": "notes", "Key": key}));
}

/// Items and bytes of the table and of each of its indexes, by name.
fn counts(database: &Database) -> Vec<(String, u64, u64)> {
    let table = &ok(database, "DescribeTable", &json!({"TableName": "notes"}))["Table"];
    let number = |value: &Value| value.as_u64().unwrap();
    let mut counts =
        vec![(String::new(), number(&table["ItemCount"]), number(&table["TableSizeBytes"]))];
    for kind in ["GlobalSecondaryIndexes", "LocalSecondaryIndexes", "VectorIndexes"] {
        for index in table[kind].as_array().into_iter().flatten() {
            let name = index["IndexName"].as_str().unwrap().to_owned();
            counts.push((name, number(&index["ItemCount"]), number(&index["IndexSizeBytes"])));
        }
    }
    counts
}

/// How many items a scan finds.
fn scanned(database: &Database, index: Option<&str>) -> u64 {
    let mut body = json!({"TableName": "notes", "Select": "COUNT"});
    if let Some(index) = index {
        body["IndexName"] = index.into();
    }
    ok(database, "Scan", &body)["Count"].as_u64().unwrap()
}
