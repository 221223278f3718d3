//! Reads see one moment, and stop no writer however long they take.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use keyloom_engine::Database;
use keyloom_testkit::lockstep::{Place, TestDatabase, succeed};
use serde_json::{Value, json};

const ITEMS: usize = 600;

/// A table whose items all have the same number, with much to read in each.
fn filled(database: &Database) {
    succeed(
        database,
        "CreateTable",
        &json!({"TableName": "slow", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "N"}],
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"}]}),
    );
    let text = "x".repeat(1000);
    let numbers: Vec<usize> = (0..ITEMS).collect();
    for batch in numbers.chunks(25) {
        let put = |n: &usize| {
            json!({"PutRequest": {"Item": {"pk": {"S": "p"}, "sk": {"N": n.to_string()},
                "t": {"S": text}}}})
        };
        let puts: Vec<Value> = batch.iter().map(put).collect();
        succeed(database, "BatchWriteItem", &json!({"RequestItems": {"slow": puts}}));
    }
}

/// A filter that takes its time over every item and lets it pass.
fn slow_filter() -> (String, Value) {
    let clauses = vec!["contains(t, :y)"; 140];
    let filter = format!("NOT ({})", clauses.join(" OR "));
    (filter, json!({":y": {"S": "xxxxxxxxxxxxxxxy"}}))
}

/// Runs `read` on one thread while another writes as fast as it can; says how many writes were done
/// during the read.
fn writes_during(database: &Database, read: impl FnOnce() + Send) -> u64 {
    let (writes, running) = (AtomicU64::new(0), AtomicBool::new(true));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while running.load(Ordering::SeqCst) {
                let number = writes.load(Ordering::SeqCst);
                succeed(
                    database,
                    "UpdateItem",
                    &json!({"TableName": "slow", "Key": {"pk": {"S": "p"}, "sk": {"N": "1"}},
                        "UpdateExpression": "SET n = :n",
                        "ExpressionAttributeValues": {":n": {"N": number.to_string()}}}),
                );
                writes.fetch_add(1, Ordering::SeqCst);
            }
        });
        // The writer is running before the read begins.
        while writes.load(Ordering::SeqCst) < 3 {
            std::thread::yield_now();
        }
        let before = writes.load(Ordering::SeqCst);
        let start = Instant::now();
        read();
        let during = writes.load(Ordering::SeqCst) - before;
        running.store(false, Ordering::SeqCst);
        println!("{during} writes during a read of {:?}", start.elapsed());
        during
    })
}

#[test]
fn writers_go_on_during_a_slow_read() {
    for place in [Place::Memory, Place::Disk] {
        let test = TestDatabase::at(place);
        let database = &test.database;
        filled(database);
        let (filter, values) = slow_filter();
        let scan = json!({"TableName": "slow", "FilterExpression": filter,
            "ExpressionAttributeValues": values});
        let mut query = scan.clone();
        query["KeyConditionExpression"] = "pk = :p".into();
        query["ExpressionAttributeValues"][":p"] = json!({"S": "p"});
        for (operation, body) in [("Scan", &scan), ("Query", &query)] {
            // A read that held a lock for its page would let at most the one write in that was
            // under way when it began. A slow disk may do no more during a read: then another shows it.
            let read = || {
                let page = succeed(database, operation, body);
                assert_eq!(page["Count"], ITEMS, "{operation}");
            };
            let goes_on = (0..20).any(|_| writes_during(database, read) >= 3);
            assert!(goes_on, "{place:?}: no three writes during any {operation}");
        }
    }
}

#[test]
fn a_page_shows_one_moment() {
    for place in [Place::Memory, Place::Disk] {
        let test = TestDatabase::at(place);
        let database = &test.database;
        filled(database);
        let running = AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut number = 0;
                while running.load(Ordering::SeqCst) {
                    number += 1;
                    // The first and the last item always change together.
                    let update = |sk: usize| {
                        json!({"Update": {"TableName": "slow",
                            "Key": {"pk": {"S": "p"}, "sk": {"N": sk.to_string()}},
                            "UpdateExpression": "SET n = :n",
                            "ExpressionAttributeValues": {":n": {"N": number.to_string()}}}})
                    };
                    let both = json!({"TransactItems": [update(0), update(ITEMS - 1)]});
                    succeed(database, "TransactWriteItems", &both);
                }
            });
            for _ in 0..10 {
                let page = succeed(database, "Scan", &json!({"TableName": "slow"}));
                let items = page["Items"].as_array().unwrap();
                assert_eq!(items.len(), ITEMS);
                let with_numbers: Vec<&Value> =
                    items.iter().filter_map(|item| item.get("n")).collect();
                assert!(with_numbers.iter().all(|n| n == &with_numbers[0]), "{with_numbers:?}");
                assert!(with_numbers.is_empty() || with_numbers.len() == 2, "{with_numbers:?}");
            }
            running.store(false, Ordering::SeqCst);
        });
    }
}
