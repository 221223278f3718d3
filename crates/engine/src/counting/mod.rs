//! Item counts and sizes across restarts.
//!
//! Counts are kept in memory and updated by every write. Closing a database saves them in the store, and the next
//! opening loads them ([`note`]). After a crash there is no such note; then everything is counted once, in the
//! background, from a snapshot taken at opening. Concurrent writes update the same counters, so the result is exact
//! once the scan ends. Responses that show counts wait for that; observers, which must not block, see the partial
//! counts.
//!
//! On a store that several processes share, no process sees all writes. There every commit adds to counters in the
//! store, and responses read their sums ([`shared`]).
//!
//! A write is counted when it is acknowledged. After a write with unknown outcome the counts are not exact; then no
//! note is saved, and the next opening counts again. If the scan meets damaged data, the table has no counts:
//! responses that show them are errors that name the damage, or omit the counts if the operation itself has been
//! done.

mod note;
mod shared;

pub(crate) use note::noted;
pub(crate) use shared::{add, count_anew, refresh_all};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyloom_core::{Error, Result};
use keyloom_store::{Bytes, Direction, KeyRange, Snapshot};
use parking_lot::{Condvar, Mutex};

use crate::catalog::{Stats, Table};
use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::store_error;
use crate::vector::EntryRef;
use keyloom_core::image::Stored;

/// What is known of the counts as a whole.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether a write may have happened that nobody has counted.
    in_doubt: AtomicBool,
    in_store: AtomicBool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// What was there before is being counted.
    #[default]
    Counting,
    /// Everything is counted.
    Exact,
    /// Everything is counted but tables that know why they are not.
    Partial,
    /// The counting was broken off.
    GivenUp,
}

impl Counted {
    /// Waits until the counting has ended; an error if it was broken off.
    pub(crate) fn wait(&self) -> Result<()> {
        let mut state = self.state.lock();
        while *state == State::Counting {
            self.changed.wait(&mut state);
        }
        if *state == State::GivenUp {
            return Err(unknown("the counting was broken off"));
        }
        Ok(())
    }

    /// Waits until a table is counted; an error if it cannot be.
    fn wait_for(&self, table: &Table) -> Result<()> {
        self.wait()?;
        table.shared.uncountable.get().map_or(Ok(()), |reason| Err(unknown(reason)))
    }

    /// Whether [`wait`](Self::wait) would have to wait.
    pub(crate) fn is_counting(&self) -> bool {
        *self.state.lock() == State::Counting
    }

    /// Says that everything is counted.
    pub(crate) fn finish(&self) {
        self.end(State::Exact);
    }

    fn end(&self, state: State) {
        *self.state.lock() = state;
        self.changed.notify_all();
    }

    /// Counts with `count`, which says how that ended. Nobody waits any longer afterwards, not even if
    /// there was a panic.
    fn count_with(&self, count: impl FnOnce() -> State) {
        let mut ending = Ending { counted: self, state: State::GivenUp };
        ending.state = count();
    }

    /// Says that nobody knows whether some write has happened.
    pub(crate) fn doubt(&self) {
        self.in_doubt.store(true, Ordering::Relaxed);
    }

    /// Has the counts doubted if there is a panic while the guard lives, that is, between a write and its
    /// being counted.
    pub(crate) fn doubted_on_panic(&self) -> impl Drop + '_ {
        DoubtedOnPanic(self)
    }

    /// Whether commits add to counters of the store.
    pub(crate) fn is_in_store(&self) -> bool {
        self.in_store.load(Ordering::Relaxed)
    }

    /// Whether the counts in memory may be passed on.
    pub(crate) fn are_exact(&self) -> bool {
        !self.is_in_store()
            && *self.state.lock() == State::Exact
            && !self.in_doubt.load(Ordering::Relaxed)
    }
}

/// The end of the counting, whatever brings it about.
struct Ending<'a> {
    counted: &'a Counted,
    state: State,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.counted.end(self.state);
    }
}

struct DoubtedOnPanic<'a>(&'a Counted);

impl Drop for DoubtedOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.doubt();
        }
    }
}

impl Inner {
    /// Has the counts of a table at hand; an error if it cannot be counted.
    pub(crate) fn count(&self, table: &Table) -> Result<()> {
        if self.counted.is_in_store() {
            return shared::refresh(self, [table]);
        }
        self.counted.wait_for(table)
    }
}

/// Takes over the counts that the last database on this store has noted, or begins to count. Nobody may
/// have written yet.
pub(crate) fn begin(database: &Inner) -> Result<()> {
    if database.store.is_shared() {
        database.counted.in_store.store(true, Ordering::Relaxed);
        database.counted.finish();
        return refresh_all(database);
    }
    if note::take(database.store.as_ref(), &database.catalog)? {
        database.counted.finish();
        return Ok(());
    }
    let snapshot = database.store.snapshot().map_err(store_error)?;
    let tables = database.catalog.all();
    let count = move |database: &Inner| {
        let is_ending = || database.background.is_ending();
        database.counted.count_with(|| count_all(&tables, snapshot.as_ref(), is_ending));
        Ok(())
    };
    database.submit_or_run(Box::new(count))
}

/// Notes the counts for the next database on this store, if they are exact. All writes must have ended.
pub(crate) fn close(database: &Inner) {
    let (store, counted) = (database.store.as_ref(), &database.counted);
    if counted.is_in_store() {
        return;
    }
    // Without a note, the next one counts.
    if counted.are_exact() {
        drop(note::leave(store, &database.catalog));
    } else if !counted.is_counting() {
        drop(note::forget(store));
    }
    // Else it was never opened, and what is noted is as right as before.
}

/// Counts every table and index as `snapshot` shows them, until the database is closed.
fn count_all(
    tables: &BTreeMap<String, Arc<Table>>,
    snapshot: &dyn Snapshot,
    is_ending: impl Fn() -> bool,
) -> State {
    let mut state = State::Exact;
    for table in tables.values() {
        if let Err(error) = count_table(table, snapshot, &is_ending) {
            // Set once, here.
            let _ = table.shared.uncountable.set(error.message());
            state = State::Partial;
        }
        if is_ending() {
            return State::GivenUp;
        }
    }
    state
}

/// Counts a table and its indexes; of an index that is being filled, what is there.
fn count_table(table: &Table, snapshot: &dyn Snapshot, is_ending: impl Fn() -> bool) -> Result<()> {
    let item_size = |value: Bytes| Stored::new(value).size_bytes();
    count(snapshot, table.record.keyspace, &table.shared.stats, &is_ending, item_size)?;
    for index in &table.indexes {
        count(snapshot, index.keyspace, &index.stats, &is_ending, item_size)?;
    }
    for index in &table.vector_indexes {
        let schema = &index.schema;
        let entry_size =
            |value: Bytes| EntryRef::new(&value, schema.dimensions)?.size_bytes(schema);
        count(snapshot, index.keyspace, &index.stats, &is_ending, entry_size)?;
    }
    Ok(())
}

/// The error in place of counts.
fn unknown(reason: &str) -> Error {
    Error::InternalServer(format!(
        "the items cannot be counted: {reason}. `keyloom verify` says what else is damaged"
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counting_that_panics_keeps_nobody_waiting() {
        let counted = Counted::default();
        assert!(counted.is_counting());
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(counted.wait().is_err()));
            let count = || counted.count_with(|| std::panic::resume_unwind(Box::new("a bug")));
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(count)).is_err());
        });
        assert!(!counted.is_counting() && !counted.are_exact());
    }

    #[test]
    fn a_panic_between_a_write_and_its_count_puts_the_counts_in_doubt() {
        let counted = Counted::default();
        assert!(!counted.are_exact());
        counted.finish();
        drop(counted.doubted_on_panic());
        assert!(counted.are_exact());
        let write = std::panic::AssertUnwindSafe(|| {
            let _counted = counted.doubted_on_panic();
            std::panic::resume_unwind(Box::new("a bug"));
        });
        assert!(std::panic::catch_unwind(write).is_err());
        assert!(!counted.are_exact());
    }
}
