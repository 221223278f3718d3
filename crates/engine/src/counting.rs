//! Item counts and sizes after a restart.
//!
//! Counts live in memory and are kept exact by every write. When a database is opened they are taken
//! once from a snapshot of that moment, in the background; writes made meanwhile add to the same
//! counters, so the sum is exact when the counting ends. Whoever asks before that, waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_core::Result;
use keyloom_store::{Bytes, Direction, KeyRange, Snapshot};
use parking_lot::{Condvar, Mutex};

use crate::catalog::record::Status;
use crate::catalog::{Stats, Table};
use crate::image::Stored;
use crate::layout::{self, Keyspace};
use crate::store_error;
use crate::vector::EntryRef;

/// Whether the counts are complete.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    done: Mutex<bool>,
    changed: Condvar,
}

impl Counted {
    /// Waits until the counts are complete.
    pub(crate) fn wait(&self) {
        let mut done = self.done.lock();
        while !*done {
            self.changed.wait(&mut done);
        }
    }

    /// Says that they are.
    pub(crate) fn finish(&self) {
        *self.done.lock() = true;
        self.changed.notify_all();
    }
}

/// Counts every table and index as `snapshot` shows them, unless the database is closed meanwhile.
/// An index that is being filled is counted by whoever fills it.
pub(crate) fn count_all(
    tables: &BTreeMap<String, Arc<Table>>,
    snapshot: &dyn Snapshot,
    is_ending: impl Fn() -> bool,
) -> Result<()> {
    let item_size = |value: Bytes| Stored::new(value).size_bytes();
    for table in tables.values() {
        count(snapshot, table.record.keyspace, &table.shared.stats, &is_ending, item_size)?;
        for index in table.indexes.iter().filter(|index| index.status != Status::Creating) {
            count(snapshot, index.keyspace, &index.stats, &is_ending, item_size)?;
        }
        for index in table.vector_indexes.iter().filter(|index| !index.life.is_filling()) {
            let schema = &index.schema;
            let entry_size =
                |value: Bytes| EntryRef::new(&value, schema.dimensions)?.size_bytes(schema);
            count(snapshot, index.keyspace, &index.stats, &is_ending, entry_size)?;
        }
    }
    Ok(())
}

fn count(
    snapshot: &dyn Snapshot,
    keyspace: Keyspace,
    stats: &Stats,
    is_ending: impl Fn() -> bool,
    size_of: impl Fn(Bytes) -> Result<usize>,
) -> Result<()> {
    let (mut items, mut bytes) = (0, 0);
    let range = KeyRange::prefix(&layout::entries(keyspace));
    for entry in snapshot.scan(range, Direction::Forward) {
        let (_, value) = entry.map_err(store_error)?;
        items += 1;
        if items % 4096 == 0 && is_ending() {
            break;
        }
        bytes += size_of(value)? as i64;
    }
    stats.add(items, bytes);
    Ok(())
}
