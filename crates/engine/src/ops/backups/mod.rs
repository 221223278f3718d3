//! Backups on demand, restores, and the settings of point-in-time recovery.
//!
//! A backup is a copy of a table's items in a keyspace of its own, taken from one snapshot, with the
//! table's record. Indexes are not copied: a restore writes the items anew, and they follow.
//!
//! Both go on after they have been answered, and are durable from then on: what a kill interrupts is
//! taken up when the database is opened again. The snapshot is gone then, so the copy begins anew from
//! the table as the kill left it: it has everything that was acknowledged before the request, and what
//! was written between the request and the kill. A table or backup that is deleted while it is copied
//! keeps its entries until the copy is made ([`sources_in_use`]). What cannot be copied because it is
//! damaged ends with the status `FAILED` and a `FailureMessage`, neither of which AWS has.

pub(super) mod continuous;
pub(super) mod create_backup;
pub(super) mod delete_backup;
pub(super) mod describe_backup;
pub(super) mod list_backups;
mod restore;
pub(super) mod restore_from_backup;
pub(super) mod restore_to_point;
mod restoring;

use std::collections::BTreeSet;

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::error::resource as message;
use keyloom_core::{Error, Result};
use keyloom_store::{Bytes, Direction, KeyRange, Snapshot};
use serde::{Deserialize, Serialize};

use crate::catalog::TableRecord;
use crate::database::Inner;
use crate::layout::Keyspace;
use crate::ops::tables::description::seconds;
use crate::{layout, resource, store_error};

pub(crate) use continuous::{Moment, recovery_of};

const KIND: &str = "backup";

/// What a verification needs to know of a backup.
#[derive(Debug, Deserialize)]
pub(crate) struct StoredBackup {
    pub(crate) id: String,
    pub(crate) keyspace: Keyspace,
    pub(crate) available: bool,
    pub(crate) items: i64,
    pub(crate) bytes: i64,
    pub(crate) table: TableRecord,
}

impl StoredBackup {
    /// What the records of backups are kept under.
    pub(crate) const KIND: &str = KIND;
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
    /// Why they cannot be copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
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

    /// Whether its items are being copied.
    fn is_creating(&self) -> bool {
        !self.available && self.failure.is_none()
    }

    fn status(&self) -> &'static str {
        match (self.available, &self.failure) {
            (true, _) => "AVAILABLE",
            (false, None) => "CREATING",
            (false, Some(_)) => "FAILED",
        }
    }

    /// The members that `BackupDetails` and `BackupSummary` share.
    fn write_details(&self, json: &mut JsonWriter, database: &Inner, status: &str) {
        json.string("BackupArn", &self.arn(database));
        json.string("BackupName", &self.name);
        json.integer("BackupSizeBytes", self.bytes);
        json.string("BackupStatus", status);
        json.string("BackupType", "USER");
        seconds(json, "BackupCreationDateTime", self.created_ms);
        json.optional_string("FailureMessage", self.failure.as_deref());
    }
}

/// `BackupArn` and the backup that it names.
fn find(database: &Inner, fields: &Fields<'_>) -> Result<Backup> {
    let arn = fields.string("BackupArn");
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

/// Takes up backups and restores that were under way when the database was closed.
pub(crate) fn resume(database: &Inner) -> Result<()> {
    for backup in resource::all::<Backup>(database, KIND)? {
        if backup.is_creating() {
            create_backup::resume(database, backup)?;
        }
    }
    restoring::resume(database)
}

/// The keyspaces that are being copied: their entries are needed until the copy is made, even if what
/// they belong to is deleted meanwhile.
pub(crate) fn sources_in_use(database: &Inner) -> Result<BTreeSet<Keyspace>> {
    let backups = resource::all::<Backup>(database, KIND)?;
    let creating = backups.iter().filter(|backup| backup.is_creating());
    let mut sources: BTreeSet<Keyspace> = creating.map(|backup| backup.table.keyspace).collect();
    for table in database.catalog.all().values() {
        sources.extend(restore::source_of(&table.record));
    }
    Ok(sources)
}

/// Whether the entries of a keyspace are there: it is in use, or waits to be removed.
fn has_entries(database: &Inner, keyspace: Keyspace) -> Result<bool> {
    if database.catalog.all().values().any(|table| table.record.keyspace == keyspace) {
        return Ok(true);
    }
    let backups = resource::all::<Backup>(database, KIND)?;
    if backups.iter().any(|backup| backup.available && backup.keyspace == keyspace) {
        return Ok(true);
    }
    let note = database.store.get(&layout::dropped(keyspace)).map_err(store_error)?;
    Ok(note.is_some())
}

/// Entries of a keyspace, some at a time. A chunk that could not be read or used can be read again.
struct Copying<'a> {
    snapshot: &'a dyn Snapshot,
    range: KeyRange,
}

impl<'a> Copying<'a> {
    fn of(snapshot: &'a dyn Snapshot, keyspace: Keyspace) -> Self {
        Self { snapshot, range: KeyRange::prefix(&layout::entries(keyspace)) }
    }

    /// The next entries, at most so many.
    fn chunk(&self, count: usize) -> Result<Vec<(Bytes, Bytes)>> {
        let entries = self.snapshot.scan(self.range.clone(), Direction::Forward).take(count);
        let entries = entries.map(|entry| entry.map(|(key, value)| (key.into_bytes(), value)));
        entries.collect::<Result<_, _>>().map_err(store_error)
    }

    /// Goes on behind an entry.
    fn advance(&mut self, past: Bytes) {
        self.range.lower = std::ops::Bound::Excluded(past);
    }
}

/// The error of a copy whose source is gone.
fn source_gone() -> Error {
    Error::InternalServer("what it was copied from was gone when the database was opened".into())
}
