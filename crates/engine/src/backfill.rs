//! Backfill of a new index from the items that exist already, while writes continue.
//!
//! The table's new version, with the index in it, is published first; from then on every write maintains the index.
//! The job scans the table, locks a few items at a time, and stores their missing entries. If a write changes or
//! deletes an item meanwhile, that write maintains its entry.
//!
//! Writers and the job check whether an entry exists before they count it, so counts are exact in either order.
//! The job's progress is stored in its row ([`crate::coordination`]), in the same commit as the entries: if its server
//! dies, another one resumes from there.

use std::ops::Bound;
use std::sync::Arc;

use keyloom_core::{Error, Result};
use keyloom_store::{Bytes, CommitError, Direction, KeyRange, Transaction};

use crate::catalog::record::Status;
use crate::catalog::{Alongside, Table};
use crate::coordination::Job;
use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::{counting, store_error, write};
use keyloom_core::image::Stored;

/// Items that are locked at once.
const CHUNK: usize = 128;

/// What its failures are listed under.
const WORK: &str = "filling of indexes";

/// An index to fill.
pub(crate) struct Backfill {
    pub(crate) table: Arc<Table>,
    /// The keyspace of the index.
    pub(crate) index: Keyspace,
}

/// The result of a step.
enum Step {
    /// There is more.
    More,
    /// All items are done.
    Done,
    /// The index is dropped, or another server fills it.
    Over,
}

/// Resumes backfills whose server has ended.
pub(crate) fn resume(database: &Inner) -> Result<()> {
    for table in database.catalog.all().values() {
        for index in table.filling() {
            let job = Backfill { table: Arc::clone(table), index };
            if database.is_idle(&job.name())? {
                job.submit(database);
            }
        }
    }
    Ok(())
}

/// The job of filling an index.
pub(crate) fn job_name(table: &str, index: Keyspace) -> String {
    format!("fill {table} {index}")
}

impl Backfill {
    /// Fills the index in the background.
    pub(crate) fn submit(self, database: &Inner) {
        database.submit(Box::new(move |database| self.run(database)));
    }

    fn name(&self) -> String {
        job_name(self.table.name(), self.index)
    }

    fn run(self, database: &Inner) -> Result<()> {
        let Some(job) = database.hold_job(&self.name())? else { return Ok(()) };
        loop {
            // What is left undone is taken up by another server, or when the database is opened again.
            if database.background.is_ending() {
                return Ok(());
            }
            match database.patiently(WORK, || self.step(database, &job)) {
                Ok(Step::More) => {}
                Ok(Step::Over) => return job.finish(),
                Ok(Step::Done) => {
                    database.patiently(WORK, || self.finish(database, &job))?;
                    return job.finish();
                }
                // An index cannot fail: it is filled when what is damaged is whole again, or deleted.
                Err(_) if database.waits_again() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The current version of the table, unless the table or the index is dropped, or the index is complete.
    fn current(&self, database: &Inner) -> Option<Arc<Table>> {
        let table = database.catalog.find(self.table.name())?;
        let same = table.record.id == self.table.record.id;
        (same && table.is_filling(self.index)).then_some(table)
    }

    /// Stores the entries of the next items.
    fn step(&self, database: &Inner, job: &Job<'_>) -> Result<Step> {
        let mut range = KeyRange::prefix(&layout::entries(self.table.record.keyspace));
        if let Some(after) = job.after()? {
            range.lower = Bound::Excluded(after);
        }
        let snapshot = database.store.late_snapshot().map_err(store_error)?;
        let keys = snapshot.scan(range, Direction::Forward).take(CHUNK);
        let keys = keys.map(|entry| entry.map(|(key, _)| key.into_bytes()));
        let keys: Vec<Bytes> = keys.collect::<Result<_, _>>().map_err(store_error)?;
        drop(snapshot);
        if keys.is_empty() {
            return Ok(Step::Done);
        }
        loop {
            let epoch = database.catalog.epoch();
            let Some(table) = self.current(database) else { return Ok(Step::Over) };
            let locks = keys.iter().map(AsRef::as_ref).chain([job.key()]);
            let locks: Vec<&[u8]> = locks.collect();
            let mut transaction = database.store.begin(&locks).map_err(store_error)?;
            // As a writer does: the index cannot be dropped in between.
            transaction.expect_epoch(epoch);
            let counts = self.fill(&table, &keys, transaction.as_mut())?;
            if !job.stage(transaction.as_mut(), keys.last().map(AsRef::as_ref))? {
                return Ok(Step::Over);
            }
            if database.counted.is_in_store() {
                counting::add(transaction.as_mut(), self.index, counts);
            }
            match transaction.commit() {
                Ok(()) => {
                    if let Some(stats) = table.stats_of(self.index)
                        && !database.counted.is_in_store()
                    {
                        stats.add(counts.0, counts.1);
                    }
                    return Ok(Step::More);
                }
                Err(CommitError::Conflict) => {}
                Err(CommitError::Stale) => database.catalog.refresh(database.store.as_ref())?,
                Err(error) => {
                    database.counted.doubt();
                    return Err(Error::InternalServer(error.to_string()));
                }
            }
        }
    }

    /// Adds the missing entries of these items to a transaction that has locked them; how many, and their bytes.
    fn fill(
        &self,
        table: &Table,
        keys: &[Bytes],
        transaction: &mut dyn Transaction,
    ) -> Result<(i64, i64)> {
        let locks: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let images = transaction.get_many(&locks).map_err(store_error)?;
        let (mut entries, mut items) = (Vec::new(), Vec::new());
        for (key, image) in keys.iter().zip(images) {
            let Some(image) = image else { continue };
            let item = Stored::new(image.clone()).into_item()?;
            if let Some(entry) = write::entry_in(table, self.index, &item) {
                entries.push(entry);
                items.push((key, image));
            }
        }
        let entry_keys: Vec<&[u8]> = entries.iter().map(|entry| entry.key.as_ref()).collect();
        let present = transaction.get_many(&entry_keys).map_err(store_error)?;
        let mut counts = (0, 0);
        for ((entry, (key, image)), present) in entries.into_iter().zip(items).zip(present) {
            if present.is_none() {
                counts.0 += 1;
                counts.1 += entry.size_bytes as i64;
                transaction.put(entry.key, entry.value);
                // A writer of the item has checked for the entry, too: one of the two must retry.
                transaction.put(key.clone(), image);
            }
        }
        Ok(counts)
    }

    /// Makes the index readable.
    fn finish(&self, database: &Inner, job: &Job<'_>) -> Result<()> {
        let change = database.change()?;
        let Some(table) = self.current(database) else { return Ok(()) };
        if !job.is_held()? {
            return Ok(());
        }
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
