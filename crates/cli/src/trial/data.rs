//! The rows that were loaded, found by primary key and by partition.

use std::collections::HashMap;

use keyloom_core::key::encode_key_value;
use keyloom_core::{AttributeValue, Item};
use keyloom_design::evaluate::{Row, item_label};
use keyloom_design::model::Table;
use keyloom_design::plan::ConcreteRead;

/// A table, the position of an index in it, and an encoded partition key.
type Partition = (String, usize, Vec<u8>);

/// Rows with the two ways a trial looks them up.
pub(crate) struct Data {
    rows: Vec<Row>,
    by_key: HashMap<(String, String), usize>,
    partitions: HashMap<Partition, Vec<usize>>,
}

impl Data {
    pub(crate) fn new(rows: Vec<Row>) -> Self {
        let mut data = Self { rows, by_key: HashMap::new(), partitions: HashMap::new() };
        for (at, row) in data.rows.iter().enumerate() {
            let table = &row.entity.table;
            data.by_key.insert((table.name.clone(), row.label()), at);
            for (position, index) in table.indexes.iter().enumerate() {
                let Some(values) = row.index_values(index) else { continue };
                let hash = values.get(..index.hash.len()).unwrap_or_default();
                let partition = (table.name.clone(), position, encoded(hash.iter()));
                data.partitions.entry(partition).or_default().push(at);
            }
        }
        data
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row that was stored as this item.
    pub(crate) fn row_of(&self, table: &Table, item: &Item) -> Option<&Row> {
        // Any entity of the table tells which attributes are the primary key.
        let entity = &self.rows.iter().find(|row| row.entity.table.name == table.name)?.entity;
        let key = (table.name.clone(), item_label(entity, item));
        self.by_key.get(&key).and_then(|at| self.rows.get(*at))
    }

    /// The rows under the partition key that a read names: all that it can possibly return.
    pub(crate) fn in_partition(&self, table: &Table, read: &ConcreteRead) -> Vec<Row> {
        let position = table.indexes.iter().position(|index| index.name == read.index);
        let Some((position, index)) =
            position.and_then(|at| table.indexes.get(at).map(|index| (at, index)))
        else {
            return Vec::new();
        };
        let values = read.equal.iter().take(index.hash.len()).map(|(_, value)| value);
        let partition = (table.name.clone(), position, encoded(values));
        let found = self.partitions.get(&partition).into_iter().flatten();
        found.filter_map(|at| self.rows.get(*at).cloned()).collect()
    }
}

fn encoded<'v>(values: impl Iterator<Item = &'v AttributeValue>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        // A value that cannot be a key is in no partition.
        if encode_key_value(value, &mut bytes).is_err() {
            return Vec::new();
        }
    }
    bytes
}
