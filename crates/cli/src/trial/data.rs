//! The rows that were loaded, found by primary key and by partition.

use keyloom_core::key::encode_key_value;
use keyloom_core::{AttributeValue, Item};
use keyloom_design::evaluate::{Places, Row, hash_of, item_label};
use keyloom_design::model::Table;
use keyloom_design::plan::ConcreteRead;

/// Rows with the two ways a trial looks them up. Both know only hashes, so that they stay small beside the rows.
pub(crate) struct Data {
    rows: Vec<Row>,
    by_key: Places,
    by_partition: Places,
}

impl Data {
    pub(crate) fn new(rows: Vec<Row>) -> Self {
        let numbered = || rows.iter().zip(0_u32..);
        let by_key = numbered().map(|(row, at)| (key_hash(&row.entity.table, &row.label()), at));
        let by_key = Places::new(by_key);
        let by_partition = numbered().flat_map(|(row, at)| {
            let table = &row.entity.table;
            table.indexes.iter().enumerate().filter_map(move |(position, index)| {
                let values = row.index_values(index)?;
                let hash = values.get(..index.hash.len()).unwrap_or_default();
                Some((partition_hash(table, position, hash.iter()), at))
            })
        });
        let by_partition = Places::new(by_partition);
        Self { rows, by_key, by_partition }
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Where the row is that was stored as this item.
    pub(crate) fn position_of(&self, table: &Table, item: &Item) -> Option<usize> {
        let label = item_label(table, item);
        let is_it = |row: &Row| row.entity.table.name == table.name && row.label() == label;
        self.by_key.find(key_hash(table, &label)).find(|at| self.rows.get(*at).is_some_and(is_it))
    }

    /// The rows under the partition key that a read names: all that it can possibly return, and perhaps others
    /// that share its hash.
    pub(crate) fn in_partition(&self, table: &Table, read: &ConcreteRead) -> Vec<&Row> {
        let position = table.indexes.iter().position(|index| index.name == read.index);
        let Some((position, index)) =
            position.and_then(|at| table.indexes.get(at).map(|index| (at, index)))
        else {
            return Vec::new();
        };
        let values = read.equal.iter().take(index.hash.len()).map(|(_, value)| value);
        let found = self.by_partition.find(partition_hash(table, position, values));
        found.filter_map(|at| self.rows.get(at)).collect()
    }
}

fn key_hash(table: &Table, label: &str) -> u64 {
    hash_of(&(table.name.as_str(), label))
}

fn partition_hash<'v>(
    table: &Table,
    index: usize,
    values: impl Iterator<Item = &'v AttributeValue>,
) -> u64 {
    let mut bytes = Vec::new();
    for value in values {
        // A value that cannot be a key is in no partition.
        if encode_key_value(value, &mut bytes).is_err() {
            return 0;
        }
    }
    hash_of(&(table.name.as_str(), index, bytes))
}
