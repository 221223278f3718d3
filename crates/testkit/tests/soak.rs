//! A mixed load on a database on disk, for as long as one likes: memory and disk stay bounded, money
//! moved by transactions is neither made nor lost, and indexes agree with their table.
//!
//! A few seconds by default. The long form, an hour:
//! `cargo test --release -p keyloom-testkit --test soak -- --ignored --nocapture`
//! (`KEYLOOM_SOAK_MINUTES` and `KEYLOOM_SOAK_RATE`, in requests per second, change it).
//!
//! The database's clock runs 200 times as fast as the machine's, so that expiry, the retention of
//! streams (24 hours) and of client tokens (10 minutes) all happen many times.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::print_stdout, reason = "a test tells how much it has done")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use keyloom_engine::{Clock, Database, DiskOptions, Options};
use keyloom_observe::{Monitor, StatsCollector, StatsOptions, Throttle};
use keyloom_testkit::lockstep::{START_MS, call, succeed};
use keyloom_testkit::rng::Rng;
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const TABLE: &str = "soak";
const THREADS: usize = 4;
const ACCOUNTS: usize = 50;
const OPENING_BALANCE: i64 = 1_000;
/// Documents come and go among so many keys: the live data is bounded.
const DOCUMENTS: usize = 20_000;
const CLOCK_SPEED: u64 = 200;
/// What may be added to the memory in use between the end of the warm-up and the end.
const MEMORY_SLACK_BYTES: u64 = 64 << 20;
/// Tables waiting for compaction, the log, and stream records of a day come on top of the live data.
const MAX_DISK_BYTES: u64 = 2 << 30;

/// The machine's clock, hurried.
#[derive(Debug)]
struct FastClock(Instant);

impl Clock for FastClock {
    fn now_ms(&self) -> u64 {
        START_MS + u64::try_from(self.0.elapsed().as_millis()).unwrap() * CLOCK_SPEED
    }
}

fn create_table(name: &str) -> Value {
    let global = |name: &str, hash: &str, range: &str| {
        json!({
            "IndexName": name,
            "KeySchema": [
                {"AttributeName": hash, "KeyType": "HASH"},
                {"AttributeName": range, "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        })
    };
    let attribute = |name: &str, kind: &str| json!({"AttributeName": name, "AttributeType": kind});
    json!({
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [
            {"AttributeName": "PK", "KeyType": "HASH"},
            {"AttributeName": "SK", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [
            attribute("PK", "S"), attribute("SK", "S"), attribute("status", "S"),
            attribute("rank", "N"), attribute("owner", "S"),
        ],
        "GlobalSecondaryIndexes":
            [global("by_status", "status", "rank"), global("by_owner", "owner", "SK")],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    })
}

fn account(n: usize) -> Value {
    json!({"PK": {"S": format!("ACCOUNT#{n}")}, "SK": {"S": "BALANCE"}})
}

fn document_key(n: usize) -> Value {
    json!({"PK": {"S": format!("DOC#{}", n / 20)}, "SK": {"S": format!("V#{:02}", n % 20)}})
}

/// Small buffers: they are full, and tables compacted, long before the warm-up ends.
fn disk_options() -> DiskOptions {
    DiskOptions { cache_bytes: 16 << 20, memtable_bytes: 4 << 20, ..DiskOptions::default() }
}

/// Switches the expiry of items on or off.
fn expire(database: &Database, enabled: bool) {
    let setting = json!({"Enabled": enabled, "AttributeName": "expires"});
    let body = json!({"TableName": TABLE, "TimeToLiveSpecification": setting});
    succeed(database, "UpdateTimeToLive", &body);
}

struct Soak {
    database: Database,
    clock: Arc<FastClock>,
    done: AtomicU64,
    is_over: AtomicBool,
}

impl Soak {
    fn start(path: &Path) -> Self {
        let clock = Arc::new(FastClock(Instant::now()));
        // As `keyloom serve` has it by default: what watches must stay bounded, too.
        let statistics = Arc::new(StatsCollector::new(StatsOptions::default()));
        let monitor = Monitor::new(Throttle::Observe).with(statistics);
        let options = Options {
            clock: Arc::<FastClock>::clone(&clock),
            observer: Some(Arc::new(monitor)),
            maintenance_interval: Duration::from_secs(1),
            ..Options::default()
        };
        let database = Database::open_with(path, disk_options(), options).unwrap();
        succeed(&database, "CreateTable", &create_table(TABLE));
        expire(&database, true);
        for n in 0..ACCOUNTS {
            let mut item = account(n);
            item["balance"] = json!({"N": OPENING_BALANCE.to_string()});
            succeed(&database, "PutItem", &json!({"TableName": TABLE, "Item": item}));
        }
        let (done, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { database, clock, done, is_over }
    }

    /// Sends a request; only the refusals that a mixed load must expect are accepted.
    fn ask(&self, operation: &str, body: &Value) -> Value {
        let answer = call(&self.database, operation, body.to_string().as_bytes());
        let expected = [
            "",
            "ConditionalCheckFailedException",
            "TransactionCanceledException",
            "TransactionConflictException",
        ];
        assert!(expected.contains(&answer.code()), "{operation} {body}: {answer}");
        self.done.fetch_add(1, Ordering::Relaxed);
        answer.body
    }

    fn document(&self, rng: &mut Rng, n: usize) -> Value {
        let mut item = document_key(n);
        item["status"] = json!({"S": *rng.pick(&["new", "open", "done"])});
        item["rank"] = json!({"N": rng.below(1_000_000).to_string()});
        item["body"] = json!({"S": "lorem ipsum ".repeat(1 + rng.below(60))});
        if rng.chance(80) {
            item["owner"] = json!({"S": format!("USER#{}", rng.below(500))});
        }
        if rng.chance(30) {
            let lives_s = 60 + rng.below(20_000) as u64;
            item["expires"] = json!({"N": (self.clock.now_ms() / 1000 + lives_s).to_string()});
        }
        item
    }

    fn transfer(&self, rng: &mut Rng) {
        let (from, to) = (rng.below(ACCOUNTS), rng.below(ACCOUNTS));
        if from == to {
            return;
        }
        let amount = 1 + rng.below(20);
        let part = |key: Value, expression: &str, condition: Option<&str>| {
            let mut update = json!({
                "TableName": TABLE, "Key": key, "UpdateExpression": expression,
                "ExpressionAttributeValues": {":n": {"N": amount.to_string()}},
            });
            if let Some(condition) = condition {
                update["ConditionExpression"] = json!(condition);
            }
            json!({"Update": update})
        };
        let mut body = json!({"TransactItems": [
            part(account(from), "SET balance = balance - :n", Some("balance >= :n")),
            part(account(to), "SET balance = balance + :n", None),
        ]});
        if rng.chance(50) {
            body["ClientRequestToken"] = json!(format!("{:x}", rng.next_u64()));
        }
        self.ask("TransactWriteItems", &body);
    }

    fn write(&self, rng: &mut Rng) {
        let n = rng.below(DOCUMENTS);
        let by_key = json!({"TableName": TABLE, "Key": document_key(n)});
        match rng.below(10) {
            0..=4 => {
                let item = self.document(rng, n);
                self.ask("PutItem", &json!({"TableName": TABLE, "Item": item}));
            }
            5 | 6 => {
                let mut body = by_key;
                body["UpdateExpression"] = json!("SET #s = :s ADD seen :one");
                body["ConditionExpression"] = json!("attribute_exists(PK)");
                body["ExpressionAttributeNames"] = json!({"#s": "status"});
                let status = *rng.pick(&["new", "open", "done"]);
                body["ExpressionAttributeValues"] =
                    json!({":s": {"S": status}, ":one": {"N": "1"}});
                self.ask("UpdateItem", &body);
            }
            7 => {
                self.ask("DeleteItem", &by_key);
            }
            8 => {
                let first = rng.below(DOCUMENTS - 25);
                let puts = (first..first + 25)
                    .map(|n| json!({"PutRequest": {"Item": self.document(rng, n)}}))
                    .collect::<Vec<_>>();
                self.ask("BatchWriteItem", &json!({"RequestItems": {TABLE: puts}}));
            }
            _ => self.transfer(rng),
        }
    }

    fn read(&self, rng: &mut Rng) {
        let n = rng.below(DOCUMENTS);
        let query = |index: Option<&str>, name: &str, value: String| {
            let mut body = json!({
                "TableName": TABLE, "Limit": 50,
                "KeyConditionExpression": "#k = :k",
                "ExpressionAttributeNames": {"#k": name},
                "ExpressionAttributeValues": {":k": {"S": value}},
            });
            if let Some(index) = index {
                body["IndexName"] = json!(index);
            }
            body
        };
        match rng.below(20) {
            0..=7 => {
                self.ask("GetItem", &json!({"TableName": TABLE, "Key": document_key(n)}));
            }
            8..=12 => {
                self.ask("Query", &query(None, "PK", format!("DOC#{}", n / 20)));
            }
            13..=15 => {
                let owner = format!("USER#{}", rng.below(500));
                self.ask("Query", &query(Some("by_owner"), "owner", owner));
            }
            16 | 17 => {
                let status = (*rng.pick(&["new", "open", "done"])).to_owned();
                self.ask("Query", &query(Some("by_status"), "status", status));
            }
            18 => {
                let statement = format!("SELECT * FROM \"{TABLE}\" WHERE PK = 'DOC#{}'", n / 20);
                self.ask("ExecuteStatement", &json!({"Statement": statement}));
            }
            _ => {
                self.ask("Scan", &json!({"TableName": TABLE, "Limit": 200}));
            }
        }
    }

    /// A table that lives briefly: its space must come back.
    fn passing_table(&self, thread: usize, rng: &mut Rng) {
        let name = format!("passing-{thread}");
        self.ask("CreateTable", &create_table(&name));
        for n in 0..50 {
            let item = self.document(rng, n);
            self.ask("PutItem", &json!({"TableName": name, "Item": item}));
        }
        self.ask("DeleteTable", &json!({"TableName": name}));
    }

    fn work(&self, thread: usize, rate: u64) {
        let mut rng = Rng::new(thread as u64 + 1);
        let pause = Duration::from_secs(THREADS as u64) / u32::try_from(rate.max(1)).unwrap();
        let mut due = Instant::now();
        while !self.is_over.load(Ordering::Relaxed) {
            match rng.below(2000) {
                0 => self.passing_table(thread, &mut rng),
                1..=999 => self.write(&mut rng),
                _ => self.read(&mut rng),
            }
            due += pause;
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
    }

    fn everything(&self, index: Option<&str>) -> BTreeMap<String, Value> {
        let mut body = json!({"TableName": TABLE});
        if let Some(index) = index {
            body["IndexName"] = json!(index);
        }
        let mut items = BTreeMap::new();
        loop {
            let page = succeed(&self.database, "Scan", &body);
            for item in page["Items"].as_array().unwrap() {
                items.insert(format!("{} {}", item["PK"], item["SK"]), item.clone());
            }
            match page.get("LastEvaluatedKey") {
                Some(last) => body["ExclusiveStartKey"] = last.clone(),
                None => return items,
            }
        }
    }

    /// With nobody writing: the money is all there, and the indexes are what the table says.
    fn audit(&self) {
        expire(&self.database, false);
        // A sweep that was under way comes to its end, sooner or later.
        let patience = Instant::now() + Duration::from_mins(1);
        let differing = loop {
            let differing = self.differing_index();
            if differing.is_none() || Instant::now() > patience {
                break differing;
            }
            thread::sleep(Duration::from_millis(500));
        };
        assert_eq!(differing, None, "this index differs from the table");
        let items = self.everything(None);
        let balance = |item: &Value| item["balance"]["N"].as_str()?.parse::<i64>().ok();
        let money: i64 = items.values().filter_map(balance).sum();
        assert_eq!(money, OPENING_BALANCE * ACCOUNTS as i64);
    }

    /// An index that is not what the table says.
    fn differing_index(&self) -> Option<&'static str> {
        let items = self.everything(None);
        let indexes = [("by_status", ["status", "rank"]), ("by_owner", ["owner", "SK"])];
        let differs = |(index, key): &(&'static str, [&str; 2])| {
            let mut expected = items.clone();
            expected.retain(|_, item| key.iter().all(|name| item.get(name).is_some()));
            self.everything(Some(index)) != expected
        };
        indexes.iter().find(|one| differs(one)).map(|(index, _)| *index)
    }
}

/// The memory that this process has in use, as the system counts it.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn disk_bytes(path: &Path) -> u64 {
    let Ok(listing) = fs::read_dir(path) else { return 0 };
    let size = |path: &Path| if path.is_dir() { disk_bytes(path) } else { file_bytes(path) };
    listing.flatten().map(|entry| size(&entry.path())).sum()
}

/// A file may be gone by the time it is asked about.
fn file_bytes(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Samples of memory that are always taken for the warm-up's.
const WARM_UP_SAMPLES: u32 = 4;

fn soak(length: Duration, rate: u64) {
    let directory = tempfile::tempdir().unwrap();
    let soak = Soak::start(directory.path());
    let start = Instant::now();
    let warm_up = length / 4;
    let (mut settled, mut most, mut most_resident, mut most_disk) = (0, 0, 0, 0);
    let mut samples = 0;
    let mib = |bytes: u64| bytes >> 20;
    thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let soak = &soak;
                scope.spawn(move || soak.work(thread, rate))
            })
            .collect();
        let step = (length / 120).max(Duration::from_millis(200));
        while start.elapsed() < length && !workers.iter().any(thread::ScopedJoinHandle::is_finished)
        {
            thread::sleep(step);
            // What is allocated is what must not grow; what is resident depends on the allocator too.
            let allocated = ALLOCATED.current_usage() as u64;
            // On a busy machine the samples come late: some are of the warm-up all the same.
            samples += 1;
            if start.elapsed() < warm_up || samples <= WARM_UP_SAMPLES {
                settled = settled.max(allocated);
            }
            most = most.max(allocated);
            most_resident = most_resident.max(resident_bytes());
            most_disk = most_disk.max(disk_bytes(directory.path()));
        }
        soak.is_over.store(true, Ordering::Relaxed);
        for worker in workers {
            worker.join().unwrap();
        }
    });
    soak.audit();
    let done = soak.done.load(Ordering::Relaxed);
    println!(
        "{done} requests in {:.0?}: memory {} MiB after the warm-up, {} MiB at most ({} MiB resident); \
         disk {} MiB at most",
        start.elapsed(),
        mib(settled),
        mib(most),
        mib(most_resident),
        mib(most_disk)
    );
    assert!(most <= settled + MEMORY_SLACK_BYTES, "memory grows");
    assert!(most_disk <= MAX_DISK_BYTES, "the disk fills up");
}

fn setting(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn a_mixed_load_stays_bounded_and_consistent() {
    soak(Duration::from_secs(4), 2_000);
}

#[test]
#[ignore = "long: an hour, see the top of the file"]
fn a_mixed_load_stays_bounded_and_consistent_for_an_hour() {
    let minutes = setting("KEYLOOM_SOAK_MINUTES", 60);
    soak(Duration::from_mins(minutes), setting("KEYLOOM_SOAK_RATE", 1_000));
}
