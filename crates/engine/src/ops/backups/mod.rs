//! Backups on demand, restores, and the settings of point-in-time recovery.
//!
//! A backup is a copy of a table's items in a keyspace of its own, taken from one snapshot, with the
//! table's record. Indexes are not copied: a restore writes the items anew, and they follow.

mod continuous;
mod create_backup;
mod delete_backup;
mod describe_backup;
mod list_backups;
mod restore;
mod restore_from_backup;
mod restore_to_point;

use keyloom_core::Result;
use keyloom_core::error::resource as message;
use serde::{Deserialize, Serialize};

use crate::catalog::TableRecord;
use crate::database::Inner;
use crate::layout::Keyspace;
use crate::ops::Handler;
use crate::ops::description::seconds;
use crate::resource;
use crate::wire::{Constraints, Fields, JsonWriter};

pub(crate) use continuous::{Moment, recovery_of};

const KIND: &str = "backup";

/// The operation of this name.
pub(crate) fn operation(name: &str) -> Option<Handler> {
    Some(match name {
        "CreateBackup" => create_backup::call,
        "DeleteBackup" => delete_backup::call,
        "DescribeBackup" => describe_backup::call,
        "DescribeContinuousBackups" => continuous::describe,
        "ListBackups" => list_backups::call,
        "RestoreTableFromBackup" => restore_from_backup::call,
        "RestoreTableToPointInTime" => restore_to_point::call,
        "UpdateContinuousBackups" => continuous::update,
        _ => return None,
    })
}

/// A backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Backup {
    /// The last part of the ARN.
    id: String,
    name: String,
    keyspace: Keyspace,
    /// Whether all items have been copied.
    available: bool,
    created_ms: u64,
    items: i64,
    bytes: i64,
    /// The table as it was.
    table: TableRecord,
}

impl Backup {
    fn arn(&self, database: &Inner) -> String {
        format!("{}/backup/{}", database.table_arn(&self.table.name), self.id)
    }

    fn store(&self, database: &Inner) -> Result<()> {
        resource::put(database, KIND, &self.id, self)
    }

    fn status(&self) -> &'static str {
        if self.available { "AVAILABLE" } else { "CREATING" }
    }

    /// The members that `BackupDetails` and `BackupSummary` share.
    fn write_details(&self, json: &mut JsonWriter, database: &Inner, status: &str) {
        json.string("BackupArn", &self.arn(database));
        json.string("BackupName", &self.name);
        json.integer("BackupSizeBytes", self.bytes);
        json.string("BackupStatus", status);
        json.string("BackupType", "USER");
        seconds(json, "BackupCreationDateTime", self.created_ms);
    }
}

/// `BackupArn` and the backup that it names.
fn find(database: &Inner, fields: &Fields<'_>) -> Result<Backup> {
    let arn = fields.string("BackupArn")?;
    let mut constraints = Constraints::new();
    constraints.required(arn.is_some(), "backupArn");
    if let Some(arn) = arn {
        constraints.length(arn, "backupArn", 37, 1024);
    }
    constraints.finish()?;
    let arn = arn.unwrap_or_default();
    let backup: Option<Backup> = match arn.rsplit_once("/backup/") {
        Some((_, id)) => resource::get(database, KIND, id)?,
        None => None,
    };
    // The region and the account choose nothing here, as with tables.
    let names_table = |backup: &Backup| crate::catalog::table_name(arn) == backup.table.name;
    backup.filter(names_table).ok_or_else(|| message::backup_not_found(arn))
}

/// Takes up restores that were under way when the database was closed, and clears away what cannot
/// be completed.
pub(crate) fn resume(database: &Inner) -> Result<()> {
    for backup in resource::all::<Backup>(database, KIND)? {
        if !backup.available {
            resource::delete_with_entries(database, KIND, &backup.id, backup.keyspace)?;
        }
    }
    restore::resume(database)
}
