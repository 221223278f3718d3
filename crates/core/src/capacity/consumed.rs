//! `ConsumedCapacity`, as responses report it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::Units;
use crate::value::Str;

/// The consumption of one table or index. Reads and writes are split for transactions only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arm {
    /// Reads and writes together.
    pub total: Units,
    /// Reads, in a transaction.
    pub read: Option<Units>,
    /// Writes, in a transaction.
    pub write: Option<Units>,
}

impl Arm {
    /// Consumption without a split.
    pub fn new(total: Units) -> Self {
        Self { total, read: None, write: None }
    }

    /// Consumption of a transactional read.
    pub fn transactional_read(units: Units) -> Self {
        Self { total: units, read: Some(units), write: None }
    }

    /// Consumption of a transactional write.
    pub fn transactional_write(units: Units) -> Self {
        Self { total: units, read: None, write: Some(units) }
    }

    /// Adds the consumption of another request.
    pub fn merge(&mut self, other: Self) {
        self.total += other.total;
        self.read = sum(self.read, other.read);
        self.write = sum(self.write, other.write);
    }
}

fn sum(a: Option<Units>, b: Option<Units>) -> Option<Units> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

/// The consumption of a vector index, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorArm {
    /// How many bytes a search read.
    pub search_bytes: Option<u64>,
    /// How many bytes were written.
    pub write_bytes: Option<u64>,
}

/// The consumption of a request on one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumedCapacity {
    /// The table, named as in the request.
    pub table_name: Str,
    /// The table itself.
    pub table: Arm,
    /// The local secondary indexes used.
    pub local: BTreeMap<Str, Arm>,
    /// The global secondary indexes used.
    pub global: BTreeMap<Str, Arm>,
    /// The vector indexes used.
    pub vector: BTreeMap<Str, VectorArm>,
    /// Units that count in the total only: failed statements of a batch.
    pub unattributed: Units,
}

impl ConsumedCapacity {
    /// No consumption on a table yet.
    pub fn new(table_name: impl Into<Str>) -> Self {
        Self { table_name: table_name.into(), ..Self::default() }
    }

    /// The total of the table and all its indexes.
    pub fn total(&self) -> Arm {
        let mut total = self.table;
        for arm in self.local.values().chain(self.global.values()) {
            total.merge(*arm);
        }
        total.total += self.unattributed;
        total
    }

    /// Adds units to the table.
    pub fn add_table(&mut self, arm: Arm) {
        self.table.merge(arm);
    }

    /// Adds units to a local secondary index.
    pub fn add_local(&mut self, index: impl Into<Str>, arm: Arm) {
        self.local.entry(index.into()).or_default().merge(arm);
    }

    /// Adds units to a global secondary index.
    pub fn add_global(&mut self, index: impl Into<Str>, arm: Arm) {
        self.global.entry(index.into()).or_default().merge(arm);
    }

    /// Adds bytes to a vector index.
    pub fn add_vector(&mut self, index: impl Into<Str>, arm: VectorArm) {
        let plus = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        match self.vector.entry(index.into()) {
            Entry::Vacant(slot) => {
                slot.insert(arm);
            }
            Entry::Occupied(mut slot) => {
                let sum = slot.get_mut();
                sum.search_bytes = plus(sum.search_bytes, arm.search_bytes);
                sum.write_bytes = plus(sum.write_bytes, arm.write_bytes);
            }
        }
    }

    /// Adds the consumption of another request on the same table.
    pub fn merge(&mut self, other: Self) {
        self.unattributed += other.unattributed;
        self.add_table(other.table);
        for (index, arm) in other.local {
            self.add_local(index, arm);
        }
        for (index, arm) in other.global {
            self.add_global(index, arm);
        }
        for (index, arm) in other.vector {
            self.add_vector(index, arm);
        }
    }
}
