//! Random requests: the database in memory, the one on disk and, in some runs, three servers on one PostgreSQL answer as
//! the reference model does, and at any time their tables and indexes are what the model's table says they are.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use keyloom_testkit::export::export;
use keyloom_testkit::lockstep::{Lockstep, call, succeed};
use keyloom_testkit::model::{Model, agree};
use keyloom_testkit::replay::replay;
use keyloom_testkit::rng::{SeedReport, fresh_seeds, seeds};
use keyloom_testkit::workload::{Workload, create_table, update_table};
use serde_json::{Value, json};

/// How many requests lie between two full comparisons.
const AUDIT_EVERY: usize = 50;

/// How many servers share a PostgreSQL.
const SERVERS: usize = 3;

/// How often which operation had which outcome; an empty code is a success.
type Tally = BTreeMap<(&'static str, String), usize>;

struct Run {
    tally: Tally,
    databases: Lockstep,
    model: Model,
    workload: Workload,
}

impl Run {
    fn new(seed: u64, databases: Lockstep) -> Self {
        let (mut model, workload) = (Model::new(), Workload::new(seed));
        for schema in workload.schemas() {
            for database in databases.databases() {
                succeed(database, "CreateTable", &create_table(schema));
            }
            model.create(schema.clone());
        }
        Self { tally: Tally::new(), databases, model, workload }
    }

    fn step(&mut self) {
        let (operation, body) = self.workload.next_request();
        let expected = self.model.call(operation, &body);
        let actual = self.databases.call(operation, &body);
        assert!(
            agree(&expected, &actual),
            "{operation} {body}\nmodel    {expected}\ndatabase {actual}"
        );
        *self.tally.entry((operation, actual.code().to_owned())).or_default() += 1;
        if actual.body.get("LastEvaluatedKey").is_some() {
            let by = if body.get("Limit").is_some() { "page" } else { "page of 1 MB" };
            *self.tally.entry((by, String::new())).or_default() += 1;
        }
        self.workload.observe(operation, &body, &actual);
    }

    /// Adds or removes an index, with requests under way while the new one is being filled.
    fn change_indexes(&mut self) {
        let (before, after) = self.workload.next_schema();
        for database in self.databases.databases() {
            succeed(database, "UpdateTable", &update_table(&before, &after));
        }
        self.model.set_schema(after.clone());
        if after.indexes.len() < before.indexes.len() {
            self.workload.set_schema(after);
            return;
        }
        for _ in 0..10 {
            self.step();
        }
        self.perhaps_reopen(20);
        self.databases.run_maintenance();
        self.workload.set_schema(after);
    }

    /// Closes the database on disk, or has it crash, and opens it again.
    fn perhaps_reopen(&mut self, percent: usize) {
        if self.workload.rng().chance(percent) {
            if self.workload.rng().chance(50) {
                self.databases.reopen();
            } else {
                self.databases.crash();
            }
        }
    }

    /// Compares every table and index with the model.
    fn audit(&mut self) {
        self.perhaps_reopen(40);
        for schema in self.workload.schemas().to_vec() {
            let name = schema.name.as_str();
            self.check_counts(name);
            let expected = self.model.table(name).items();
            assert_same(&self.scan_all(name, None), &expected, name);
            for index in &schema.indexes {
                let expected = self.model.table(name).entries(&index.name);
                assert_same(&self.scan_all(name, Some(&index.name)), &expected, &index.name);
                self.check_index_count(name, &index.name, expected.len());
            }
        }
    }

    /// Scans everything, in pages, perhaps in segments.
    fn scan_all(&mut self, table: &str, index: Option<&str>) -> Vec<Value> {
        let rng = self.workload.rng();
        let limit = rng.chance(50).then(|| 1 + rng.below(20));
        let segments = rng.chance(40).then(|| 1 + rng.below(5));
        let mut items = Vec::new();
        for segment in 0..segments.unwrap_or(1) {
            let mut body = json!({"TableName": table});
            let mut set = |name: &str, value: Option<Value>| {
                if let Some(value) = value {
                    body[name] = value;
                }
            };
            set("IndexName", index.map(Value::from));
            set("Limit", limit.map(Value::from));
            set("TotalSegments", segments.map(Value::from));
            set("Segment", segments.map(|_| segment.into()));
            loop {
                let page = self.databases.call("Scan", &body).body;
                items.extend(page["Items"].as_array().unwrap().iter().cloned());
                match page.get("LastEvaluatedKey") {
                    Some(last) => body["ExclusiveStartKey"] = last.clone(),
                    None => break,
                }
            }
        }
        items
    }

    /// Compares every stream and every export with its table.
    fn audit_copies(&self) {
        for schema in self.workload.schemas() {
            let expected = self.model.table(&schema.name).items();
            for database in self.databases.databases() {
                let replayed = replay(database, &schema.name).items;
                let replayed: Vec<Value> = replayed.into_values().collect();
                assert_same(&replayed, &expected, "the stream");
                let exported = export(database, &self.databases.buckets(), &schema.name);
                assert_same(&exported, &expected, "the export");
            }
        }
    }

    fn split_shards(&mut self) {
        let schemas = self.workload.schemas().to_vec();
        for (schema, database) in
            schemas.iter().flat_map(|s| self.databases.databases().into_iter().map(move |d| (s, d)))
        {
            database.split_stream_shards(&schema.name).unwrap();
        }
    }

    fn check_counts(&self, table: &str) {
        let (count, bytes) = self.model.table(table).counts();
        for database in self.databases.databases() {
            let described = succeed(database, "DescribeTable", &json!({"TableName": table}));
            let shown = (&described["Table"]["ItemCount"], &described["Table"]["TableSizeBytes"]);
            assert_eq!(shown, (&json!(count), &json!(bytes)), "{table} in {database:?}");
        }
    }

    fn check_index_count(&self, table: &str, index: &str, expected: usize) {
        for database in self.databases.databases() {
            let described = succeed(database, "DescribeTable", &json!({"TableName": table}));
            let kinds = ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"];
            let mut indexes =
                kinds.iter().filter_map(|kind| described["Table"][kind].as_array()).flatten();
            let shown = indexes.find(|shown| shown["IndexName"] == index).unwrap();
            assert_eq!(shown["ItemCount"], expected, "{table} {index} in {database:?}");
        }
    }
}

/// Compares without order: Scan promises none.
fn assert_same(actual: &[Value], expected: &[Value], what: &str) {
    let sorted = |items: &[Value]| {
        let mut items: Vec<String> = items.iter().map(Value::to_string).collect();
        items.sort();
        items
    };
    assert_eq!(sorted(actual), sorted(expected), "{what}");
}

/// Runs a seed.
fn run(seed: u64, databases: Lockstep, requests: usize) -> Tally {
    let _report = SeedReport(seed);
    let mut run = Run::new(seed, databases);
    let requests = if run.workload.is_large() { requests / 3 } else { requests };
    for number in 1..=requests {
        run.step();
        match run.workload.rng().below(200) {
            0 => run.change_indexes(),
            1 => run.split_shards(),
            _ => {}
        }
        if number % AUDIT_EVERY == 0 {
            run.audit();
        }
    }
    run.audit();
    run.audit_copies();
    for database in run.databases.databases() {
        let report = database.verify().unwrap();
        assert!(report.is_clean(), "{report:?} in {database:?}");
    }
    // A fork has all that its origin has, and goes its own way.
    let fork = run.databases.memory().fork().unwrap();
    for schema in run.workload.schemas() {
        let body = json!({"TableName": schema.name.as_str()}).to_string();
        let scan = |database| call(database, "Scan", body.as_bytes());
        assert_eq!(scan(&fork), scan(run.databases.memory()));
        assert_eq!(call(&fork, "DeleteTable", body.as_bytes()).status, 200);
        assert_eq!(scan(run.databases.memory()).status, 200);
    }
    run.tally
}

#[test]
fn databases_answer_as_the_model_does() {
    let start = Instant::now();
    let (mut tally, mut requests) = (Tally::new(), 0);
    let seeds = seeds(12);
    for seed in &seeds {
        let of_seed = run(*seed, Lockstep::new(), 300);
        requests += requests_in(&of_seed);
        for (outcome, count) in of_seed {
            *tally.entry(outcome).or_default() += count;
        }
    }
    let rate = requests as f64 / start.elapsed().as_secs_f64();
    println!("{requests} requests compared, {rate:.0} per second: {tally:?}");
    if seeds.len() > 1 {
        assert_is_varied(&tally);
    }
}

#[test]
fn servers_on_one_postgres_answer_as_the_model_does() {
    // More indexes, splits and pages in fewer requests than above: each is a round trip or two.
    let mut requests = 0;
    for seed in seeds(2) {
        let databases = Lockstep::with_servers(SERVERS);
        if databases.cluster().is_none() {
            return;
        }
        requests += requests_in(&run(seed, databases, 200));
    }
    println!("{requests} requests compared with {SERVERS} servers");
}

/// How many requests a tally is of; pages are counted besides.
fn requests_in(tally: &Tally) -> usize {
    tally.iter().filter(|((name, _), _)| !name.starts_with("page")).map(|(_, count)| count).sum()
}

/// A workload that had lost its variety would prove little.
fn assert_is_varied(tally: &Tally) {
    let count = |operation, code: &str| {
        tally.get(&(operation, code.to_owned())).copied().unwrap_or_default()
    };
    for operation in [
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "GetItem",
        "Query",
        "page",
        "BatchGetItem",
        "BatchWriteItem",
        "TransactWriteItems",
        "TransactGetItems",
    ] {
        assert!(count(operation, "") >= 40, "{operation} succeeds too seldom: {tally:#?}");
    }
    for (operation, code) in [
        ("page of 1 MB", ""),
        ("PutItem", "ConditionalCheckFailedException"),
        ("PutItem", "ValidationException"),
        ("UpdateItem", "ConditionalCheckFailedException"),
        ("UpdateItem", "ValidationException"),
        ("DeleteItem", "ConditionalCheckFailedException"),
        ("Query", "ValidationException"),
        ("BatchWriteItem", "ValidationException"),
        ("TransactWriteItems", "TransactionCanceledException"),
        ("TransactWriteItems", "ValidationException"),
        ("TransactWriteItems", "IdempotentParameterMismatchException"),
    ] {
        assert!(count(operation, code) > 0, "{operation} never gets {code}: {tally:#?}");
    }
}

#[test]
#[ignore = "long: cargo test -p keyloom-testkit --release --test engine model -- --ignored --nocapture"]
fn databases_answer_as_the_model_does_for_a_long_time() {
    let start = Instant::now();
    let (mut requests, mut runs) = (0, 0);
    for seed in fresh_seeds(100_000) {
        let is_served = runs % 4 == 3;
        let databases = if is_served { Lockstep::with_servers(SERVERS) } else { Lockstep::new() };
        requests += requests_in(&run(seed, databases, 1000));
        runs += 1;
        if start.elapsed() > Duration::from_mins(5) {
            break;
        }
    }
    let rate = requests as f64 / start.elapsed().as_secs_f64();
    println!("{runs} seeds, {requests} requests compared, {rate:.0} per second");
}
