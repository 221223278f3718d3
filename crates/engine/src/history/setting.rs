//! The point-in-time recovery setting of a table: since when it is enabled, and its retention period.

use std::sync::Arc;

use keyloom_core::{Result, limits};
use serde::{Deserialize, Serialize};

use crate::catalog::{Alongside, Change, Table, TableRecord};
use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::stream::{NUMBERS_PER_MS, mark_above};

use super::{DAY_MS, Past, number_at};

/// The setting of a table's record that has it.
const SETTING: &str = "PointInTimeRecovery";

/// How far back the latest time is that can be asked for: whatever is under way then has long ended.
const LATEST_IS_BACK_MS: u64 = 3000;

/// What its failures are listed under.
const WORK: &str = "beginning of histories";

/// Point-in-time recovery that is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recovery {
    /// Since when the history is complete.
    #[serde(alias = "enabled_ms")]
    since_ms: u64,
    days: u32,
    /// Where the history lies. Earlier releases kept none.
    #[serde(default)]
    pub(crate) keyspace: Keyspace,
}

impl Recovery {
    /// The recovery of a table, if it is switched on and has a history.
    pub(crate) fn of(record: &TableRecord) -> Option<Self> {
        Self::stored(record).filter(|recovery| recovery.keyspace != 0)
    }

    fn stored(record: &TableRecord) -> Option<Self> {
        serde_json::from_value(record.settings.get(SETTING)?.clone()).ok()
    }

    /// Takes it from a table's record.
    pub(crate) fn remove(record: &mut TableRecord) {
        record.settings.remove(SETTING);
    }

    /// For how many days history is kept.
    pub(crate) fn days(self) -> u32 {
        self.days
    }

    /// The earliest time that the table can be restored to.
    pub(crate) fn earliest_ms(self, now_ms: u64) -> u64 {
        self.since_ms.max(now_ms.saturating_sub(u64::from(self.days) * DAY_MS))
    }

    /// The latest second that the table can be restored to.
    pub(crate) fn latest_ms(self, now_ms: u64) -> u64 {
        let second_ms = now_ms.saturating_sub(LATEST_IS_BACK_MS) / 1000 * 1000;
        second_ms.max(self.earliest_ms(now_ms))
    }

    /// The past at a time in seconds; none outside the window.
    pub(crate) fn at(self, time_s: f64, now_ms: u64) -> Option<Past> {
        let time_ms = (time_s * 1000.0).round() as u64;
        let window = self.earliest_ms(now_ms)..=self.latest_ms(now_ms);
        window.contains(&time_ms).then(|| self.before(number_at(time_ms)))
    }

    /// The past up to this moment: every write that has been acknowledged.
    pub(crate) fn until_now(self, database: &Inner) -> Past {
        self.before(database.streams.number())
    }

    /// The past with the writes below a number; none if the history begins later.
    pub(crate) fn up_to(self, number: u64, now_ms: u64) -> Option<Past> {
        Some(self.before(number)).filter(|past| past.time_ms() >= self.earliest_ms(now_ms))
    }

    fn before(self, number: u64) -> Past {
        Past { history: self.keyspace, before: number }
    }
}

/// Switches the recovery of a table on, for so many days if that is said, or off.
pub(crate) fn switch(
    database: &Inner,
    change: &Change<'_>,
    table: &Table,
    is_on: bool,
    days: Option<u32>,
) -> Result<Arc<Table>> {
    let mut record = table.record.clone();
    let mut alongside = Alongside::default();
    {
        match table.recovery {
            Some(before) if is_on => {
                // What is trimmed by now stays gone, even if more days are kept from here on.
                let since_ms = before.earliest_ms(database.streams.now_ms());
                let recovery = Recovery { since_ms, days: days.unwrap_or(before.days), ..before };
                store(&mut record, recovery);
            }
            None if is_on => {
                let earlier = Recovery::stored(&record).map(|recovery| recovery.days);
                let days = days.or(earlier).unwrap_or(limits::MAX_RECOVERY_DAYS);
                // No write is under way: all that come have larger numbers.
                let boundary = database.streams.number();
                let since_ms = boundary / NUMBERS_PER_MS;
                let keyspace = change.allocate_keyspaces(1)?;
                store(&mut record, Recovery { since_ms, days, keyspace });
                let mark = mark_above(boundary).to_be_bytes().to_vec();
                alongside.resources.push((layout::history_clock().into(), mark.into()));
            }
            before => {
                Recovery::remove(&mut record);
                alongside.dropped.extend(before.map(|recovery| recovery.keyspace));
            }
        }
    }
    change.put(record, alongside)
}

fn store(record: &mut TableRecord, recovery: Recovery) {
    record.settings.insert(SETTING.into(), serde_json::json!(recovery));
}

/// Begins the history of tables for which an earlier release has only stored that recovery is on.
pub(super) fn upgrade(database: &Inner) {
    for table in database.catalog.all().values() {
        if table.recovery.is_some() || Recovery::stored(&table.record).is_none() {
            continue;
        }
        let name = table.name().to_owned();
        database.now_or_later(WORK, move |database| {
            let change = database.change()?;
            match database.catalog.find(&name) {
                Some(table) if table.recovery.is_none() => {
                    switch(database, &change, &table, true, None).map(drop)
                }
                _ => Ok(()),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_begins_when_it_was_switched_on_or_days_ago() {
        let recovery = Recovery { since_ms: 10 * DAY_MS, days: 2, keyspace: 1 };
        let at =
            |day: f64, now_ms| recovery.at(day * DAY_MS as f64 / 1000.0, now_ms).map(Past::time_ms);
        let now_ms = 11 * DAY_MS;
        assert_eq!(at(10.0, now_ms), Some(10 * DAY_MS));
        assert_eq!(at(10.5, now_ms), Some(10 * DAY_MS + DAY_MS / 2));
        for outside in [9.5, 11.0, 11.5, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(at(outside, now_ms), None, "{outside}");
        }
        assert_eq!(at(12.5, 15 * DAY_MS), None);
        assert_eq!(recovery.latest_ms(now_ms + 999), now_ms - 3000);
        // Right after it was switched on, the window is one moment.
        let since_ms = recovery.since_ms;
        assert_eq!(recovery.earliest_ms(since_ms), since_ms);
        assert_eq!(recovery.latest_ms(since_ms + 1), since_ms);
    }
}
