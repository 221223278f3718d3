//! Vector indexes and their search, through the wire door.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

#[path = "../support/calls.rs"]
mod calls;
mod capacity;
mod definitions;
mod lifecycle;
mod nearest;
#[path = "../support/refusals.rs"]
mod refusals;
mod requests;
mod search;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use keyloom_engine::{Database, ManualClock, Options};
use serde_json::{Value, json};

use calls::{call, ok};
use refusals::err;

/// Calls an operation that must be refused as invalid; gives the message.
#[track_caller]
fn invalid(db: &Database, operation: &str, body: Value) -> String {
    let (code, message) = err(db, operation, body);
    assert_eq!(code, "ValidationException", "{message}");
    message
}

/// A database with its clock, without threads of its own.
struct Fixture {
    db: Database,
    clock: Arc<ManualClock>,
}

impl Fixture {
    /// New vector indexes take these times to be allocated and filled.
    fn new(allocation: Duration, filling: Duration) -> Self {
        let clock = Arc::new(ManualClock::at_ms(1_794_700_800_000));
        let options = Options {
            clock: Arc::clone(&clock) as Arc<dyn keyloom_engine::Clock>,
            background: false,
            index_allocation_time: allocation,
            index_filling_time: filling,
            ..Options::default()
        };
        Self { db: Database::memory_with(options), clock }
    }
}

/// A vector index over `embedding` with three dimensions.
fn index(name: &str, distance: &str, search: Value) -> Value {
    let mut index = json!({
        "IndexName": name,
        "VectorAttribute": {"AttributeName": "embedding"},
        "Dimensions": 3,
        "DistanceFunction": distance,
        "Projection": {"ProjectionType": "ALL"},
    });
    if search.as_array().is_some_and(|elements| !elements.is_empty()) {
        index["SearchSchema"] = search;
    }
    index
}

/// `tenant` partitions, `category` filters.
fn search_schema() -> Value {
    json!([
        {"AttributeName": "tenant", "SearchSchemaElementType": "HASH"},
        {"AttributeName": "category", "SearchSchemaElementType": "INLINE_FILTER"},
    ])
}

/// An on-demand table with the key `pk` and these vector indexes.
fn table(name: &str, attributes: &[&str], indexes: Value) -> Value {
    let definition = |name: &&str| json!({"AttributeName": name, "AttributeType": "S"});
    let mut body = json!({
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": attributes.iter().map(definition).collect::<Vec<_>>(),
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    });
    if !indexes.is_null() {
        body["VectorIndexes"] = indexes;
    }
    body
}

/// A table `docs` with the indexes `plain` and `schema`.
fn documents() -> Database {
    let db = Database::memory();
    create_documents(&db);
    db
}

fn create_documents(db: &Database) {
    let indexes =
        json!([index("plain", "COSINE", json!([])), index("schema", "COSINE", search_schema())]);
    ok(db, "CreateTable", table("docs", &["pk", "tenant", "category"], indexes));
}

/// A vector as the wire has it.
fn vector(floats: &[f32]) -> Value {
    floats.iter().map(|float| json!({"N": format!("{float}")})).collect()
}

fn item(pk: &str, floats: &[f32], more: Value) -> Value {
    let mut item = json!({"pk": {"S": pk}, "embedding": {"L": vector(floats)}});
    for (name, value) in more.as_object().unwrap() {
        item[name] = json!({"S": value});
    }
    item
}

fn put(db: &Database, item: Value) -> Value {
    ok(
        db,
        "PutItem",
        json!({"TableName": "docs", "Item": item, "ReturnConsumedCapacity": "INDEXES"}),
    )
}

/// A search of `docs`, with further members.
fn search(index: &str, floats: &[f32], top_k: i64, more: Value) -> Value {
    let mut body = json!({
        "TableName": "docs",
        "IndexName": index,
        "SearchVector": vector(floats),
        "TopK": top_k,
    });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// The keys that a search finds, with their scores.
fn found(reply: &Value) -> Vec<(&str, f64)> {
    let results = reply["SearchResults"].as_array().unwrap();
    results
        .iter()
        .map(|r| (r["Item"]["pk"]["S"].as_str().unwrap(), r["Score"].as_f64().unwrap()))
        .collect()
}

fn keys(reply: &Value) -> Vec<&str> {
    found(reply).into_iter().map(|(key, _)| key).collect()
}
