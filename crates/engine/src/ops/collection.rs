//! Item collections of tables with local secondary indexes: their key and their size.

use std::sync::Arc;

use keyloom_api::JsonWriter;
use keyloom_core::{AttributeValue, Item, Result};
use keyloom_store::{Direction, KeyRange};

use crate::catalog::Table;
use crate::database::Inner;
use crate::{layout, store_error};
use keyloom_core::image::Stored;

const GIB: u64 = 1024 * 1024 * 1024;

/// The item collection that a write touched.
#[derive(Clone, Debug)]
pub(crate) struct CollectionMetrics {
    table: Arc<Table>,
    /// The partition key's name and value.
    key: (String, AttributeValue),
    bytes: u64,
}

impl CollectionMetrics {
    /// The collection of an item, if metrics were asked for and the table has collections with a
    /// limit.
    pub(crate) fn wanted(wanted: bool, table: &Arc<Table>, key: &Item) -> Option<Self> {
        if !wanted || !table.has_local_indexes() {
            return None;
        }
        let name = &table.key().hash.first()?.name;
        let value = key.get(name)?.clone();
        Some(Self { table: Arc::clone(table), key: (name.to_string(), value), bytes: 0 })
    }

    /// Measures the collection: the items of the partition, and their entries in local indexes.
    pub(crate) fn measure(mut self, database: &Inner) -> Result<Self> {
        let snapshot = database.store.snapshot().map_err(store_error)?;
        let local = self.table.indexes.iter().zip(&self.table.record.indexes);
        let keyspaces = local.filter(|(_, record)| !record.global).map(|(index, _)| index.keyspace);
        for keyspace in std::iter::once(self.table.record.keyspace).chain(keyspaces) {
            let range = KeyRange::prefix(&layout::partition(keyspace, [&self.key.1])?);
            for entry in snapshot.scan(range, Direction::Forward) {
                let (_, value) = entry.map_err(store_error)?;
                self.bytes += Stored::new(value).size_bytes()? as u64;
            }
        }
        Ok(self)
    }

    /// The table that the collection belongs to.
    pub(crate) fn table_name(&self) -> &str {
        self.table.name()
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

    /// Writes `ItemCollectionMetrics`, if there are any.
    pub(crate) fn write(json: &mut JsonWriter, metrics: Option<&Self>) {
        if let Some(metrics) = metrics {
            json.structure("ItemCollectionMetrics", |json| metrics.write_members(json));
        }
    }

    /// Writes the members of one `ItemCollectionMetrics`.
    pub(crate) fn write_members(&self, json: &mut JsonWriter) {
        let (name, value) = &self.key;
        json.structure("ItemCollectionKey", |json| json.attribute(name, value));
        // AWS answers with an estimate between two whole gigabytes; ours is measured, and shown so.
        let lower = self.bytes / GIB;
        json.key("SizeEstimateRangeGB");
        let range = format!("[{:.1},{:.1}]", lower as f64, (lower + 1) as f64);
        json.buffer().extend_from_slice(range.as_bytes());
    }
}

/// Writes the collections of a batch or transaction, by table.
pub(crate) fn write_collections(json: &mut JsonWriter, collections: &[CollectionMetrics]) {
    if collections.is_empty() {
        return;
    }
    json.structure("ItemCollectionMetrics", |json| {
        let mut names: Vec<&str> = collections.iter().map(CollectionMetrics::table_name).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let of_table = collections.iter().filter(|metrics| metrics.table_name() == name);
            json.list(name, of_table, |json, metrics| {
                json.nested(|json| metrics.write_members(json));
            });
        }
    });
}
