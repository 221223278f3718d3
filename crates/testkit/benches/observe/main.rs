//! What watching and recording cost: the same requests with and without them, turn by turn in one run.
//!
//! `cargo bench -p keyloom-testkit --bench observe`. Each turn is a few milliseconds, so that what
//! else happens on the machine meets both sides alike. Noise only ever adds time, so what the quickest
//! tenth of the turns takes is compared. The first line compares two databases that nobody watches.
//!
//! The heat of the console is measured against statistics without it: embedded, and as the processor
//! time of a server. *Few* requests are looked at one by one, as on a server with less than 500 a second;
//! of *many*, a sample is.
//!
//! `cargo bench -p keyloom-testkit --bench observe -- recovery` measures writes with and without point-in-time recovery.
//!
//! `cargo bench -p keyloom-testkit --bench observe -- count off|heat get|put N` only makes requests that are
//! looked at one by one: for counters of instructions, such as callgrind.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

mod recovery;
mod served;

use std::sync::Arc;
use std::time::{Duration, Instant};

use keyloom_core::Item;
use keyloom_engine::{Database, GetItemInput, Options, PutItemInput};
use keyloom_observe::{Monitor, Sampling, StatsCollector, StatsOptions, Throttle};

const KEYS: u32 = 10_000;
const TURNS: usize = 601;
const REQUESTS: u32 = 4000;

fn key(number: u32) -> Item {
    let mut key = Item::new();
    key.insert("PK", format!("USER#{number:06}"));
    key.insert("SK", "PROFILE");
    key
}

fn item(number: u32) -> Item {
    let mut item = key(number);
    item.insert("GSI1PK", format!("CITY#{}", number % 500));
    item.insert("GSI1SK", format!("USER#{number:06}"));
    item.insert("text", "x".repeat(200));
    item
}

fn database(observer: Option<Arc<Monitor>>) -> Database {
    let observer = observer.map(|observer| observer as _);
    let database =
        Database::memory_with(Options { background: false, observer, ..Options::default() });
    let attributes = ["PK", "SK", "GSI1PK", "GSI1SK"]
        .map(|name| serde_json::json!({ "AttributeName": name, "AttributeType": "S" }));
    let body = serde_json::json!({
        "TableName": "users",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": attributes,
        "KeySchema": [
            { "AttributeName": "PK", "KeyType": "HASH" },
            { "AttributeName": "SK", "KeyType": "RANGE" },
        ],
        "GlobalSecondaryIndexes": [{
            "IndexName": "GSI1",
            "KeySchema": [
                { "AttributeName": "GSI1PK", "KeyType": "HASH" },
                { "AttributeName": "GSI1SK", "KeyType": "RANGE" },
            ],
            "Projection": { "ProjectionType": "ALL" },
        }],
    });
    let reply = database.call("DynamoDB_20120810.CreateTable", body.to_string().as_bytes());
    assert_eq!(reply.status, 200);
    for number in 0..KEYS {
        put(&database, number);
    }
    database
}

fn put(database: &Database, number: u32) {
    let input =
        PutItemInput { table_name: "users".into(), item: item(number), ..PutItemInput::default() };
    database.put_item(input).unwrap();
}

fn get(database: &Database, number: u32) {
    let input =
        GetItemInput { table_name: "users".into(), key: key(number), ..GetItemInput::default() };
    database.get_item(input).unwrap();
}

/// Lets the heaviest keys of each minute be kept, of the table and of its index.
fn enable_insights(database: &Database) {
    for index in ["", r#","IndexName":"GSI1""#] {
        let body =
            format!(r#"{{"TableName":"users","ContributorInsightsAction":"ENABLE"{index}}}"#);
        let target = "DynamoDB_20120810.UpdateContributorInsights";
        assert_eq!(database.call(target, body.as_bytes()).status, 200);
    }
}

fn observed(collector: &Arc<StatsCollector>) -> Database {
    let monitor = Monitor::new(Throttle::Observe).with(Arc::clone(collector) as _);
    database(Some(Arc::new(monitor)))
}

/// One turn of requests.
fn turn(database: &Database, request: fn(&Database, u32), start: u32) -> Duration {
    let began = Instant::now();
    for step in 0..REQUESTS {
        request(database, (start + step * 7919) % KEYS);
    }
    began.elapsed()
}

/// Statistics with and without the heat.
fn heat_options(sampling: Sampling) -> [StatsOptions; 2] {
    [true, false].map(|without_heat| StatsOptions {
        sampling,
        without_heat,
        ..StatsOptions::default()
    })
}

fn compare(name: &str, plain: &Database, observed: &Database, request: fn(&Database, u32)) {
    let (mut off, mut on) = (Vec::with_capacity(TURNS), Vec::with_capacity(TURNS));
    for number in 0..TURNS {
        let start = number as u32 * 31;
        // Who comes first changes, so that neither gains by it.
        if number % 2 == 0 {
            off.push(turn(plain, request, start));
            on.push(turn(observed, request, start));
        } else {
            on.push(turn(observed, request, start));
            off.push(turn(plain, request, start));
        }
    }
    let (off, on) = (quick(&mut off), quick(&mut on));
    println!(
        "{name:<27} {:>6.3} µs without, {:>6.3} µs with: {:+.2} %",
        off * 1e6 / f64::from(REQUESTS),
        on * 1e6 / f64::from(REQUESTS),
        (on / off - 1.0) * 100.0
    );
}

/// What the quickest tenth of the turns takes, in seconds.
fn quick(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 10).copied().unwrap_or_default().as_secs_f64()
}

/// What the heat costs beside the other statistics.
fn heat() {
    for (many, sampling) in [("many", Sampling::Adaptive), ("few", Sampling::All)] {
        let [off, on] =
            heat_options(sampling).map(|options| observed(&Arc::new(StatsCollector::new(options))));
        compare(&format!("heat, {many} GetItem"), &off, &on, get);
        compare(&format!("heat, {many} PutItem"), &off, &on, put);
    }
    served::heat();
}

/// Only makes requests.
fn count(words: &[String]) {
    let [side, operation, count] = words else { panic!("count off|heat get|put N") };
    let [off, on] = heat_options(Sampling::All);
    let options = if side == "off" { off } else { on };
    let database = observed(&Arc::new(StatsCollector::new(options)));
    let request = if operation == "get" { get } else { put };
    for step in 0..count.parse().unwrap() {
        request(&database, step * 7919 % KEYS);
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.first().map(String::as_str) {
        Some("count") => return count(words.get(1..).unwrap_or_default()),
        Some("heat") => return heat(),
        Some("recovery") => return recovery::recovery(),
        _ => {}
    }
    let collector = Arc::new(StatsCollector::new(StatsOptions::default()));
    let (plain, observed) = (database(None), observed(&collector));
    let insights = self::observed(&Arc::new(StatsCollector::new(StatsOptions::default())));
    enable_insights(&insights);
    let (same, again) = (database(None), database(None));
    compare("noise", &same, &again, get);
    compare("GetItem", &plain, &observed, get);
    compare("PutItem", &plain, &observed, put);
    compare("GetItem with insights", &plain, &insights, get);
    compare("PutItem with insights", &plain, &insights, put);
    let report = collector.snapshot();
    let share = report.requests as f64 / report.sampled.max(1) as f64;
    println!("one request in {share:.1} was looked at, {} of {}", report.sampled, report.requests);
    heat();
}
