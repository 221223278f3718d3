//! Keys of the store as people read them.

use std::collections::BTreeMap;

use keyloom_core::schema::KeySchema;

use crate::layout::{self, Keyspace, Meaning};
use crate::verify::contents::Contents;
use crate::verify::show;

/// Whose keys are whose.
pub(super) struct Names<'a> {
    keyspaces: BTreeMap<Keyspace, (String, Vec<&'a KeySchema>)>,
}

impl<'a> Names<'a> {
    pub(super) fn new(contents: &'a Contents) -> Self {
        let mut keyspaces = BTreeMap::new();
        for table in &contents.tables {
            let name = &table.record.name;
            keyspaces.insert(table.record.keyspace, (format!("table {name}"), vec![table.key()]));
            for index in &table.indexes {
                let owner = format!("index {} of {name}", index.schema.name);
                keyspaces.insert(index.keyspace, (owner, vec![&index.schema.key, table.key()]));
            }
            for index in &table.vector_indexes {
                let owner = format!("vector index {} of {name}", index.schema.name);
                keyspaces.insert(index.keyspace, (owner, Vec::new()));
            }
        }
        let histories = contents.tables.iter().filter_map(|table| Some((table, table.recovery?)));
        for (table, recovery) in histories {
            let owner = format!("history of table {}", table.name());
            keyspaces.insert(recovery.keyspace, (owner, Vec::new()));
        }
        for stream in &contents.streams {
            let owner = format!("stream {} of {}", stream.label, stream.table);
            keyspaces.insert(stream.keyspace, (owner, Vec::new()));
        }
        for backup in &contents.backups {
            keyspaces.insert(backup.keyspace, (format!("backup {}", backup.id), Vec::new()));
        }
        Self { keyspaces }
    }

    /// A key, and whose it is.
    pub(super) fn show(&self, key: &[u8]) -> String {
        let text = |from: usize| String::from_utf8_lossy(key.get(from..).unwrap_or_default());
        match layout::meaning(key) {
            Some(Meaning::Table) => return format!("the record of table {}", text(1)),
            Some(Meaning::Resource(kind)) => return format!("a record of kind {kind}"),
            Some(Meaning::Stream(keyspace)) => return format!("the record of stream {keyspace}"),
            Some(_) => return format!("a record of the database ({})", show::hex(key)),
            None => {}
        }
        let keyspace = layout::keyspace_of(key);
        match keyspace.and_then(|keyspace| self.keyspaces.get(&keyspace)) {
            Some((owner, schemas)) => format!("{owner}: {}", show::entry_key(schemas, key)),
            None => show::hex(key),
        }
    }
}
