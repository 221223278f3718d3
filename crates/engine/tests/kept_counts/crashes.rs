//! Whatever is written, closed and lost in whatever order: the counts are those of a fresh counting.

use std::sync::Arc;

use keyloom_engine::{Call, Database, DiskOptions, Durability};
use keyloom_store::{DiskStore, MemoryStore, Store};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use crate::looked_at::{Condition, Look};
use crate::{NOTE, counts, create_table, delete, item, ok, open, put, scanned};

#[derive(Clone, Debug)]
enum Step {
    Put(u32, u32),
    /// As a call that is begun and answered later.
    Begin(u32, u32),
    Delete(u32),
    Transaction(Vec<(u32, u32)>),
    /// The table goes, and another one of its name comes.
    Renew,
    Close,
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let number = 0..12_u32;
    let shape = 0..40_u32;
    let some = proptest::collection::btree_map(number.clone(), shape.clone(), 1..5);
    let step = prop_oneof![
        8 => (number.clone(), shape.clone()).prop_map(|(n, s)| Step::Put(n, s)),
        4 => (number.clone(), shape).prop_map(|(n, s)| Step::Begin(n, s)),
        6 => number.prop_map(Step::Delete),
        2 => some.prop_map(|items| Step::Transaction(items.into_iter().collect())),
        1 => Just(Step::Renew),
        3 => Just(Step::Close),
        3 => Just(Step::Crash),
    ];
    vec(step, 1..60)
}

fn write(database: &Database, step: &Step) {
    match step {
        Step::Put(number, shape) => put(database, *number, *shape),
        Step::Begin(number, shape) => {
            let body = json!({"TableName": "notes", "Item": item(*number, *shape)}).to_string();
            match database.begin_call("DynamoDB_20120810.PutItem", body.as_bytes()) {
                // Dropping it gives up the reply, not the write.
                Call::Waiting(waiting) if shape % 2 == 0 => drop(waiting),
                Call::Waiting(waiting) => assert_eq!(waiting.wait().status, 200),
                Call::Answered(reply) => assert_eq!(reply.status, 200),
                Call::NotBegun => put(database, *number, *shape),
            }
        }
        Step::Delete(number) => delete(database, *number),
        Step::Transaction(items) => {
            let put = |(number, shape): &(u32, u32)| json!({"Put": {"TableName": "notes", "Item": item(*number, *shape)}});
            let actions: Vec<_> = items.iter().map(put).collect();
            ok(database, "TransactWriteItems", json!({"TransactItems": actions}));
        }
        Step::Renew => {
            ok(database, "DeleteTable", json!({"TableName": "notes"}));
            database.run_maintenance().unwrap();
            create_table(database);
        }
        Step::Close | Step::Crash => {}
    }
}

/// The counts are what scans and a counting from the beginning say.
fn audit(database: &Database, crashed: &Arc<impl Store + 'static>) {
    assert_eq!(crashed.get(NOTE).unwrap(), None, "while it is open there is no note");
    let shown = counts(database);
    for (name, items, _) in &shown {
        let index = (!name.is_empty()).then_some(name.as_str());
        // A vector index cannot be scanned.
        if name != "near" {
            assert_eq!(*items, scanned(database, index), "{name}");
        }
    }
    assert_eq!(shown, counts(&open(crashed)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn in_memory(steps in steps()) {
        let mut store = Arc::new(MemoryStore::new());
        let mut database = open(&store);
        create_table(&database);
        for step in steps {
            write(&database, &step);
            match step {
                Step::Close => {
                    drop(database);
                    assert!(store.get(NOTE).unwrap().is_some());
                    database = open(&store);
                }
                Step::Crash => {
                    store = Arc::new(store.fork());
                    database = open(&store);
                }
                _ => continue,
            }
            audit(&database, &Arc::new(store.fork()));
        }
        audit(&database, &Arc::new(store.fork()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn on_disk_every_close_is_clean(steps in steps(), is_relaxed: bool) {
        let directory = tempfile::tempdir().unwrap();
        let durability = if is_relaxed { Durability::Relaxed } else { Durability::Sync };
        // So small that the log changes its file all the time, with the note, too.
        let options = DiskOptions { durability, memtable_bytes: 2000, ..DiskOptions::default() };
        let store = || DiskStore::open(directory.path(), options).unwrap().0;
        let mut database = open(&Arc::new(store()));
        create_table(&database);
        for step in steps {
            write(&database, &step);
            if matches!(step, Step::Close | Step::Crash) {
                let before = counts(&database);
                drop(database);
                let store = Arc::new(Look::at(store(), Condition::Whole));
                database = open(&store);
                assert_eq!(counts(&database), before);
                assert_eq!(store.entry_scans(), 0);
                assert_eq!(before[0].1, scanned(&database, None));
            }
        }
    }
}
