//! The control plane and the streams, through the wire door.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod backfill;
mod backups;
#[path = "../support/calls.rs"]
mod calls;
mod every_operation;
mod recovery;
#[path = "../support/refusals.rs"]
mod refusals;
mod restart;
mod settings;
mod streams;
#[path = "../support/tables.rs"]
mod tables;
mod tags;
mod time_to_live;
#[cfg(feature = "transfers")]
mod transfers;
mod update_table;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use keyloom_engine::buckets::Folder;
use keyloom_engine::{Database, ManualClock, Options};
use serde_json::{Value, json};

use calls::{call, ok};
use refusals::err;
use tables::table;

/// A moment in November 2026.
const START_MS: u64 = 1_794_700_800_000;

/// A directory of its own, removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("keyloom-control-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A database with its clock, without threads of its own.
struct Fixture {
    db: Database,
    clock: Arc<ManualClock>,
}

impl Fixture {
    fn new() -> Self {
        Self::with_buckets(None)
    }

    fn with_buckets(bucket_root: Option<PathBuf>) -> Self {
        let clock = Arc::new(ManualClock::at_ms(START_MS));
        let options = Options {
            clock: Arc::clone(&clock) as Arc<dyn keyloom_engine::Clock>,
            background: false,
            buckets: bucket_root.map(|root| Arc::new(Folder::new(root)) as _),
            ..Options::default()
        };
        Self { db: Database::memory_with(options), clock }
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Calls an operation that must succeed.
    fn ok(&self, operation: &str, body: Value) -> Value {
        ok(&self.db, operation, body)
    }

    /// Calls an operation that must fail; gives the code and the message.
    fn err(&self, operation: &str, body: Value) -> (String, String) {
        err(&self.db, operation, body)
    }

    fn tidy(&self) {
        self.db.run_maintenance().unwrap();
    }
}

/// UpdateTable's body for a new index on the string attribute `g`.
fn create_index(table: &str, index: &str) -> Value {
    json!({
        "TableName": table,
        "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": index,
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }}],
    })
}

fn describe(db: &Database, table: &str) -> Value {
    ok(db, "DescribeTable", json!({"TableName": table}))["Table"].clone()
}

/// All items of a table or an index, in a comparable order.
fn everything(db: &Database, table: &str, index: Option<&str>) -> Vec<String> {
    let mut items = Vec::new();
    let mut body = json!({"TableName": table});
    if let Some(index) = index {
        body["IndexName"] = index.into();
    }
    loop {
        let page = ok(db, "Scan", body.clone());
        items.extend(page["Items"].as_array().unwrap().iter().map(ToString::to_string));
        match page.get("LastEvaluatedKey") {
            Some(key) => body["ExclusiveStartKey"] = key.clone(),
            None => break,
        }
    }
    items.sort();
    items
}
