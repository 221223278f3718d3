//! UpdateContinuousBackups, DescribeContinuousBackups.
//!
//! The switch and the window are kept and shown. What can be recovered is the present: no history of
//! changes is kept yet, and a request for the past says so.

use keyloom_api::parameters::described_table;
use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::error::resource as message;
use keyloom_core::{Result, limits};
use serde::{Deserialize, Serialize};

use crate::catalog::TableRecord;
use crate::database::Inner;
use crate::ops::settings::change_table;
use crate::ops::tables::description::seconds;

const RECOVERY: &str = "PointInTimeRecovery";
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Point-in-time recovery that is switched on.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Recovery {
    enabled_ms: u64,
    days: u32,
}

/// How a time lies to the window of recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Now, to the second.
    Present,
    /// Inside the window, but before now.
    Past,
    /// Before the window, or in the future.
    Outside,
}

impl Recovery {
    fn earliest_ms(self, now_ms: u64) -> u64 {
        self.enabled_ms.max(now_ms.saturating_sub(u64::from(self.days) * DAY_MS))
    }

    /// How a time in seconds lies to the window.
    pub(crate) fn moment(self, time_s: f64, now_ms: u64) -> Moment {
        let time_ms = (time_s * 1000.0) as u64;
        if time_ms / 1000 == now_ms / 1000 {
            Moment::Present
        } else if (self.earliest_ms(now_ms)..now_ms).contains(&time_ms) {
            Moment::Past
        } else {
            Moment::Outside
        }
    }
}

/// A table's recovery, if it is switched on.
pub(crate) fn recovery_of(record: &TableRecord) -> Option<Recovery> {
    serde_json::from_value(record.settings.get(RECOVERY)?.clone()).ok()
}

pub(crate) fn update(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let mut constraints = Constraints::new();
    let path = "pointInTimeRecoverySpecification";
    let specification = fields.structure("PointInTimeRecoverySpecification");
    constraints.required(specification.is_some(), path);
    let (mut enabled, mut days) = (None, None);
    if let Some(specification) = specification {
        enabled = specification.boolean("PointInTimeRecoveryEnabled");
        days = specification.integer("RecoveryPeriodInDays");
        constraints.required(enabled.is_some(), &format!("{path}.pointInTimeRecoveryEnabled"));
    }
    let most = i64::from(limits::MAX_RECOVERY_DAYS);
    constraints.range(days, &format!("{path}.recoveryPeriodInDays"), 1, most);
    constraints.finish()?;

    let now_ms = database.clock.now_ms();
    let find = || database.catalog.find(name).ok_or_else(|| message::table_not_found(name));
    let (table, ()) = change_table(database, find, |record| {
        let before = recovery_of(record);
        if enabled == Some(true) {
            let days = days.and_then(|days| u32::try_from(days).ok());
            let recovery = Recovery {
                enabled_ms: before.map_or(now_ms, |before| before.enabled_ms),
                days: days
                    .or(before.map(|before| before.days))
                    .unwrap_or(limits::MAX_RECOVERY_DAYS),
            };
            record.settings.insert(RECOVERY.into(), serde_json::json!(recovery));
        } else {
            record.settings.remove(RECOVERY);
        }
        Ok(())
    })?;
    Ok(answer(&table.record, now_ms))
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let table = database.catalog.find(name).ok_or_else(|| message::table_not_found(name))?;
    Ok(answer(&table.record, database.clock.now_ms()))
}

fn answer(record: &TableRecord, now_ms: u64) -> Vec<u8> {
    let mut json = JsonWriter::object();
    json.structure("ContinuousBackupsDescription", |json| {
        // Backups on demand are always possible.
        json.string("ContinuousBackupsStatus", "ENABLED");
        json.structure("PointInTimeRecoveryDescription", |json| {
            let Some(recovery) = recovery_of(record) else {
                json.string("PointInTimeRecoveryStatus", "DISABLED");
                return;
            };
            json.string("PointInTimeRecoveryStatus", "ENABLED");
            json.integer("RecoveryPeriodInDays", recovery.days);
            seconds(json, "EarliestRestorableDateTime", recovery.earliest_ms(now_ms));
            seconds(json, "LatestRestorableDateTime", now_ms);
        });
    });
    json.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_begins_when_it_was_switched_on_or_days_ago() {
        let recovery = Recovery { enabled_ms: 10 * DAY_MS, days: 2 };
        let at = |day: f64| day * DAY_MS as f64 / 1000.0;
        let now_ms = 11 * DAY_MS;
        assert_eq!(recovery.moment(at(11.0), now_ms), Moment::Present);
        assert_eq!(recovery.moment(at(10.5), now_ms), Moment::Past);
        assert_eq!(recovery.moment(at(9.5), now_ms), Moment::Outside);
        assert_eq!(recovery.moment(at(11.5), now_ms), Moment::Outside);
        assert_eq!(recovery.moment(at(12.5), 15 * DAY_MS), Moment::Outside);
        assert_eq!(recovery.moment(-1.0, now_ms), Moment::Outside);
    }
}
