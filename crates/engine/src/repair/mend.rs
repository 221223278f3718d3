//! Rebuilds the data derived from items: index = f(table).
//!
//! Indexes are emptied and rebuilt. Entries whose owning record is lost are dropped, because a new table could be
//! given their keyspace. A stream whose record is lost is disabled.

use std::collections::BTreeSet;

use keyloom_core::Result;
use keyloom_store::{Bytes, Direction, DiskStore, KeyRange, Snapshot, Store};

use crate::catalog::{Table, TableRecord};
use crate::history::Recovery;
use crate::layout::{self, Keyspace};
use crate::verify::Report;
use crate::verify::contents::{Contents, LARGE, Large, present};
use crate::{commit_error, store_error, write};
use keyloom_core::image::Stored;

/// The size of one batch of writes.
const BATCH_BYTES: usize = 1 << 20;
/// How many keys are deleted at once.
const CHUNK: usize = 1000;

/// What was rebuilt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Indexes that were rebuilt.
    pub indexes: u64,
    /// The entries of the rebuilt indexes.
    pub index_entries: u64,
    /// What was read but not kept, and why.
    pub left_out: Vec<String>,
}

/// Mends a store that no database is open on.
pub(super) fn all(store: &DiskStore) -> Result<Mended> {
    let snapshot = store.snapshot().map_err(store_error)?;
    let contents = Contents::read(snapshot.as_ref(), &mut Report::default());
    let mut mended = Mended::default();
    leave_out_orphans(store, snapshot.as_ref(), &contents, &mut mended)?;
    for table in &contents.tables {
        switch_off_stream(store, &contents, table, &mut mended)?;
        switch_off_recovery(store, table, &mut mended)?;
        let secondary = table.indexes.iter().map(|index| index.keyspace);
        let vector = table.vector_indexes.iter().map(|index| index.keyspace);
        for index in secondary.chain(vector) {
            store.delete_prefix(&layout::entries(index), CHUNK).map_err(store_error)?;
            mended.indexes += 1;
        }
        fill_indexes(store, snapshot.as_ref(), table, &mut mended)?;
    }
    Ok(mended)
}

/// Deletes the entries of unused keyspaces, and ensures that their numbers are not reused.
fn leave_out_orphans(
    store: &DiskStore,
    snapshot: &dyn Snapshot,
    contents: &Contents,
    mended: &mut Mended,
) -> Result<()> {
    let used = used_keyspaces(contents);
    let mut highest = used.last().copied().unwrap_or(0);
    for Large { tag, name, prefix } in &LARGE {
        for keyspace in present(snapshot, *tag, &mut Report::default()) {
            highest = highest.max(keyspace);
            if used.contains(&keyspace) || contents.dropped.contains(&keyspace) {
                continue;
            }
            let prefix = prefix(keyspace);
            let count = snapshot.scan(KeyRange::prefix(&prefix), Direction::Forward).count();
            store.delete_prefix(&prefix, CHUNK).map_err(store_error)?;
            mended.left_out.push(format!(
                "{count} {name} of keyspace {keyspace}: the record of the table, index, stream or \
                 backup that they belonged to is lost"
            ));
        }
    }
    if contents.next_keyspace <= highest {
        let next = (highest + 1).to_be_bytes().to_vec();
        commit(store, vec![(layout::next_keyspace().into(), next.into())])?;
    }
    Ok(())
}

fn used_keyspaces(contents: &Contents) -> BTreeSet<Keyspace> {
    let mut used: BTreeSet<Keyspace> = contents.streams.iter().map(|s| s.keyspace).collect();
    used.extend(contents.backups.iter().map(|backup| backup.keyspace));
    for table in &contents.tables {
        used.insert(table.record.keyspace);
        used.extend(table.recovery.map(|recovery| recovery.keyspace));
        used.extend(table.indexes.iter().map(|index| index.keyspace));
        used.extend(table.vector_indexes.iter().map(|index| index.keyspace));
    }
    used
}

fn switch_off_stream(
    store: &DiskStore,
    contents: &Contents,
    table: &Table,
    mended: &mut Mended,
) -> Result<()> {
    let Some(setting) = table.record.stream.as_ref().filter(|stream| stream.enabled) else {
        return Ok(());
    };
    if contents.streams.iter().any(|stream| stream.keyspace == setting.keyspace) {
        return Ok(());
    }
    let name = table.name();
    mended.left_out.push(format!("the stream of table {name}: its record is lost"));
    put_record(store, TableRecord { stream: None, ..table.record.clone() })
}

/// Ends the recovery of a table: what is lost may be the past of any of its items, and a history with
/// gaps would restore what never was.
fn switch_off_recovery(store: &DiskStore, table: &Table, mended: &mut Mended) -> Result<()> {
    let Some(recovery) = table.recovery else { return Ok(()) };
    let history = layout::history(recovery.keyspace);
    store.delete_prefix(&history, CHUNK).map_err(store_error)?;
    mended.left_out.push(format!(
        "the history of table {}, since parts of it may be lost: its point-in-time recovery is off",
        table.name()
    ));
    let stored = store.get(&layout::table(table.name())).map_err(store_error)?;
    // As the step before has left it.
    let record = stored.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let mut record: TableRecord = record.unwrap_or_else(|| table.record.clone());
    Recovery::remove(&mut record);
    put_record(store, record)
}

fn put_record(store: &DiskStore, record: TableRecord) -> Result<()> {
    let value = serde_json::to_vec(&record)
        .map_err(|error| keyloom_core::Error::InternalServer(error.to_string()))?;
    commit(store, vec![(layout::table(&record.name).into(), value.into())])
}

/// Writes the entries of all items to the indexes of a table, which are empty.
fn fill_indexes(
    store: &DiskStore,
    snapshot: &dyn Snapshot,
    table: &Table,
    mended: &mut Mended,
) -> Result<()> {
    let (mut batch, mut batch_bytes, mut unreadable) = (Vec::new(), 0, 0);
    let range = KeyRange::prefix(&layout::entries(table.record.keyspace));
    for entry in snapshot.scan(range, Direction::Forward) {
        let (_, value) = entry.map_err(store_error)?;
        let Ok(item) = Stored::new(value).into_item() else {
            unreadable += 1;
            continue;
        };
        let secondary = table.indexes.iter().map(|index| index.keyspace);
        let vector = table.vector_indexes.iter().map(|index| index.keyspace);
        for index in secondary.chain(vector) {
            if let Some(entry) = write::entry_in(table, index, &item) {
                mended.index_entries += 1;
                batch_bytes += entry.key.len() + entry.value.len();
                batch.push((entry.key, entry.value));
            }
        }
        if batch_bytes >= BATCH_BYTES {
            commit(store, std::mem::take(&mut batch))?;
            batch_bytes = 0;
        }
    }
    if unreadable > 0 {
        let name = &table.record.name;
        mended.left_out.push(format!("index entries of {unreadable} unreadable items of {name}"));
    }
    commit(store, batch)
}

fn commit(store: &DiskStore, batch: Vec<(Bytes, Bytes)>) -> Result<()> {
    let mut transaction = store.begin(&[]).map_err(store_error)?;
    for (key, value) in batch {
        transaction.put(key, value);
    }
    transaction.commit().map_err(commit_error)
}
