//! CreateBackup.

use keyloom_core::Result;
use keyloom_core::error::resource as message;
use keyloom_core::schema::model::check_new_name;
use keyloom_store::{Direction, KeyRange, Snapshot};

use crate::catalog::record::Status;
use crate::database::Inner;
use crate::image::Stored;
use crate::layout::{self, Keyspace};
use crate::ops::parameters::described_table;
use crate::wire::{Constraints, Fields, JsonWriter};
use crate::{commit_error, identity, resource, store_error};

use super::{Backup, KIND};

/// Items that are copied per transaction.
const CHUNK: usize = 256;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let backup_name = fields.string("BackupName")?;
    let mut constraints = Constraints::new();
    match backup_name {
        None => constraints.required(false, "backupName"),
        Some(name) => check_new_name(name, "backupName", constraints.violations()),
    }
    constraints.finish()?;

    // Before the change: others need not wait with us.
    database.counted.wait();
    let change = database.catalog.change(database.store.as_ref());
    let table = database.catalog.find(name).ok_or_else(|| message::table_not_found(name))?;
    if table.record.status != Status::Active {
        return Err(message::table_in_use(table.name(), table.record.status.as_str()));
    }
    let now_ms = database.clock.now_ms();
    let backup = Backup {
        id: identity::dated(now_ms),
        name: backup_name.unwrap_or_default().to_owned(),
        keyspace: change.allocate_keyspaces(1)?,
        available: false,
        created_ms: now_ms,
        items: table.shared.stats.items(),
        bytes: table.shared.stats.bytes(),
        table: table.record.clone(),
    };
    let snapshot = database.store.snapshot().map_err(store_error)?;
    backup.store(database)?;
    drop(change);

    let mut json = JsonWriter::object();
    json.structure("BackupDetails", |json| {
        backup.write_details(json, database, backup.status());
    });
    database.submit(Box::new(move |database| complete(database, backup, snapshot.as_ref())));
    Ok(json.finish())
}

/// Copies the items and makes the backup available.
fn complete(database: &Inner, mut backup: Backup, snapshot: &dyn Snapshot) -> Result<()> {
    let Some((items, bytes)) = copy(database, snapshot, backup.table.keyspace, backup.keyspace)?
    else {
        return Ok(());
    };
    (backup.items, backup.bytes) = (items, bytes);
    backup.available = true;
    let _change = database.catalog.change(database.store.as_ref());
    if resource::get::<Backup>(database, KIND, &backup.id)?.is_some() {
        backup.store(database)?;
    }
    Ok(())
}

/// Copies all entries of a keyspace and counts them; none if the database is closed meanwhile.
fn copy(
    database: &Inner,
    snapshot: &dyn Snapshot,
    from: Keyspace,
    to: Keyspace,
) -> Result<Option<(i64, i64)>> {
    let (from, to) = (layout::entries(from), layout::entries(to));
    let (mut items, mut bytes) = (0, 0);
    let mut entries = snapshot.scan(KeyRange::prefix(&from), Direction::Forward);
    loop {
        if database.background.is_ending() {
            return Ok(None);
        }
        let chunk: Vec<_> =
            entries.by_ref().take(CHUNK).collect::<Result<_, _>>().map_err(store_error)?;
        if chunk.is_empty() {
            return Ok(Some((items, bytes)));
        }
        let mut transaction = database.store.begin(&[]).map_err(store_error)?;
        for (key, value) in chunk {
            items += 1;
            bytes += Stored::new(value.clone()).size_bytes()? as i64;
            let own = key.get(from.len()..).unwrap_or_default();
            transaction.put([to.as_slice(), own].concat().into(), value);
        }
        transaction.commit().map_err(commit_error)?;
    }
}
