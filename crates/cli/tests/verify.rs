//! `keyloom verify`, of a directory and of a running server, as people run it.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "shared/process.rs"]
mod process;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use keyloom_engine::Database;
use keyloom_store::{DiskOptions, DiskStore, Store as _};
use serde_json::{Value, json};

use process::ServerProcess;

const TABLE: &str = r#"{
    "TableName": "orders",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "by", "AttributeType": "S"}
    ],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [{
        "IndexName": "by-customer",
        "KeySchema": [{"AttributeName": "by", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"}
    }]
}"#;

/// A closed database with ten orders.
fn filled(directory: &Path) {
    let db = Database::open(directory).unwrap();
    let call = |operation: &str, body: &str| {
        let reply = db.call(&format!("DynamoDB_20120810.{operation}"), body.as_bytes());
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
    };
    call("CreateTable", TABLE);
    for number in 0..10 {
        let item = json!({"id": {"S": format!("order-{number}")}, "by": {"S": "ann"}});
        call("PutItem", &json!({"TableName": "orders", "Item": item}).to_string());
    }
}

fn verify(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
    command.arg("verify").args(arguments).env_remove("KEYLOOM_ACCESS_KEY");
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Every file with its size and the time of its last change.
fn files(directory: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.metadata().unwrap();
        found.push((path.clone(), metadata.len(), metadata.modified().unwrap()));
        if metadata.is_dir() {
            found.extend(files(&path));
        }
    }
    found.sort();
    found
}

#[test]
fn a_sound_directory_is_left_as_it_is_and_ends_with_0() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    filled(directory.path());
    let before = files(directory.path());
    let answer = verify(&[path]);
    let said = text(&answer.stdout);
    assert_eq!(answer.status.code(), Some(0), "{said}{}", text(&answer.stderr));
    for line in
        ["1 table with 10 items, 1 index with 10 entries", "2 counts compared", "✓ all is well"]
    {
        assert!(said.contains(line), "{said}");
    }
    let answer = verify(&[path, "--format", "json"]);
    let report: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!((report["found"].clone(), &report["totals"]["items"]), (json!({}), &json!(10)));
    assert_eq!(files(directory.path()), before, "nothing was written");
}

#[test]
fn what_is_wrong_is_listed_and_ends_with_1() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path());
    let (store, _) = DiskStore::open(directory.path(), DiskOptions::default()).unwrap();
    let snapshot = store.snapshot().unwrap();
    let index = keyloom_store::KeyRange::prefix(&[0x10, 0, 0, 0, 3]);
    let entry = snapshot.scan(index, keyloom_store::Direction::Forward).nth(4).unwrap().unwrap();
    let mut transaction = store.begin(&[]).unwrap();
    transaction.delete(entry.0.into_bytes());
    transaction.commit().unwrap();
    drop((snapshot, store));
    let path = directory.path().to_str().unwrap();
    let answer = verify(&[path]);
    let said = text(&answer.stdout);
    assert_eq!(answer.status.code(), Some(1), "{said}{}", text(&answer.stderr));
    assert!(said.contains("missing-entry, table orders, index by-customer, key"), "{said}");
    assert!(said.contains(r#""id":{"S":"order-4"}"#), "{said}");
    assert!(said.contains("1 finding: 1 missing-entry"), "{said}");
    let answer = verify(&[path, "--format", "json"]);
    assert_eq!(answer.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(report["findings"][0]["index"], "by-customer");
}

#[test]
fn damage_that_keeps_the_store_from_opening_is_a_finding() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path());
    let log = directory.path().join("log");
    let segment = fs::read_dir(&log).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes[20] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let answer = verify(&[directory.path().to_str().unwrap()]);
    let said = text(&answer.stdout);
    assert_eq!(answer.status.code(), Some(1), "{said}{}", text(&answer.stderr));
    assert!(said.contains("damage: ") && said.contains(".log is damaged"), "{said}");
}

#[test]
fn what_cannot_be_verified_ends_with_2() {
    let directory = tempfile::tempdir().unwrap();
    let answer = verify(&["/no/such/directory"]);
    assert_eq!(answer.status.code(), Some(2));
    assert!(text(&answer.stderr).contains("there is no such directory"));
    let open = Database::open(directory.path()).unwrap();
    let answer = verify(&[directory.path().to_str().unwrap()]);
    assert_eq!(answer.status.code(), Some(2), "{}", text(&answer.stdout));
    assert!(text(&answer.stderr).contains("open in another process"), "{}", text(&answer.stderr));
    drop(open);
    let answer = verify(&["--online", "http://127.0.0.1:9"]);
    assert_eq!(answer.status.code(), Some(2));
    assert!(text(&answer.stderr).contains("does not answer"));
}

#[test]
fn a_running_server_is_verified_by_who_may_read_it() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path());
    let data = directory.path().to_str().unwrap();
    let server = ServerProcess::start(&["--data", data]);
    let answer = verify(&["--online", &server.url]);
    let said = text(&answer.stdout);
    assert_eq!(answer.status.code(), Some(0), "{said}{}", text(&answer.stderr));
    assert!(said.contains("1 table with 10 items, 1 index with 10 entries"), "{said}");
    drop(server);

    let keys = ["--access-key", "key", "--secret-key", "a secret that is long enough"];
    let server = ServerProcess::start(&[&["--data", data][..], &keys].concat());
    let answer = verify(&["--online", &server.url]);
    assert_eq!(answer.status.code(), Some(2));
    assert!(text(&answer.stderr).contains("refuses (status 4"), "{}", text(&answer.stderr));
    let answer = verify(&[&["--online", &server.url][..], &keys].concat());
    assert_eq!(answer.status.code(), Some(0), "{}", text(&answer.stderr));
}
