//! How fast a migration goes: no faster than it was told, whatever the capacity is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use keyloom::migrate::{Migration, Rate, Runner, Watch};
use keyloom::{Backend, Database, Error, Result, TableClient, item};

const OLD: &str = r#"
[table.notes]
partition_key = "PK"
sort_key = "SK"
[table.notes.index.GSI1]
partition_key = "GSI1PK"
sort_key = "SK"
[entity.Note]
PK = "USER#{user}"
SK = "NOTE#{number}"
GSI1PK = "DAY#{day}"
[entity.Note.fields]
user = "string"
number = { type = "u32", plain = true }
day = "string"
"#;

/// A database with notes; `writes` are the units that their table's index has.
fn database(notes: u32, writes: u32) -> Database {
    let database = Database::memory();
    let body = format!(
        r#"{{"TableName":"notes","BillingMode":"PROVISIONED",
            "ProvisionedThroughput":{{"ReadCapacityUnits":500,"WriteCapacityUnits":1000}},
            "AttributeDefinitions":[{{"AttributeName":"PK","AttributeType":"S"}},
                {{"AttributeName":"SK","AttributeType":"S"}},{{"AttributeName":"GSI1PK","AttributeType":"S"}}],
            "KeySchema":[{{"AttributeName":"PK","KeyType":"HASH"}},{{"AttributeName":"SK","KeyType":"RANGE"}}],
            "GlobalSecondaryIndexes":[{{"IndexName":"GSI1","Projection":{{"ProjectionType":"ALL"}},
                "KeySchema":[{{"AttributeName":"GSI1PK","KeyType":"HASH"}},{{"AttributeName":"SK","KeyType":"RANGE"}}],
                "ProvisionedThroughput":{{"ReadCapacityUnits":5,"WriteCapacityUnits":{writes}}}}}]}}"#
    );
    let table = TableClient::new(Backend::from(&database), "notes").with_keys("PK", "SK");
    table.call("CreateTable", &body).unwrap();
    let note = |number: u32| {
        item! {
            "PK" => "USER#ann", "SK" => format!("NOTE#{number}"), "GSI1PK" => "DAY#1", "user" => "ann",
            "number" => i64::from(number), "day" => "1",
        }
    };
    table.batch_put((0..notes).map(note)).unwrap();
    database
}

fn migration(database: &Database, rate: &str) -> Migration {
    let new = OLD.replace("table.notes", "table.notes2").replace("plain = true", "width = 6");
    let migration = Migration::from_toml(database, OLD, &new).unwrap();
    migration.with_marker_age(Duration::ZERO).with_rate(rate.parse::<Rate>().unwrap())
}

/// How long a migration of 60 notes takes, which are 120 units. The last second of them may be used at once.
fn takes(migration: &Migration) -> f64 {
    let begun = Instant::now();
    let mut runner = migration.runner(false).unwrap();
    runner.catch_up().unwrap();
    assert!(runner.progress().units.1 >= 120.0, "{:?}", runner.progress());
    begun.elapsed().as_secs_f64()
}

#[test]
fn units_are_for_reads_and_writes_together() {
    let took = takes(&migration(&database(60, 1000), "60"));
    assert!(took >= 1.0, "{took}");
}

#[test]
fn a_share_is_of_what_the_weakest_index_takes() {
    let took = takes(&migration(&database(60, 120), "50%"));
    assert!(took >= 1.0, "{took}");
}

#[test]
fn a_share_that_is_less_than_a_unit_is_refused_before_anything_is_made() {
    let database = database(1, 3);
    let refused = migration(&database, "10%").runner(false).err().unwrap().to_string();
    assert!(refused.contains("3 write units") && refused.contains("larger share"), "{refused}");
    assert!(migration(&database, "100%").status().unwrap().is_none());
}

/// Gives the index another capacity as soon as the first page was read.
struct Changes {
    table: TableClient,
    is_done: AtomicBool,
}

impl Watch for Changes {
    fn before(&self, operation: &'static str) -> Result<()> {
        if operation == "Scan" && !self.is_done.swap(true, Ordering::SeqCst) {
            let body = r#"{"TableName":"notes","GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"GSI1",
                "ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":1}}}]}"#;
            self.table.call("UpdateTable", body)?;
        }
        Ok(())
    }
}

#[test]
fn capacity_that_somebody_takes_away_is_seen() {
    let database = database(3, 100);
    let table = TableClient::new(Backend::from(&database), "notes");
    let watch = Arc::new(Changes { table, is_done: AtomicBool::new(false) });
    let migration = migration(&database, "50%").with_watch(watch);
    let ended = migration.runner(false).and_then(|mut runner: Runner<'_>| runner.catch_up());
    assert!(
        matches!(&ended, Err(Error::Config(why)) if why.contains("1 write units")),
        "{ended:?}"
    );
}

/// Patterns are asked of both forms, and their answers are read units like any others.
#[test]
fn what_patterns_read_is_counted() {
    let reads = |access: &str| {
        let old = format!("{OLD}{access}");
        let new = old.replace("table.notes", "table.notes2").replace("plain = true", "width = 6");
        let migration = Migration::from_toml(database(60, 1000), &old, &new).unwrap();
        let migration = migration.with_marker_age(Duration::ZERO);
        let mut runner = migration.runner(false).unwrap();
        let calls = runner.verify().unwrap().calls;
        (calls, runner.progress().units.0)
    };
    let (none, plain) = reads("");
    let (calls, asked) = reads("[access.of]\nfind = \"Note\"\nwhere = \"user = ?\"\n");
    assert!(none == 0 && calls > 0);
    assert!(asked >= plain + 2.0 * calls as f64, "{asked} and {plain} units, {calls} calls");
}
