//! A new index is filled while the table is in use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use keyloom_engine::{Call, Database};
use serde_json::{Value, json};

use crate::{Fixture, call, create_index, describe, everything, ok, table};

fn item(pk: &str, sk: u32, g: &str) -> Value {
    json!({"pk": {"S": pk}, "sk": {"N": sk.to_string()}, "g": {"S": g}})
}

fn put(db: &Database, item: Value) {
    ok(db, "PutItem", json!({"TableName": "music", "Item": item}));
}

fn index_of(table: &Value) -> Value {
    table["GlobalSecondaryIndexes"][0].clone()
}

#[test]
fn the_index_cannot_be_read_before_it_is_filled() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    for sk in 0..300 {
        put(&f.db, item("a", sk, "x"));
    }
    f.ok("UpdateTable", create_index("music", "by-g"));
    let building = describe(&f.db, "music");
    assert_eq!(building["TableStatus"], "ACTIVE");
    assert_eq!(index_of(&building)["IndexStatus"], "CREATING");
    assert_eq!(index_of(&building)["Backfilling"], true);
    let (code, message) = f.err("Scan", json!({"TableName": "music", "IndexName": "by-g"}));
    assert_eq!(code, "ValidationException");
    assert_eq!(message, "Cannot read from backfilling global secondary index: by-g");
    f.tidy();
    let filled = index_of(&describe(&f.db, "music"));
    assert_eq!(filled["IndexStatus"], "ACTIVE");
    assert!(filled.get("Backfilling").is_none());
    assert_eq!(filled["ItemCount"], 300);
    assert_eq!(everything(&f.db, "music", None), everything(&f.db, "music", Some("by-g")));
}

#[test]
fn writes_before_the_job_are_kept_and_counted_once() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    for sk in 0..4 {
        put(&f.db, item("a", sk, "x"));
    }
    f.ok("UpdateTable", create_index("music", "by-g"));
    // Changed, moved, removed, added, and left alone: all before the job begins.
    put(&f.db, item("a", 0, "y"));
    ok(
        &f.db,
        "UpdateItem",
        json!({
            "TableName": "music", "Key": {"pk": {"S": "a"}, "sk": {"N": "1"}},
            "UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "1"}},
        }),
    );
    ok(
        &f.db,
        "DeleteItem",
        json!({"TableName": "music", "Key": {"pk": {"S": "a"}, "sk": {"N": "2"}}}),
    );
    put(&f.db, item("b", 9, "z"));
    f.tidy();
    assert_eq!(everything(&f.db, "music", None), everything(&f.db, "music", Some("by-g")));
    let shown = describe(&f.db, "music");
    assert_eq!(index_of(&shown)["ItemCount"], 4);
    assert_eq!(index_of(&shown)["IndexSizeBytes"], shown["TableSizeBytes"]);
}

#[test]
fn items_that_cannot_be_in_the_index_are_skipped() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    put(&f.db, item("good", 1, "x"));
    put(&f.db, json!({"pk": {"S": "wrong type"}, "sk": {"N": "1"}, "g": {"N": "1"}}));
    put(&f.db, json!({"pk": {"S": "empty"}, "sk": {"N": "1"}, "g": {"S": ""}}));
    put(&f.db, json!({"pk": {"S": "long"}, "sk": {"N": "1"}, "g": {"S": "x".repeat(2049)}}));
    put(&f.db, json!({"pk": {"S": "none"}, "sk": {"N": "1"}}));
    f.ok("UpdateTable", create_index("music", "by-g"));
    f.tidy();
    assert_eq!(everything(&f.db, "music", Some("by-g")).len(), 1);
    // They stay writable as long as the bad attribute is left alone.
    ok(
        &f.db,
        "UpdateItem",
        json!({
            "TableName": "music", "Key": {"pk": {"S": "empty"}, "sk": {"N": "1"}},
            "UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "1"}},
        }),
    );
    assert_eq!(everything(&f.db, "music", Some("by-g")).len(), 1);
    assert_eq!(index_of(&describe(&f.db, "music"))["ItemCount"], 1);
}

#[test]
fn an_index_that_is_being_filled_can_be_deleted() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    put(&f.db, item("a", 1, "x"));
    f.ok("UpdateTable", create_index("music", "by-g"));
    f.ok(
        "UpdateTable",
        json!({
            "TableName": "music",
            "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-g"}}],
        }),
    );
    f.tidy();
    assert!(describe(&f.db, "music").get("GlobalSecondaryIndexes").is_none());
    f.ok("UpdateTable", create_index("music", "by-g"));
    f.tidy();
    assert_eq!(everything(&f.db, "music", Some("by-g")).len(), 1);
}

#[test]
fn a_fork_fills_its_own_index() {
    let f = Fixture::new();
    f.ok("CreateTable", table("music", json!({})));
    put(&f.db, item("a", 1, "x"));
    f.ok("UpdateTable", create_index("music", "by-g"));
    let fork = f.db.fork().unwrap();
    put(&fork, item("a", 2, "x"));
    fork.run_maintenance().unwrap();
    assert_eq!(index_of(&describe(&fork, "music"))["ItemCount"], 2);
    assert_eq!(everything(&fork, "music", Some("by-g")).len(), 2);
    assert_eq!(index_of(&describe(&f.db, "music"))["IndexStatus"], "CREATING");
}

/// Writers change, move, remove and add items all the time; in the end the index is the table.
#[test]
fn concurrent_writers_and_the_job_agree() {
    let db = Database::memory();
    ok(&db, "CreateTable", table("music", json!({})));
    for sk in 0..2000 {
        put(&db, item("a", sk, if sk % 3 == 0 { "x" } else { "y" }));
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..4_u32 {
            let (db, stop) = (&db, &stop);
            scope.spawn(move || {
                let mut seed = writer + 1;
                while !stop.load(Ordering::Relaxed) {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let sk = (seed >> 8) % 2200;
                    let key = json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}});
                    match seed >> 30 {
                        0 => put(db, item("a", sk, "z")),
                        1 => put(db, json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}})),
                        2 => {
                            ok(db, "DeleteItem", json!({"TableName": "music", "Key": key}));
                        }
                        _ => {
                            ok(db, "UpdateItem", json!({
                                "TableName": "music", "Key": key,
                                "UpdateExpression": "SET g = :g, n = :n",
                                "ExpressionAttributeValues": {
                                    ":g": {"S": format!("g{}", seed % 7)}, ":n": {"N": seed.to_string()},
                                },
                            }));
                        }
                    }
                }
            });
        }
        thread::sleep(Duration::from_millis(20));
        ok(&db, "UpdateTable", create_index("music", "by-g"));
        let begun = Instant::now();
        while index_of(&describe(&db, "music"))["IndexStatus"] != "ACTIVE" {
            assert!(begun.elapsed() < Duration::from_mins(1), "the index is never filled");
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(20));
        stop.store(true, Ordering::Relaxed);
    });
    let indexed: Vec<String> = everything(&db, "music", None)
        .into_iter()
        .filter(|item| serde_json::from_str::<Value>(item).unwrap().get("g").is_some())
        .collect();
    assert_eq!(everything(&db, "music", Some("by-g")), indexed);
    assert_eq!(index_of(&describe(&db, "music"))["ItemCount"], indexed.len());
    let (status, _) = call(&db, "DeleteTable", &json!({"TableName": "music"}));
    assert_eq!(status, 200);
}

/// A write that has its place and is not durable yet may belong to the old version of the table. The
/// new index must not miss it.
#[test]
fn writes_under_way_when_an_index_is_added_are_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path()).unwrap();
    ok(&db, "CreateTable", table("music", json!({})));
    let begin = |pk: &str, sk| {
        let body = json!({"TableName": "music", "Item": item(pk, sk, "x")}).to_string();
        db.begin_call("DynamoDB_20120810.PutItem", body.as_bytes())
    };
    for round in 0..30 {
        let (name, pk) = (format!("by-g-{round}"), format!("round-{round}"));
        let is_added = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut sk = 0;
                while !is_added.load(Ordering::Relaxed) {
                    // Dropping them waits: until then there are some under way.
                    drop((0..16).map(|place| begin(&pk, sk + place)).collect::<Vec<Call>>());
                    sk += 16;
                }
            });
            ok(&db, "UpdateTable", create_index("music", &name));
            is_added.store(true, Ordering::Relaxed);
        });
        let deadline = Instant::now() + Duration::from_secs(20);
        while index_of(&describe(&db, "music"))["IndexStatus"] != "ACTIVE" {
            assert!(Instant::now() < deadline);
            thread::sleep(Duration::from_millis(1));
        }
        let items = everything(&db, "music", None);
        assert_eq!(items, everything(&db, "music", Some(&name)));
        assert_eq!(describe(&db, "music")["ItemCount"], items.len());
        let delete = json!({"TableName": "music", "GlobalSecondaryIndexUpdates":
            [{"Delete": {"IndexName": name}}]});
        ok(&db, "UpdateTable", delete);
    }
}
