//! Reachability: which patterns use which index.

use super::Plan;
use crate::model::Design;

/// An index and the patterns that read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexUse {
    /// The name of the table.
    pub table: String,
    /// The index; the table itself if absent.
    pub index: Option<String>,
    /// The names of the patterns.
    pub patterns: Vec<String>,
}

/// Every index of the design with the patterns that use it.
pub fn index_uses(design: &Design, plans: &[Plan]) -> Vec<IndexUse> {
    let mut uses = Vec::new();
    for table in design.tables() {
        for index in &table.indexes {
            let reads = |plan: &&Plan| {
                let first = plan
                    .reads
                    .iter()
                    .any(|read| read.table.name == table.name && read.index().name == index.name);
                let second = plan.hydrate.as_ref().is_some_and(|hydrate| {
                    let fetched = hydrate.entities.iter().any(|e| e.table.name == table.name);
                    fetched && hydrate.index == index.name
                });
                first || second
            };
            uses.push(IndexUse {
                table: table.name.clone(),
                index: index.name.clone(),
                patterns: plans.iter().filter(reads).map(|plan| plan.name.clone()).collect(),
            });
        }
    }
    uses
}
