//! CreateBackup.

use keyloom_api::Fields;
use keyloom_api::backups::{BackupType, CreateBackupInput};
use keyloom_core::error::resource as message;
use keyloom_core::image::Stored;
use keyloom_core::{Error, Result};
use keyloom_store::Snapshot;

use crate::catalog::Change;
use crate::catalog::record::Status;
use crate::database::Inner;
use crate::history::TableAt;
use crate::layout::{self, Keyspace};
use crate::{commit_error, identity, store_error};

use super::{Backup, has_entries, source_gone};

/// What its failures are listed under.
const WORK: &str = "making of backups";
/// Items that are copied per transaction.
const CHUNK: usize = 256;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = CreateBackupInput::decode(&fields);
    // Before the change: others need not wait with us.
    database.counted.wait()?;
    let change = database.change()?;
    let table = database.catalog.find(input.table_name);
    let table = table.ok_or_else(|| message::table_not_found(input.table_name))?;
    if table.record.status != Status::Active {
        return Err(message::table_in_use(table.name(), table.record.status.as_str()));
    }
    // Counted already: it does not wait again, but may have failed.
    database.counted.wait_for(&table)?;
    let now_ms = database.clock.now_ms();
    let backup = Backup {
        id: identity::dated(now_ms),
        name: input.backup_name.to_owned(),
        keyspace: change.allocate_keyspaces(1)?,
        available: false,
        failure: None,
        created_ms: now_ms,
        kind: BackupType::User,
        items: table.shared.stats.items(),
        bytes: table.shared.stats.bytes(),
        table: table.record.clone(),
    };
    let snapshot = database.store.snapshot().map_err(store_error)?;
    backup.commit(&change)?;
    drop(change);

    let answer = backup.details(database, backup.status()).encode();
    database.submit(Box::new(move |database| complete(database, backup, snapshot.as_ref())));
    Ok(answer)
}

/// Begins the copy of a backup anew that was being made when the database was closed. Nobody may have
/// written to its table since.
pub(super) fn resume(database: &Inner, mut backup: Backup) -> Result<()> {
    if !has_entries(database, backup.table.keyspace)? {
        database.now_or_later(WORK, move |database| {
            fail(&database.change()?, backup.clone(), &source_gone())
        });
        return Ok(());
    }
    let snapshot = database.store.snapshot().map_err(store_error)?;
    database.submit(Box::new(move |database| {
        // What was copied before may have changed in the table since.
        backup.keyspace = database.patiently(WORK, || {
            let change = database.change()?;
            let keyspace = change.allocate_keyspaces(1)?;
            let anew = Backup { keyspace, ..backup.clone() };
            change.drop_entries(backup.keyspace)?;
            anew.commit(&change)?;
            Ok(keyspace)
        })?;
        complete(database, backup, snapshot.as_ref())
    }));
    Ok(())
}

/// Copies the items and makes the backup available, or says why that is not possible.
fn complete(database: &Inner, mut backup: Backup, snapshot: &dyn Snapshot) -> Result<()> {
    match copy(database, snapshot, backup.table.keyspace, backup.keyspace) {
        Ok(None) => return Ok(()),
        Ok(Some((items, bytes))) => {
            (backup.items, backup.bytes) = (items, bytes);
            backup.available = true;
        }
        Err(error) if database.has_failed_for_good() => {
            database.patiently(WORK, || {
                fail(&database.change()?, backup.clone(), &error)
            })?;
            database.background.wake();
            return Err(error);
        }
        Err(error) => return Err(error),
    }
    database.patiently(WORK, || backup.commit(&database.change()?))?;
    // The source may wait to be removed.
    database.background.wake();
    Ok(())
}

/// Stores why a backup cannot be made, and gives back what it has taken.
fn fail(change: &Change<'_>, mut backup: Backup, error: &Error) -> Result<()> {
    backup.failure = Some(error.message());
    change.drop_entries(backup.keyspace)?;
    backup.commit(change)
}

/// Copies all entries of a keyspace and counts them; none if the database is closed meanwhile.
fn copy(
    database: &Inner,
    snapshot: &dyn Snapshot,
    from: Keyspace,
    to: Keyspace,
) -> Result<Option<(i64, i64)>> {
    let mut copying = TableAt::present(snapshot, from);
    let to = layout::entries(to);
    let (mut items, mut bytes) = (0, 0);
    loop {
        if database.background.is_ending() {
            return Ok(None);
        }
        let copied = database.patiently(WORK, || {
            let (mut chunk_items, mut chunk_bytes, mut last) = (0, 0, None);
            let mut transaction = database.store.begin(&[]).map_err(store_error)?;
            for (item, value) in copying.chunk(CHUNK)? {
                chunk_items += 1;
                chunk_bytes += Stored::new(value.clone()).size_bytes()? as i64;
                transaction.put([to.as_slice(), &item].concat().into(), value);
                last = Some(item);
            }
            if last.is_some() {
                transaction.commit().map_err(commit_error)?;
            }
            Ok(last.map(|last| (last, chunk_items, chunk_bytes)))
        })?;
        let Some((last, chunk_items, chunk_bytes)) = copied else {
            return Ok(Some((items, bytes)));
        };
        items += chunk_items;
        bytes += chunk_bytes;
        copying.advance(last);
    }
}
