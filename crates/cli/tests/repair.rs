//! `keyloom repair`: whatever happens to the files of a database, what is saved fits together, and what is
//! lost is said.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use keyloom_engine::{Database, DiskOptions, Options, repair, verify};
use keyloom_store::DiskStore;
use serde_json::{Value, json};

const TABLE: &str = r#"{
    "TableName": "orders",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "by", "AttributeType": "S"},
        {"AttributeName": "at", "AttributeType": "N"}
    ],
    "KeySchema": [
        {"AttributeName": "by", "KeyType": "HASH"},
        {"AttributeName": "id", "KeyType": "RANGE"}
    ],
    "LocalSecondaryIndexes": [{
        "IndexName": "by-time",
        "KeySchema": [
            {"AttributeName": "by", "KeyType": "HASH"},
            {"AttributeName": "at", "KeyType": "RANGE"}
        ],
        "Projection": {"ProjectionType": "ALL"}
    }],
    "GlobalSecondaryIndexes": [{
        "IndexName": "by-id",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"}
    }]
}"#;

fn call(database: &Database, operation: &str, body: &str) -> Value {
    let reply = database.call(&format!("DynamoDB_20120810.{operation}"), body.as_bytes());
    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
    serde_json::from_slice(&reply.body).unwrap()
}

/// A closed database with several tables of the store, and with records in its log.
fn filled(directory: &Path) {
    let options = DiskOptions { memtable_bytes: 60_000, ..DiskOptions::default() };
    let (store, _) = DiskStore::open(directory, options).unwrap();
    let database = Database::on(Arc::new(store), Options::default()).unwrap();
    call(&database, "CreateTable", TABLE);
    for number in 0..240 {
        let item = json!({
            "id": {"S": format!("order-{:03}", number % 150)},
            "by": {"S": format!("customer-{}", number % 7)},
            "at": {"N": number.to_string()},
            "text": {"S": format!("{number} ").repeat(60)},
        });
        call(&database, "PutItem", &json!({"TableName": "orders", "Item": item}).to_string());
    }
}

fn all_files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(all_files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in all_files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
}

fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    all_files(path).into_iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

fn keyloom(from: &Path, to: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyloom"))
        .arg("repair")
        .arg(from)
        .arg("--to")
        .arg(to)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn whatever_file_is_damaged_indexes_match_their_tables_afterwards() {
    let home = tempfile::tempdir().unwrap();
    let (original, damaged, saved) =
        (home.path().join("data"), home.path().join("damaged"), home.path().join("saved"));
    filled(&original);
    let files = all_files(&original);
    assert!(files.iter().filter(|file| file.starts_with(original.join("tree/tables"))).count() > 1);
    for file in files {
        let inside = file.strip_prefix(&original).unwrap();
        let length = fs::metadata(&file).unwrap().len() as usize;
        for what in ["removed", "flipped", "cut"] {
            copy(&original, &damaged);
            let victim = damaged.join(inside);
            let mut bytes = fs::read(&victim).unwrap();
            match what {
                "removed" => fs::remove_file(&victim).unwrap(),
                "flipped" if length > 0 => {
                    bytes[length / 3] ^= 1;
                    fs::write(&victim, bytes).unwrap();
                }
                _ => fs::write(&victim, &bytes[..length / 2]).unwrap(),
            }
            let before = contents(&damaged);
            let outcome = repair::directory(&damaged, &saved)
                .unwrap_or_else(|error| panic!("{} {what}: {error}", inside.display()));
            assert_eq!(contents(&damaged), before, "{} {what}", inside.display());
            let report = verify::directory(&saved, DiskOptions::default()).unwrap();
            assert!(report.is_clean(), "{} {what}: {:?}", inside.display(), report.findings);
            let database = Database::open(&saved).unwrap();
            let tables = call(&database, "ListTables", "{}");
            let all_there = tables["TableNames"] == json!(["orders"]) && {
                let scanned = call(&database, "Scan", r#"{"TableName":"orders","Limit":1000}"#);
                let described = call(&database, "DescribeTable", r#"{"TableName":"orders"}"#);
                assert_eq!(described["Table"]["ItemCount"], scanned["Count"], "counted anew");
                scanned["Count"] == json!(240)
            };
            assert!(
                all_there || !outcome.is_complete(),
                "{} {what}: something is missing, and nothing is said",
                inside.display()
            );
            drop(database);
            fs::remove_dir_all(&damaged).unwrap();
            fs::remove_dir_all(&saved).unwrap();
        }
    }
}

#[test]
fn the_command_says_what_is_lost_and_its_code_tells_whether() {
    let home = tempfile::tempdir().unwrap();
    let (data, saved) = (home.path().join("data"), home.path().join("saved"));
    filled(&data);
    let output = keyloom(&data, &saved);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("nothing is lost"), "{}", text(&output.stdout));
    let output = keyloom(&data, &saved);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("empty or missing"), "{}", text(&output.stderr));
    fs::remove_dir_all(&saved).unwrap();
    // A block in the middle of the largest table.
    let tables = all_files(&data.join("tree/tables"));
    let largest = tables.iter().max_by_key(|file| fs::metadata(file).unwrap().len()).unwrap();
    let mut bytes = fs::read(largest).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 1;
    fs::write(largest, bytes).unwrap();
    let output = keyloom(&data, &saved);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    assert!(said.contains(&format!("lost {}: ", largest.display())), "{said}");
    let names_keys = said.contains(r#"orders: {""#) && said.contains(r#""by":{"S":"customer-"#);
    assert!(names_keys && said.contains("may be back"), "{said}");
    assert!(said.contains("indexes made anew"), "{said}");
    let output = keyloom(&home.path().join("nothing"), &home.path().join("x"));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("nothing"), "{}", text(&output.stderr));
}

#[test]
fn a_table_of_another_database_is_doubtful_and_the_code_says_so() {
    let home = tempfile::tempdir().unwrap();
    let [data, other, saved] = ["data", "other", "saved"].map(|name| home.path().join(name));
    filled(&data);
    filled(&other);
    let table = all_files(&data.join("tree/tables")).remove(0);
    fs::copy(all_files(&other.join("tree/tables")).remove(0), &table).unwrap();
    let output = keyloom(&data, &saved);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    assert!(said.contains(&format!("doubtful {} ", table.display())), "{said}");
    assert!(!said.contains("nothing is lost\n"), "{said}");
}
