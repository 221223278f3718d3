//! Backups, restores, and point-in-time recovery.
//!
//! A backup is a copy of a table's items in its own keyspace, taken from one snapshot, together with the table's
//! record. Indexes are not copied: a restore writes the items, which rebuilds them.
//!
//! Deleting a table with point-in-time recovery creates a system backup: the items stay where they are, and their
//! keyspace becomes the backup's.
//!
//! Backups and restores continue after the response, and are durable from then on: if the process is killed, they
//! resume when the database is opened again. The snapshot is lost then, so the copy starts over. A restore to a point
//! in time finds the same point in the history, unless recovery was switched off meanwhile and the history has ended:
//! then it has failed. A backup is copied from the table as of the kill: it contains
//! everything acknowledged before the request, and also what was written between the request and the kill. The
//! entries and history of a table or backup that is deleted while it is copied are kept until the copy is complete
//! ([`sources_in_use`]). If damaged data cannot be copied, the status becomes `FAILED` with a `FailureMessage`; AWS
//! has neither.

pub(super) mod continuous;
pub(super) mod create_backup;
pub(super) mod delete_backup;
pub(super) mod describe_backup;
pub(super) mod list_backups;
mod restore;
pub(super) mod restore_from_backup;
pub(super) mod restore_to_point;
mod restoring;
mod target;

use std::collections::BTreeSet;

use keyloom_api::backups::{BackupDetails, BackupType};
use keyloom_api::tables::dynamodb_resource;
use keyloom_core::error::resource as message;
use keyloom_core::error::table::not_authorized;
use keyloom_core::{Error, Result};
use keyloom_store::Bytes;
use serde::{Deserialize, Serialize};

use crate::catalog::{Change, Table, TableLocation, TableRecord};
use crate::database::Inner;
use crate::history::Recovery;
use crate::layout::Keyspace;
use crate::ops::tables::stream_setting;
use crate::{identity, layout, resource, store_error};

const KIND: &str = "backup";

/// How long a system backup stays, as on AWS.
const SYSTEM_LIFE_MS: u64 = 35 * 24 * 60 * 60 * 1000;

/// What a verification needs to know of a backup.
#[derive(Debug, Deserialize)]
pub(crate) struct StoredBackup {
    pub(crate) id: String,
    pub(crate) keyspace: Keyspace,
    pub(crate) available: bool,
    #[serde(default)]
    pub(crate) kind: BackupType,
    pub(crate) items: i64,
    pub(crate) bytes: i64,
    pub(crate) table: TableRecord,
}

impl StoredBackup {
    /// What the records of backups are kept under.
    pub(crate) const KIND: &str = KIND;
}

/// A stored backup with its record.
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
    #[serde(default)]
    kind: BackupType,
    items: i64,
    bytes: i64,
    /// The table as it was.
    table: TableRecord,
}

impl Backup {
    fn arn(&self, database: &Inner) -> String {
        format!("{}/backup/{}", database.table_arn(&self.table.name), self.id)
    }

    fn commit(&self, change: &Change<'_>) -> Result<()> {
        resource::commit(change, KIND, &self.id, Some(self))
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

    /// When it goes by itself, if it does.
    fn expires_ms(&self) -> Option<u64> {
        (self.kind == BackupType::System).then(|| self.created_ms.saturating_add(SYSTEM_LIFE_MS))
    }

    fn has_expired(&self, now_ms: u64) -> bool {
        self.expires_ms().is_some_and(|expires_ms| expires_ms <= now_ms)
    }

    /// What replies say of it, with the status that the operation reports.
    fn details(&self, database: &Inner, status: &'static str) -> BackupDetails<'_> {
        BackupDetails {
            arn: self.arn(database),
            name: &self.name,
            size_bytes: self.bytes,
            status,
            kind: self.kind,
            created_ms: self.created_ms,
            expires_ms: self.expires_ms(),
            failure: self.failure.as_deref(),
        }
    }
}

/// A time as messages of backups show it: `2026-11-18T03:53:22Z`.
fn iso_seconds(ms: u64) -> String {
    let label = stream_setting::label(ms);
    format!("{}Z", label.get(..19).unwrap_or(&label))
}

/// The backup that an ARN names.
fn find(database: &Inner, operation: &str, arn: &str) -> Result<Backup> {
    let resource = dynamodb_resource(arn).map_err(|_| message::backup_arn_invalid())?;
    let named = resource.strip_prefix("table/").and_then(|rest| rest.split_once("/backup/"));
    let (_, id) = named.ok_or_else(message::backup_arn_invalid)?;
    let table = match database.catalog.locate(arn) {
        TableLocation::Here(table) => table,
        TableLocation::OtherRegion => return Err(message::backup_not_found(arn)),
        TableLocation::OtherAccount => {
            return Err(not_authorized(&database.options.account, operation, arn));
        }
    };
    let backup: Option<Backup> = resource::get(database, KIND, id)?;
    let names_table = |backup: &Backup| table == backup.table.name;
    let now_ms = database.clock.now_ms();
    let backup = backup.filter(names_table).filter(|backup| !backup.has_expired(now_ms));
    backup.ok_or_else(|| message::backup_not_found(arn))
}

/// The backup that a table leaves when it is deleted, if it does; the table's items become those of the
/// backup in the same commit.
pub(crate) fn left_by(database: &Inner, table: &Table) -> Result<Option<(Bytes, Bytes)>> {
    if table.recovery.is_none() {
        return Ok(None);
    }
    let now_ms = database.clock.now_ms();
    // Unlike others, its id has nothing random: two tables may be deleted at the same time.
    let mut id_ms = now_ms;
    while resource::get::<Backup>(database, KIND, &identity::system(id_ms))?.is_some() {
        id_ms += 1;
    }
    let backup = Backup {
        id: identity::system(id_ms),
        name: format!("{}$DeletedTableBackup", table.name()),
        keyspace: table.record.keyspace,
        available: true,
        failure: None,
        created_ms: now_ms,
        kind: BackupType::System,
        // As the table has shown them; the table of a restore counts anew.
        items: table.shared.stats.items(),
        bytes: table.shared.stats.bytes(),
        table: table.record.clone(),
    };
    resource::encode(KIND, &backup.id, &backup).map(Some)
}

/// Removes the system backups whose time is over.
pub(crate) fn remove_expired(database: &Inner) -> Result<()> {
    let now_ms = database.clock.now_ms();
    let is_due = |backup: &Backup| backup.has_expired(now_ms);
    if !resource::all::<Backup>(database, KIND)?.iter().any(is_due) {
        return Ok(());
    }
    for backup in resource::all::<Backup>(database, KIND)?.into_iter().filter(is_due) {
        delete(&database.change()?, &backup)?;
    }
    Ok(())
}

/// Forgets a backup and has its entries removed in the background.
fn delete(change: &Change<'_>, backup: &Backup) -> Result<()> {
    change.drop_entries(backup.keyspace)?;
    resource::commit(change, KIND, &backup.id, None::<&Backup>)
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
        if let Some(items) = restore::items_of(&table.record) {
            sources.insert(items.keyspace);
            sources.extend(items.past.map(|past| past.history));
        }
    }
    Ok(sources)
}

/// The smallest number from which on a restore reads a history.
pub(crate) fn earliest_read(database: &Inner, history: Keyspace) -> Option<u64> {
    let tables = database.catalog.all();
    let pasts = tables.values().filter_map(|table| restore::items_of(&table.record)?.past);
    pasts.filter(|past| past.history == history).map(|past| past.before).min()
}

/// Whether the entries of a keyspace are there: it is in use, or waits to be removed.
fn has_entries(database: &Inner, keyspace: Keyspace) -> Result<bool> {
    let is_of = |table: &Table| {
        let history = table.recovery.map(|recovery| recovery.keyspace);
        table.record.keyspace == keyspace || history == Some(keyspace)
    };
    if database.catalog.all().values().any(|table| is_of(table)) {
        return Ok(true);
    }
    let backups = resource::all::<Backup>(database, KIND)?;
    if backups.iter().any(|backup| backup.available && backup.keyspace == keyspace) {
        return Ok(true);
    }
    let note = database.store.get(&layout::dropped(keyspace)).map_err(store_error)?;
    Ok(note.is_some())
}

/// Whether a history has every change of a keyspace since it began. Not if recovery was switched off meanwhile: what was
/// written since is in the table and not in its history, and the two together make a table that never was.
fn is_recorded(database: &Inner, keyspace: Keyspace, history: Keyspace) -> Result<bool> {
    let records = |record: &TableRecord| {
        record.keyspace == keyspace
            && Recovery::of(record).is_some_and(|recovery| recovery.keyspace == history)
    };
    if database.catalog.all().values().any(|table| records(&table.record)) {
        return Ok(true);
    }
    // A table that was deleted while it had recovery has left a backup, in which nothing changes any more.
    let backups = resource::all::<Backup>(database, KIND)?;
    Ok(backups.iter().any(|backup| backup.keyspace == keyspace && records(&backup.table)))
}

/// The error of a copy whose source is gone.
fn source_gone() -> Error {
    Error::InternalServer("what it was copied from was gone when the database was opened".into())
}
