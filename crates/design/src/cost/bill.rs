//! The monthly bill.

use std::sync::Arc;

use super::prices::Prices;
use super::size::{entry_size, item_size};
use crate::model::{Design, Entity, Index, IndexKind, Table};
use crate::plan::{Plan, WritePlan};

/// Dollars a month under both ways of paying.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Money {
    /// Paid per request.
    pub on_demand: f64,
    /// Paid per hour of reserved capacity, sized for the peak.
    pub provisioned: f64,
}

impl std::ops::Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            on_demand: self.on_demand + other.on_demand,
            provisioned: self.provisioned + other.provisioned,
        }
    }
}

impl std::iter::Sum for Money {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), std::ops::Add::add)
    }
}

/// One line of the bill.
#[derive(Clone, Debug, PartialEq)]
pub struct BillLine {
    /// What it is for: a pattern, a write, an entity, an index.
    pub subject: String,
    /// Units per second on average, or gigabytes.
    pub amount: f64,
    /// What the amount counts.
    pub unit: &'static str,
    /// What it costs.
    pub money: Money,
}

/// The monthly bill of a design.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bill {
    /// Reads, per pattern.
    pub reads: Vec<BillLine>,
    /// Writes, per write.
    pub writes: Vec<BillLine>,
    /// Storage, per entity in the table.
    pub storage: Vec<BillLine>,
    /// Storage, per index.
    pub indexes: Vec<BillLine>,
    /// The sum of all items of the bill.
    pub total: Money,
    /// Patterns with a rate that are not in the total, because the number of rows they read is unknown.
    pub missing: Vec<String>,
}

/// Bytes that DynamoDB adds to every stored item and index entry.
const OVERHEAD_BYTES: f64 = 100.0;
const GIGABYTE: f64 = 1024.0 * 1024.0 * 1024.0;

/// Adds up what a design costs in a month, as far as rates and counts are declared.
pub fn bill(design: &Design, plans: &[Plan], writes: &[WritePlan], prices: &Prices) -> Bill {
    let mut bill = Bill::default();
    for plan in plans {
        if let (Some(units), Some(money)) = (plan.estimate.units_per_second, plan.estimate.money) {
            let subject = plan.name.clone();
            bill.reads.push(BillLine { subject, amount: units, unit: "read units/s", money });
        } else if design.access(&plan.name).is_some_and(|access| access.rate.is_some()) {
            bill.missing.push(plan.name.clone());
        }
    }
    for write in writes {
        if let (Some(units), Some(money)) = (write.units_per_second, write.money) {
            let subject = write.name.clone();
            bill.writes.push(BillLine { subject, amount: units, unit: "write units/s", money });
        }
    }
    for table in design.tables() {
        add_storage(design, table, prices, &mut bill);
    }
    let lines = bill.reads.iter().chain(&bill.writes).chain(&bill.storage).chain(&bill.indexes);
    bill.total = lines.map(|line| line.money).sum();
    bill
}

fn add_storage(design: &Design, table: &Arc<Table>, prices: &Prices, bill: &mut Bill) {
    let entities: Vec<&Arc<Entity>> = design.entities_in(table).collect();
    let price = prices.class(table.class).storage_gb_month;
    let line = |subject: String, bytes: f64| {
        let gigabytes = bytes / GIGABYTE;
        let cost = gigabytes * price;
        let money = Money { on_demand: cost, provisioned: cost };
        BillLine { subject, amount: gigabytes, unit: "GB", money }
    };
    for entity in &entities {
        if let Some(count) = entity.volume.count {
            let bytes = count * (item_size(entity) + OVERHEAD_BYTES);
            bill.storage.push(line(entity.name.clone(), bytes));
        }
    }
    for index in table.secondary() {
        let bytes = index_bytes(&entities, index);
        if bytes > 0.0 {
            bill.indexes.push(line(format!("{}.{}", table.name, index.label()), bytes));
        }
    }
}

/// The bytes stored in an index.
pub(crate) fn index_bytes(entities: &[&Arc<Entity>], index: &Index) -> f64 {
    let overhead = if index.kind == IndexKind::Primary { 0.0 } else { OVERHEAD_BYTES };
    entities
        .iter()
        .filter_map(|entity| {
            let key = entity.index_key(index)?;
            let share: f64 =
                key.fields().filter_map(|field| entity.field(field)?.present).fold(1.0, f64::min);
            Some(entity.volume.count? * share * (entry_size(entity, index) + overhead))
        })
        .sum()
}
