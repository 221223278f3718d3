//! Requests while everything is counted, and writers side by side.

use std::sync::Arc;
use std::time::Duration;

use keyloom_engine::{Call, Database, Durability};
use keyloom_store::MemoryStore;
use serde_json::{Value, json};

use crate::looked_at::{Condition, Look};
use crate::{
    NOTE, call, closed, copied, counts, create_table, delete, described, item, ok, on_disk, open,
    open_with_threads, put, write_beneath,
};

/// Requests whose replies show counts, and where in the reply the table is described.
fn showing_counts() -> [(&'static str, Value, &'static str); 4] {
    let table = json!({"TableName": "notes"});
    let protected = json!({"TableName": "notes", "DeletionProtectionEnabled": false});
    let backup = json!({"TableName": "notes", "BackupName": "copy"});
    [
        ("DescribeTable", table.clone(), "Table"),
        ("UpdateTable", protected, "TableDescription"),
        ("DeleteTable", table, "TableDescription"),
        ("CreateBackup", backup, "BackupDetails"),
    ]
}

/// A store that has to be counted.
fn without_note() -> (MemoryStore, Vec<(String, u64, u64)>) {
    let (store, expected) = closed();
    write_beneath(&store, NOTE, None);
    (store, expected)
}

#[test]
fn who_must_not_wait_is_sent_away_by_what_would_wait_for_the_counting() {
    let (store, _) = without_note();
    let database = open_with_threads(&Arc::new(Look::at(store, Condition::Endless)));
    let begin = |operation: &str, body: &Value| {
        let target = format!("DynamoDB_20120810.{operation}");
        database.begin_call(&target, body.to_string().as_bytes())
    };
    for (operation, body, _) in showing_counts() {
        assert!(matches!(begin(operation, &body), Call::NotBegun), "{operation}");
    }
    let table = json!({"TableName": "notes"});
    for (operation, body) in [
        ("ListTables", &json!({})),
        ("DescribeTimeToLive", &table),
        ("PutItem", &json!({"TableName": "notes", "Item": item(1, 7)})),
    ] {
        let answered = begin(operation, body);
        assert!(matches!(answered, Call::Answered(reply) if reply.status == 200), "{operation}");
    }
    // Observers are told what is counted so far.
    assert_eq!(database.tables().len(), 1);
}

#[test]
fn after_the_counting_everything_is_answered_at_once() {
    let (store, _) = without_note();
    let database = open(&Arc::new(store));
    for (operation, body, _) in showing_counts() {
        let target = format!("DynamoDB_20120810.{operation}");
        let answered = database.begin_call(&target, body.to_string().as_bytes());
        assert!(!matches!(answered, Call::NotBegun), "{operation}");
    }
}

#[test]
fn what_shows_counts_waits_until_they_are_exact() {
    for (operation, body, member) in showing_counts() {
        let (store, expected) = without_note();
        let store = Arc::new(Look::at(store, Condition::Held));
        let database = open_with_threads(&store);
        store.wait_for_scans(1);
        std::thread::scope(|scope| {
            let reply = scope.spawn(|| ok(&database, operation, &body));
            // Long enough for an answer that waits for nothing.
            std::thread::sleep(Duration::from_millis(50));
            let has_waited = !reply.is_finished();
            store.turn(Condition::Whole);
            let reply = reply.join().unwrap();
            assert!(has_waited, "{operation}");
            let shown = &reply[member];
            match operation {
                "CreateBackup" => assert_eq!(shown["BackupSizeBytes"], expected[0].2),
                // It says nothing of the indexes.
                "DeleteTable" => assert_eq!(described(shown), expected[..1]),
                _ => assert_eq!(described(shown), expected, "{operation}"),
            }
        });
    }
}

#[test]
fn a_counting_that_breaks_off_keeps_nobody_waiting_and_shows_no_zeros() {
    for condition in [Condition::Damaged, Condition::Broken] {
        let (store, _) = without_note();
        let database = open_with_threads(&Arc::new(Look::at(store, condition)));
        let (status, reply) = call(&database, "DescribeTable", &json!({"TableName": "notes"}));
        assert_eq!(status, 500, "{reply}");
        assert!(reply.to_string().contains("the items cannot be counted"), "{reply}");
    }
}

/// Writes some items, in each of the ways in which one can.
fn write(database: &Database, writer: u32) {
    for turn in 0..40 {
        // Some are shared by all writers.
        let number = if turn % 4 == 0 { turn } else { 1000 * (writer + 1) + turn % 16 };
        let shape = writer * 40 + turn;
        if turn % 3 == 0 {
            delete(database, number);
        } else if turn % 3 == 1 {
            put(database, number, shape);
        } else {
            let body = json!({"TableName": "notes", "Item": item(number, shape)}).to_string();
            match database.begin_call("DynamoDB_20120810.PutItem", body.as_bytes()) {
                // The write goes on.
                Call::Waiting(waiting) => drop(waiting),
                Call::Answered(reply) => assert_eq!(reply.status, 200),
                Call::NotBegun => put(database, number, shape),
            }
        }
    }
}

#[test]
fn writers_side_by_side_are_counted_to_the_last_item() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(&on_disk(directory.path(), Durability::Sync));
    create_table(&database);
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let own = database.clone();
            std::thread::spawn(move || write(&own, writer))
        })
        .collect();
    // The last of them closes it.
    drop(database);
    for writer in writers {
        writer.join().unwrap();
    }

    let store = on_disk(directory.path(), Durability::Sync);
    let database = open(&store);
    let noted = counts(&database);
    assert_eq!(store.entry_scans(), 0);
    assert!(noted.iter().all(|(_, items, _)| *items > 5), "{noted:?}");
    let crashed = copied(directory.path());
    let store = on_disk(crashed.path(), Durability::Sync);
    assert_eq!(counts(&open(&store)), noted);
    assert_eq!(store.entry_scans(), 4);
}
