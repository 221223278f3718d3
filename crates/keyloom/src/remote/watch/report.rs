//! The tables of an endpoint, as reports show them.

use keyloom_core::IndexKind;
use keyloom_observe::report::{IndexFacts, Kind, TableFacts};

use super::described::{Described, Facts};
use crate::remote::Remote;

impl Remote {
    /// The tables that requests were looked at of.
    pub(crate) fn table_facts(&self) -> Vec<TableFacts> {
        let Some(watch) = &self.inner.watch else { return Vec::new() };
        let names = watch.tables.names();
        let known = names.iter().filter_map(|name| self.described(watch, name, None));
        let mut facts: Vec<TableFacts> = known.map(|table| facts(&table)).collect();
        // A table may be known by its name and by its ARN.
        facts.sort_by(|a, b| a.name.cmp(&b.name));
        facts.dedup_by(|a, b| a.name == b.name);
        facts
    }
}

fn facts(table: &Described) -> TableFacts {
    let index = |name: &str, kind, facts: &Facts| IndexFacts {
        name: name.to_owned(),
        kind,
        items: facts.items,
        bytes: facts.bytes,
    };
    let indexes = table.schema.indexes.iter().zip(&table.indexes).map(|(schema, facts)| {
        let kind = match schema.kind {
            IndexKind::Global => Kind::Global,
            IndexKind::Local => Kind::Local,
        };
        index(&schema.name, kind, facts)
    });
    let vectors = table.vectors.iter();
    let vectors = vectors.map(|(schema, facts)| index(&schema.name, Kind::Vector, facts));
    TableFacts {
        name: table.schema.name.to_string(),
        items: table.table.items,
        bytes: table.table.bytes,
        created_ms: table.created_ms,
        overdue_s: 0,
        indexes: indexes.chain(vectors).collect(),
    }
}
