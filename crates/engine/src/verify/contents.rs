//! An inventory of the store besides items: tables, streams, backups, and the owners of keyspaces.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use keyloom_store::{Direction, KeyRange, Snapshot};
use serde::de::DeserializeOwned;

use crate::catalog::{Table, TableRecord};
use crate::layout::{self, Keyspace};
use crate::ops::backups::StoredBackup;
use crate::stream::StreamRecord;
use crate::{idempotency, ops};

use super::report::{Finding, Kind, Report};
use super::show;

/// Bulk data: many entries under a tag and a keyspace.
pub(crate) struct Large {
    pub(crate) tag: u8,
    pub(crate) name: &'static str,
    /// The beginning of all of them in a keyspace.
    #[cfg_attr(not(feature = "disk"), expect(dead_code, reason = "only a repair removes them"))]
    pub(crate) prefix: fn(Keyspace) -> Vec<u8>,
}

/// All kinds of bulk data.
pub(crate) const LARGE: [Large; 4] = [
    Large { tag: layout::ENTRY_TAG, name: "items or index entries", prefix: layout::entries },
    Large {
        tag: layout::STREAM_RECORD_TAG,
        name: "stream records",
        prefix: layout::stream_records,
    },
    Large { tag: layout::VERSION_TAG, name: "versions", prefix: layout::versions },
    Large { tag: layout::HISTORY_TAG, name: "history records", prefix: layout::history },
];

/// Everything but the bulk data.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) tables: Vec<Table>,
    pub(crate) streams: Vec<StreamRecord>,
    pub(crate) backups: Vec<StoredBackup>,
    pub(crate) dropped: BTreeSet<Keyspace>,
    pub(crate) next_keyspace: Keyspace,
}

impl Contents {
    /// Reads what a snapshot holds; what cannot be read is reported.
    pub(crate) fn read(snapshot: &dyn Snapshot, report: &mut Report) -> Self {
        let mut contents = Self { next_keyspace: 1, ..Self::default() };
        for tag in (0..=u8::MAX).filter(|tag| !LARGE.iter().any(|large| large.tag == *tag)) {
            for entry in snapshot.scan(KeyRange::prefix(&[tag]), Direction::Forward) {
                match entry {
                    Ok((key, value)) => contents.add(&key, &value, report),
                    Err(error) => {
                        report.add(Finding::new(Kind::Damage, error.to_string()));
                        break;
                    }
                }
            }
        }
        report.totals.tables = contents.tables.len() as u64;
        report.totals.streams = contents.streams.len() as u64;
        report.totals.backups = contents.backups.len() as u64;
        contents
    }

    /// Takes in one entry.
    fn add(&mut self, key: &[u8], value: &[u8], report: &mut Report) {
        let name = |from: usize| String::from_utf8_lossy(key.get(from..).unwrap_or_default());
        match layout::meaning(key) {
            Some(layout::Meaning::NextKeyspace) => match value.try_into() {
                Ok(bytes) => self.next_keyspace = Keyspace::from_be_bytes(bytes),
                Err(_) => report.add(undecodable(key, "it is not a keyspace number")),
            },
            Some(layout::Meaning::Table) => {
                if let Some(record) = decoded::<TableRecord>(key, value, report) {
                    if record.name != name(1) {
                        let detail = format!("it is the record of the table {}", record.name);
                        report.add(Finding::new(Kind::WrongKey, detail).at(name(1)));
                    }
                    self.tables.push(Table::new(record, None));
                }
            }
            Some(layout::Meaning::Dropped(keyspace)) => drop(self.dropped.insert(keyspace)),
            Some(layout::Meaning::Token) => {
                if !idempotency::is_readable(value) {
                    report.add(undecodable(key, "it is not the record of a transaction"));
                }
            }
            Some(layout::Meaning::Stream(keyspace)) => {
                if let Some(stream) = decoded::<StreamRecord>(key, value, report) {
                    if stream.keyspace != keyspace {
                        let detail = format!("it is the record of stream {}", stream.keyspace);
                        report.add(Finding::new(Kind::WrongKey, detail).at(show::hex(key)));
                    }
                    self.streams.push(stream);
                }
            }
            Some(layout::Meaning::Resource(kind)) if ops::is_resource(kind) => {
                if kind != StoredBackup::KIND {
                    drop(decoded::<serde_json::Value>(key, value, report));
                } else if let Some(backup) = decoded(key, value, report) {
                    self.backups.push(backup);
                }
            }
            Some(layout::Meaning::HistoryClock) => {
                if value.len() != size_of::<u64>() {
                    report.add(undecodable(key, "it is not a number"));
                }
            }
            // Which stores show counters is up to them.
            Some(layout::Meaning::Counter) => {}
            Some(
                layout::Meaning::Counts | layout::Meaning::Coordination | layout::Meaning::Records,
            ) => {
                drop(decoded::<serde_json::Value>(key, value, report));
            }
            Some(layout::Meaning::Resource(_)) | None => {
                let detail = "nothing of this database has such a key";
                report.add(Finding::new(Kind::UnknownKey, detail).at(show::hex(key)));
            }
        }
    }

    /// The table that writes to a stream.
    pub(super) fn writer_of(&self, stream: Keyspace) -> Option<&Table> {
        let writes = |table: &&Table| {
            let setting = table.record.stream.as_ref();
            setting.is_some_and(|setting| setting.enabled && setting.keyspace == stream)
        };
        self.tables.iter().find(writes)
    }

    /// Checks that every keyspace belongs to one thing, and that what is there belongs to something.
    pub(super) fn check_owners(&self, snapshot: &dyn Snapshot, report: &mut Report) {
        let mut owners = Owners { next: self.next_keyspace, of: BTreeMap::new(), report };
        for table in &self.tables {
            let record = &table.record;
            owners.add(record.keyspace, format!("the table {}", record.name));
            for index in &record.indexes {
                let owner = format!("the index {} of {}", index.name, record.name);
                owners.add(index.keyspace, owner);
            }
            for index in &record.vector_indexes {
                let owner = format!("the index {} of {}", index.name, record.name);
                owners.add(index.keyspace, owner);
            }
            if let Some(recovery) = table.recovery {
                owners.add(recovery.keyspace, format!("the history of {}", record.name));
            }
            let is_known = |keyspace| self.streams.iter().any(|s| s.keyspace == keyspace);
            if let Some(stream) = record.stream.as_ref().filter(|stream| stream.enabled)
                && !is_known(stream.keyspace)
            {
                let detail = "the table writes to a stream that does not exist";
                owners.report.add(Finding::new(Kind::Catalog, detail).of_table(&record.name));
            }
        }
        for backup in &self.backups {
            // A failed one has none of its own any more.
            if !self.dropped.contains(&backup.keyspace) {
                owners.add(backup.keyspace, format!("the backup {}", backup.id));
            }
        }
        for stream in &self.streams {
            owners.add(stream.keyspace, format!("the stream {} of {}", stream.label, stream.table));
        }
        let is_owned = |keyspace: Keyspace| owners.of.contains_key(&keyspace);
        let orphan = |keyspace: &Keyspace| !is_owned(*keyspace) && !self.dropped.contains(keyspace);
        let mut orphans = Vec::new();
        for large in &LARGE {
            let present = present(snapshot, large.tag, report);
            orphans.extend(present.into_iter().filter(orphan).map(|keyspace| (large, keyspace)));
        }
        for (large, keyspace) in orphans {
            let what = large.name;
            let detail = format!("there are {what} in keyspace {keyspace}, which nothing uses");
            report.add(Finding::new(Kind::OrphanKeyspace, detail));
        }
    }
}

/// The owners of all keyspaces.
struct Owners<'a> {
    next: Keyspace,
    of: BTreeMap<Keyspace, String>,
    report: &'a mut Report,
}

impl Owners<'_> {
    fn add(&mut self, keyspace: Keyspace, owner: String) {
        if keyspace >= self.next {
            let detail = format!(
                "{owner} has keyspace {keyspace}, and the next table would get {}",
                self.next
            );
            self.report.add(Finding::new(Kind::Catalog, detail));
        }
        if let Some(other) = self.of.insert(keyspace, owner) {
            let owner = self.of.get(&keyspace).cloned().unwrap_or_default();
            let detail = format!("{other} and {owner} have the same keyspace {keyspace}");
            self.report.add(Finding::new(Kind::Catalog, detail));
        }
    }
}

/// The keyspaces under a tag that have entries, found by leaping from one to the next.
pub(crate) fn present(snapshot: &dyn Snapshot, tag: u8, report: &mut Report) -> Vec<Keyspace> {
    let mut present = Vec::new();
    let mut range = KeyRange::prefix(&[tag]);
    loop {
        let key = match snapshot.scan(range.clone(), Direction::Forward).next() {
            None => return present,
            Some(Ok((key, _))) => key.into_bytes(),
            Some(Err(error)) => {
                report.add(Finding::new(Kind::Damage, error.to_string()));
                return present;
            }
        };
        range.lower = if let Some(keyspace) = layout::keyspace_of(&key) {
            present.push(keyspace);
            let Some(next) = keyspace.checked_add(1) else { return present };
            Bound::Included([[tag].as_slice(), &next.to_be_bytes()].concat().into())
        } else {
            let detail = "it has no keyspace number";
            report.add(Finding::new(Kind::UnknownKey, detail).at(show::hex(&key)));
            Bound::Excluded(key)
        };
    }
}

fn decoded<T: DeserializeOwned>(key: &[u8], value: &[u8], report: &mut Report) -> Option<T> {
    match serde_json::from_slice(value) {
        Ok(record) => Some(record),
        Err(error) => {
            report.add(undecodable(key, &error.to_string()));
            None
        }
    }
}

fn undecodable(key: &[u8], detail: &str) -> Finding {
    Finding::new(Kind::Undecodable, detail).at(show::hex(key))
}
