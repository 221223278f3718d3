//! The history of tables, for point-in-time recovery.
//!
//! While point-in-time recovery is enabled, every commit also stores the previous image of each item that it changes;
//! empty, if the item did not exist. The table as of a time is the current table in which each item changed since
//! then is replaced by its earliest image stored since then ([`reader`]). So no base copy is needed, and tables
//! without writes cost nothing.
//!
//! A record is the difference from what the item became, if that is at most half as long as the image. To read it,
//! a reader continues to the item's next whole image, at the latest the current one, and computes the images before
//! it. One record in 32 is whole in any case, which limits how far that is ([`value`]). Trimming removes the oldest
//! records only, so what a difference builds on is always there.
//!
//! The key of a record is its table's history keyspace, its day, the item's key and the record's number. Within a
//! day, records are in table order, so a reader merges the days since its time with the current table in constant
//! memory. Because the day comes first, [`trim`] drops old records by prefix, without reading them.
//!
//! Numbers come from the [`Sequencer`](crate::stream::Sequencer), one per commit, so that no point in time splits a
//! transaction. Where several servers write, each ensures that its number exceeds those of the items' earlier
//! changes. The table as of a time contains exactly the writes with lower numbers. Numbers must rise even if the
//! clock was set back while the database was closed: the store holds a bound above all of them, which commits raise.

mod reader;
#[cfg(test)]
mod reader_tests;
mod setting;
mod trim;

use std::ops::Bound;

use keyloom_core::{Error, Result, image};
use keyloom_store::{Bytes, Direction, KeyRange, Snapshot, Store};
use serde::{Deserialize, Serialize};

use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::store_error;
use crate::stream::NUMBERS_PER_MS;
pub(crate) use crate::stream::number_at;

pub(crate) use reader::{Changes, ItemChange, TableAt, Version, Versions};
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

/// What is kept of an item before a change: nothing if it was not there, its image, or how that differs from what the
/// change made of it.
pub(crate) fn value(before: Option<&Bytes>, after: Option<&Bytes>, number: u64) -> Bytes {
    let Some(before) = before else { return Bytes::new() };
    let difference =
        after.filter(|_| !is_whole(number)).and_then(|after| image::difference(before, after));
    difference.map_or_else(|| before.clone(), Bytes::from)
}

/// Whether the record of a change has the whole image: one in 32, spread over the numbers.
fn is_whole(number: u64) -> bool {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59 == 0
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
    fn some_records_are_whole_at_any_pace() {
        for step in [1, number_at(1), number_at(1000), number_at(DAY_MS)] {
            let whole =
                (0..32_000).filter(|count| is_whole(20_000 * number_at(DAY_MS) + count * step));
            let whole: Vec<u64> = whole.collect();
            assert!((700..1400).contains(&whole.len()), "{step}: {}", whole.len());
            let longest = whole.windows(2).map(|pair| pair[1] - pair[0]).max();
            assert!(longest < Some(2000), "{step}: {longest:?}");
        }
    }

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
