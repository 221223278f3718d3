//! The effect of a write on the vector index entries of one item.

use keyloom_core::capacity::{VectorArm, vector_write_bytes};
use keyloom_core::schema::vector_entry_size;
use keyloom_core::size::item_size;
use keyloom_core::{Item, Result};
use keyloom_store::Transaction;

use crate::catalog::{Table, VectorIndex};
use crate::store_error;
use crate::vector;

use super::entry::Entry;

/// The change of one vector index's entry for the item.
#[derive(Debug)]
pub(super) struct VectorEdit {
    /// The position of the index in the table's list.
    pub(super) position: usize,
    old: Option<Entry>,
    new: Option<Entry>,
    /// Whether the old entry is there: it need not be in an index that is being filled.
    is_old_counted: bool,
}

/// An item's entry in a vector index; none if the item is not in the index.
pub(super) fn entry(table: &Table, index: &VectorIndex, item: &Item) -> Option<Entry> {
    let entry = table.schema.project_vector(item, &index.schema)?;
    let key = vector::entry_key(index.keyspace, &index.schema, table.key(), item).ok()?;
    Some(Entry {
        key: key.into(),
        value: vector::encode(&entry).into(),
        size_bytes: vector_entry_size(&index.schema, item_size(&entry.rest)),
    })
}

/// How the vector indexes change; those whose view stays the same are left out.
pub(super) fn edits(table: &Table, old: Option<&Item>, new: Option<&Item>) -> Vec<VectorEdit> {
    let edit = |(position, index): (usize, &VectorIndex)| {
        let old = old.and_then(|item| entry(table, index, item));
        let new = new.and_then(|item| entry(table, index, item));
        (old != new).then_some(VectorEdit { position, old, new, is_old_counted: true })
    };
    table.vector_indexes.iter().enumerate().filter_map(edit).collect()
}

impl VectorEdit {
    /// Adds the change to the transaction.
    pub(super) fn stage(&self, transaction: &mut dyn Transaction) {
        let moved = |old: &&Entry| self.new.as_ref().is_none_or(|new| new.key != old.key);
        if let Some(old) = self.old.as_ref().filter(moved) {
            transaction.delete(old.key.clone());
        }
        if let Some(new) = &self.new {
            transaction.put(new.key.clone(), new.value.clone());
        }
    }

    /// Checks whether the old entry exists.
    pub(super) fn look(&mut self, transaction: &dyn Transaction) -> Result<()> {
        if let Some(old) = &self.old {
            self.is_old_counted = transaction.get(&old.key).map_err(store_error)?.is_some();
        }
        Ok(())
    }

    /// The change of the index's item count and size.
    pub(super) fn counted(&self) -> (i64, i64) {
        let counted =
            |entry: Option<&Entry>| entry.map_or((0, 0), |entry| (1, entry.size_bytes as i64));
        let new = counted(self.new.as_ref());
        let old = counted(self.old.as_ref().filter(|_| self.is_old_counted));
        (new.0 - old.0, new.1 - old.1)
    }

    /// The keys of the entries that it touches, with the bytes that are there afterwards.
    pub(super) fn arms(&self) -> impl Iterator<Item = (&[u8], usize)> {
        let moved = |old: &&Entry| self.new.as_ref().is_none_or(|new| new.key != old.key);
        let left = self.old.as_ref().filter(moved).map(|old| (old.key.as_ref(), 0));
        let entered = self.new.as_ref().map(|new| (new.key.as_ref(), new.size_bytes));
        left.into_iter().chain(entered)
    }

    /// What the change costs.
    pub(super) fn cost(&self) -> VectorArm {
        let size = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.size_bytes);
        let bytes = vector_write_bytes(size(&self.old), size(&self.new));
        VectorArm { search_bytes: None, write_bytes: Some(bytes) }
    }
}
