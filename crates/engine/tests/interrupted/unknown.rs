//! A store that does not know whether a commit was written: what the database tells of its tables is what
//! the next opening finds.

use std::sync::Arc;

use keyloom_engine::Database;
use keyloom_store::{Fault, FaultyStore};
use serde_json::{Value, json};

use crate::{call, described, everything, filled, indexed, ok, open, table};

/// All that is shown of tables and backups.
fn shown(db: &Database) -> Vec<Value> {
    let mut tables = ok(db, "ListTables", json!({}));
    let names = tables["TableNames"].as_array().unwrap().clone();
    let mut all = vec![tables.take()];
    all.extend(names.iter().map(|name| described(db, name.as_str().unwrap()).unwrap()));
    all.push(ok(db, "ListBackups", json!({})));
    all
}

#[test]
fn a_change_of_unknown_fate_is_found_out() {
    let before = filled(&indexed());
    let stream = json!({"StreamEnabled": false});
    let mut written = 0;
    // Each with the number of its commits before the answer.
    for (operation, body, commits) in [
        ("CreateTable", table("new", indexed()), 1),
        ("DeleteTable", json!({"TableName": "music"}), 1),
        ("UpdateTable", json!({"TableName": "music", "StreamSpecification": stream}), 1),
        ("CreateBackup", json!({"TableName": "music", "BackupName": "copy"}), 1),
    ] {
        for fault in [Fault::UnknownWritten, Fault::UnknownLost, Fault::UnknownLate] {
            for commits in 0..commits {
                let store = Arc::new(FaultyStore::new(before.fork()));
                let db = open(&store, None);
                store.plan(std::iter::repeat_n(Fault::None, commits).chain([fault]));
                let (status, reply) = call(&db, operation, &body);
                let is_expected = status == 200 || status == 500;
                assert!(is_expected, "{operation} {fault:?} {commits}: {reply}");
                written += u32::from(status == 200 && fault == Fault::UnknownWritten);
                // Whatever is acknowledged from here on must be there later.
                if described(&db, "music").is_some() {
                    crate::put(&db, "music", 10_000);
                }
                db.run_maintenance().unwrap();
                let told = shown(&db);
                drop(db);
                let db = open(&store, None);
                assert_eq!(shown(&db), told, "{operation} {fault:?} {commits}");
                if described(&db, "music").is_some() {
                    let items = everything(&db, "music", None);
                    assert!(items.iter().any(|item| item.contains("10000")));
                }
            }
        }
    }
    assert!(written >= 4, "{written} changes were found to be written");
}
