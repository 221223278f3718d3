//! The findings of a verification.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::MAX_FINDINGS;

/// What a verification has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The first findings, at most [`MAX_FINDINGS`].
    pub findings: Vec<Finding>,
    /// How many findings there are of each kind.
    pub found: BTreeMap<Kind, u64>,
    /// How much was checked.
    pub totals: Totals,
}

/// How much a verification checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Entries of the store.
    pub entries: u64,
    /// The size of their keys and values in bytes.
    pub bytes: u64,
    /// How many tables.
    pub tables: u64,
    /// How many items in tables.
    pub items: u64,
    /// Indexes, those over vectors included.
    pub indexes: u64,
    /// How many index entries.
    pub index_entries: u64,
    /// How many backups.
    pub backups: u64,
    /// How many items in backups.
    pub backup_items: u64,
    /// How many streams.
    pub streams: u64,
    /// How many stream records.
    pub stream_records: u64,
    /// Items as they were, of tables with point-in-time recovery.
    pub history_records: u64,
    /// Tables and indexes whose stored counts were compared with what is there: none if there are no
    /// counts to compare, as after a crash, or while the database is being written to.
    pub counts: u64,
}

/// One inconsistency that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What kind of thing.
    pub kind: Kind,
    /// The table that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The index that it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// The key of the entry: as DynamoDB JSON where it can be read, else in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What is wrong.
    pub detail: String,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// The store's files are not what was written.
    Damage,
    /// A key of no known kind.
    UnknownKey,
    /// A value that cannot be read.
    Undecodable,
    /// An item, or an entry of an index, lies under another key than its own.
    WrongKey,
    /// An item has no entry in an index that it belongs to.
    MissingEntry,
    /// An entry of an index is not what follows from its item.
    WrongEntry,
    /// An entry of an index that follows from no item.
    OrphanEntry,
    /// A stored count differs from the actual one.
    WrongCount,
    /// Shards or records of a stream contradict each other, or the table.
    BrokenStream,
    /// Records of tables, streams or backups contradict each other.
    Catalog,
    /// An orphaned keyspace.
    OrphanKeyspace,
}

impl Kind {
    /// Its name, as JSON has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Damage => "damage",
            Self::UnknownKey => "unknown-key",
            Self::Undecodable => "undecodable",
            Self::WrongKey => "wrong-key",
            Self::MissingEntry => "missing-entry",
            Self::WrongEntry => "wrong-entry",
            Self::OrphanEntry => "orphan-entry",
            Self::WrongCount => "wrong-count",
            Self::BrokenStream => "broken-stream",
            Self::Catalog => "catalog",
            Self::OrphanKeyspace => "orphan-keyspace",
        }
    }
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.found.is_empty()
    }

    /// The report as JSON.
    pub fn to_json(&self) -> String {
        // Strings and numbers only: nothing of it can fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`to_json`](Self::to_json) wrote; the error says what is wrong with it.
    pub fn from_json(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// How many findings there are in all.
    pub fn total_found(&self) -> u64 {
        self.found.values().sum()
    }

    pub(super) fn add(&mut self, finding: Finding) {
        *self.found.entry(finding.kind).or_default() += 1;
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        }
    }
}

impl Finding {
    pub(super) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, table: None, index: None, key: None, detail: detail.into() }
    }

    pub(super) fn of_table(mut self, table: &str) -> Self {
        self.table = Some(table.to_owned());
        self
    }

    pub(super) fn of_index(mut self, index: &str) -> Self {
        self.index = Some(index.to_owned());
        self
    }

    pub(super) fn at(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.as_str())?;
        for (name, value) in [("table", &self.table), ("index", &self.index), ("key", &self.key)] {
            if let Some(value) = value {
                write!(f, ", {name} {value}")?;
            }
        }
        write!(f, ": {}", self.detail)
    }
}
