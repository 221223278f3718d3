//! Capacity units, by the sentences of the developer guide.

use std::collections::BTreeMap;

use keyloom_core::size::item_size;
use keyloom_core::{IndexKind, Item};
use serde_json::{Map, Value, json};

use super::Table;
use super::data::{Key, text};

/// What a request consumed on one table.
#[derive(Clone, Debug, Default)]
pub(super) struct Cost {
    table: f64,
    indexes: BTreeMap<(Kind, String), f64>,
}

/// Why units are counted, and so which members of a reply show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A single operation or a batch.
    Plain,
    TransactRead,
    TransactWrite,
}

/// [`IndexKind`], which has no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Local,
    Global,
}

/// 4 KB steps; half the price when eventually consistent.
pub(super) fn read_units(bytes: usize, consistent: bool) -> f64 {
    let steps = bytes.div_ceil(4096).max(1) as f64;
    if consistent { steps } else { steps / 2.0 }
}

fn write_units(bytes: usize) -> f64 {
    bytes.div_ceil(1024).max(1) as f64
}

impl Cost {
    pub(super) fn of_table(units: f64) -> Self {
        Self { table: units, indexes: BTreeMap::new() }
    }

    /// The cost of a change from `old` to `new`: the larger on the table, and on each index what
    /// becomes of its entry.
    pub(super) fn of_write(table: &Table, old: Option<&Item>, new: Option<&Item>) -> Self {
        let bytes = old.map_or(0, item_size).max(new.map_or(0, item_size));
        let mut cost = Self::of_table(write_units(bytes));
        for index in &table.schema.indexes {
            let entry = |item: Option<&Item>| {
                let projected = table.project(item?, index)?;
                Some((Key::of(&index.key, &projected), projected))
            };
            let size = |entry: &(Key, Item)| write_units(item_size(&entry.1));
            let units = match (entry(old), entry(new)) {
                (None, None) => continue,
                (Some(one), None) | (None, Some(one)) => size(&one),
                (Some(before), Some(after)) if before == after => continue,
                (Some(before), Some(after)) if before.0 == after.0 => {
                    size(&before).max(size(&after))
                }
                (Some(before), Some(after)) => size(&before) + size(&after),
            };
            cost.add_index(index.kind, &index.name, units);
        }
        cost
    }

    pub(super) fn add_index(&mut self, kind: IndexKind, name: &str, units: f64) {
        let kind = match kind {
            IndexKind::Local => Kind::Local,
            IndexKind::Global => Kind::Global,
        };
        *self.indexes.entry((kind, name.to_owned())).or_default() += units;
    }

    /// In a transaction the table's part is doubled, that of indexes is not.
    pub(super) fn doubled(mut self) -> Self {
        self.table *= 2.0;
        self
    }

    pub(super) fn add(&mut self, other: Self) {
        self.table += other.table;
        for (index, units) in other.indexes {
            *self.indexes.entry(index).or_default() += units;
        }
    }

    fn total(&self) -> f64 {
        self.table + self.indexes.values().sum::<f64>()
    }

    /// The JSON of one table's account.
    fn value(&self, table_name: &str, detail: &str, purpose: Purpose) -> Value {
        let arm = |units: f64| {
            let mut arm = Map::new();
            arm.insert("CapacityUnits".into(), units.into());
            match purpose {
                Purpose::Plain => None,
                Purpose::TransactRead => arm.insert("ReadCapacityUnits".into(), units.into()),
                Purpose::TransactWrite => arm.insert("WriteCapacityUnits".into(), units.into()),
            };
            arm
        };
        let mut account = arm(self.total());
        account.insert("TableName".into(), table_name.into());
        if detail == "INDEXES" {
            account.insert("Table".into(), arm(self.table).into());
            for (kind, member) in
                [(Kind::Local, "LocalSecondaryIndexes"), (Kind::Global, "GlobalSecondaryIndexes")]
            {
                let of_kind = self.indexes.iter().filter(|((of, _), _)| *of == kind);
                let arms: Map<String, Value> =
                    of_kind.map(|((_, name), units)| (name.clone(), arm(*units).into())).collect();
                if !arms.is_empty() {
                    account.insert(member.into(), arms.into());
                }
            }
        }
        account.into()
    }

    /// Adds `ConsumedCapacity` to a reply, if the request asks for it.
    pub(super) fn show(&self, request: &Value, reply: &mut Map<String, Value>) {
        let detail = text(request, "ReturnConsumedCapacity");
        if matches!(detail, "TOTAL" | "INDEXES") {
            let account = self.value(text(request, "TableName"), detail, Purpose::Plain);
            reply.insert("ConsumedCapacity".into(), account);
        }
    }
}

/// Adds the `ConsumedCapacity` of several tables to a reply, if the request asks for it.
pub(super) fn show_all(
    costs: &BTreeMap<String, Cost>,
    purpose: Purpose,
    request: &Value,
    reply: &mut Map<String, Value>,
) {
    let detail = text(request, "ReturnConsumedCapacity");
    if matches!(detail, "TOTAL" | "INDEXES") {
        let accounts = costs.iter().map(|(name, cost)| cost.value(name, detail, purpose));
        reply.insert("ConsumedCapacity".into(), json!(accounts.collect::<Vec<_>>()));
    }
}
