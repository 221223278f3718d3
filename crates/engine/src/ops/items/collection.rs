//! Item collections of tables with local secondary indexes: their key and their size.

use std::sync::Arc;

use keyloom_api::ItemCollectionMetrics;
use keyloom_core::image::Stored;
use keyloom_core::{AttributeValue, Result, Str};
use keyloom_store::{Direction, KeyRange};

use crate::catalog::Table;
use crate::database::Inner;
use crate::write::Write;
use crate::{layout, store_error};

/// An item collection that a write touches, to be measured when it is done.
#[derive(Clone, Debug)]
pub(crate) struct CollectionMetrics {
    table: Arc<Table>,
    /// The partition key's name and value.
    key: (Str, AttributeValue),
}

impl CollectionMetrics {
    /// The collection of the written item, if metrics were requested and the table has collections with a
    /// limit.
    pub(crate) fn wanted(wanted: bool, write: &Write) -> Option<Self> {
        let table = &write.table;
        if !wanted || !table.has_local_indexes() {
            return None;
        }
        let name = &table.key().hash.first()?.name;
        let value = write.key.get(name)?.clone();
        Some(Self { table: Arc::clone(table), key: (name.clone(), value) })
    }

    /// Measures the collection: the items of the partition, and their entries in local indexes.
    pub(crate) fn measure(self, database: &Inner) -> Result<ItemCollectionMetrics> {
        let mut bytes = 0;
        let snapshot = database.store.snapshot().map_err(store_error)?;
        let local = self.table.indexes.iter().zip(&self.table.record.indexes);
        let keyspaces = local.filter(|(_, record)| !record.global).map(|(index, _)| index.keyspace);
        for keyspace in std::iter::once(self.table.record.keyspace).chain(keyspaces) {
            let range = KeyRange::prefix(&layout::partition(keyspace, [&self.key.1])?);
            for entry in snapshot.scan(range, Direction::Forward) {
                let (_, value) = entry.map_err(store_error)?;
                bytes += Stored::new(value).size_bytes()? as u64;
            }
        }
        let table_name = self.table.name().into();
        Ok(ItemCollectionMetrics { table_name, key: self.key, bytes })
    }

    /// Measures collections, one after the other.
    pub(crate) fn measure_all(
        collections: Vec<Self>,
        database: &Inner,
    ) -> Result<Vec<ItemCollectionMetrics>> {
        collections.into_iter().map(|collection| collection.measure(database)).collect()
    }

    /// Adds a collection to a list, once.
    pub(crate) fn add(list: &mut Vec<Self>, metrics: Option<Self>) {
        let Some(metrics) = metrics else { return };
        let same =
            |other: &Self| other.table.name() == metrics.table.name() && other.key == metrics.key;
        if !list.iter().any(same) {
            list.push(metrics);
        }
    }
}
