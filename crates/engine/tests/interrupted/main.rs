//! Everything that goes on after its answer, interrupted at every point: what was acknowledged is there
//! after a kill and comes to its end, and nothing is there by halves.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod backups;
#[path = "../support/calls.rs"]
mod calls;
mod damaged;
mod definitions;
mod full;
mod kills;
mod recorder;
mod settings;
#[path = "../support/tables.rs"]
mod tables;
mod transfers;
mod troubled;
mod unknown;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use keyloom_engine::buckets::Folder;
use keyloom_engine::{Database, ManualClock, Options, verify};
use keyloom_store::{MemoryStore, Store};
use serde_json::{Value, json};

use calls::{call, ok};
use recorder::Recorder;
use tables::table;

/// A moment in November 2026.
const START_MS: u64 = 1_794_700_800_000;

/// Items of the table that the scenarios begin with: more than one chunk of any copy.
const ITEMS: u32 = 300;

/// Set for the long form: a kill after every commit, and after every commit of each recovery.
const EVERY_KILL: &str = "KEYLOOM_EVERY_KILL";

/// After which of so many commits there is a kill: all of few; of many, the first and the last ones, and
/// some between them.
fn chosen(count: usize, some: usize) -> impl Fn(usize) -> bool {
    let is_every = std::env::var_os(EVERY_KILL).is_some();
    move |number| {
        is_every || number < some || number + some > count || number % (1 + count / some) == 0
    }
}

fn options(bucket_root: Option<PathBuf>) -> Options {
    Options {
        clock: Arc::new(ManualClock::at_ms(START_MS)),
        background: false,
        buckets: bucket_root.map(|root| Arc::new(Folder::new(root)) as _),
        ..Options::default()
    }
}

fn open(store: &Arc<impl Store + 'static>, buckets: Option<PathBuf>) -> Database {
    Database::on(Arc::clone(store) as Arc<dyn Store>, options(buckets)).unwrap()
}

/// The description of a table, if there is one.
fn described(db: &Database, table: &str) -> Option<Value> {
    let (status, reply) = call(db, "DescribeTable", &json!({"TableName": table}));
    (status == 200).then(|| reply["Table"].clone())
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

fn item(number: u32) -> Value {
    json!({
        "pk": {"S": format!("p{}", number % 7)},
        "sk": {"N": number.to_string()},
        "g": {"S": format!("g{}", number % 3)},
        "v": {"L": [{"N": number.to_string()}, {"N": "1"}]},
        "dies": {"N": (START_MS / 1000 - 10).to_string()},
    })
}

fn put(db: &Database, table: &str, number: u32) {
    ok(db, "PutItem", json!({"TableName": table, "Item": item(number)}));
}

fn remove(db: &Database, table: &str, number: u32) {
    let item = item(number);
    let key = json!({"pk": item["pk"], "sk": item["sk"]});
    ok(db, "DeleteItem", json!({"TableName": table, "Key": key}));
}

/// The members of a table with a global index, and a stream.
fn indexed() -> Value {
    json!({
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
            {"AttributeName": "g", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexes": [{
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    })
}

/// A store with the table `music` and its items.
fn filled(more: &Value) -> MemoryStore {
    let store = Arc::new(MemoryStore::new());
    let db = open(&store, None);
    ok(&db, "CreateTable", table("music", more));
    for chunk in (0..ITEMS).collect::<Vec<_>>().chunks(25) {
        let puts: Vec<_> =
            chunk.iter().map(|n| json!({"PutRequest": {"Item": item(*n)}})).collect();
        ok(&db, "BatchWriteItem", json!({"RequestItems": {"music": puts}}));
    }
    set_recovery(&db, true);
    drop(db);
    store.fork()
}

/// The same without point-in-time recovery: it leaves nothing when it is deleted.
fn filled_without_recovery(more: &Value) -> MemoryStore {
    let store = Arc::new(filled(more));
    let db = open(&store, None);
    set_recovery(&db, false);
    db.run_maintenance().unwrap();
    drop(db);
    store.fork()
}

fn set_recovery(db: &Database, is_on: bool) {
    ok(
        db,
        "UpdateContinuousBackups",
        json!({
            "TableName": "music",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": is_on},
        }),
    );
}

/// What an operation left behind: the part of its answer that names it, or nothing if it was refused.
type Acknowledged = Option<Value>;

/// An operation and what must hold however it was interrupted.
struct Scenario<Act, Check> {
    before: MemoryStore,
    buckets: Option<PathBuf>,
    /// Runs the operation; may go on with others.
    act: Act,
    /// Judges a database that was opened after a kill and has done what it had to do; what was
    /// acknowledged before the kill.
    check: Check,
}

impl<Act, Check> Scenario<Act, Check>
where
    Act: Fn(&Database) -> Value,
    Check: Fn(&Database, Acknowledged),
{
    /// Kills the database after every commit of the operation and what follows it, and again after
    /// every commit of its recovery.
    fn run(&self) {
        let (kills, acknowledged) = self.record();
        assert!(kills.len() > 1, "nothing was recorded");
        let is_chosen = chosen(kills.len(), 4);
        for (number, left) in kills.iter().enumerate().filter(|(number, _)| is_chosen(*number)) {
            let acknowledged = acknowledged.clone().filter(|(from, _)| number + 1 >= *from);
            let acknowledged = acknowledged.map(|(_, answer)| answer);
            let recovery = Arc::new(Recorder::new(left.fork()));
            let db = self.recover(&recovery);
            let again = recovery.kills();
            (self.check)(&db, acknowledged.clone());
            let is_chosen = chosen(again.len(), 2);
            for (_, left) in again.iter().enumerate().filter(|(number, _)| is_chosen(*number)) {
                (self.check)(&self.recover(&Arc::new(left.fork())), acknowledged.clone());
            }
        }
    }

    /// What is left after each commit, and from which one on the operation was acknowledged.
    fn record(&self) -> (Vec<MemoryStore>, Option<(usize, Value)>) {
        let recorder = Arc::new(Recorder::new(self.before.fork()));
        let db = open(&recorder, self.buckets.clone());
        let answer = (self.act)(&db);
        let acknowledged = recorder.kills().len();
        db.run_maintenance().unwrap();
        drop(db);
        (recorder.kills(), Some((acknowledged, answer)))
    }

    /// Opens what a kill has left, and lets it do what it has to do.
    fn recover(&self, store: &Arc<impl Store + 'static>) -> Database {
        let db = open(store, self.buckets.clone());
        db.run_maintenance().unwrap();
        nothing_is_under_way(&db);
        let report = verify::store(store.as_ref()).unwrap();
        assert!(report.is_clean(), "{report:?}");
        db
    }
}

/// Nothing waits for an end that never comes.
fn nothing_is_under_way(db: &Database) {
    for name in ok(db, "ListTables", json!({}))["TableNames"].as_array().unwrap() {
        let table = described(db, name.as_str().unwrap()).unwrap();
        assert_eq!(table["TableStatus"], "ACTIVE", "{table}");
        for kind in ["GlobalSecondaryIndexes", "VectorIndexes"] {
            for index in table[kind].as_array().into_iter().flatten() {
                assert_eq!(index["IndexStatus"], "ACTIVE", "{table}");
            }
        }
    }
    for backup in ok(db, "ListBackups", json!({}))["BackupSummaries"].as_array().unwrap() {
        assert_eq!(backup["BackupStatus"], "AVAILABLE", "{backup}");
    }
    for (operation, list, status) in [
        ("ListExports", "ExportSummaries", "ExportStatus"),
        ("ListImports", "ImportSummaryList", "ImportStatus"),
        ("ListBulkOperations", "BulkOperationsSummaryList", "BulkOperationStatus"),
    ] {
        for transfer in ok(db, operation, json!({}))[list].as_array().unwrap() {
            assert_ne!(transfer[status], "IN_PROGRESS", "{transfer}");
        }
    }
    assert_eq!(db.background_failures(), []);
}

/// Waits until something is so.
#[track_caller]
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} never happens");
}
