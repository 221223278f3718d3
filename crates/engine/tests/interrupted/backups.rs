//! Backups and restores.

use keyloom_engine::Database;
use serde_json::{Value, json};

use crate::{ITEMS, Scenario, described, everything, filled, indexed, ok, put, remove};

fn backup(db: &Database) -> Value {
    let body = json!({"TableName": "music", "BackupName": "copy"});
    ok(db, "CreateBackup", body)["BackupDetails"]["BackupArn"].clone()
}

fn restore_to_point(db: &Database) {
    let body = json!({
        "SourceTableName": "music", "TargetTableName": "copy", "UseLatestRestorableTime": true,
    });
    ok(db, "RestoreTableToPointInTime", body);
}

/// A store with a backup of all items.
fn backed_up() -> (keyloom_store::MemoryStore, Value) {
    let store = std::sync::Arc::new(filled(&indexed()));
    let db = crate::open(&store, None);
    let arn = backup(&db);
    db.run_maintenance().unwrap();
    drop(db);
    (store.fork(), arn)
}

/// The items of a backup: those of a table that is restored from it.
fn restored(db: &Database, arn: &Value) -> Vec<String> {
    let body = json!({"TargetTableName": "restored", "BackupArn": arn});
    ok(db, "RestoreTableFromBackup", body);
    db.run_maintenance().unwrap();
    assert_eq!(described(db, "restored").unwrap()["TableStatus"], "ACTIVE");
    everything(db, "restored", None)
}

/// A table is whole: its index and its count follow from its items.
fn is_whole(db: &Database, table: &str) {
    let items = everything(db, table, None);
    assert_eq!(everything(db, table, Some("by-g")), items);
    let described = described(db, table).unwrap();
    assert_eq!(described["ItemCount"], items.len());
    assert_eq!(described["GlobalSecondaryIndexes"][0]["ItemCount"], items.len());
}

#[test]
fn a_backup_is_made_whenever_it_is_interrupted() {
    Scenario {
        before: filled(&indexed()),
        buckets: None,
        act: backup,
        check: |db: &Database, arn: Option<Value>| {
            let listed = ok(db, "ListBackups", json!({}));
            let listed = listed["BackupSummaries"].as_array().unwrap().len();
            let Some(arn) = arn else { return assert!(listed <= 1) };
            assert_eq!(listed, 1);
            let described = ok(db, "DescribeBackup", json!({"BackupArn": arn}));
            let source = &described["BackupDescription"]["SourceTableDetails"];
            assert_eq!(source["ItemCount"], ITEMS);
            assert_eq!(restored(db, &arn), everything(db, "music", None));
        },
    }
    .run();
}

#[test]
fn a_backup_of_a_table_that_is_deleted_meanwhile_has_all_its_items() {
    Scenario {
        before: filled(&indexed()),
        buckets: None,
        act: |db: &Database| {
            let arn = backup(db);
            ok(db, "DeleteTable", json!({"TableName": "music"}));
            arn
        },
        check: |db: &Database, arn: Option<Value>| {
            let Some(arn) = arn else { return };
            assert_eq!(restored(db, &arn).len(), ITEMS as usize);
            assert!(described(db, "music").is_none());
        },
    }
    .run();
}

#[test]
fn a_backup_shows_one_moment_whatever_is_written_meanwhile() {
    let before = filled(&indexed());
    let at_request = everything(&crate::open(&before.fork().into(), None), "music", None);
    Scenario {
        before,
        buckets: None,
        act: |db: &Database| {
            let arn = backup(db);
            (0..4).for_each(|number| remove(db, "music", number));
            (ITEMS..ITEMS + 4).for_each(|number| put(db, "music", number));
            arn
        },
        check: |db: &Database, arn: Option<Value>| {
            let Some(arn) = arn else { return };
            let kept = restored(db, &arn);
            // The moment of the request, or that of the kill.
            assert!(kept == at_request || kept == everything(db, "music", None));
        },
    }
    .run();
}

#[test]
fn a_restore_from_a_backup_is_completed_even_if_the_backup_is_deleted_meanwhile() {
    let (before, arn) = backed_up();
    for is_deleted in [false, true] {
        Scenario {
            before: before.fork(),
            buckets: None,
            act: |db: &Database| {
                let body = json!({"TargetTableName": "copy", "BackupArn": arn});
                ok(db, "RestoreTableFromBackup", body);
                if is_deleted {
                    ok(db, "DeleteBackup", json!({"BackupArn": arn}));
                }
                Value::Null
            },
            check: |db: &Database, acknowledged: Option<Value>| {
                assert!(acknowledged.is_none() || described(db, "copy").is_some());
                if described(db, "copy").is_some() {
                    is_whole(db, "copy");
                    assert_eq!(everything(db, "copy", None), everything(db, "music", None));
                }
            },
        }
        .run();
    }
}

#[test]
fn a_restore_of_the_present_is_completed_and_shows_one_moment() {
    let before = filled(&indexed());
    let at_request = everything(&crate::open(&before.fork().into(), None), "music", None);
    Scenario {
        before,
        buckets: None,
        act: |db: &Database| {
            restore_to_point(db);
            (0..4).for_each(|number| remove(db, "music", number));
            (ITEMS..ITEMS + 4).for_each(|number| put(db, "music", number));
            Value::Null
        },
        check: |db: &Database, acknowledged: Option<Value>| {
            assert!(acknowledged.is_none() || described(db, "copy").is_some());
            if described(db, "copy").is_some() {
                is_whole(db, "copy");
                assert_eq!(everything(db, "copy", None), at_request);
            }
        },
    }
    .run();
}

/// A store whose table has been changed since a point, and the items at that point. The clock of those who
/// open it is behind all that.
fn changed() -> (keyloom_store::MemoryStore, f64, Vec<String>) {
    let store = std::sync::Arc::new(filled(&indexed()));
    let clock = std::sync::Arc::new(keyloom_engine::ManualClock::at_ms(crate::START_MS + 20_000));
    let options = keyloom_engine::Options { clock, ..crate::options(None) };
    let db = Database::on(std::sync::Arc::clone(&store) as _, options).unwrap();
    let at_point = everything(&db, "music", None);
    (0..ITEMS).step_by(3).for_each(|number| remove(&db, "music", number));
    (ITEMS..ITEMS + 4).for_each(|number| put(&db, "music", number));
    drop(db);
    (store.fork(), (crate::START_MS / 1000 + 10) as f64, at_point)
}

#[test]
fn a_restore_of_the_past_is_completed_whatever_becomes_of_its_table() {
    let (before, point_s, at_point) = changed();
    for fate in ["kept", "deleted"] {
        Scenario {
            before: before.fork(),
            buckets: None,
            act: |db: &Database| {
                let body = json!({
                    "SourceTableName": "music", "TargetTableName": "copy", "RestoreDateTime": point_s,
                });
                ok(db, "RestoreTableToPointInTime", body);
                if fate == "deleted" {
                    ok(db, "DeleteTable", json!({"TableName": "music"}));
                }
                Value::Null
            },
            check: |db: &Database, acknowledged: Option<Value>| {
                let copy = described(db, "copy");
                assert!(acknowledged.is_none() || copy.is_some(), "{fate}");
                if copy.is_some() {
                    is_whole(db, "copy");
                    assert_eq!(everything(db, "copy", None), at_point, "{fate}");
                }
                assert!(db.verify().unwrap().is_clean());
            },
        }
        .run();
    }
}

#[test]
fn a_restore_that_is_interrupted_after_recovery_was_switched_off_has_failed() {
    let (before, point_s, at_point) = changed();
    for fate in ["switched off", "switched on again", "deleted"] {
        let store = std::sync::Arc::new(before.fork());
        let db = crate::open(&store, None);
        let body = json!({
            "SourceTableName": "music", "TargetTableName": "copy", "RestoreDateTime": point_s,
        });
        ok(&db, "RestoreTableToPointInTime", body);
        crate::set_recovery(&db, false);
        // The history says nothing of this.
        remove(&db, "music", 1);
        match fate {
            "switched on again" => crate::set_recovery(&db, true),
            "deleted" => drop(ok(&db, "DeleteTable", json!({"TableName": "music"}))),
            _ => {}
        }
        let killed = std::sync::Arc::new(store.fork());
        db.run_maintenance().unwrap();
        is_whole(&db, "copy");
        assert_eq!(everything(&db, "copy", None), at_point, "{fate}: it has its snapshot");
        let db = crate::open(&killed, None);
        db.run_maintenance().unwrap();
        let copy = described(&db, "copy").unwrap();
        assert_eq!(copy["TableStatus"], "FAILED", "{fate}: {copy}");
        ok(&db, "DeleteTable", json!({"TableName": "copy"}));
        db.run_maintenance().unwrap();
        assert!(db.verify().unwrap().is_clean(), "{fate}");
    }
}

#[test]
fn a_restore_goes_on_when_items_were_deleted_between_two_kills() {
    let recorder = std::sync::Arc::new(crate::Recorder::new(filled(&indexed())));
    let db = crate::open(&recorder, None);
    let at_request = everything(&db, "music", None);
    restore_to_point(&db);
    db.run_maintenance().unwrap();
    drop(db);
    let mut met_some = false;
    let kills = recorder.kills();
    let is_chosen = crate::chosen(kills.len(), 2);
    for (_, half) in kills.into_iter().enumerate().filter(|(number, _)| is_chosen(*number)) {
        let store = std::sync::Arc::new(half);
        // It is opened, and killed again before it goes on with anything.
        let db = crate::open(&store, None);
        if described(&db, "copy").is_none_or(|table| table["TableStatus"] != "CREATING") {
            continue;
        }
        (0..ITEMS).step_by(11).for_each(|number| remove(&db, "music", number));
        let db = crate::open(&std::sync::Arc::new(store.fork()), None);
        db.run_maintenance().unwrap();
        is_whole(&db, "copy");
        assert_eq!(everything(&db, "copy", None), at_request);
        met_some = true;
    }
    assert!(met_some);
}

#[test]
fn a_restore_of_a_table_that_is_deleted_meanwhile_has_all_its_items() {
    Scenario {
        before: filled(&indexed()),
        buckets: None,
        act: |db: &Database| {
            restore_to_point(db);
            ok(db, "DeleteTable", json!({"TableName": "music"}));
            Value::Null
        },
        check: |db: &Database, acknowledged: Option<Value>| {
            if acknowledged.is_some() {
                is_whole(db, "copy");
                assert_eq!(everything(db, "copy", None).len(), ITEMS as usize);
                assert!(described(db, "music").is_none());
            }
        },
    }
    .run();
}
