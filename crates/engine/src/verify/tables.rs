//! Verifies items and the index entries derived from them, and backups.

use std::ops::Bound;

use keyloom_api::backups::BackupType;
use keyloom_core::schema::KeySchema;
use keyloom_core::size::item_size;
use keyloom_core::{Item, image};
use keyloom_store::{Bytes, Direction, KeyRange, Snapshot, StoreError};

use crate::catalog::record::Status;
use crate::catalog::{Table, VectorIndex};
use crate::layout::{self, Keyspace};
use crate::ops::backups::StoredBackup;
use crate::vector::EntryRef;
use crate::write::{self, Entry};
use keyloom_core::image::Stored;

use super::counts::Expected;
use super::report::{Finding, Kind, Report};
use super::show;

/// Entries that are read at once.
const CHUNK: usize = 64;

/// An index as it is judged.
struct Judged<'a> {
    table: &'a Table,
    keyspace: Keyspace,
    name: &'a str,
    kind: IndexKind<'a>,
    /// Whether items may lack their entry, since they are still being copied.
    is_filling: bool,
    /// How many entries were found under a key that follows from an item.
    found: u64,
}

#[derive(Clone, Copy)]
enum IndexKind<'a> {
    Secondary(&'a KeySchema),
    Vector(&'a VectorIndex),
}

/// Checks a table and its indexes; what is there goes to `real`.
pub(super) fn check(
    snapshot: &dyn Snapshot,
    table: &Table,
    report: &mut Report,
    real: &mut Expected,
) {
    let secondary = table.indexes.iter().map(|index| Judged {
        table,
        keyspace: index.keyspace,
        name: &index.schema.name,
        kind: IndexKind::Secondary(&index.schema.key),
        is_filling: index.status == Status::Creating,
        found: 0,
    });
    let vectors = table.vector_indexes.iter().map(|index| Judged {
        table,
        keyspace: index.keyspace,
        name: &index.schema.name,
        kind: IndexKind::Vector(index),
        is_filling: index.life.is_filling(),
        found: 0,
    });
    let mut indexes: Vec<Judged<'_>> = secondary.chain(vectors).collect();
    report.totals.indexes += indexes.len() as u64;
    let is_whole = check_items(snapshot, table, &mut indexes, report, real);
    for index in &indexes {
        index.check(snapshot, is_whole, report, real);
    }
}

/// How many items and bytes the keyspace of a table or of one of its indexes has; none if it cannot be
/// read.
pub(super) fn counted(
    snapshot: &dyn Snapshot,
    table: &Table,
    keyspace: Keyspace,
) -> Option<(i64, i64)> {
    let vector = table.vector_indexes.iter().find(|index| index.keyspace == keyspace);
    let (mut items, mut bytes) = (0, 0);
    let range = KeyRange::prefix(&layout::entries(keyspace));
    for entry in snapshot.scan(range, Direction::Forward) {
        let value = entry.ok()?.1;
        items += 1;
        bytes += match vector {
            Some(index) => {
                let schema = &index.schema;
                EntryRef::new(&value, schema.dimensions).and_then(|e| e.size_bytes(schema))
            }
            None => Stored::new(value).size_bytes(),
        }
        .ok()? as i64;
    }
    Some((items, bytes))
}

/// Gives the entries of a keyspace to `each`, some at a time; false if they cannot all be read.
fn walk(
    snapshot: &dyn Snapshot,
    keyspace: Keyspace,
    report: &mut Report,
    damaged: impl Fn(&StoreError) -> Finding,
    mut each: impl FnMut(Vec<(Bytes, Bytes)>, &mut Report),
) -> bool {
    let mut range = KeyRange::prefix(&layout::entries(keyspace));
    loop {
        let mut chunk = Vec::with_capacity(CHUNK);
        for entry in snapshot.scan(range.clone(), Direction::Forward).take(CHUNK) {
            match entry {
                Ok((key, value)) => chunk.push((key.into_bytes(), value)),
                Err(error) => {
                    report.add(damaged(&error));
                    each(chunk, report);
                    return false;
                }
            }
        }
        let Some((last, _)) = chunk.last() else { return true };
        range.lower = Bound::Excluded(last.clone());
        each(chunk, report);
    }
}

/// Checks the items of a table and looks for their entries; false if not all of them can be read.
fn check_items(
    snapshot: &dyn Snapshot,
    table: &Table,
    indexes: &mut [Judged<'_>],
    report: &mut Report,
    real: &mut Expected,
) -> bool {
    let keyspace = table.record.keyspace;
    let finding = |kind, detail: String| Finding::new(kind, detail).of_table(table.name());
    let read = walk_items(snapshot, (table, keyspace), report, finding, |items, report| {
        let mut expected = Vec::new();
        for (position, index) in indexes.iter().enumerate() {
            let entries = items.iter().filter_map(|i| write::entry_in(table, index.keyspace, i));
            expected.extend(entries.map(|entry| (position, entry)));
        }
        look_up(snapshot, indexes, &expected, report);
    });
    report.totals.items += read.items as u64;
    if read.is_all {
        real.insert(keyspace, read.items, read.bytes);
    }
    read.is_all
}

/// What was read of items.
struct ReadItems {
    items: i64,
    bytes: i64,
    /// Whether all could be read.
    is_all: bool,
}

/// Checks the items of a table that lie in a keyspace and gives them to `each`, some at a time.
fn walk_items(
    snapshot: &dyn Snapshot,
    (table, keyspace): (&Table, Keyspace),
    report: &mut Report,
    finding: impl Fn(Kind, String) -> Finding,
    mut each: impl FnMut(Vec<Item>, &mut Report),
) -> ReadItems {
    let mut read = ReadItems { items: 0, bytes: 0, is_all: true };
    let damaged = |error: &StoreError| finding(Kind::Damage, error.to_string());
    let are_read = walk(snapshot, keyspace, report, damaged, |chunk, report| {
        let mut items = Vec::with_capacity(chunk.len());
        for (key, value) in chunk {
            read.items += 1;
            let shown = || show::entry_key(&[table.key()], &key);
            match readable(&value) {
                Err(reason) => {
                    read.is_all = false;
                    report.add(finding(Kind::Undecodable, reason).at(shown()));
                }
                Ok((item, size)) => {
                    read.bytes += size as i64;
                    let own = layout::item(keyspace, table.key(), &item);
                    if own.ok().as_deref() != Some(&key) {
                        let detail = "the item has another key".to_owned();
                        report.add(finding(Kind::WrongKey, detail).at(shown()));
                    }
                    items.push(item);
                }
            }
        }
        each(items, report);
    });
    read.is_all &= are_read;
    read
}

/// Compares entries that follow from items with those that are there.
fn look_up(
    snapshot: &dyn Snapshot,
    indexes: &mut [Judged<'_>],
    expected: &[(usize, Entry)],
    report: &mut Report,
) {
    let keys: Vec<&[u8]> = expected.iter().map(|(_, entry)| entry.key.as_ref()).collect();
    let found = match snapshot.get_many(&keys) {
        Ok(found) => found,
        Err(error) => return report.add(Finding::new(Kind::Damage, error.to_string())),
    };
    for ((position, entry), found) in expected.iter().zip(found) {
        let Some(index) = indexes.get_mut(*position) else { continue };
        match found {
            None if index.is_filling => {}
            None => {
                let finding = index.finding(Kind::MissingEntry, &entry.key);
                report.add(finding("the item has no entry in the index"));
            }
            Some(value) => {
                index.found += 1;
                if value != entry.value && !index.is_same(&value, &entry.value) {
                    let finding = index.finding(Kind::WrongEntry, &entry.key);
                    report.add(finding("the entry is not what follows from its item"));
                }
            }
        }
    }
}

/// An item, decoded whole, and its size; or what is wrong.
fn readable(value: &Bytes) -> Result<(Item, usize), String> {
    let item = image::decode(value).map_err(|error| error.message())?;
    let size = Stored::new(value.clone()).size_bytes().map_err(|error| error.message())?;
    if size == item_size(&item) {
        Ok((item, size))
    } else {
        Err(format!("it says that it has {size} bytes, and has {}", item_size(&item)))
    }
}

impl Judged<'_> {
    /// A finding at an entry, in words that are to follow.
    fn finding(&self, kind: Kind, key: &[u8]) -> impl Fn(&str) -> Finding {
        let own = match self.kind {
            IndexKind::Secondary(schema) => schema.clone(),
            IndexKind::Vector(index) => KeySchema {
                hash: index.schema.hash().cloned().into_iter().collect(),
                range: Vec::new(),
            },
        };
        let shown = show::entry_key(&[&own, self.table.key()], key);
        let (table, name) = (self.table.name().to_owned(), self.name.to_owned());
        move |detail| Finding::new(kind, detail).of_table(&table).of_index(&name).at(shown.clone())
    }

    /// What the entry holds of its item, and its size; or what is wrong.
    fn decode(&self, value: &Bytes) -> Result<(Item, usize), String> {
        match self.kind {
            IndexKind::Secondary(_) => readable(value),
            IndexKind::Vector(index) => {
                let schema = &index.schema;
                let entry = EntryRef::new(value, schema.dimensions);
                let item = entry.and_then(|entry| entry.image()?.decode());
                let size = entry_size(value, index);
                item.and_then(|item| Ok((item, size?))).map_err(|error| error.message())
            }
        }
    }

    /// Whether two values mean the same.
    fn is_same(&self, one: &Bytes, other: &Bytes) -> bool {
        let vector = |value: &Bytes| match self.kind {
            IndexKind::Secondary(_) => None,
            IndexKind::Vector(index) => {
                let start = EntryRef::image_start(index.schema.dimensions);
                Some(value.get(..start).unwrap_or_default().to_vec())
            }
        };
        let item = |value: &Bytes| self.decode(value).ok().map(|(item, _)| item);
        vector(one) == vector(other) && item(one).is_some() && item(one) == item(other)
    }

    /// Checks the entries themselves, and that each follows from an item.
    fn check(
        &self,
        snapshot: &dyn Snapshot,
        is_whole: bool,
        report: &mut Report,
        real: &mut Expected,
    ) {
        let (mut entries, mut bytes, mut are_decoded) = (0, 0, true);
        let are_read = self.walk(snapshot, report, |chunk, report| {
            for (key, value) in chunk {
                entries += 1;
                match self.decode(&value) {
                    Ok((_, size)) => bytes += size as i64,
                    Err(reason) => {
                        are_decoded = false;
                        report.add(self.finding(Kind::Undecodable, &key)(&reason));
                    }
                }
            }
        });
        report.totals.index_entries += entries as u64;
        if are_read && are_decoded && !self.is_filling {
            real.insert(self.keyspace, entries, bytes);
        }
        // As many as follow from items, and those are all different: there is no other.
        if is_whole && are_read && self.found != entries as u64 {
            self.walk(snapshot, report, |chunk, report| self.find_orphans(snapshot, chunk, report));
        }
    }

    fn walk(
        &self,
        snapshot: &dyn Snapshot,
        report: &mut Report,
        each: impl FnMut(Vec<(Bytes, Bytes)>, &mut Report),
    ) -> bool {
        let damaged = |error: &StoreError| {
            let finding = Finding::new(Kind::Damage, error.to_string());
            finding.of_table(self.table.name()).of_index(self.name)
        };
        walk(snapshot, self.keyspace, report, damaged, each)
    }

    /// Reports entries whose items are not there, or have another entry.
    fn find_orphans(
        &self,
        snapshot: &dyn Snapshot,
        chunk: Vec<(Bytes, Bytes)>,
        report: &mut Report,
    ) {
        for (key, value) in chunk {
            // One that cannot be read has been reported.
            let Ok((item, _)) = self.decode(&value) else { continue };
            let finding = self.finding(Kind::OrphanEntry, &key);
            let base = self.table.item_key(&item).ok().map(|base| snapshot.get(&base));
            let base = match base {
                None => {
                    report.add(finding("the entry holds no key of an item"));
                    continue;
                }
                Some(Err(error)) => {
                    report.add(Finding::new(Kind::Damage, error.to_string()));
                    continue;
                }
                Some(Ok(base)) => base,
            };
            let Some(base) = base else {
                report.add(finding("the item of the entry does not exist"));
                continue;
            };
            let Ok((item, _)) = readable(&base) else { continue };
            let own = write::entry_in(self.table, self.keyspace, &item);
            if own.is_none_or(|own| own.key != key) {
                report.add(finding("the item of the entry does not belong there"));
            }
        }
    }
}

fn entry_size(value: &Bytes, index: &VectorIndex) -> keyloom_core::Result<usize> {
    EntryRef::new(value, index.schema.dimensions)?.size_bytes(&index.schema)
}

/// Checks the items of a backup.
pub(super) fn check_backup(snapshot: &dyn Snapshot, backup: &StoredBackup, report: &mut Report) {
    let table = Table::new(backup.table.clone(), None);
    let of_backup = |kind, detail: String| {
        Finding::new(kind, format!("in the backup {}: {detail}", backup.id)).of_table(table.name())
    };
    let place = (&table, backup.keyspace);
    let read = walk_items(snapshot, place, report, of_backup, |_, _| {});
    let ReadItems { items, bytes, is_all } = read;
    report.totals.backup_items += items as u64;
    if backup.available
        && backup.kind == BackupType::User
        && is_all
        && (items, bytes) != (backup.items, backup.bytes)
    {
        let detail = format!(
            "it is said to have {} items of {} bytes, and has {items} of {bytes}",
            backup.items, backup.bytes
        );
        report.add(of_backup(Kind::WrongCount, detail));
    }
}
