//! The part of an item that indexes store.

use keyloom_core::size::item_size;
use keyloom_core::{Item, image};
use keyloom_store::Bytes;

use crate::catalog::Table;
use crate::layout::Keyspace;

use super::{effect, vector};

/// An index's entry: where it is stored, what, and its size as DynamoDB counts it.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: Bytes,
    pub(crate) value: Bytes,
    pub(crate) size_bytes: usize,
}

/// An item's entry in the index of this keyspace; none if the item is not in the index.
pub(crate) fn entry_in(table: &Table, keyspace: Keyspace, item: &Item) -> Option<Entry> {
    if let Some(index) = table.indexes.iter().find(|index| index.keyspace == keyspace) {
        let (key, entry) = effect::index_entry(table, index, item)?;
        let value = image::encode(&entry).into();
        return Some(Entry { key: key.into(), value, size_bytes: item_size(&entry) });
    }
    let index = table.vector_indexes.iter().find(|index| index.keyspace == keyspace)?;
    vector::entry(table, index, item)
}
