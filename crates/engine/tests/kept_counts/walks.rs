//! When a table is walked for expired items, and when again.

use std::sync::Arc;
use std::time::Duration;

use keyloom_engine::{Clock, Database, ManualClock, Options};
use keyloom_store::{MemoryStore, Store};
use serde_json::json;

use crate::looked_at::{Condition, Look, LookedAt};
use crate::{counts, create_table, fill, item, ok, scanned};

const NOW_S: u64 = 1_794_700_800;

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at_ms(NOW_S * 1000))
}

fn open(store: &Arc<impl Store + 'static>, clock: &Arc<ManualClock>, background: bool) -> Database {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    let options = Options { background, clock, ..Options::default() };
    Database::on(Arc::clone(store) as Arc<dyn Store>, options).unwrap()
}

fn set_ttl(database: &Database, table: &str, attribute: &str, enabled: bool) {
    let setting = json!({"Enabled": enabled, "AttributeName": attribute});
    let body = json!({"TableName": table, "TimeToLiveSpecification": setting});
    ok(database, "UpdateTimeToLive", &body);
}

fn put_until(database: &Database, number: u32, attribute: &str, second: u64) {
    let mut item = item(number, 1);
    item[attribute] = json!({"N": second.to_string()});
    ok(database, "PutItem", json!({"TableName": "notes", "Item": item}));
}

#[test]
fn a_table_that_was_looked_through_for_expired_items_is_not_after_a_clean_close() {
    let clock = clock();
    let store = Arc::new(MemoryStore::new());
    let database = open(&store, &clock, false);
    fill(&database);
    set_ttl(&database, "notes", "until", true);
    put_until(&database, 700, "until", NOW_S + 100);
    put_until(&database, 701, "until", NOW_S + 5000);
    database.run_maintenance().unwrap();
    let before = counts(&database);
    drop(database);

    let looked_at = Arc::new(Look::at(store.fork(), Condition::Whole));
    let database = open(&looked_at, &clock, false);
    database.run_maintenance().unwrap();
    assert_eq!(looked_at.entry_scans(), 0, "nothing has expired");
    clock.advance(Duration::from_secs(200));
    database.run_maintenance().unwrap();
    assert_eq!(looked_at.entry_scans(), 1);
    assert_eq!(counts(&database)[0].1, before[0].1 - 1);
    let crashed = Arc::new(Look::at(looked_at.inner().fork(), Condition::Whole));
    open(&crashed, &clock, false).run_maintenance().unwrap();
    assert_eq!(crashed.entry_scans(), 5, "everything is counted, and the table looked through");
}

/// Runs maintenance, and `meanwhile` once it walks over a table.
fn while_walked(
    database: &Database,
    store: &LookedAt<MemoryStore>,
    meanwhile: impl FnOnce(&Database),
) {
    store.turn(Condition::Held);
    let scans = store.entry_scans();
    std::thread::scope(|scope| {
        let maintenance = scope.spawn(|| database.run_maintenance());
        store.wait_for_scans(scans + 1);
        meanwhile(database);
        store.turn(Condition::Whole);
        maintenance.join().unwrap().unwrap();
    });
}

/// The old attribute is in no item, so that a walk for it would find nothing that ever expires.
#[test]
fn an_attribute_that_changes_during_a_walk_is_not_missed() {
    for walked in ["archive", "notes"] {
        let store = Arc::new(Look::at(MemoryStore::new(), Condition::Whole));
        let database = open(&store, &clock(), false);
        create_table(&database);
        put_until(&database, 1, "after", NOW_S - 10);
        if walked == "archive" {
            let keys = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
            let archive = json!({
                "TableName": "archive",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "KeySchema": keys,
            });
            ok(&database, "CreateTable", &archive);
            set_ttl(&database, "archive", "until", true);
        }
        set_ttl(&database, "notes", "before", true);
        while_walked(&database, &store, |database| {
            set_ttl(database, "notes", "before", false);
            set_ttl(database, "notes", "after", true);
        });
        database.run_maintenance().unwrap();
        assert_eq!(scanned(&database, None), 0, "while {walked} was walked over");
    }
}

#[test]
fn a_table_that_is_switched_off_during_a_walk_keeps_its_items() {
    let store = Arc::new(Look::at(MemoryStore::new(), Condition::Whole));
    let database = open(&store, &clock(), false);
    create_table(&database);
    put_until(&database, 1, "until", NOW_S - 10);
    set_ttl(&database, "notes", "until", true);
    while_walked(&database, &store, |database| set_ttl(database, "notes", "until", false));
    assert_eq!(scanned(&database, None), 1);
}

#[test]
fn a_walk_that_fails_is_made_again() {
    for condition in [Condition::Damaged, Condition::Broken] {
        let store = Arc::new(Look::at(MemoryStore::new(), Condition::Whole));
        let database = open(&store, &clock(), false);
        create_table(&database);
        put_until(&database, 1, "until", NOW_S - 10);
        set_ttl(&database, "notes", "until", true);
        store.turn(condition);
        std::thread::scope(|scope| {
            let failed = scope.spawn(|| database.run_maintenance()).join();
            assert!(!matches!(failed, Ok(Ok(()))), "{condition:?}");
        });
        store.turn(Condition::Whole);
        assert_eq!(scanned(&database, None), 1);
        database.run_maintenance().unwrap();
        assert_eq!(scanned(&database, None), 0, "{condition:?}");
    }
}

#[test]
fn a_walk_that_a_close_breaks_off_is_made_by_the_next_database() {
    let clock = clock();
    let store = Arc::new(Look::at(MemoryStore::new(), Condition::Whole));
    let database = open(&store, &clock, true);
    create_table(&database);
    put_until(&database, 1, "until", NOW_S + 100);
    put_until(&database, 2, "until", NOW_S - 10);
    store.turn(Condition::Endless);
    set_ttl(&database, "notes", "until", true);
    store.wait_for_scans(1);
    drop(database);

    let store = Arc::new(Look::at(store.inner().fork(), Condition::Whole));
    let database = open(&store, &clock, false);
    assert_eq!(store.entry_scans(), 0, "the counts are noted");
    database.run_maintenance().unwrap();
    assert_eq!(store.entry_scans(), 1);
    assert_eq!(counts(&database)[0].1, 1);
}
