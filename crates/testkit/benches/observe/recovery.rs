//! What point-in-time recovery costs a write: processor time per PutItem that replaces an item of 1 KB, with it and
//! without, turn by turn, of a server and embedded, in memory and on disk.
//!
//! Each turn takes the time of the threads of that side's database and server, so flushes and compactions count. The
//! system counts a thread's time at its switches, coarser than a turn: only the sum over all turns says something.

use std::fmt::Write as _;
use std::time::Duration;

use keyloom_engine::Database;
use keyloom_server::{Config, Server};

use super::served::{Client, Threads};

const ITEMS: usize = 4000;
const REQUESTS: usize = 200;

/// What a write changes of its item.
#[derive(Clone, Copy)]
enum Change {
    Counter,
    /// A text of 900 random characters, too.
    Text,
}

/// The body of the PutItem with this number.
fn body(number: usize, change: Change) -> String {
    let item = number.wrapping_mul(7919) % ITEMS;
    let mut random = match change {
        Change::Counter => item,
        Change::Text => number,
    } as u64
        + 1;
    let mut text = String::with_capacity(1000);
    while text.len() < 900 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        write!(text, "{:012x}", random >> 16).unwrap();
    }
    format!(
        r#"{{"TableName":"users","Item":{{"PK":{{"S":"USER#{item:06}"}},"phase":{{"S":"active"}},"count":{{"N":"{number}"}},"text":{{"S":"{text}"}}}}}}"#
    )
}

fn call(database: &Database, operation: &str, body: &str) {
    let reply = database.call(&format!("DynamoDB_20120810.{operation}"), body.as_bytes());
    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
}

/// A full table, with point-in-time recovery or without.
fn prepare(database: &Database, is_recorded: bool) {
    let table = r#"{"TableName":"users","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"PK","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"PK","KeyType":"HASH"}]}"#;
    call(database, "CreateTable", table);
    (0..ITEMS).for_each(|number| call(database, "PutItem", &body(number, Change::Counter)));
    if is_recorded {
        let recovery = r#"{"TableName":"users",
            "PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}}"#;
        call(database, "UpdateContinuousBackups", recovery);
    }
}

/// Runs both sides in turn; a side writes the bodies that it is given and returns the processor time.
fn compare(
    name: &str,
    change: Change,
    turns: usize,
    mut sides: [impl FnMut(&[String]) -> Duration; 2],
) {
    let mut times = [Duration::ZERO; 2];
    for turn in 0..turns {
        let first = ITEMS + turn * REQUESTS;
        let bodies: Vec<String> =
            (first..first + REQUESTS).map(|number| body(number, change)).collect();
        // Who comes first changes, so that neither gains by it.
        for step in 0..2 {
            let side = (turn + step) % 2;
            if let (Some(run), Some(time)) = (sides.get_mut(side), times.get_mut(side)) {
                *time += run(&bodies);
            }
        }
    }
    let [off, on] = times.map(|time| time.as_secs_f64() * 1e6 / (turns * REQUESTS) as f64);
    println!(
        "{name:<26} {off:>6.2} µs without, {on:>6.2} µs with: {:+.1} %",
        (on / off - 1.0) * 100.0
    );
}

fn served(name: &str, change: Change, turns: usize, open: impl Fn() -> Database) {
    let sides = [false, true].map(|is_recorded| {
        let others = Threads::all();
        let database = open();
        prepare(&database, is_recorded);
        let address = ([127, 0, 0, 1], 0).into();
        // With one, a write that waits would have another thread take its place.
        let config = Config { address, workers: Some(2), ..Config::default() };
        let mut client = Client::new(Server::start(config, database).unwrap());
        // The server starts some of its threads with the first requests.
        (0..ITEMS).for_each(|number| client.ask("PutItem", &body(number, Change::Counter)));
        let threads = Threads::all().without(&others);
        move |bodies: &[String]| {
            let before = threads.processor_time();
            for body in bodies {
                client.ask("PutItem", body);
            }
            threads.processor_time().saturating_sub(before)
        }
    });
    compare(&format!("server, {name}"), change, turns, sides);
}

fn embedded(name: &str, change: Change, turns: usize, open: impl Fn() -> Database) {
    let sides = [false, true].map(|is_recorded| {
        let others = Threads::all();
        let database = open();
        prepare(&database, is_recorded);
        let threads = Threads::all().without(&others).with_this();
        move |bodies: &[String]| {
            let before = threads.processor_time();
            for body in bodies {
                call(&database, "PutItem", body);
            }
            threads.processor_time().saturating_sub(before)
        }
    });
    compare(&format!("embedded, {name}"), change, turns, sides);
}

/// All comparisons.
pub(super) fn recovery() {
    let directory = tempfile::tempdir().unwrap();
    let numbers = std::cell::Cell::new(0);
    let on_disk = || {
        numbers.set(numbers.get() + 1);
        Database::open(directory.path().join(numbers.get().to_string())).unwrap()
    };
    for (what, change) in [("a counter", Change::Counter), ("all of it", Change::Text)] {
        served(&format!("memory, {what}"), change, 301, Database::memory);
        embedded(&format!("memory, {what}"), change, 301, Database::memory);
        served(&format!("disk, {what}"), change, 101, on_disk);
        embedded(&format!("disk, {what}"), change, 101, on_disk);
    }
}
