//! Starts a restore: creates the new table and the job that fills it.
//!
//! The table exists at once, with the status `CREATING`; requests are refused until its items have been copied.

use keyloom_api::backups::RestoreTarget;
use keyloom_core::error::resource as message;
use keyloom_core::{Error, Result};
use keyloom_store::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::catalog::record::Status;
use crate::catalog::{Alongside, TableRecord};
use crate::database::Inner;
use crate::history::Past;
use crate::layout::Keyspace;
use crate::ops::tables::description;

use super::restoring::{self, Restore};
use super::target;

const SUMMARY: &str = "RestoreSummary";
const IN_PROGRESS: &str = "RestoreInProgress";
/// The items that a table is being restored from, so that a restart can go on.
const ITEMS: &str = "RestoreItems";

/// The items of a restore: those of a keyspace, at a time if that is not now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Items {
    pub(super) keyspace: Keyspace,
    pub(super) past: Option<Past>,
}

/// Where a restore takes its items from.
pub(super) struct Source {
    pub(super) record: TableRecord,
    pub(super) items: Items,
    pub(super) snapshot: Box<dyn Snapshot>,
    /// The ARN of the backup, if it is one.
    pub(super) backup_arn: Option<String>,
    pub(super) time_ms: u64,
}

/// Makes the new table and has its items copied; the answer is its description. `find` is called while
/// nothing can be deleted.
pub(super) fn begin(
    database: &Inner,
    target: &RestoreTarget,
    find: impl FnOnce() -> Result<Source>,
) -> Result<Vec<u8>> {
    let change = database.change()?;
    let source = find()?;
    if database.catalog.find(&target.table_name).is_some() {
        return Err(message::restore_target_exists(&target.table_name));
    }
    let mut record = target::record(target, database, &change, &source.record)?;
    let mut summary = Map::new();
    let arn = database.table_arn(&source.record.name);
    summary.insert("SourceTableArn".into(), json!(arn));
    summary.insert("RestoreDateTime".into(), json!(source.time_ms as f64 / 1000.0));
    summary.insert(IN_PROGRESS.into(), json!(true));
    if let Some(arn) = &source.backup_arn {
        summary.insert("SourceBackupArn".into(), json!(arn));
    }
    record.settings.insert(ITEMS.into(), json!(source.items));
    record.settings.insert(SUMMARY.into(), Value::Object(summary));
    let resources = vec![database.claim(&restoring::job_name(&record))?];
    let table = change.put(record, Alongside { resources, ..Alongside::default() })?;
    drop(change);
    let answer = description::of(database, &table, Status::Creating).encode("TableDescription");
    restoring::submit(database, Restore { table, from: source.items, snapshot: source.snapshot });
    Ok(answer)
}

/// What a table is being restored from.
pub(super) fn items_of(record: &TableRecord) -> Option<Items> {
    serde_json::from_value(record.settings.get(ITEMS)?.clone()).ok()
}

/// The record of a table whose restore has ended: it opens, or it has failed for a reason.
pub(super) fn ended(record: &TableRecord, failure: Option<&Error>) -> TableRecord {
    let mut record = record.clone();
    record.status = if failure.is_none() { Status::Active } else { Status::Failed };
    record.settings.remove(ITEMS);
    if let Some(Value::Object(summary)) = record.settings.get_mut(SUMMARY) {
        summary.insert(IN_PROGRESS.into(), json!(false));
        if let Some(failure) = failure {
            summary.insert("FailureMessage".into(), json!(failure.message()));
        }
    }
    record
}

/// Whether a table is being restored, or was.
pub(super) fn is_restored(record: &TableRecord) -> bool {
    record.settings.contains_key(SUMMARY)
}
