//! What point-in-time recovery costs on disk: CPU per write and space, with it and without.
//!
//! `recovery_cost [WRITES]` overwrites 20,000 items of 1 KB from eight threads, each write durable, and
//! prints the processor time of the whole process per write, flushes and compactions included. Linux only:
//! it reads the time from `/proc`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

use std::fmt::Write;

use keyloom_engine::Database;

const ITEMS: usize = 20_000;
const THREADS: usize = 8;
/// Rounds with and without, in turn: the machine may be busier in one than in the other.
const ROUNDS: usize = 3;

fn main() {
    let writes = std::env::args().nth(1).map_or(200_000, |count| count.parse().unwrap());
    for round in 1..=ROUNDS {
        let (without, with) = (measure(false, writes), measure(true, writes));
        println!(
            "round {round}: {:.1} µs per write without, {:.1} µs with: {:+.1} %; \
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

fn measure(is_recorded: bool, writes: usize) -> Cost {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path()).unwrap();
    let table = r#"{"TableName":"t","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;
    call(&database, "CreateTable", table);
    put_all(&database, 0, ITEMS);
    if is_recorded {
        let recovery = r#"{"TableName":"t",
            "PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}}"#;
        call(&database, "UpdateContinuousBackups", recovery);
    }
    let before_us = cpu_us();
    put_all(&database, ITEMS, writes);
    let cpu_us = (cpu_us() - before_us) / writes as f64;
    let bytes = database.store_stats().unwrap().disk_bytes as f64 / writes as f64;
    Cost { cpu_us, bytes }
}

/// Puts items, one version after the other, from all threads.
fn put_all(database: &Database, first: usize, count: usize) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for number in (first + thread..first + count).step_by(THREADS) {
                    put(database, number);
                }
            });
        }
    });
}

fn put(database: &Database, number: usize) {
    // Random text, so that it does not compress away.
    let mut random = number as u64 + 1;
    let mut text = String::with_capacity(1000);
    while text.len() < 960 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        write!(text, "{random:016x}").unwrap();
    }
    let item = number.wrapping_mul(7919) % ITEMS;
    let body = format!(
        r#"{{"TableName":"t","Item":{{"pk":{{"S":"item#{item:08}"}},"text":{{"S":"{text}"}}}}}}"#
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
