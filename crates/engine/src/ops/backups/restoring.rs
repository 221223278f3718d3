//! The copying of items into a restored table, from its beginning to its end.

use std::sync::Arc;

use keyloom_core::{Error, Result};
use keyloom_store::Snapshot;

use crate::catalog::record::Status;
use crate::catalog::{Alongside, Table};
use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::loading::Loader;
use crate::store_error;
use keyloom_core::image::Stored;

use super::{Copying, has_entries, restore, source_gone};

/// Items that are read at once.
const CHUNK: usize = 256;

/// What its failures are listed under.
const WORK: &str = "restoring of tables";

/// A table to fill.
pub(super) struct Restore {
    pub(super) table: Arc<Table>,
    /// The keyspace with its items.
    pub(super) from: Keyspace,
    pub(super) snapshot: Box<dyn Snapshot>,
}

/// Fills a table in the background.
pub(super) fn submit(database: &Inner, restore: Restore) {
    database.submit(Box::new(move |database| restore.run(database)));
}

/// Goes on with restores; those whose source is gone have failed. Nobody may have written yet.
pub(super) fn resume(database: &Inner) -> Result<()> {
    for table in database.catalog.all().values() {
        let record = &table.record;
        if record.status != Status::Creating {
            continue;
        }
        match restore::source_of(record) {
            Some(from) if has_entries(database, from)? => {
                let snapshot = database.store.snapshot().map_err(store_error)?;
                submit(database, Restore { table: Arc::clone(table), from, snapshot });
            }
            _ if restore::is_restored(record) => {
                let table = Arc::clone(table);
                database.now_or_later(WORK, move |database| {
                    end(database, &table, Some(&source_gone()))
                });
            }
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

impl Restore {
    fn run(self, database: &Inner) -> Result<()> {
        match self.copy(database) {
            Ok(false) => Ok(()),
            Ok(true) => database.patiently(WORK, || end(database, &self.table, None)),
            Err(error) if database.has_failed_for_good() => {
                database.patiently(WORK, || end(database, &self.table, Some(&error)))?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Copies all items; false if the database is closed meanwhile.
    fn copy(&self, database: &Inner) -> Result<bool> {
        if !self.remove_others(database)? {
            return Ok(false);
        }
        let mut loader = Loader::new(database, Arc::clone(&self.table));
        let mut copying = Copying::of(self.snapshot.as_ref(), self.from);
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

    /// Removes items that the source does not have: an attempt that was interrupted may have copied
    /// what has been deleted from the source since. False if the database is closed meanwhile.
    fn remove_others(&self, database: &Inner) -> Result<bool> {
        let own = layout::entries(self.table.record.keyspace);
        let from = layout::entries(self.from);
        let loader = Loader::new(database, Arc::clone(&self.table));
        let mut copying = Copying::of(self.snapshot.as_ref(), self.table.record.keyspace);
        loop {
            if database.background.is_ending() {
                return Ok(false);
            }
            let chunk = database.patiently(WORK, || copying.chunk(CHUNK))?;
            let Some((last, _)) = chunk.last() else { break };
            copying.advance(last.clone());
            for (key, value) in chunk {
                let rest = key.get(own.len()..).unwrap_or_default();
                let source = [from.as_slice(), rest].concat();
                let kept = self.snapshot.get(&source).map_err(store_error)?;
                if kept.is_none() {
                    loader.remove(&Stored::new(value).into_item()?)?;
                }
            }
        }
        Ok(true)
    }
}

/// Removes a table that nobody fills.
fn remove(database: &Inner, name: &str, id: &str) -> Result<()> {
    let change = database.catalog.change(database.store.as_ref());
    let table = database.catalog.find(name).filter(|table| table.record.id == id);
    table.map_or(Ok(()), |table| change.remove(&table, || Ok(Alongside::default())))
}

/// Opens the table, or says why it cannot be filled.
fn end(database: &Inner, table: &Table, failure: Option<&Error>) -> Result<()> {
    let change = database.catalog.change(database.store.as_ref());
    let current = database.catalog.find(table.name());
    let Some(current) = current.filter(|now| now.record.id == table.record.id) else {
        return Ok(());
    };
    change.put(restore::ended(&current.record, failure), || Ok(Alongside::default()))?;
    drop(change);
    // The source may wait to be removed.
    database.background.wake();
    Ok(())
}
