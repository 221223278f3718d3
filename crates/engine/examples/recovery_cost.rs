//! What point-in-time recovery costs on disk: CPU per write and space, with it and without.
//!
//! `recovery_cost [WRITES]` overwrites 20,000 items of 1 KB from eight threads, each write durable, and
//! prints the processor time of the whole process per write, flushes and compactions included: first with a counter
//! that changes and a text that does not, then with another text in each write. Linux only: it reads the time from
//! `/proc`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

use std::fmt::Write;

use keyloom_engine::Database;

const ITEMS: usize = 20_000;
const THREADS: usize = 8;
/// Rounds with and without, in turn: the machine may be busier in one than in the other.
const ROUNDS: usize = 3;

fn main() {
    let writes = std::env::args().nth(1).map_or(200_000, |count| count.parse().unwrap());
    let kinds = [("a counter", false), ("everything", true)];
    for ((changes, is_all), round) in
        kinds.into_iter().flat_map(|kind| (1..=ROUNDS).map(move |r| (kind, r)))
    {
        let (without, with) = (measure(false, is_all, writes), measure(true, is_all, writes));
        println!(
            "{changes} changes, round {round}: {:.1} µs per write without, {:.1} µs with: {:+.1} %; \
             {:.0} and {:.0} bytes on disk per write",
            without.cpu_us,
            with.cpu_us,
            100.0 * (with.cpu_us / without.cpu_us - 1.0),
            without.bytes,
            with.bytes,
        );
    }
}

struct Cost {
    cpu_us: f64,
    bytes: f64,
}

fn measure(is_recorded: bool, is_all: bool, writes: usize) -> Cost {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path()).unwrap();
    let table = r#"{"TableName":"items","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;
    call(&database, "CreateTable", table);
    put_all(&database, is_all, 0, ITEMS);
    if is_recorded {
        let recovery = r#"{"TableName":"items",
            "PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}}"#;
        call(&database, "UpdateContinuousBackups", recovery);
    }
    let before_us = cpu_us();
    put_all(&database, is_all, ITEMS, writes);
    let cpu_us = (cpu_us() - before_us) / writes as f64;
    let bytes = database.store_stats().unwrap().disk_bytes as f64 / writes as f64;
    Cost { cpu_us, bytes }
}

/// Puts items, one version after the other, from all threads.
fn put_all(database: &Database, is_all: bool, first: usize, count: usize) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for number in (first + thread..first + count).step_by(THREADS) {
                    put(database, is_all, number);
                }
            });
        }
    });
}

fn put(database: &Database, is_all: bool, number: usize) {
    let item = number.wrapping_mul(7919) % ITEMS;
    // Random text, so that it does not compress away.
    let mut random = if is_all { number } else { item } as u64 + 1;
    let mut text = String::with_capacity(1000);
    while text.len() < 960 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        write!(text, "{random:016x}").unwrap();
    }
    let body = format!(
        r#"{{"TableName":"items","Item":{{"pk":{{"S":"item#{item:08}"}},"text":{{"S":"{text}"}},"writes":{{"N":"{number}"}}}}}}"#
    );
    call(database, "PutItem", &body);
}

fn call(database: &Database, operation: &str, body: &str) {
    let reply = database.call(&format!("DynamoDB_20120810.{operation}"), body.as_bytes());
    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
}

/// The processor time of this process so far.
fn cpu_us() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // Behind the name, which may have spaces: user and system time are fields 14 and 15.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks: f64 =
        fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    ticks * 10_000.0
}
