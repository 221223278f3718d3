//! What tables were: the history behind point-in-time recovery.
//!
//! While a table has point-in-time recovery, every commit also stores each item that it changes as it was
//! before; nothing, if it did not exist. The table at a time is its present with, in place of each item
//! that has changed since, the earliest image kept since then ([`reader`]). So no base copy is needed, and a
//! table that nobody writes costs nothing.
//!
//! A record lies under its table's history keyspace, its day, the key of its item and its number. Within a
//! day, records lie in the order of the table: a reader merges the days since its time with the present,
//! and needs no memory for that. The day in front lets [`trim`] drop old records by prefix, without
//! reading them.
//!
//! Numbers come from the [`Sequencer`](crate::stream::Sequencer), one per commit, so that no time cuts a
//! transaction in two. Where several servers write, each makes sure that its number is above those of the items' earlier
//! changes. The table at a time has exactly the writes whose numbers are below it. Each number
//! must be above those of earlier commits even if the clock has been set back while the database was
//! closed: a mark in the store is above all of them, and is moved up by the commits themselves.

mod reader;
#[cfg(test)]
mod reader_tests;
mod setting;
mod trim;

use std::ops::Bound;

use keyloom_core::{Error, Result};
use keyloom_store::{Direction, KeyRange, Snapshot, Store};
use serde::{Deserialize, Serialize};

use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::store_error;
use crate::stream::NUMBERS_PER_MS;
pub(crate) use crate::stream::number_at;

pub(crate) use reader::{Changes, ItemChange, TableAt};
pub(crate) use setting::{Recovery, switch};
pub(crate) use trim::run as trim;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The past of a table: what it was before a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Past {
    /// The keyspace of the history.
    pub(crate) history: Keyspace,
    /// The writes below this number are in it.
    pub(crate) before: u64,
}

impl Past {
    /// The time to the millisecond.
    pub(crate) fn time_ms(self) -> u64 {
        self.before / NUMBERS_PER_MS
    }

    /// The first day whose records matter.
    fn day(self) -> u32 {
        day_of(self.before)
    }
}

/// The day that a number belongs to.
fn day_of(number: u64) -> u32 {
    u32::try_from(number / number_at(DAY_MS)).unwrap_or(u32::MAX)
}

/// The key of the record of a change of an item.
pub(crate) fn record_key(history: Keyspace, item_key: &[u8], number: u64) -> Vec<u8> {
    layout::history_record(history, day_of(number), item_key, number)
}

/// The number of the newest record of an item, on the day of this number or around it: where several servers number
/// changes, their clocks may differ a little.
pub(crate) fn newest_record(
    store: &dyn Store,
    history: Keyspace,
    item_key: &[u8],
    number: u64,
) -> Result<Option<u64>> {
    let snapshot = store.late_snapshot().map_err(store_error)?;
    let day = day_of(number);
    for day in [day.saturating_add(1), day, day.saturating_sub(1)] {
        let key = |number: u64| layout::history_record(history, day, item_key, number).into();
        let range =
            KeyRange { lower: Bound::Included(key(0)), upper: Bound::Included(key(u64::MAX)) };
        for entry in snapshot.scan(range, Direction::Backward) {
            let (found, _) = entry.map_err(store_error)?;
            // Longer keys of other items may lie in between.
            if found.len() == layout::HISTORY_HEADER_BYTES + item_key.len() + size_of::<u64>() {
                return Ok(layout::sequence_of(&found));
            }
        }
    }
    Ok(None)
}

/// A snapshot that has every write below a number of the past. The caller is making a change of the catalog, so
/// nothing is under way.
pub(crate) fn snapshot_with(database: &Inner, before: u64) -> Result<Box<dyn Snapshot>> {
    debug_assert!(before <= number_at(database.streams.now_ms() + 1), "writes may still come");
    database.store.snapshot().map_err(store_error)
}

/// Sees to it that numbers go on rising, and that every table that has recovery has a history.
pub(crate) fn resume(database: &Inner) -> Result<()> {
    let mark = database.store.get(&layout::history_clock()).map_err(store_error)?;
    if let Some(mark) = mark {
        let damaged = || Error::InternalServer("the mark of the history is damaged".into());
        let mark: [u8; 8] = mark.as_ref().try_into().map_err(|_| damaged())?;
        database.streams.advance_past(u64::from_be_bytes(mark).saturating_sub(1));
    }
    setting::upgrade(database);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_days_and_times_agree() {
        let time_ms = 20_000 * DAY_MS + 1;
        let past = Past { history: 1, before: number_at(time_ms) };
        assert_eq!((past.time_ms(), past.day()), (time_ms, 20_000));
        assert_eq!(day_of(number_at(20_000 * DAY_MS) - 1), 19_999);
        let key = record_key(7, b"item", past.before);
        assert_eq!(layout::day_of(&key), Some(20_000));
        assert_eq!(layout::sequence_of(&key), Some(past.before));
        assert_eq!(layout::keyspace_of(&key), Some(7));
    }
}
