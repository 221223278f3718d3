//! A process that changes tables is killed at random moments, over and over, on the same directory: what
//! it was told is there afterwards, and comes to its end.
//!
//! `KEYLOOM_CONTROL_KILLS` sets the number of kills (default 8). The long form: `scripts/long control`.

use std::collections::BTreeMap;
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use keyloom_engine::buckets::Folder;
use keyloom_engine::{Database, DiskOptions, Options, verify};
use keyloom_store::ReadOnlyStore;
use serde_json::{Value, json};

use crate::{call, described, eventually, everything, indexed, item, ok, table};

const DIRECTORY: &str = "KEYLOOM_CONTROL_DIRECTORY";

/// Items of the table that is copied.
const ITEMS: u32 = 400;

fn open(directory: &Path) -> Database {
    let options = Options {
        buckets: Some(Arc::new(Folder::new(directory.join("buckets")))),
        maintenance_interval: Duration::from_millis(20),
        ..Options::default()
    };
    // Small buffers: tables are written and merged all the time.
    let disk = DiskOptions { memtable_bytes: 500_000, ..DiskOptions::default() };
    Database::open_with(directory.join("data"), disk, options).unwrap()
}

/// Says what was acknowledged, once it was.
fn acknowledge(what: &str, name: &str) {
    std::io::stdout().write_all(format!("\nack {what} {name}\n").as_bytes()).unwrap();
}

/// The process that is killed: it begins everything that goes on after its answer.
#[test]
#[ignore = "run by the test below in a process of its own"]
fn changing_process() {
    let Some(directory) = env::var_os(DIRECTORY) else { return };
    let db = open(Path::new(&directory));
    let life = std::process::id();
    for turn in 0.. {
        begin(&db, &format!("{life}-{turn}"), turn);
    }
}

fn begin(db: &Database, name: &str, turn: u32) {
    match turn % 6 {
        0 => {
            let body = json!({"TableName": "music", "BackupName": name});
            let answer = ok(db, "CreateBackup", body);
            acknowledge("backup", answer["BackupDetails"]["BackupArn"].as_str().unwrap());
        }
        1 => {
            let body = json!({
                "SourceTableName": "music",
                "TargetTableName": format!("r-{name}"),
                "UseLatestRestorableTime": true,
            });
            ok(db, "RestoreTableToPointInTime", body);
            acknowledge("restore", &format!("r-{name}"));
        }
        2 => {
            let import = json!({
                "S3BucketSource": {"S3Bucket": "bucket"},
                "InputFormat": "DYNAMODB_JSON",
                "TableCreationParameters": table(&format!("i-{name}"), json!({})),
            });
            let answer = ok(db, "ImportTable", import);
            let arn = answer["ImportTableDescription"]["ImportArn"].as_str().unwrap();
            acknowledge("import", arn);
        }
        3 => {
            ok(db, "CreateTable", table(&format!("t-{name}"), json!({})));
            acknowledge("table", &format!("t-{name}"));
            let update = json!({
                "TableName": format!("t-{name}"),
                "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}],
                "GlobalSecondaryIndexUpdates": [{"Create": {
                    "IndexName": "by-g",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }}],
            });
            (0..10).for_each(|number| crate::put(db, &format!("t-{name}"), number));
            ok(db, "UpdateTable", update);
            acknowledge("index", &format!("t-{name}"));
        }
        4 => {
            // Whatever has come to its end goes, so that the store does not grow.
            for name in ok(db, "ListTables", json!({}))["TableNames"].as_array().unwrap() {
                let name = name.as_str().unwrap();
                if name != "music" && is_active(db, name) {
                    acknowledge("ending", name);
                    ok(db, "DeleteTable", json!({"TableName": name}));
                    acknowledge("deletion", name);
                }
            }
        }
        _ => {
            for backup in ok(db, "ListBackups", json!({}))["BackupSummaries"].as_array().unwrap() {
                let arn = backup["BackupArn"].as_str().unwrap();
                if backup["BackupStatus"] == "AVAILABLE" {
                    acknowledge("ending", arn);
                    ok(db, "DeleteBackup", json!({"BackupArn": arn}));
                    acknowledge("gone", arn);
                }
            }
        }
    }
}

/// What a process was told before it was killed: each thing with the last that was said of it.
fn live_and_die(directory: &Path, life: Duration) -> BTreeMap<String, String> {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "kills::changing_process", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut told = BTreeMap::new();
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some((what, name)) = line.strip_prefix("ack ").and_then(|l| l.split_once(' ')) {
                told.insert(name.to_owned(), what.to_owned());
            }
        }
        told
    });
    thread::sleep(life);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// Everything that was acknowledged is there and at its end, unless its end was acknowledged, too.
fn check(db: &Database, told: &BTreeMap<String, String>) {
    eventually("that everything is at its end", || is_at_rest(db));
    let items = everything(db, "music", None);
    for (name, what) in told {
        match what.as_str() {
            "backup" => {
                let described = ok(db, "DescribeBackup", json!({"BackupArn": name}));
                let described = &described["BackupDescription"];
                assert_eq!(described["BackupDetails"]["BackupStatus"], "AVAILABLE");
                assert_eq!(described["SourceTableDetails"]["ItemCount"], ITEMS);
            }
            "restore" => assert_eq!(everything(db, name, None), items, "{name}"),
            "import" => {
                let import = ok(db, "DescribeImport", json!({"ImportArn": name}));
                let import = &import["ImportTableDescription"];
                let is_complete = import["ImportStatus"] == "COMPLETED";
                assert!(is_complete || import["FailureMessage"].is_string(), "{import}");
            }
            "table" => assert!(described(db, name).is_some(), "{name}"),
            "index" => {
                assert_eq!(everything(db, name, Some("by-g")), everything(db, name, None));
            }
            "deletion" => assert!(described(db, name).is_none(), "{name}"),
            "gone" => assert_eq!(call(db, "DescribeBackup", &json!({"BackupArn": name})).0, 400),
            // Whether it came to that, nobody was told.
            "ending" => {}
            other => panic!("{other}"),
        }
    }
}

/// Whether a table and its indexes are made.
fn is_active(db: &Database, name: &str) -> bool {
    let Some(table) = described(db, name) else { return false };
    let indexes = table["GlobalSecondaryIndexes"].as_array().into_iter().flatten();
    table["TableStatus"] == "ACTIVE"
        && indexes.map(|index| &index["IndexStatus"]).all(|status| status == "ACTIVE")
}

fn is_at_rest(db: &Database) -> bool {
    let is_done = |name: &Value| is_active(db, name.as_str().unwrap());
    let tables = ok(db, "ListTables", json!({}));
    let backups = ok(db, "ListBackups", json!({}));
    let imports = ok(db, "ListImports", json!({}));
    tables["TableNames"].as_array().unwrap().iter().all(is_done)
        && backups["BackupSummaries"]
            .as_array()
            .unwrap()
            .iter()
            .all(|backup| backup["BackupStatus"] == "AVAILABLE")
        && imports["ImportSummaryList"]
            .as_array()
            .unwrap()
            .iter()
            .all(|import| import["ImportStatus"] != "IN_PROGRESS")
}

/// What a kill has left is sound before anything was repaired.
fn is_sound(directory: &Path) {
    let store = ReadOnlyStore::open(directory.join("data"), DiskOptions::default()).unwrap().0;
    let report = verify::store(&store).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn killing_the_process_loses_nothing_that_was_acknowledged() {
    let kills: u64 = env::var("KEYLOOM_CONTROL_KILLS").map_or(8, |kills| kills.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let bucket = directory.path().join("buckets/bucket");
    std::fs::create_dir_all(&bucket).unwrap();
    let line = |number| format!("{{\"Item\":{}}}\n", item(number)).into_bytes();
    std::fs::write(bucket.join("in.json"), (0..ITEMS).flat_map(line).collect::<Vec<_>>()).unwrap();
    let db = open(directory.path());
    ok(&db, "CreateTable", table("music", indexed()));
    (0..ITEMS).for_each(|number| crate::put(&db, "music", number));
    let recovery = json!({"PointInTimeRecoveryEnabled": true});
    let body = json!({"TableName": "music", "PointInTimeRecoverySpecification": recovery});
    ok(&db, "UpdateContinuousBackups", body);
    drop(db);

    let random = RandomState::new();
    let mut acknowledged: BTreeMap<String, u64> = BTreeMap::new();
    for kill in 0..kills {
        // From "still opening" to "has begun everything".
        let life = Duration::from_micros(15_000 + random.hash_one(kill) % 250_000);
        let told = live_and_die(directory.path(), life);
        for what in told.values() {
            *acknowledged.entry(what.clone()).or_default() += 1;
        }
        is_sound(directory.path());
        check(&open(directory.path()), &told);
    }
    eprintln!("{kills} kills, acknowledged: {acknowledged:?}");
    assert!(acknowledged.values().sum::<u64>() > kills / 2, "the process never got to do anything");
}
