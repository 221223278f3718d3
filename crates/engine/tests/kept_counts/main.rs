//! Counts that outlive a database: noted when it is closed, taken when it is opened, and never wrong.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

#[path = "../support/calls.rs"]
mod calls;
mod crashes;
mod looked_at;
mod meanwhile;
mod notes;
mod unread;
mod walks;

use std::path::Path;
use std::sync::Arc;

use keyloom_engine::{COUNTS_KEY as NOTE, Database, DiskOptions, Durability, Options};
use keyloom_store::{DiskStore, MemoryStore, Store};
use serde_json::{Value, json};

use calls::{call, ok};
use looked_at::{Condition, Look, LookedAt};

/// A database that does nothing by itself.
fn open(store: &Arc<impl Store + 'static>) -> Database {
    let options = Options { background: false, ..Options::default() };
    Database::on(Arc::clone(store) as Arc<dyn Store>, options).unwrap()
}

/// The same with threads.
fn open_with_threads(store: &Arc<impl Store + 'static>) -> Database {
    Database::on(Arc::clone(store) as Arc<dyn Store>, Options::default()).unwrap()
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

/// The table with some items.
fn fill(database: &Database) {
    create_table(database);
    (0..40).for_each(|number| put(database, number, number));
    (0..40).step_by(7).for_each(|number| delete(database, number));
}

fn put(database: &Database, number: u32, shape: u32) {
    ok(database, "PutItem", json!({"TableName": "notes", "Item": item(number, shape)}));
}

fn delete(database: &Database, number: u32) {
    let item = item(number, 0);
    let key = json!({"pk": item["pk"], "sk": item["sk"]});
    ok(database, "DeleteItem", json!({"TableName": "notes", "Key": key}));
}

/// Items and bytes of the table and of each of its indexes, by name.
fn counts(database: &Database) -> Vec<(String, u64, u64)> {
    described(&ok(database, "DescribeTable", json!({"TableName": "notes"}))["Table"])
}

/// The same, from a description of the table.
fn described(table: &Value) -> Vec<(String, u64, u64)> {
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

/// A store in memory that a database has been closed on, and its counts.
fn closed() -> (MemoryStore, Vec<(String, u64, u64)>) {
    let store = Arc::new(MemoryStore::new());
    let database = open(&store);
    fill(&database);
    let counts = counts(&database);
    drop(database);
    (store.fork(), counts)
}

fn on_disk(path: &Path, durability: Durability) -> Arc<LookedAt<DiskStore>> {
    let options = DiskOptions { durability, ..DiskOptions::default() };
    let (store, _) = DiskStore::open(path, options).unwrap();
    Arc::new(Look::at(store, Condition::Whole))
}

/// Writes to a store as a build would that knows of no notes.
fn write_beneath(store: &dyn Store, key: &[u8], value: Option<&[u8]>) {
    let mut transaction = store.begin(&[key]).unwrap();
    match value {
        Some(value) => transaction.put(key.to_vec().into(), value.to_vec().into()),
        None => transaction.delete(key.to_vec().into()),
    }
    transaction.commit().unwrap();
}

/// What a crash at this moment would leave of a store on disk.
fn copied(path: &Path) -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let to = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                std::fs::create_dir(&to).unwrap();
                copy(&entry.path(), &to);
            } else {
                std::fs::copy(entry.path(), to).unwrap();
            }
        }
    }
    let copied = tempfile::tempdir().unwrap();
    copy(path, copied.path());
    copied
}
