//! Merges what was recovered: the newest version of each key wins.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque, btree_map};
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};

use bytes::Bytes;

use super::log::LogEntries;
use super::report::RepairReport;
use super::table::{Salvaged, read_entries};
use crate::{DiskStore, Store, StoreError};

/// Size of a batch of writes.
const BATCH_BYTES: usize = 1 << 20;

/// A version of a key, ordered by key, newest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    key: Bytes,
    number: Reverse<u64>,
    value: Option<Bytes>,
}

/// A sorted sequence of versions.
enum Source {
    Table { table: Salvaged, next: usize, entries: VecDeque<Version> },
    Log(btree_map::IntoIter<Bytes, (u64, Option<Bytes>)>),
}

impl Source {
    fn next(&mut self) -> Result<Option<Version>, StoreError> {
        match self {
            Self::Log(entries) => Ok(entries.next().map(|(key, (number, value))| Version {
                key,
                number: Reverse(number),
                value,
            })),
            Self::Table { table, next, entries } => loop {
                if let Some(version) = entries.pop_front() {
                    return Ok(Some(version));
                }
                let Some(handle) = table.blocks.get(*next) else { return Ok(None) };
                *next += 1;
                *entries = read_block(table, *handle.offset())?;
            },
        }
    }
}

/// Reads a block that was intact before. The file is opened for each block: there may be more
/// tables than the process may have open files.
fn read_block(table: &Salvaged, offset: u64) -> Result<VecDeque<Version>, StoreError> {
    let failed = |error| StoreError::io(format!("read {}", table.path.display()), error);
    let mut file = File::open(&table.path).map_err(failed)?;
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let entries = read_entries(&mut BufReader::new(file), table.compression).ok_or_else(|| {
        StoreError::Corrupt {
            path: table.path.clone(),
            detail: format!("the block at offset {offset} could be read before, but not now"),
        }
    })?;
    let version = |entry: lsm_tree::InternalValue| Version {
        key: Bytes::from(entry.key.user_key),
        number: Reverse(entry.key.seqno),
        value: (!entry.key.value_type.is_tombstone()).then(|| Bytes::from(entry.value)),
    };
    Ok(entries.into_iter().map(version).collect())
}

/// Writes the newest version of every key to an empty store.
pub(super) fn write(
    store: &DiskStore,
    tables: Vec<Salvaged>,
    log: LogEntries,
    report: &mut RepairReport,
) -> Result<(), StoreError> {
    let tables =
        tables.into_iter().map(|table| Source::Table { table, next: 0, entries: VecDeque::new() });
    let mut sources: Vec<Source> = tables.chain([Source::Log(log.into_iter())]).collect();
    let mut heads = BinaryHeap::new();
    for (place, source) in sources.iter_mut().enumerate() {
        heads.extend(source.next()?.map(|version| Reverse((version, place))));
    }
    let mut batch = Vec::new();
    let mut batch_bytes = 0;
    let mut last: Option<Bytes> = None;
    while let Some(Reverse((version, place))) = heads.pop() {
        if let Some(source) = sources.get_mut(place) {
            heads.extend(source.next()?.map(|version| Reverse((version, place))));
        }
        if last.as_ref() == Some(&version.key) {
            continue;
        }
        last = Some(version.key.clone());
        if let Some(value) = version.value {
            let bytes = version.key.len() + value.len();
            report.entries += 1;
            report.bytes += bytes as u64;
            batch_bytes += bytes;
            batch.push((version.key, value));
            if batch_bytes >= BATCH_BYTES {
                commit(store, &mut batch)?;
                batch_bytes = 0;
            }
        }
    }
    commit(store, &mut batch)
}

fn commit(store: &DiskStore, batch: &mut Vec<(Bytes, Bytes)>) -> Result<(), StoreError> {
    let mut transaction = store.begin(&[])?;
    for (key, value) in batch.drain(..) {
        transaction.put(key, value);
    }
    transaction.commit().map_err(StoreError::from)
}
