//! Point-in-time recovery: a restore to a random second gives what the reference model had then.
//!
//! Requests, expiry, changed indexes, closings and kills go on while the clock moves; what each table is
//! after each step is written down with the time. Restores are begun and then interrupted, too.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use keyloom_engine::Database;
use keyloom_testkit::lockstep::{Lockstep, START_MS, call, succeed};
use keyloom_testkit::model::Model;
use keyloom_testkit::rng::{SeedReport, fresh_seeds, seeds};
use keyloom_testkit::workload::{Workload, create_table, update_table};
use serde_json::{Value, json};

/// How many restores are made at once.
const RESTORES: usize = 4;
const DAYS: u64 = 2;

/// What a table was, from which millisecond on.
type Timeline = Vec<(u64, Vec<String>)>;

struct Run {
    databases: Lockstep,
    model: Model,
    workload: Workload,
    timelines: BTreeMap<String, Timeline>,
    /// Since when each table has its recovery.
    since_ms: BTreeMap<String, u64>,
    now_ms: u64,
    restores: usize,
    /// Restores whose table has changed since the second.
    past: usize,
}

impl Run {
    fn new(seed: u64) -> Self {
        let (databases, model, workload) = (Lockstep::new(), Model::new(), Workload::new(seed));
        let mut run = Self {
            databases,
            model,
            workload,
            timelines: BTreeMap::new(),
            since_ms: BTreeMap::new(),
            now_ms: START_MS,
            restores: 0,
            past: 0,
        };
        for schema in run.workload.schemas().to_vec() {
            let expiry = json!({"TableName": schema.name.as_str(),
                "TimeToLiveSpecification": {"AttributeName": "dies", "Enabled": true}});
            for database in run.databases.databases() {
                succeed(database, "CreateTable", &create_table(&schema));
                succeed(database, "UpdateTimeToLive", &expiry);
            }
            let name = schema.name.to_string();
            run.model.create(schema);
            run.switch(&name, true);
        }
        run.note();
        run
    }

    fn advance(&mut self, by: Duration) {
        self.databases.advance(by);
        self.now_ms += by.as_millis() as u64;
    }

    /// Switches recovery on, for the same days, or off.
    fn switch(&mut self, table: &str, is_on: bool) {
        let mut specification = json!({"PointInTimeRecoveryEnabled": is_on});
        if is_on {
            specification["RecoveryPeriodInDays"] = DAYS.into();
            self.since_ms.entry(table.to_owned()).or_insert(self.now_ms);
        } else {
            self.since_ms.remove(table);
        }
        let body = json!({"TableName": table, "PointInTimeRecoverySpecification": specification});
        for database in self.databases.databases() {
            succeed(database, "UpdateContinuousBackups", &body);
        }
    }

    /// Writes down what the tables are now.
    fn note(&mut self) {
        for schema in self.workload.schemas() {
            let items = sorted(&self.model.table(&schema.name).items());
            let timeline = self.timelines.entry(schema.name.to_string()).or_default();
            if timeline.last().is_none_or(|(_, last)| *last != items) {
                timeline.push((self.now_ms, items));
            }
        }
    }

    fn step(&mut self) {
        let (operation, mut body) = self.workload.next_request();
        // A token is forgotten after ten minutes, and the model has no clock.
        body.as_object_mut().unwrap().remove("ClientRequestToken");
        if operation == "PutItem" && self.workload.rng().chance(25) {
            let dies = self.now_ms / 1000 + self.workload.rng().below(60) as u64;
            body["Item"]["dies"] = json!({"N": dies.to_string()});
        }
        // Most of an item stays as it was: its history has differences.
        if operation == "PutItem" && self.workload.rng().chance(60) {
            body["Item"]["body"] = json!({"S": "the same in many items, ".repeat(20)});
        }
        let expected = self.model.call(operation, &body);
        let actual = self.databases.call(operation, &body);
        assert_eq!(expected.status, actual.status, "{operation} {body}");
        self.note();
    }

    /// Lets the databases remove what has expired, and the model with them.
    fn expire(&mut self) {
        self.databases.run_maintenance();
        let now_s = self.now_ms / 1000;
        for schema in self.workload.schemas().to_vec() {
            for item in self.model.table(&schema.name).items() {
                let dies = item["dies"]["N"].as_str().and_then(|text| text.parse::<u64>().ok());
                if dies.is_some_and(|dies| dies < now_s) {
                    let names = schema.key.attributes().map(|attribute| attribute.name.as_str());
                    let key: BTreeMap<&str, &Value> =
                        names.map(|name| (name, &item[name])).collect();
                    let delete = json!({"TableName": schema.name.as_str(), "Key": key});
                    assert_eq!(self.model.call("DeleteItem", &delete).status, 200);
                }
            }
        }
        self.note();
    }

    /// Adds or removes an index. What is restored has the indexes of the present.
    fn change_indexes(&mut self) {
        let (before, after) = self.workload.next_schema();
        for database in self.databases.databases() {
            succeed(database, "UpdateTable", &update_table(&before, &after));
        }
        self.model.set_schema(after.clone());
        self.workload.set_schema(after);
        self.expire();
    }

    /// Closes the database on disk, or has it killed. Numbers may be ahead of the clock by a second then.
    fn reopen(&mut self) {
        if self.workload.rng().chance(40) {
            self.databases.reopen();
        } else {
            self.databases.crash();
        }
        self.advance(Duration::from_millis(1100));
    }

    /// Something else than a request.
    fn event(&mut self) {
        match self.workload.rng().below(12) {
            0 => self.change_indexes(),
            1..4 => self.reopen(),
            4..6 => self.expire(),
            6 => {
                let hours = 1 + self.workload.rng().below(30) as u64;
                self.advance(Duration::from_hours(hours));
            }
            7 => {
                let name = self.workload.schemas()[0].name.to_string();
                self.switch(&name, false);
                self.advance(Duration::from_secs(2));
                self.switch(&name, true);
            }
            _ => {}
        }
    }

    /// A random second of the table's window, mostly near one of its changes.
    fn second(&mut self, table: &str) -> u64 {
        let day_ms = 24 * 60 * 60 * 1000;
        let earliest_ms = self.since_ms[table].max(self.now_ms - DAYS * day_ms);
        let (earliest, latest) = (earliest_ms.div_ceil(1000), (self.now_ms - 3000) / 1000);
        let timeline = &self.timelines[table];
        let (near, _) = timeline[self.workload.rng().below(timeline.len())];
        let near = (near / 1000 + self.workload.rng().below(3) as u64).saturating_sub(1);
        if self.workload.rng().chance(80) && (earliest..=latest).contains(&near) {
            return near;
        }
        earliest + self.workload.rng().below((latest - earliest) as usize + 1) as u64
    }

    /// Restores random seconds, some of them interrupted, and compares.
    fn check_restores(&mut self) {
        self.advance(Duration::from_secs(5));
        let mut wanted = Vec::new();
        for number in 0..RESTORES {
            let schemas = self.workload.schemas().to_vec();
            let schema = self.workload.rng().pick(&schemas).clone();
            let second = self.second(&schema.name);
            let copy = format!("copy-{number}");
            let body = json!({
                "SourceTableName": schema.name.as_str(), "TargetTableName": copy,
                "RestoreDateTime": second,
            });
            for database in self.databases.databases() {
                succeed(database, "RestoreTableToPointInTime", &body);
            }
            let timeline = &self.timelines[schema.name.as_str()];
            let then = timeline.iter().rev().find(|(ms, _)| *ms < second * 1000);
            let items = then.map(|(_, items)| items.clone()).unwrap_or_default();
            self.past += usize::from(timeline.last().is_some_and(|(_, now)| *now != items));
            wanted.push((copy, schema, second, items));
            // Others write while it is made, and it may be killed.
            (0..3).for_each(|_| self.step());
            if self.workload.rng().chance(20) {
                self.reopen();
            }
        }
        self.expire();
        for database in self.databases.databases() {
            for (copy, schema, second, items) in &wanted {
                let found = scan(database, copy, None);
                assert_eq!(&found, items, "{} at {second} in {database:?}", schema.name);
                for index in &schema.indexes {
                    // What belongs there is judged by the verification below.
                    scan(database, copy, Some(&index.name));
                }
            }
            let report = database.verify().unwrap();
            assert!(report.is_clean(), "{:?} in {database:?}", report.findings);
            for (copy, ..) in &wanted {
                succeed(database, "DeleteTable", &json!({"TableName": copy}));
            }
        }
        self.restores += wanted.len();
    }

    /// A time outside the window is refused.
    fn check_window(&self) {
        for schema in self.workload.schemas() {
            let since_s = self.since_ms[schema.name.as_str()] / 1000;
            for second in [since_s - 1, self.now_ms / 1000 + 60] {
                let body = json!({
                    "SourceTableName": schema.name.as_str(), "TargetTableName": "copy",
                    "RestoreDateTime": second,
                });
                for database in self.databases.databases() {
                    let text = body.to_string();
                    let answer = call(database, "RestoreTableToPointInTime", text.as_bytes());
                    assert_eq!(answer.code(), "InvalidRestoreTimeException", "{body}");
                }
            }
        }
    }

    /// Deletes every table; the backup that it leaves has its items.
    fn check_deletions(&mut self) {
        for schema in self.workload.schemas().to_vec() {
            let name = json!({"TableName": schema.name.as_str()});
            let expected = sorted(&self.model.table(&schema.name).items());
            for database in self.databases.databases() {
                succeed(database, "DeleteTable", &name);
                database.run_maintenance().unwrap();
                let mut list = name.clone();
                list["BackupType"] = "SYSTEM".into();
                let backups = succeed(database, "ListBackups", &list);
                let arn = &backups["BackupSummaries"][0]["BackupArn"];
                let restore = json!({"BackupArn": arn, "TargetTableName": schema.name.as_str()});
                succeed(database, "RestoreTableFromBackup", &restore);
                database.run_maintenance().unwrap();
                assert_eq!(scan(database, &schema.name, None), expected, "{database:?}");
            }
        }
    }
}

fn sorted(items: &[Value]) -> Vec<String> {
    let mut items: Vec<String> = items.iter().map(Value::to_string).collect();
    items.sort();
    items
}

/// All items of a table or an index.
fn scan(database: &Database, table: &str, index: Option<&str>) -> Vec<String> {
    let mut items = Vec::new();
    let mut body = json!({"TableName": table});
    if let Some(index) = index {
        body["IndexName"] = index.into();
    }
    loop {
        let page = succeed(database, "Scan", &body);
        items.extend(page["Items"].as_array().unwrap().iter().cloned());
        match page.get("LastEvaluatedKey") {
            Some(last) => body["ExclusiveStartKey"] = last.clone(),
            None => return sorted(&items),
        }
    }
}

/// Runs a seed; how many restores were compared, and how many were of a table that had changed since.
fn run(seed: u64, rounds: usize) -> (usize, usize) {
    let _report = SeedReport(seed);
    let mut run = Run::new(seed);
    for _ in 0..rounds {
        for _ in 0..25 {
            let pause = run.workload.rng().below(900) as u64;
            run.advance(Duration::from_millis(pause));
            run.step();
            if run.workload.rng().chance(12) {
                run.event();
            }
        }
        run.check_restores();
    }
    run.check_window();
    run.check_deletions();
    (run.restores, run.past)
}

fn compare(seeds: Vec<u64>, rounds: usize, restores: usize) {
    let (start, mut compared, mut past, mut runs) = (Instant::now(), 0, 0, 0);
    for seed in seeds {
        let of_seed = run(seed, rounds);
        compared += of_seed.0;
        past += of_seed.1;
        runs += 1;
        if compared >= restores {
            break;
        }
    }
    let took = start.elapsed().as_secs_f64();
    println!("{runs} seeds: {compared} restores, {past} of a changed table, in {took:.1} s");
    // A run in which tables had mostly stayed as they were would show little.
    assert!(past * 2 > compared, "{past} of {compared}");
}

#[test]
fn a_restore_gives_what_the_model_had_at_that_second() {
    compare(seeds(9), 3, 100);
}

#[test]
#[ignore = "long: scripts/long pitr"]
fn restores_give_what_the_model_had_for_a_long_time() {
    let restores = std::env::var("KEYLOOM_RESTORES").map_or(2000, |count| count.parse().unwrap());
    compare(fresh_seeds(100_000), 6, restores);
}
