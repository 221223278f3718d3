//! CreateBackup: the backup exists at once with the status `CREATING`; a job copies the items from a snapshot.

use keyloom_api::Fields;
use keyloom_api::backups::{BackupType, CreateBackupInput};
use keyloom_core::error::resource as message;
use keyloom_core::image::Stored;
use keyloom_core::{Error, Result};
use keyloom_store::Snapshot;

use crate::catalog::Change;
use crate::catalog::record::Status;
use crate::coordination::Job;
use crate::database::Inner;
use crate::history::TableAt;
use crate::layout::{self, Keyspace};
use crate::{commit_error, identity, resource, store_error};

use super::{Backup, KIND, has_entries, source_gone};

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
    // Counted already where that takes long: it does not wait again, but may have failed.
    database.count(&table)?;
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
    let (key, claim) = database.claim(&job_name(&backup))?;
    change.stage(key.to_vec(), Some(claim.to_vec()))?;
    backup.commit(&change)?;
    drop(change);

    let answer = backup.details(database, backup.status()).encode();
    database.submit(Box::new(move |database| {
        let Some(job) = database.hold_job(&job_name(&backup))? else { return Ok(()) };
        if !is_creating(database, &backup)? {
            // Others took this server for dead, and have made it.
            return job.finish();
        }
        complete(database, backup, snapshot.as_ref(), job)
    }));
    Ok(answer)
}

/// The job of making a backup.
fn job_name(backup: &Backup) -> String {
    format!("backup {} {}", backup.table.name, backup.id)
}

/// Begins the copy of a backup anew whose server has ended.
pub(super) fn resume(database: &Inner, mut backup: Backup) -> Result<()> {
    if !database.is_idle(&job_name(&backup))? {
        return Ok(());
    }
    if !has_entries(database, backup.table.keyspace)? {
        database.now_or_later(WORK, move |database| {
            fail(&database.change()?, backup.clone(), &source_gone())
        });
        return Ok(());
    }
    let snapshot = database.store.snapshot().map_err(store_error)?;
    database.submit(Box::new(move |database| {
        let Some(job) = database.hold_job(&job_name(&backup))? else { return Ok(()) };
        if !is_creating(database, &backup)? {
            return job.finish();
        }
        // What was copied before may have changed in the table since.
        backup.keyspace = database.patiently(WORK, || {
            let change = database.change()?;
            let keyspace = change.allocate_keyspaces(1)?;
            let anew = Backup { keyspace, ..backup.clone() };
            change.drop_entries(backup.keyspace)?;
            anew.commit(&change)?;
            Ok(keyspace)
        })?;
        complete(database, backup, snapshot.as_ref(), job)
    }));
    Ok(())
}

/// Copies the items and makes the backup available, or says why that is not possible.
fn complete(
    database: &Inner,
    mut backup: Backup,
    snapshot: &dyn Snapshot,
    job: Job<'_>,
) -> Result<()> {
    match copy(database, snapshot, (backup.table.keyspace, backup.keyspace), &job) {
        Ok(None) => return Ok(()),
        Ok(Some((items, bytes))) => {
            (backup.items, backup.bytes) = (items, bytes);
            backup.available = true;
        }
        Err(error) if database.has_failed_for_good() => {
            database.patiently(WORK, || fail(&database.change()?, backup.clone(), &error))?;
            database.background.wake();
            return Err(error);
        }
        Err(error) => return Err(error),
    }
    database.patiently(WORK, || {
        let change = database.change()?;
        let is_ours = job.is_held()? && is_creating(database, &backup)?;
        if is_ours { backup.commit(&change) } else { Ok(()) }
    })?;
    job.finish()?;
    // The source may wait to be removed.
    database.background.wake();
    Ok(())
}

/// Whether a backup still waits to be made.
fn is_creating(database: &Inner, backup: &Backup) -> Result<bool> {
    let stored: Option<Backup> = resource::get(database, KIND, &backup.id)?;
    Ok(stored.is_some_and(|now| now.is_creating() && now.keyspace == backup.keyspace))
}

/// Stores why a backup cannot be made, and gives back what it has taken.
fn fail(change: &Change<'_>, mut backup: Backup, error: &Error) -> Result<()> {
    backup.failure = Some(error.message());
    change.drop_entries(backup.keyspace)?;
    backup.commit(change)
}

/// Copies all entries of a keyspace and counts them; none if the database is closed meanwhile, or somebody else has
/// taken the job over.
fn copy(
    database: &Inner,
    snapshot: &dyn Snapshot,
    (from, to): (Keyspace, Keyspace),
    job: &Job<'_>,
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
            let mut transaction = database.store.begin(&[job.key()]).map_err(store_error)?;
            if !job.stage(transaction.as_mut(), None)? {
                return Ok(None);
            }
            for (item, value) in copying.chunk(CHUNK)? {
                chunk_items += 1;
                chunk_bytes += Stored::new(value.clone()).size_bytes()? as i64;
                transaction.put([to.as_slice(), &item].concat().into(), value);
                last = Some(item);
            }
            if last.is_some() {
                transaction.commit().map_err(commit_error)?;
            }
            Ok(Some((last, chunk_items, chunk_bytes)))
        })?;
        let Some((last, chunk_items, chunk_bytes)) = copied else { return Ok(None) };
        let Some(last) = last else { return Ok(Some((items, bytes))) };
        items += chunk_items;
        bytes += chunk_bytes;
        copying.advance(last);
    }
}
