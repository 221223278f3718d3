//! Verification: a sound database is found sound, also while it is written to, and every kind of planted
//! damage is found.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

#[path = "../support/calls.rs"]
mod calls;
mod in_use;
mod planted;
mod sound;

use std::sync::Arc;

use keyloom_engine::{Database, ManualClock, Options};
use keyloom_store::{Bytes, Direction, KeyRange, MemoryStore, Store};
use serde_json::{Value, json};

use calls::ok;

/// A moment in November 2026.
const START_MS: u64 = 1_794_700_800_000;

/// The keyspaces of [`fill`]'s database.
const TABLE: u32 = 1;
const STREAM: u32 = 2;
const BY_G: u32 = 4;
const BY_L: u32 = 3;
const NEAR: u32 = 5;
const PLAIN: u32 = 6;
const BACKUP: u32 = 8;

fn open(store: &Arc<impl Store + 'static>) -> Database {
    let options = Options {
        clock: Arc::new(ManualClock::at_ms(START_MS)),
        background: false,
        ..Options::default()
    };
    Database::on(Arc::clone(store) as Arc<dyn Store>, options).unwrap()
}

fn item(number: u32, shape: u32) -> Value {
    let mut item = json!({
        "pk": {"S": format!("p{}", number % 3)},
        "sk": {"N": number.to_string()},
        "shape": {"N": shape.to_string()},
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

fn put(db: &Database, table: &str, number: u32, shape: u32) {
    ok(db, "PutItem", json!({"TableName": table, "Item": item(number, shape)}));
}

fn remove(db: &Database, table: &str, number: u32) {
    let item = item(number, 0);
    let key = json!({"pk": item["pk"], "sk": item["sk"]});
    ok(db, "DeleteItem", json!({"TableName": table, "Key": key}));
}

fn keys(hash: &str, range: &str) -> Value {
    json!([
        {"AttributeName": hash, "KeyType": "HASH"},
        {"AttributeName": range, "KeyType": "RANGE"},
    ])
}

/// A table with an index of each kind and a stream.
fn create_indexed(db: &Database, name: &str) {
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    let table = json!({
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions":
            [attribute("pk", "S"), attribute("sk", "N"), attribute("g", "S"), attribute("l", "S")],
        "KeySchema": keys("pk", "sk"),
        "GlobalSecondaryIndexes": [{
            "IndexName": "by-g", "KeySchema": keys("g", "sk"),
            "Projection": {"ProjectionType": "ALL"},
        }],
        "LocalSecondaryIndexes": [{
            "IndexName": "by-l", "KeySchema": keys("pk", "l"),
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
        "VectorIndexes": [{
            "IndexName": "near",
            "VectorAttribute": {"AttributeName": "v"},
            "Dimensions": 2,
            "DistanceFunction": "COSINE",
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    });
    ok(db, "CreateTable", &table);
}

/// A table with nothing but items.
fn create_plain(db: &Database, name: &str) {
    let table = json!({
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
        "KeySchema": keys("pk", "sk"),
    });
    ok(db, "CreateTable", &table);
}

/// Some of everything: tables, indexes, a stream with a history, a backup, a token, a policy.
fn fill(db: &Database) {
    create_indexed(db, "music");
    (0..60).for_each(|number| put(db, "music", number, number));
    db.split_stream_shards("music").unwrap();
    (0..60).step_by(3).for_each(|number| put(db, "music", number, number + 1));
    (0..60).step_by(7).for_each(|number| remove(db, "music", number));
    (0..60).step_by(14).for_each(|number| put(db, "music", number, 7));
    create_plain(db, "plain");
    let puts: Vec<_> =
        (0..20).map(|n| json!({"Put": {"TableName": "plain", "Item": item(n, 0)}})).collect();
    let transaction = json!({"TransactItems": puts, "ClientRequestToken": "token"});
    ok(db, "TransactWriteItems", &transaction);
    ok(db, "CreateBackup", json!({"TableName": "music", "BackupName": "copy"}));
    db.run_maintenance().unwrap();
}

/// A store with all that, and the database on it.
fn filled() -> (Arc<MemoryStore>, Database) {
    let store = Arc::new(MemoryStore::new());
    let db = open(&store);
    fill(&db);
    (store, db)
}

/// The beginning of a keyspace's entries, or of its stream records.
fn prefix(tag: u8, keyspace: u32) -> Vec<u8> {
    [&[tag][..], &keyspace.to_be_bytes()].concat()
}

/// All entries whose keys begin like this.
fn entries(store: &dyn Store, prefix: &[u8]) -> Vec<(Bytes, Bytes)> {
    let snapshot = store.snapshot().unwrap();
    let entries = snapshot.scan(KeyRange::prefix(prefix), Direction::Forward);
    entries.map(|entry| entry.map(|(key, value)| (key.into_bytes(), value)).unwrap()).collect()
}

/// Writes beneath the database.
fn write(store: &dyn Store, key: impl Into<Bytes>, value: Option<Bytes>) {
    let mut transaction = store.begin(&[]).unwrap();
    match value {
        Some(value) => transaction.put(key.into(), value),
        None => transaction.delete(key.into()),
    }
    transaction.commit().unwrap();
}
