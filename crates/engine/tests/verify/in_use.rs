//! A database is verified while everything in it changes: nothing is found, and nobody waits.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use keyloom_engine::{Database, DiskOptions, Options};
use serde_json::{Value, json};

use crate::{create_indexed, create_plain, item, put, remove};

/// Changes of a table's items by one writer, as different as they can be.
fn write(db: &Database, writer: u32, turn: u32) {
    let number = (turn * 7 + writer * 13) % 40;
    match turn % 5 {
        0 | 1 => put(db, "music", number, turn),
        2 => remove(db, "music", number),
        3 => {
            // As a call that is answered later, and by nobody.
            let body = json!({"TableName": "plain", "Item": item(number, turn)}).to_string();
            drop(db.begin_call("DynamoDB_20120810.PutItem", body.as_bytes()));
        }
        _ => {
            let puts: Vec<Value> = (0..3)
                .map(|n| json!({"Put": {"TableName": "plain", "Item": item(number * 3 + n, turn)}}))
                .collect();
            let body = json!({"TransactItems": puts}).to_string();
            // Others may hold its items.
            drop(db.call("DynamoDB_20120810.TransactWriteItems", body.as_bytes()));
        }
    }
}

/// Indexes and tables that come and go, backups and shards.
fn change(db: &Database, turn: u32) {
    let call = |operation: &str, body: &Value| {
        // What is under way may forbid it.
        drop(db.call(&format!("DynamoDB_20120810.{operation}"), body.to_string().as_bytes()));
    };
    match turn % 6 {
        0 => call(
            "UpdateTable",
            &json!({
                "TableName": "plain",
                "AttributeDefinitions": [{"AttributeName": "shape", "AttributeType": "N"}],
                "GlobalSecondaryIndexUpdates": [{"Create": {
                    "IndexName": "by-shape",
                    "KeySchema": [{"AttributeName": "shape", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }}],
            }),
        ),
        1 => call("CreateBackup", &json!({"TableName": "music", "BackupName": "copy"})),
        2 => drop(db.split_stream_shards("music")),
        3 => call(
            "UpdateTable",
            &json!({
                "TableName": "plain",
                "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-shape"}}],
            }),
        ),
        4 => {
            create_plain(db, &format!("other-{turn}"));
            put(db, &format!("other-{turn}"), 1, 1);
        }
        _ => call("DeleteTable", &json!({"TableName": format!("other-{}", turn - 1)})),
    }
}

/// Verifies over and over while there are writers; how often.
fn verify_under_load(db: &Database, for_so_long: Duration) -> u32 {
    create_indexed(db, "music");
    create_plain(db, "plain");
    let (is_over, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut verified, mut meanwhile) = (0, 0);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (is_over, written) = (&is_over, &written);
            scope.spawn(move || {
                for turn in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    write(db, writer, turn);
                    written.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            for turn in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                change(db, turn);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let until = Instant::now() + for_so_long;
        let mut outcome = Ok(());
        while Instant::now() < until && outcome.is_ok() {
            let before = written.load(Ordering::Relaxed);
            let report = db.verify().unwrap();
            verified += 1;
            meanwhile += written.load(Ordering::Relaxed) - before;
            if !report.is_clean() {
                outcome = Err(report);
            }
        }
        is_over.store(true, Ordering::Relaxed);
        // In the scope: a panic must not leave the writers running.
        outcome.unwrap();
    });
    assert!(meanwhile > u64::from(verified), "writers wait while everything is verified");
    let report = db.verify().unwrap();
    assert!(report.is_clean(), "{report:?}");
    verified
}

/// How long, in seconds; the long form sets more.
fn duration() -> Duration {
    let seconds = std::env::var("KEYLOOM_VERIFY_SECONDS").ok();
    seconds.map_or(Duration::from_millis(1500), |s| Duration::from_secs(s.parse().unwrap()))
}

#[test]
fn in_memory() {
    let options = Options { maintenance_interval: Duration::from_millis(50), ..Options::default() };
    let verified = verify_under_load(&Database::memory_with(options), duration());
    eprintln!("verified {verified} times");
}

#[test]
fn on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let disk = DiskOptions { memtable_bytes: 200_000, ..DiskOptions::default() };
    let options = Options { maintenance_interval: Duration::from_millis(50), ..Options::default() };
    let db = Database::open_with(directory.path(), disk, options).unwrap();
    let verified = verify_under_load(&db, duration());
    eprintln!("verified {verified} times");
}
