//! How observers identify tables and indexes.

use std::sync::atomic::Ordering;

use keyloom_core::key::key_value_len;
use keyloom_core::observation::{Insights, Place, Throughput};
use keyloom_core::schema::{IndexKind, IndexSchema, KeyAttribute, KeySchema};

use crate::catalog::record::{self, OnDemandLimit};
use crate::catalog::{Table, VectorIndex};
use crate::counting;
use crate::database::{Database, Inner};
use crate::{layout, ttl};

/// What is known of a table: for reports. While the database counts its items after a crash, only those
/// counted so far are in the figures.
#[derive(Clone, Debug)]
pub struct TableFacts {
    /// The table's name.
    pub name: String,
    /// Its primary key.
    pub key: KeySchema,
    /// What it may take.
    pub throughput: Throughput,
    /// How many items it holds.
    pub items: u64,
    /// How large they are together.
    pub size_bytes: u64,
    /// Its secondary indexes.
    pub indexes: Vec<IndexFacts>,
    /// Milliseconds since 1970 when it was created.
    pub created_ms: u64,
    /// For how many seconds the item that expired first waits to be removed; none if nothing does, or
    /// nobody knows.
    pub overdue_s: Option<u64>,
}

/// What is known of a secondary index.
#[derive(Clone, Debug)]
pub struct IndexFacts {
    /// Its name, key and projection.
    pub schema: IndexSchema,
    /// What it may take; a local index takes from its table.
    pub throughput: Throughput,
    /// How many entries it holds.
    pub items: u64,
    /// How large they are together.
    pub size_bytes: u64,
    /// Whether it is an index over vectors.
    pub is_vector: bool,
}

impl Database {
    /// All tables, by name. On a store that several servers share, their counts are read there; if that fails, they are
    /// the last that were read.
    ///
    /// ```
    /// use keyloom_engine::Database;
    ///
    /// let database = Database::memory();
    /// assert!(database.tables().is_empty());
    /// ```
    pub fn tables(&self) -> Vec<TableFacts> {
        let inner = self.inner();
        if inner.counted.is_in_store() {
            drop(counting::refresh_all(inner));
        }
        let all = inner.catalog.all();
        let mut tables: Vec<_> = all.values().map(|table| facts(inner, table)).collect();
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        tables
    }
}

fn facts(database: &Inner, table: &Table) -> TableFacts {
    let indexes = table.indexes.iter().enumerate().map(|(position, index)| IndexFacts {
        schema: index.schema.clone(),
        throughput: throughput_of(table, Some(position)),
        items: index.stats.items().unsigned_abs(),
        size_bytes: index.stats.bytes().unsigned_abs(),
        is_vector: false,
    });
    let vectors = table.vector_indexes.iter().map(|index| IndexFacts {
        schema: index.observed.clone(),
        throughput: Throughput::default(),
        items: index.stats.items().unsigned_abs(),
        size_bytes: index.stats.bytes().unsigned_abs(),
        is_vector: true,
    });
    TableFacts {
        name: table.name().to_owned(),
        key: table.key().clone(),
        throughput: throughput_of(table, None),
        items: table.shared.stats.items().unsigned_abs(),
        size_bytes: table.shared.stats.bytes().unsigned_abs(),
        indexes: indexes.chain(vectors).collect(),
        created_ms: table.record.created_ms,
        overdue_s: ttl::overdue_s(database, table),
    }
}

/// A table, or the index at this position of its list. Observers never wait: the size is that of what is
/// counted so far.
pub(crate) fn place_of(table: &Table, position: Option<usize>) -> Place<'_> {
    let index = position.and_then(|position| table.indexes.get(position));
    let stats = index.map_or(&table.shared.stats, |index| &index.stats);
    Place {
        table: table.name(),
        index: index.map(|index| &index.schema),
        key: index.map_or(table.key(), |index| &index.schema.key),
        throughput: throughput_of(table, position),
        has_local_indexes: table.has_local_indexes(),
        size_bytes: stats.bytes().unsigned_abs(),
        is_vector: false,
        insights: match index {
            Some(index) if index.schema.kind == IndexKind::Global => index.insights.as_ref(),
            _ => table.insights.as_ref(),
        }
        .map_or(Insights::Off, Insights::On),
    }
}

/// An index over vectors.
pub(crate) fn vector_place<'a>(table: &'a Table, index: &'a VectorIndex) -> Place<'a> {
    Place {
        index: Some(&index.observed),
        key: &index.observed.key,
        size_bytes: index.stats.bytes().unsigned_abs(),
        is_vector: true,
        insights: Insights::Off,
        ..place_of(table, None)
    }
}

fn throughput_of(table: &Table, position: Option<usize>) -> Throughput {
    let billing = &table.record.billing;
    let servers = table.shared.servers.load(Ordering::Relaxed) as u32;
    let warm_units = |units: i64| u64::try_from(units).ok().filter(|units| *units > 0);
    let index = position.and_then(|position| table.record.indexes.get(position));
    let index = index.filter(|index| index.global);
    let warm = index.map_or(billing.warm, |index| index.warm);
    let warm_read = warm.and_then(|warm| warm_units(warm.read));
    let warm_write = warm.and_then(|warm| warm_units(warm.write));
    if billing.on_demand {
        let limit = index.map_or(billing.on_demand_limit, |index| index.on_demand);
        let OnDemandLimit { read, write } = limit.unwrap_or_default();
        // −1 stands for no limit.
        let limit = |units: Option<i64>| units.and_then(|units| u64::try_from(units).ok());
        return Throughput {
            on_demand: true,
            read: limit(read),
            write: limit(write),
            warm_read,
            warm_write,
            servers,
        };
    }
    let own = index.and_then(|index| index.throughput);
    let record::Throughput { read, write } = own.unwrap_or(billing.throughput);
    let units = |units: i64| Some(units.unsigned_abs());
    Throughput {
        on_demand: false,
        read: units(read),
        write: units(write),
        warm_read,
        warm_write,
        servers,
    }
}

/// The partition key and the sort key in the store key of an entry. The key of the base item, which
/// is behind an index's, is left out.
pub(crate) fn split_key<'a>(schema: &KeySchema, key: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let key = key.get(layout::ENTRY_HEADER_BYTES..).unwrap_or_default();
    let (partition, rest) = key.split_at(values_len(&schema.hash, key));
    (partition, rest.get(..values_len(&schema.range, rest)).unwrap_or(rest))
}

/// How many bytes the values of these attributes take; all of them if they are damaged.
fn values_len(attributes: &[KeyAttribute], bytes: &[u8]) -> usize {
    let mut length = 0;
    for attribute in attributes {
        let rest = bytes.get(length..).unwrap_or_default();
        let Some(value) = key_value_len(attribute.kind, rest) else { return bytes.len() };
        length += value;
    }
    length
}

impl IndexFacts {
    /// Whether it has its own partitions.
    pub fn is_global(&self) -> bool {
        !self.is_vector && self.schema.kind == IndexKind::Global
    }
}

#[cfg(test)]
mod tests {
    use keyloom_core::schema::ScalarType;
    use keyloom_core::{AttributeValue, Item, key};

    use super::*;

    fn attribute(name: &str, kind: ScalarType) -> KeyAttribute {
        KeyAttribute { name: name.into(), kind }
    }

    #[test]
    fn a_store_key_is_taken_apart_without_its_header_and_its_base_key() {
        let index = KeySchema {
            hash: vec![attribute("a", ScalarType::S), attribute("b", ScalarType::N)],
            range: vec![attribute("c", ScalarType::B)],
        };
        let base = KeySchema::simple(attribute("id", ScalarType::S), None);
        let values: [(&str, AttributeValue); 4] = [
            ("a", AttributeValue::S("x\0y".into())),
            ("b", AttributeValue::N((-12i64).into())),
            ("c", AttributeValue::B(vec![0, 1, 0])),
            ("id", AttributeValue::S("item".into())),
        ];
        let item: Item =
            values.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        let store_key = layout::index_entry(7, &index, &base, &item).unwrap();
        let encoded = |range: std::ops::Range<usize>| {
            let mut bytes = Vec::new();
            for (_, value) in &values[range] {
                key::encode_key_value(value, &mut bytes).unwrap();
            }
            bytes
        };
        let (partition, sort) = split_key(&index, &store_key);
        assert_eq!(partition, encoded(0..2));
        assert_eq!(sort, encoded(2..3));
    }
}
