//! Filling a table with many items: restores, imports, bulk operations.
//!
//! Items go through the one executor of writes, so that indexes, streams and counts follow by
//! themselves. While the store refuses writes for a reason that may go away, a loader waits.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyloom_core::{Error, Item, Result, limits};

use crate::catalog::Table;
use crate::database::Inner;
use crate::write::{self, Edit, Failure, Origin, Write};

/// What its failures are listed under.
const WORK: &str = "loading of items";

/// Takes items for a table; later ones replace earlier ones of the same key.
pub(crate) struct Loader<'a> {
    database: &'a Inner,
    table: Arc<Table>,
    /// Whether requests use the table meanwhile.
    in_use: bool,
    items: Vec<Arc<Item>>,
    keys: BTreeSet<Vec<u8>>,
}

impl<'a> Loader<'a> {
    /// A loader for a table that no request can use yet: as many items are written together as a
    /// transaction may have.
    pub(crate) fn new(database: &'a Inner, table: Arc<Table>) -> Self {
        Self { database, table, in_use: false, items: Vec::new(), keys: BTreeSet::new() }
    }

    /// A loader for a table in use: items are written one by one, since a transaction would make
    /// others' writes of the same items fail.
    pub(crate) fn in_use(database: &'a Inner, table: Arc<Table>) -> Self {
        Self { in_use: true, ..Self::new(database, table) }
    }

    /// Adds an item that fits the table's schema.
    pub(crate) fn add(&mut self, item: Item) -> Result<()> {
        if self.in_use {
            return self.put(&Arc::new(item));
        }
        let key = self.table.item_key(&item)?;
        // A transaction writes an item once.
        if self.keys.contains(&key) {
            self.flush()?;
        }
        self.keys.insert(key);
        self.items.push(Arc::new(item));
        if self.items.len() == limits::MAX_TRANSACTION_ACTIONS {
            self.flush()?;
        }
        Ok(())
    }

    /// Removes an item of a table that no request can use yet.
    pub(crate) fn remove(&self, item: &Item) -> Result<()> {
        self.database.patiently(WORK, || {
            let write = Write {
                table: Arc::clone(&self.table),
                key: self.table.schema.key_of(item)?,
                condition: None,
                edit: Edit::Delete,
                origin: Origin::Loading,
            };
            write::one(self.database, write, false).map(drop)
        })
    }

    /// Writes what has been added.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.keys.clear();
        let items = std::mem::take(&mut self.items);
        if items.is_empty() {
            return Ok(());
        }
        self.database.patiently(WORK, || self.write_all(&items))
    }

    fn write_all(&self, items: &[Arc<Item>]) -> Result<()> {
        let writes = items.iter().map(|item| self.write(item)).collect::<Result<_>>()?;
        match write::all(self.database, writes, None) {
            Ok(_) => Ok(()),
            Err(Failure::Error(error)) => Err(error),
            Err(Failure::Throttled(refusals)) => refusals.into_iter().flatten().try_for_each(Err),
            Err(Failure::Conflict(_)) => items.iter().try_for_each(|item| self.put(item)),
            Err(Failure::Refused(refusals)) => {
                let refusal = refusals.into_iter().flatten().next();
                Err(refusal.map_or_else(
                    || Error::InternalServer("a write was refused without a reason".into()),
                    |refusal| refusal.into_error(false),
                ))
            }
        }
    }

    fn write(&self, item: &Arc<Item>) -> Result<Write> {
        Ok(Write {
            table: Arc::clone(&self.table),
            key: self.table.schema.key_of(item)?,
            condition: None,
            edit: Edit::Put(Arc::clone(item)),
            origin: Origin::Loading,
        })
    }

    /// Writes one item; waits while a transaction holds it.
    fn put(&self, item: &Arc<Item>) -> Result<()> {
        loop {
            let write = || write::one(self.database, self.write(item)?, false);
            match self.database.patiently(WORK, write) {
                Err(Error::TransactionConflict(_)) => std::thread::yield_now(),
                Err(error) => return Err(error),
                Ok(_) => return Ok(()),
            }
        }
    }
}
