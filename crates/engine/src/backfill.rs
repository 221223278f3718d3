//! Filling a new index with the items that are there already, while writers go on.
//!
//! The table's new version, with the index in it, is published first; from then on every write keeps
//! the index. A snapshot from that very moment tells which items were there before. The job walks the
//! snapshot, locks a few items at a time, and stores the entries of these items as they are now. An
//! item that a writer has changed or removed meanwhile has its entry kept by that writer.
//!
//! The index's counts follow the same split: the job counts what the snapshot holds, each write what
//! it changes. Their sum is exact, whoever comes first.

use std::ops::Bound;
use std::sync::Arc;

use keyloom_core::{Error, Result};
use keyloom_store::{Bytes, CommitError, Direction, KeyRange, Snapshot};

use crate::catalog::record::Status;
use crate::catalog::{Alongside, Table};
use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::{store_error, write};
use keyloom_core::image::Stored;

/// Items that are locked at once.
const CHUNK: usize = 128;

/// What its failures are listed under.
const WORK: &str = "filling of indexes";

/// Items whose entries are stored.
#[derive(Default)]
struct Chunk {
    items: i64,
    bytes: i64,
    /// The last of them; none at the end.
    last: Option<Bytes>,
}

/// An index to fill.
pub(crate) struct Backfill {
    pub(crate) table: Arc<Table>,
    /// The keyspace of the index.
    pub(crate) index: Keyspace,
    /// The items from before the first write that keeps the index.
    pub(crate) before: Box<dyn Snapshot>,
}

/// Takes up the indexes that were being filled when the database was closed.
pub(crate) fn resume(database: &Inner) -> Result<()> {
    for table in database.catalog.all().values() {
        let secondary = table.indexes.iter().filter(|index| index.status == Status::Creating);
        let secondary = secondary.map(|index| (index.keyspace, &index.stats));
        let vector = table.vector_indexes.iter().filter(|index| index.life.is_filling());
        let vector = vector.map(|index| (index.keyspace, &index.stats));
        for (index, stats) in secondary.chain(vector) {
            stats.set(0, 0);
            let before = database.store.snapshot().map_err(store_error)?;
            Backfill { table: Arc::clone(table), index, before }.submit(database);
        }
    }
    Ok(())
}

impl Backfill {
    /// Fills the index in the background.
    pub(crate) fn submit(self, database: &Inner) {
        database.submit(Box::new(move |database| self.run(database)));
    }

    fn run(self, database: &Inner) -> Result<()> {
        let Some(stats) = self.table.stats_of(self.index) else { return Ok(()) };
        let mut range = KeyRange::prefix(&layout::entries(self.table.record.keyspace));
        loop {
            // What is left undone is taken up when the database is opened again.
            if database.background.is_ending() {
                return Ok(());
            }
            let chunk = match database.patiently(WORK, || self.fill(database, &range)) {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(()),
                // An index cannot fail: it is filled when what is damaged is whole again, or deleted.
                Err(_) if database.waits_again() => continue,
                Err(error) => return Err(error),
            };
            // Once per chunk, however often it was tried.
            stats.add(chunk.items, chunk.bytes);
            match chunk.last {
                Some(last) => range.lower = Bound::Excluded(last),
                None => return database.patiently(WORK, || self.finish(database)),
            }
        }
    }

    /// Stores the entries of the first items in this range; none if the index is gone.
    fn fill(&self, database: &Inner, range: &KeyRange) -> Result<Option<Chunk>> {
        let mut chunk = Chunk::default();
        let mut keys = Vec::with_capacity(CHUNK);
        for entry in self.before.scan(range.clone(), Direction::Forward).take(CHUNK) {
            let (key, value) = entry.map_err(store_error)?;
            let key = key.into_bytes();
            let item = Stored::new(value).into_item()?;
            if let Some(entry) = write::entry_in(&self.table, self.index, &item) {
                chunk.items += 1;
                chunk.bytes += entry.size_bytes as i64;
                keys.push(key.clone());
            }
            chunk.last = Some(key);
        }
        Ok(self.copy(database, &keys)?.then_some(chunk))
    }

    /// The current version of the table, unless the table or the index is gone.
    fn current(&self, database: &Inner) -> Option<Arc<Table>> {
        let table = database.catalog.find(self.table.name())?;
        let same = table.record.id == self.table.record.id && table.stats_of(self.index).is_some();
        same.then_some(table)
    }

    /// Stores the entries of these items; false if the index is gone.
    fn copy(&self, database: &Inner, keys: &[Bytes]) -> Result<bool> {
        loop {
            let epoch = database.catalog.epoch();
            let Some(table) = self.current(database) else { return Ok(false) };
            let locks: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
            let mut transaction = database.store.begin(&locks).map_err(store_error)?;
            // As a writer does: the index cannot be dropped in between.
            transaction.expect_epoch(epoch);
            let images = transaction.get_many(&locks).map_err(store_error)?;
            for image in images.into_iter().flatten() {
                let item = Stored::new(image).into_item()?;
                if let Some(entry) = write::entry_in(&table, self.index, &item) {
                    transaction.put(entry.key, entry.value);
                }
            }
            match transaction.commit() {
                Ok(()) => return Ok(true),
                Err(CommitError::Conflict) => {}
                Err(CommitError::Stale) => database.catalog.refresh(database.store.as_ref())?,
                Err(error) => return Err(Error::InternalServer(error.to_string())),
            }
        }
    }

    /// Makes the index readable.
    fn finish(&self, database: &Inner) -> Result<()> {
        let change = database.change()?;
        let Some(table) = self.current(database) else { return Ok(()) };
        let mut record = table.record.clone();
        for index in record.indexes.iter_mut().filter(|index| index.keyspace == self.index) {
            index.status = Status::Active;
            index.backfilling = false;
        }
        for index in record.vector_indexes.iter_mut().filter(|i| i.keyspace == self.index) {
            index.life = index.life.filled();
        }
        change.put(record, Alongside::default())?;
        Ok(())
    }
}
