//! Reads see one moment, and stop no writer however long they take.

use std::iter::once;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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

/// Runs `read` on one thread while another writes as fast as it can; says how long the read took, and
/// how long it had to be waited for the next write meanwhile.
fn longest_wait_during(database: &Database, read: impl FnOnce()) -> (Duration, Duration) {
    let (done, running) = (Mutex::new(Vec::new()), AtomicBool::new(true));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while running.load(Ordering::SeqCst) {
                succeed(
                    database,
                    "UpdateItem",
                    &json!({"TableName": "slow", "Key": {"pk": {"S": "p"}, "sk": {"N": "1"}},
                        "UpdateExpression": "SET n = :n",
                        "ExpressionAttributeValues": {":n": {"N": number.to_string()}}}),
                );
                number += 1;
                done.lock().unwrap().push(Instant::now());
            }
        });
        // The writer is running before the read begins.
        while done.lock().unwrap().len() < 3 {
            std::thread::yield_now();
        }
        let start = Instant::now();
        read();
        let end = Instant::now();
        running.store(false, Ordering::SeqCst);
        let done = done.lock().unwrap();
        let during = done.iter().copied().filter(|at| (start..end).contains(at));
        let moments: Vec<Instant> = once(start).chain(during).chain(once(end)).collect();
        let longest = moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
        println!("at most {longest:?} between two writes during a read of {:?}", end - start);
        (end - start, longest)
    })
}

#[test]
fn writers_go_on_during_a_slow_read() {
    for place in [Place::Memory, Place::Disk] {
        let test = TestDatabase::at(place).unwrap();
        let database = &test.database;
        filled(database);
        let (filter, values) = slow_filter();
        let scan = json!({"TableName": "slow", "FilterExpression": filter,
            "ExpressionAttributeValues": values});
        let mut query = scan.clone();
        query["KeyConditionExpression"] = "pk = :p".into();
        query["ExpressionAttributeValues"][":p"] = json!({"S": "p"});
        for (operation, body) in [("Scan", &scan), ("Query", &query)] {
            // A read that held a lock for its page would keep writers waiting for nearly as long as it
            // takes. A machine that has other things to do may keep one waiting, too, but not each time.
            let goes_on = (0..20).any(|_| {
                let (read, longest) = longest_wait_during(database, || {
                    let page = succeed(database, operation, body);
                    assert_eq!(page["Count"], ITEMS, "{operation}");
                });
                longest < read / 2
            });
            assert!(goes_on, "{place:?}: writers wait for {operation}");
        }
    }
}

#[test]
fn a_page_shows_one_moment() {
    for place in [Place::Memory, Place::Disk] {
        let test = TestDatabase::at(place).unwrap();
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
