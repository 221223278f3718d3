//! Provisioned capacity from declared rates: what the busiest second asks of a table and its indexes.

use crate::check::CheckReport;
use crate::model::{Design, Table};

/// Read and write units per second to provision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Read units per second.
    pub read: u64,
    /// Write units per second.
    pub write: u64,
}

/// The capacity of an index of a table (0 is the table itself), at least one unit of each.
pub fn capacity_of(report: &CheckReport, table: &Table, index: usize) -> Capacity {
    let name = table.indexes.get(index).and_then(|index| index.name.as_deref());
    let mut read = 0.0;
    for plan in &report.plans {
        let here = plan
            .reads
            .iter()
            .any(|read| read.table.name == table.name && read.index().name.as_deref() == name);
        if here {
            read += plan.estimate.peak_units_per_second.unwrap_or(0.0);
        }
    }
    let writes = report.design.iter().flat_map(Design::writes).zip(&report.writes);
    let mut write = 0.0;
    for (declared, plan) in writes {
        let Some(rate) = declared.rate else { continue };
        if !declared.entities().any(|entity| entity.table.name == table.name) {
            continue;
        }
        let units = match name {
            None => plan.table_units,
            Some(name) => plan
                .effects
                .iter()
                .filter(|effect| effect.index == name)
                .map(|effect| effect.units)
                .sum(),
        };
        write += rate.peak * units;
    }
    Capacity { read: (read.ceil() as u64).max(1), write: (write.ceil() as u64).max(1) }
}
