//! A table as requests see it: its record with everything derived from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use keyloom_core::schema::{IndexSchema, KeySchema, TableSchema};
use keyloom_core::{Item, Result};
use parking_lot::RwLock;

use crate::layout::{self, Keyspace};

use super::record::{IndexRecord, Status, TableRecord};

/// One version of a table. A change of the table makes a new version; requests that hold the old
/// one notice through [`Table::version`].
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) record: TableRecord,
    pub(crate) schema: TableSchema,
    pub(crate) indexes: Vec<Index>,
    /// Rises with every change of the record.
    pub(crate) version: u64,
    /// What all versions of the table share.
    pub(crate) shared: Arc<Shared>,
}

/// What lives as long as the table, whatever changes in its record.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Writers hold it shared from looking at the version until their commit; a change of the table
    /// takes it alone. So no write of an old version can slip past a change.
    pub(crate) gate: RwLock<()>,
    pub(crate) stats: Stats,
}

/// Item counts and sizes, kept exact by every write.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    items: AtomicI64,
    bytes: AtomicI64,
}

impl Stats {
    pub(crate) fn add(&self, items: i64, bytes: i64) {
        self.items.fetch_add(items, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, items: i64, bytes: i64) {
        self.items.store(items, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    fn copy(&self, from: &Stats) {
        self.set(from.items(), from.bytes());
    }

    pub(crate) fn items(&self) -> i64 {
        self.items.load(Ordering::Relaxed).max(0)
    }

    pub(crate) fn bytes(&self) -> i64 {
        self.bytes.load(Ordering::Relaxed).max(0)
    }
}

/// A secondary index with its typed schema.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) schema: IndexSchema,
    pub(crate) keyspace: Keyspace,
    pub(crate) status: Status,
    pub(crate) backfilling: bool,
    pub(crate) stats: Arc<Stats>,
}

static NEXT_VERSION: AtomicU64 = AtomicU64::new(1);

impl Table {
    /// A version of a table; `previous` is the version before it, whose counts go on.
    pub(crate) fn new(record: TableRecord, previous: Option<&Table>) -> Self {
        let schema = record.typed_schema();
        let stats_of = |index: &IndexRecord| {
            let known = previous?.indexes.iter().find(|known| known.keyspace == index.keyspace)?;
            Some(Arc::clone(&known.stats))
        };
        let indexes = record
            .indexes
            .iter()
            .map(|index| Index {
                schema: record.typed_index(index),
                keyspace: index.keyspace,
                status: index.status,
                backfilling: index.backfilling,
                stats: stats_of(index).unwrap_or_default(),
            })
            .collect();
        let shared = previous.map(|table| Arc::clone(&table.shared)).unwrap_or_default();
        let version = NEXT_VERSION.fetch_add(1, Ordering::Relaxed);
        Self { record, schema, indexes, version, shared }
    }

    pub(crate) fn name(&self) -> &str {
        &self.record.name
    }

    /// The primary key.
    pub(crate) fn key(&self) -> &KeySchema {
        &self.schema.key
    }

    /// Takes over the counts of another table of the same shape.
    pub(crate) fn copy_stats(&self, from: &Table) {
        self.shared.stats.copy(&from.shared.stats);
        for (index, from) in self.indexes.iter().zip(&from.indexes) {
            index.stats.copy(&from.stats);
        }
    }

    /// The index of this name.
    pub(crate) fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.schema.name == name)
    }

    /// The position of the index of this name.
    pub(crate) fn index_position(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|index| index.schema.name == name)
    }

    /// Whether the table has local secondary indexes, and so item collections with a size limit.
    pub(crate) fn has_local_indexes(&self) -> bool {
        self.record.indexes.iter().any(|index| !index.global)
    }

    /// The store key of the item with this primary key, which must have been validated.
    pub(crate) fn item_key(&self, key: &Item) -> Result<Vec<u8>> {
        layout::item(self.record.keyspace, self.key(), key)
    }
}
