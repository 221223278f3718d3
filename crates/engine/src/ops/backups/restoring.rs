//! The job that copies items into a restored table.

use std::sync::Arc;

use keyloom_core::{Error, Result};
use keyloom_store::Snapshot;

use crate::catalog::record::Status;
use crate::catalog::{Alongside, Table, TableRecord};
use crate::database::Inner;
use crate::history::TableAt;
use crate::loading::Loader;
use crate::ops::transfers;
use crate::store_error;
use keyloom_core::image::Stored;

use super::restore::{self, Items};
use super::{has_entries, is_recorded, source_gone};

/// Items that are read at once.
const CHUNK: usize = 256;

/// What its failures are listed under.
const WORK: &str = "restoring of tables";

/// A table to fill.
pub(super) struct Restore {
    pub(super) table: Arc<Table>,
    /// What its items are.
    pub(super) from: Items,
    pub(super) snapshot: Box<dyn Snapshot>,
}

/// Fills a table in the background.
pub(super) fn submit(database: &Inner, restore: Restore) {
    database.submit(Box::new(move |database| restore.run(database)));
}

/// The job of filling a table.
pub(super) fn job_name(table: &TableRecord) -> String {
    format!("restore {} {}", table.name, table.id)
}

/// Goes on with restores whose server has ended; those whose source is gone have failed.
pub(super) fn resume(database: &Inner) -> Result<()> {
    for table in database.catalog.all().values() {
        let record = &table.record;
        if record.status != Status::Creating || !database.is_idle(&job_name(record))? {
            continue;
        }
        match restore::items_of(record) {
            Some(from) if is_there(database, from)? => {
                let snapshot = database.store.snapshot().map_err(store_error)?;
                submit(database, Restore { table: Arc::clone(table), from, snapshot });
            }
            _ if restore::is_restored(record) => {
                let table = Arc::clone(table);
                database.now_or_later(WORK, move |database| {
                    end(database, &table, Some(&source_gone()))
                });
            }
            // It is filled by other means.
            _ if transfers::is_importing(database, record)? => {}
            // The table of an import that has been ended, but not its table.
            _ => {
                let id = record.id.clone();
                let name = record.name.clone();
                database.now_or_later(WORK, move |database| remove(database, &name, &id));
            }
        }
    }
    Ok(())
}

/// Whether the items can still be read.
fn is_there(database: &Inner, from: Items) -> Result<bool> {
    if !has_entries(database, from.keyspace)? {
        return Ok(false);
    }
    let Some(past) = from.past else { return Ok(true) };
    Ok(has_entries(database, past.history)? && is_recorded(database, from.keyspace, past.history)?)
}

impl Restore {
    fn run(self, database: &Inner) -> Result<()> {
        let Some(job) = database.hold_job(&job_name(&self.table.record))? else { return Ok(()) };
        match self.copy(database) {
            Ok(false) => Ok(()),
            Ok(true) => {
                database.patiently(WORK, || end(database, &self.table, None))?;
                job.finish()
            }
            Err(error) if database.has_failed_for_good() => {
                database.patiently(WORK, || end(database, &self.table, Some(&error)))?;
                job.finish()?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Copies all items; one that was interrupted copies the same ones again. False if the database is closed meanwhile.
    fn copy(&self, database: &Inner) -> Result<bool> {
        let mut loader = Loader::new(database, Arc::clone(&self.table));
        let (snapshot, from) = (self.snapshot.as_ref(), self.from);
        let at = || TableAt::at(snapshot, from.keyspace, from.past);
        let mut copying = database.patiently(WORK, at)?;
        loop {
            if database.background.is_ending() {
                return Ok(false);
            }
            let chunk = database.patiently(WORK, || copying.chunk(CHUNK))?;
            let Some((last, _)) = chunk.last() else { break };
            copying.advance(last.clone());
            for (_, value) in chunk {
                loader.add(loader.plan(Stored::new(value).into_item()?)?)?;
            }
        }
        loader.flush()?;
        Ok(true)
    }
}

/// Removes a table whose restore will not go on.
fn remove(database: &Inner, name: &str, id: &str) -> Result<()> {
    let change = database.change()?;
    let table = database.catalog.find(name).filter(|table| table.record.id == id);
    table.map_or(Ok(()), |table| change.remove(&table, Alongside::default()))
}

/// Opens the table, or says why it cannot be filled.
fn end(database: &Inner, table: &Table, failure: Option<&Error>) -> Result<()> {
    let change = database.change()?;
    let current = database.catalog.find(table.name());
    let is_being_filled = |now: &Arc<Table>| {
        now.record.id == table.record.id && now.record.status == Status::Creating
    };
    let Some(current) = current.filter(is_being_filled) else { return Ok(()) };
    change.put(restore::ended(&current.record, failure), Alongside::default())?;
    drop(change);
    // The source may wait to be removed.
    database.background.wake();
    Ok(())
}
