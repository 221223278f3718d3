//! Bulk loading of a table: restores, imports, bulk operations.
//!
//! Items go through the common write executor, which maintains indexes, streams and counts. While the store refuses
//! writes for a temporary reason, a loader waits and retries.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyloom_core::{Error, Item, Result, limits};

use crate::catalog::Table;
use crate::database::Inner;
use crate::write::{self, Failure, OneOrMore, Origin, Write};

/// What its failures are listed under.
const WORK: &str = "loading of items";

/// Takes items for a table; later ones replace earlier ones of the same key.
pub(crate) struct Loader<'a> {
    database: &'a Inner,
    table: Arc<Table>,
    /// Whether requests use the table meanwhile.
    in_use: bool,
    writes: Vec<Write>,
    /// The store keys of `writes`.
    keys: BTreeSet<Vec<u8>>,
}

impl<'a> Loader<'a> {
    /// A loader for a table that no request can use yet: as many items are written together as a
    /// transaction may have.
    pub(crate) fn new(database: &'a Inner, table: Arc<Table>) -> Self {
        Self { database, table, in_use: false, writes: Vec::new(), keys: BTreeSet::new() }
    }

    /// A loader for a table in use: items are written one by one, since a transaction would make
    /// others' writes of the same items fail.
    pub(crate) fn in_use(database: &'a Inner, table: Arc<Table>) -> Self {
        Self { in_use: true, ..Self::new(database, table) }
    }

    /// The write of an item that fits the table's schema; fails if the item is too large.
    pub(crate) fn plan(&self, item: Item) -> Result<Write> {
        Ok(Write::put(Arc::clone(&self.table), item, None)?.by(Origin::Loading))
    }

    /// Adds a planned write.
    pub(crate) fn add(&mut self, write: Write) -> Result<()> {
        if self.in_use {
            return self.write(&write);
        }
        // A transaction writes an item once.
        if self.keys.contains(&write.store_key) {
            self.flush()?;
        }
        self.keys.insert(write.store_key.clone());
        self.writes.push(write);
        if self.writes.len() == limits::MAX_TRANSACTION_ACTIONS {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what has been added.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.keys.clear();
        let Some(writes) = OneOrMore::of(std::mem::take(&mut self.writes)) else { return Ok(()) };
        self.database.patiently(WORK, || self.write_all(&writes))
    }

    fn write_all(&self, writes: &OneOrMore<Write>) -> Result<()> {
        match write::all(self.database, writes.clone(), None) {
            Ok(_) => Ok(()),
            Err(Failure::Conflict(_)) => writes.iter().try_for_each(|write| self.write(write)),
            Err(failure) => Err(failure.into_error(false)),
        }
    }

    /// Makes one write; waits while a transaction holds the item.
    fn write(&self, write: &Write) -> Result<()> {
        loop {
            let attempt = || write::one(self.database, write.clone(), false);
            match self.database.patiently(WORK, attempt) {
                Err(Error::TransactionConflict(_)) => std::thread::yield_now(),
                Err(error) => return Err(error),
                Ok(_) => return Ok(()),
            }
        }
    }
}
