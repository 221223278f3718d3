//! The order of a change: first what adds, then the items, last what takes away.
//!
//! DynamoDB takes one index change per UpdateTable, so each is a step of its own. Programs of the old design work until
//! the steps that remove something.

use super::{EntityDiff, IndexChange, ItemChange, TableChange, TableDiff};

/// One step of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Create a table with all its indexes.
    CreateTable {
        /// The name of the table.
        table: String,
    },
    /// Build the table anew under another name, because the old one cannot become it.
    CreateReplacement {
        /// The name of the table.
        table: String,
    },
    /// Change settings of a table.
    UpdateTable {
        /// The name of the table.
        table: String,
        /// The names of the changed settings.
        settings: Vec<&'static str>,
    },
    /// Create a global index; DynamoDB fills it from the items.
    CreateIndex {
        /// The name of the table.
        table: String,
        /// The name of the index.
        index: String,
    },
    /// Delete a global index.
    DeleteIndex {
        /// The name of the table.
        table: String,
        /// The name of the index.
        index: String,
        /// Whether an index of the same name is created next: in between, its patterns fail.
        recreated: bool,
    },
    /// Change the stored items of these entities.
    MigrateItems {
        /// The names of the entities.
        entities: Vec<String>,
    },
    /// Delete the stored items of these entities, which the new design does not have.
    DeleteItems {
        /// The names of the entities.
        entities: Vec<String>,
    },
    /// Delete a table.
    DeleteTable {
        /// The name of the table.
        table: String,
    },
}

impl Step {
    /// What is to be done.
    pub fn describe(&self) -> String {
        let list = |names: &[String]| names.join(", ");
        match self {
            Self::CreateTable { table } => format!("create table {table}"),
            Self::CreateReplacement { table } => {
                format!("create a new table in place of {table}, under another name")
            }
            Self::UpdateTable { table, settings } => {
                format!("update table {table}: {}", settings.join(", "))
            }
            Self::CreateIndex { table, index } => {
                format!("create index {table}.{index} and wait until it is ACTIVE")
            }
            Self::DeleteIndex { table, index, recreated: false } => {
                format!("delete index {table}.{index}")
            }
            Self::DeleteIndex { table, index, recreated: true } => format!(
                "delete index {table}.{index} to create it again: until then its patterns fail; \
                 under a new name they would not"
            ),
            Self::MigrateItems { entities } => format!("migrate the items of {}", list(entities)),
            Self::DeleteItems { entities } => {
                format!("delete the items of {}, if they are no longer needed", list(entities))
            }
            Self::DeleteTable { table } => format!("delete table {table}"),
        }
    }
}

/// Puts the changes in order.
pub(super) fn order(tables: &[TableDiff], entities: &[EntityDiff]) -> Vec<Step> {
    let mut adding = Vec::new();
    let mut removing = Vec::new();
    for diff in tables {
        let table = || diff.name.clone();
        match &diff.change {
            TableChange::Created => adding.push(Step::CreateTable { table: table() }),
            TableChange::Rebuilt { .. } => {
                adding.push(Step::CreateReplacement { table: table() });
                removing.push(Step::DeleteTable { table: table() });
                // The replacement has its indexes from the start.
                continue;
            }
            TableChange::Removed => removing.push(Step::DeleteTable { table: table() }),
            TableChange::Changed(changes) => adding.push(Step::UpdateTable {
                table: table(),
                settings: changes.iter().map(|change| change.setting).collect(),
            }),
            TableChange::Same => {}
        }
        index_steps(diff, &mut adding, &mut removing);
    }
    let named = |wanted: &dyn Fn(&EntityDiff) -> bool| -> Vec<String> {
        entities.iter().filter(|diff| wanted(diff)).map(|diff| diff.name.clone()).collect()
    };
    let migrated = named(&EntityDiff::writes_items);
    if !migrated.is_empty() {
        adding.push(Step::MigrateItems { entities: migrated });
    }
    let left_over = named(&|diff| diff.items == ItemChange::Removed);
    if !left_over.is_empty() {
        adding.push(Step::DeleteItems { entities: left_over });
    }
    adding.append(&mut removing);
    adding
}

fn index_steps(diff: &TableDiff, adding: &mut Vec<Step>, removing: &mut Vec<Step>) {
    for index in &diff.indexes {
        let (table, name) = (diff.name.clone(), index.name.clone());
        let delete = |recreated| Step::DeleteIndex {
            table: diff.name.clone(),
            index: index.name.clone(),
            recreated,
        };
        match index.change {
            IndexChange::Same => {}
            IndexChange::Created => adding.push(Step::CreateIndex { table, index: name }),
            IndexChange::Removed => removing.push(delete(false)),
            IndexChange::Rebuilt { .. } => {
                adding.push(delete(true));
                adding.push(Step::CreateIndex { table, index: name });
            }
        }
    }
}
