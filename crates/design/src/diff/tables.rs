//! Tables and indexes: what can be changed in place, and what has to be built anew.

use super::{Pair, paired};
use crate::model::{
    Billing, Design, Index, IndexKind, KeyAttribute, Projection, StreamView, Table, TableClass,
};

/// A table of either design.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDiff {
    /// The table's name.
    pub name: String,
    /// What happens to it.
    pub change: TableChange,
    /// What happens to its indexes.
    pub indexes: Vec<IndexDiff>,
}

/// What happens to a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableChange {
    /// It is as it was.
    Same,
    /// It is new.
    Created,
    /// The new design does not have it.
    Removed,
    /// Settings change in place.
    Changed(Vec<SettingChange>),
    /// It cannot become what the new design says: a new table is needed, and all items move.
    Rebuilt {
        /// What DynamoDB cannot change.
        why: Vec<String>,
    },
}

/// A setting with its value before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingChange {
    /// The setting, as design files name it.
    pub setting: &'static str,
    /// The value before the change.
    pub before: String,
    /// The value after the change.
    pub after: String,
}

/// A secondary index of either design.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDiff {
    /// The index's name.
    pub name: String,
    /// What happens to it.
    pub change: IndexChange,
}

/// What happens to an index.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexChange {
    /// It is as it was.
    Same,
    /// It is new.
    Created,
    /// The new design does not have it.
    Removed,
    /// Keys or projection differ, which DynamoDB cannot change: deleted and created again.
    Rebuilt {
        /// What differs between the two.
        why: Vec<String>,
    },
}

impl TableDiff {
    /// Whether the table and all its indexes are as they were.
    pub fn is_unchanged(&self) -> bool {
        self.change == TableChange::Same
            && self.indexes.iter().all(|index| index.change == IndexChange::Same)
    }

    /// Whether the items of the old table have to move to another one.
    pub fn moves_items(&self) -> bool {
        matches!(self.change, TableChange::Removed | TableChange::Rebuilt { .. })
    }
}

/// Compares the tables of two designs.
pub(super) fn compare(old: &Design, new: &Design) -> Vec<TableDiff> {
    paired(old.tables(), new.tables(), |table| &table.name)
        .into_iter()
        .map(|pair| match pair {
            Pair::Both(old, new) => changed(old, new),
            Pair::Added(new) => whole(new, TableChange::Created),
            Pair::Removed(old) => whole(old, TableChange::Removed),
        })
        .collect()
}

/// A table that is only in one of the designs; its indexes come and go with it.
fn whole(table: &Table, change: TableChange) -> TableDiff {
    TableDiff { name: table.name.clone(), change, indexes: Vec::new() }
}

/// Why a table cannot become another one of the same name, if it cannot.
pub(crate) fn rebuilt(old: &Table, new: &Table) -> Option<String> {
    match changed(old, new).change {
        TableChange::Rebuilt { why } => Some(why.join("; ")),
        _ => None,
    }
}

fn changed(old: &Table, new: &Table) -> TableDiff {
    let mut why = Vec::new();
    if !same_keys(old.primary(), new.primary()) {
        why.push(format!(
            "its primary key {} becomes {}",
            keys_text(old.primary()),
            keys_text(new.primary())
        ));
    }
    let mut indexes = Vec::new();
    for pair in paired(old.secondary(), new.secondary(), Index::label) {
        let (change, is_local) = match pair {
            Pair::Both(old, new) => (index_change(old, new), is_local(old) || is_local(new)),
            Pair::Added(new) => (IndexChange::Created, is_local(new)),
            Pair::Removed(old) => (IndexChange::Removed, is_local(old)),
        };
        let (Pair::Both(index, _) | Pair::Added(index) | Pair::Removed(index)) = pair;
        let name = index.label().to_owned();
        if is_local && change != IndexChange::Same {
            why.push(format!("local index `{name}` can be made only with its table"));
        }
        indexes.push(IndexDiff { name, change });
    }
    let settings = settings(old, new);
    let change = if !why.is_empty() {
        TableChange::Rebuilt { why }
    } else if settings.is_empty() {
        TableChange::Same
    } else {
        TableChange::Changed(settings)
    };
    TableDiff { name: new.name.clone(), change, indexes }
}

fn is_local(index: &Index) -> bool {
    index.kind == IndexKind::Local
}

fn index_change(old: &Index, new: &Index) -> IndexChange {
    let why = index_differences(old, new);
    if why.is_empty() { IndexChange::Same } else { IndexChange::Rebuilt { why } }
}

fn index_differences(old: &Index, new: &Index) -> Vec<String> {
    let mut why = Vec::new();
    if old.kind != new.kind {
        let word = |index: &Index| if is_local(index) { "local" } else { "global" };
        why.push(format!("{} becomes {}", word(old), word(new)));
    }
    if !same_keys(old, new) {
        why.push(format!("key {} becomes {}", keys_text(old), keys_text(new)));
    }
    if !same_projection(&old.projection, &new.projection) {
        why.push(format!(
            "projection {} becomes {}",
            projection_text(&old.projection),
            projection_text(&new.projection)
        ));
    }
    why
}

fn same_keys(old: &Index, new: &Index) -> bool {
    let same = |old: &[KeyAttribute], new: &[KeyAttribute]| {
        let key = |attribute: &KeyAttribute| (attribute.name.clone(), attribute.kind);
        old.iter().map(key).eq(new.iter().map(key))
    };
    same(&old.hash, &new.hash) && same(&old.range, &new.range)
}

/// The order of the attributes of a projection means nothing.
fn same_projection(old: &Projection, new: &Projection) -> bool {
    match (old, new) {
        (Projection::Include(old), Projection::Include(new)) => {
            old.len() == new.len() && old.iter().all(|name| new.contains(name))
        }
        (old, new) => old == new,
    }
}

fn projection_text(projection: &Projection) -> String {
    match projection {
        Projection::All => "all".to_owned(),
        Projection::Keys => "keys".to_owned(),
        Projection::Include(names) => format!("[{}]", names.join(", ")),
    }
}

/// `(PK, SK)`, with the type of those that are not text.
fn keys_text(index: &Index) -> String {
    let names: Vec<String> = index
        .attributes()
        .map(|attribute| match attribute.kind.as_str() {
            "S" => attribute.name.clone(),
            kind => format!("{}:{kind}", attribute.name),
        })
        .collect();
    format!("({})", names.join(", "))
}

fn settings(old: &Table, new: &Table) -> Vec<SettingChange> {
    let ttl = |table: &Table| table.ttl.clone().unwrap_or_else(|| "off".to_owned());
    let billing = |table: &Table| match table.billing {
        Billing::OnDemand => "on-demand".to_owned(),
        Billing::Provisioned => "provisioned".to_owned(),
    };
    let class = |table: &Table| match table.class {
        TableClass::Standard => "standard".to_owned(),
        TableClass::InfrequentAccess => "infrequent-access".to_owned(),
    };
    let stream = |table: &Table| match table.stream {
        None => "off".to_owned(),
        Some(StreamView::KeysOnly) => "keys".to_owned(),
        Some(StreamView::NewImage) => "new".to_owned(),
        Some(StreamView::OldImage) => "old".to_owned(),
        Some(StreamView::NewAndOldImages) => "both".to_owned(),
    };
    [
        ("ttl", ttl(old), ttl(new)),
        ("billing", billing(old), billing(new)),
        ("class", class(old), class(new)),
        ("stream", stream(old), stream(new)),
    ]
    .into_iter()
    .filter(|(_, before, after)| before != after)
    .map(|(setting, before, after)| SettingChange { setting, before, after })
    .collect()
}
