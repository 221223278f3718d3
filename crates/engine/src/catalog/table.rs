//! A table as requests use it: its stored record, and what is derived from it once per version.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use keyloom_core::expr::{Path, check_keys_are_scalars};
use keyloom_core::observation::InsightRules;
use keyloom_core::policy::{Policy, PolicyError};
use keyloom_core::schema::{IndexSchema, KeySchema, TableSchema, VectorIndexSchema};
use keyloom_core::{Item, Result};

use crate::history::Recovery;
use crate::layout::{self, Keyspace};
use crate::ops::resource_policy;

use super::insight::Insight;
use super::record::{Status, TableRecord, VectorIndexLife};

/// One version of a table. A change of the table makes a new version; requests that hold the old
/// one notice through [`Table::version`].
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) record: TableRecord,
    pub(crate) schema: TableSchema,
    pub(crate) indexes: Vec<Index>,
    pub(crate) vector_indexes: Vec<VectorIndex>,
    /// Point-in-time recovery, if it is switched on: its writes are recorded.
    pub(crate) recovery: Option<Recovery>,
    /// Which of its keys observers are to count.
    pub(crate) insights: Option<InsightRules>,
    /// The resource policy; an error if an earlier release stored one that cannot be evaluated.
    pub(crate) policy: Option<Result<Policy, PolicyError>>,
    /// Rises with every change of the record.
    pub(crate) version: u64,
    /// What all versions of the table share.
    pub(crate) shared: Arc<Shared>,
}

/// What lives as long as the table, whatever changes in its record.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) stats: Stats,
    /// No item expires before this second. Zero until the table has been scanned.
    pub(crate) next_expiry_s: AtomicU64,
    /// The earliest expiry of what was written here since the server that removes expired items was told.
    pub(crate) noted_expiry_s: AtomicU64,
    /// How many servers share the table's throughput.
    pub(crate) servers: AtomicU64,
    /// Why there are no counts, if there are none.
    pub(crate) uncountable: OnceLock<String>,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            stats: Stats::default(),
            next_expiry_s: AtomicU64::new(0),
            noted_expiry_s: AtomicU64::new(u64::MAX),
            servers: AtomicU64::new(1),
            uncountable: OnceLock::new(),
        }
    }
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

    /// Items and bytes, whether they can be right or not.
    pub(crate) fn raw(&self) -> (i64, i64) {
        (self.items.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// Items and bytes; none if they cannot be right.
    pub(crate) fn exact(&self) -> Option<(i64, i64)> {
        let (items, bytes) = self.raw();
        (items >= 0 && bytes >= 0).then_some((items, bytes))
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
    pub(crate) stats: Arc<Stats>,
    pub(crate) insights: Option<InsightRules>,
}

/// A vector index with its typed schema.
#[derive(Debug)]
pub(crate) struct VectorIndex {
    pub(crate) schema: VectorIndexSchema,
    /// The same as observers see it: an index with at most a partition key.
    pub(crate) observed: IndexSchema,
    pub(crate) keyspace: Keyspace,
    pub(crate) life: VectorIndexLife,
    pub(crate) stats: Arc<Stats>,
}

static NEXT_VERSION: AtomicU64 = AtomicU64::new(1);

impl Table {
    /// A version of a table; `previous` is the version before it, whose counts go on.
    pub(crate) fn new(record: TableRecord, previous: Option<&Table>) -> Self {
        let schema = record.typed_schema();
        let settings = record.insights();
        let insights_of = |name: &str| settings.get(name).and_then(Insight::rules);
        let stats_of = |keyspace: Keyspace| previous?.stats_of(keyspace).cloned();
        let indexes = record
            .indexes
            .iter()
            .map(|index| Index {
                schema: record.typed_index(index),
                keyspace: index.keyspace,
                status: index.status,
                stats: stats_of(index.keyspace).unwrap_or_default(),
                insights: insights_of(&index.name),
            })
            .collect();
        let vector_indexes = record
            .vector_indexes
            .iter()
            .map(|index| {
                let schema = record.typed_vector_index(index);
                VectorIndex {
                    observed: schema.observed(),
                    schema,
                    keyspace: index.keyspace,
                    life: index.life,
                    stats: stats_of(index.keyspace).unwrap_or_default(),
                }
            })
            .collect();
        let shared = previous.map(|table| Arc::clone(&table.shared)).unwrap_or_default();
        let version = NEXT_VERSION.fetch_add(1, Ordering::Relaxed);
        let insights = insights_of("");
        let policy = resource_policy::of_table(&record);
        let recovery = Recovery::of(&record);
        Self {
            record,
            schema,
            indexes,
            vector_indexes,
            recovery,
            insights,
            policy,
            version,
            shared,
        }
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
        let from: BTreeMap<Keyspace, &Stats> = from.counted().collect();
        for (keyspace, stats) in self.counted() {
            if let Some(from) = from.get(&keyspace) {
                stats.copy(from);
            }
        }
    }

    /// Counts of the table or of one of its indexes, unless counting them met damage.
    pub(crate) fn counts<'a>(&self, stats: &'a Stats) -> Option<&'a Stats> {
        self.shared.uncountable.get().is_none().then_some(stats)
    }

    /// The counts of the table and of all its indexes.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (Keyspace, &Stats)> {
        let indexes = self.indexes.iter().map(|index| (index.keyspace, index.stats.as_ref()));
        let vectors =
            self.vector_indexes.iter().map(|index| (index.keyspace, index.stats.as_ref()));
        [(self.record.keyspace, &self.shared.stats)].into_iter().chain(indexes).chain(vectors)
    }

    /// The keyspaces of the indexes that are being filled.
    pub(crate) fn filling(&self) -> impl Iterator<Item = Keyspace> {
        let secondary = self.indexes.iter().filter(|index| index.status == Status::Creating);
        let vector = self.vector_indexes.iter().filter(|index| index.life.is_filling());
        secondary.map(|index| index.keyspace).chain(vector.map(|index| index.keyspace))
    }

    /// Whether the index in this keyspace is being filled.
    pub(crate) fn is_filling(&self, index: Keyspace) -> bool {
        self.filling().any(|filling| filling == index)
    }

    /// The counts of the index in this keyspace.
    pub(crate) fn stats_of(&self, keyspace: Keyspace) -> Option<&Arc<Stats>> {
        let secondary = self.indexes.iter().map(|index| (index.keyspace, &index.stats));
        let vector = self.vector_indexes.iter().map(|index| (index.keyspace, &index.stats));
        secondary.chain(vector).find(|(known, _)| *known == keyspace).map(|(_, stats)| stats)
    }

    /// The index of this name.
    pub(crate) fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.schema.name == name)
    }

    /// The position of the index of this name.
    pub(crate) fn index_position(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|index| index.schema.name == name)
    }

    /// The vector index of this name.
    pub(crate) fn vector_index(&self, name: &str) -> Option<&VectorIndex> {
        self.vector_indexes.iter().find(|index| index.schema.name == name)
    }

    /// Whether the table has local secondary indexes, and so item collections with a size limit.
    pub(crate) fn has_local_indexes(&self) -> bool {
        self.record.indexes.iter().any(|index| !index.global)
    }

    /// Refuses paths into attributes that are keys of the table or of an index, so cannot be maps or lists.
    pub(crate) fn check_paths<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> Result<()> {
        let nested: Vec<&Path> = paths.into_iter().filter(|path| path.is_nested()).collect();
        if nested.is_empty() {
            return Ok(());
        }
        let table_key = self.key().attributes().map(|key| key.name.as_str());
        let index_keys = self.indexes.iter().flat_map(|index| index.schema.key.attributes());
        check_keys_are_scalars(&nested, table_key, index_keys.map(|key| key.name.as_str()))
    }

    /// The store key of the item with this primary key, which must have been validated.
    pub(crate) fn item_key(&self, key: &Item) -> Result<Vec<u8>> {
        layout::item(self.record.keyspace, self.key(), key)
    }
}
