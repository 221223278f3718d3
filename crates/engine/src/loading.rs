//! Filling a table with many items: restores, imports, bulk operations.
//!
//! Items go through the one executor of writes, as many at a time as a transaction may have, so that
//! indexes, streams and counts follow by themselves.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyloom_core::{Error, Item, Result, limits};

use crate::catalog::Table;
use crate::database::Inner;
use crate::write::{self, Edit, Failure, Origin, Write};

/// Takes items for a table; later ones replace earlier ones of the same key.
pub(crate) struct Loader<'a> {
    database: &'a Inner,
    table: Arc<Table>,
    items: Vec<Item>,
    keys: BTreeSet<Vec<u8>>,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(database: &'a Inner, table: Arc<Table>) -> Self {
        Self { database, table, items: Vec::new(), keys: BTreeSet::new() }
    }

    /// Adds an item that fits the table's schema.
    pub(crate) fn add(&mut self, item: Item) -> Result<()> {
        let key = self.table.item_key(&item)?;
        // A transaction writes an item once.
        if self.keys.contains(&key) {
            self.flush()?;
        }
        self.keys.insert(key);
        self.items.push(item);
        if self.items.len() == limits::MAX_TRANSACTION_ACTIONS {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what has been added.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let items = std::mem::take(&mut self.items);
        self.keys.clear();
        let put = |item: &Item| -> Result<Write> {
            Ok(Write {
                table: Arc::clone(&self.table),
                key: self.table.schema.key_of(item)?,
                condition: None,
                edit: Edit::Put(item.clone()),
                origin: Origin::User,
            })
        };
        let writes: Vec<Write> = items.iter().map(put).collect::<Result<_>>()?;
        if writes.is_empty() {
            return Ok(());
        }
        match write::all(self.database, writes, None) {
            Ok(_) => Ok(()),
            Err(Failure::Error(error)) => Err(error),
            // Somebody else writes some of the items: one by one, each waits its turn.
            Err(Failure::Conflict(_)) => {
                items.iter().try_for_each(|item| self.put_alone(put(item)?))
            }
            Err(Failure::Refused(refusals)) => {
                let refusal = refusals.into_iter().flatten().next();
                Err(refusal.map_or_else(
                    || Error::InternalServer("a write was refused without a reason".into()),
                    |refusal| refusal.into_error(false),
                ))
            }
        }
    }

    fn put_alone(&self, write: Write) -> Result<()> {
        let Write { table, key, edit: Edit::Put(item), .. } = write else { return Ok(()) };
        loop {
            let write = Write {
                table: Arc::clone(&table),
                key: key.clone(),
                condition: None,
                edit: Edit::Put(item.clone()),
                origin: Origin::User,
            };
            match write::one(self.database, write, false) {
                Err(Error::TransactionConflict(_)) => std::thread::yield_now(),
                Err(error) => return Err(error),
                Ok(_) => return Ok(()),
            }
        }
    }
}
