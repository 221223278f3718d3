//! A table as its stream tells it.

use std::collections::BTreeMap;

use keyloom_engine::Database;
use serde_json::{Value, json};

use crate::lockstep::succeed;

/// What a stream says of its table.
#[derive(Debug, Default)]
pub struct Replayed {
    /// The items, by their keys as text.
    pub items: BTreeMap<String, Value>,
    /// How many records there were.
    pub records: usize,
}

/// Reads the stream of a table from its beginning, which must show old and new images, and makes
/// every change. Panics at a record that does not fit what the records before it made.
pub fn replay(database: &Database, table: &str) -> Replayed {
    let described = succeed(database, "DescribeTable", &json!({"TableName": table}));
    let Some(arn) = described.pointer("/Table/LatestStreamArn") else {
        panic!("{table} has no stream: {described}");
    };
    let mut replayed = Replayed::default();
    for shard in shards(database, arn) {
        for record in records(database, arn, &shard) {
            replayed.apply(&record);
        }
    }
    replayed
}

/// All shards, parents before their children.
fn shards(database: &Database, arn: &Value) -> Vec<Value> {
    let mut shards: Vec<Value> = Vec::new();
    let mut body = json!({"StreamArn": arn, "Limit": 3});
    loop {
        let page = succeed(database, "DescribeStream", &body);
        let found = page.pointer("/StreamDescription/Shards").and_then(Value::as_array);
        shards.extend(found.into_iter().flatten().cloned());
        match page.pointer("/StreamDescription/LastEvaluatedShardId") {
            Some(last) => body = json!({"StreamArn": arn, "ExclusiveStartShardId": last}),
            None => break,
        }
    }
    let mut ordered: Vec<Value> = Vec::new();
    while !shards.is_empty() {
        let is_waiting = |shard: &Value| {
            let parent = shard.get("ParentShardId");
            parent.is_some_and(|parent| shards.iter().any(|other| id(other) == parent))
        };
        let Some(next) = shards.iter().position(|shard| !is_waiting(shard)) else {
            panic!("shards are each other's parents: {shards:?}");
        };
        ordered.push(shards.remove(next));
    }
    ordered
}

fn id(shard: &Value) -> &Value {
    shard.get("ShardId").unwrap_or(&Value::Null)
}

fn records(database: &Database, arn: &Value, shard: &Value) -> Vec<Value> {
    let body = json!({"StreamArn": arn, "ShardId": id(shard), "ShardIteratorType": "TRIM_HORIZON"});
    let first = succeed(database, "GetShardIterator", &body);
    let mut iterator = first.get("ShardIterator").cloned();
    let mut records = Vec::new();
    while let Some(next) = iterator {
        let page = succeed(database, "GetRecords", &json!({"ShardIterator": next, "Limit": 70}));
        let found = page.get("Records").and_then(Value::as_array).cloned().unwrap_or_default();
        iterator = page.get("NextShardIterator").filter(|_| !found.is_empty()).cloned();
        records.extend(found);
    }
    records
}

impl Replayed {
    fn apply(&mut self, record: &Value) {
        self.records += 1;
        let part = |name: &str| record.pointer(&format!("/dynamodb/{name}")).cloned();
        let (old, new) = (part("OldImage"), part("NewImage"));
        let key = part("Keys").unwrap_or_default().to_string();
        assert_eq!(self.items.get(&key), old.as_ref(), "not what was there before: {record}");
        assert_ne!(old, new, "nothing has changed: {record}");
        let event = match (&old, &new) {
            (None, Some(_)) => "INSERT",
            (Some(_), Some(_)) => "MODIFY",
            _ => "REMOVE",
        };
        assert_eq!(record.get("eventName"), Some(&event.into()), "{record}");
        match new {
            Some(item) => self.items.insert(key, item),
            None => self.items.remove(&key),
        };
    }
}
