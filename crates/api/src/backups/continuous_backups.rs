//! UpdateContinuousBackups and DescribeContinuousBackups.

use crate::parameters::control_table;
use crate::{Fields, JsonWriter};

/// The input of UpdateContinuousBackups.
#[derive(Clone, Copy, Debug)]
pub struct UpdateContinuousBackupsInput<'a> {
    /// The table's name or ARN.
    pub table_name: &'a str,
    /// Whether the table can be restored to points in time.
    pub enabled: bool,
    /// For how many days, if that is said.
    pub days: Option<u32>,
}

impl<'a> UpdateContinuousBackupsInput<'a> {
    /// Decodes the request.
    pub fn decode(fields: &Fields<'a>) -> Self {
        let specification = fields.structure("PointInTimeRecoverySpecification");
        let specification = specification.as_ref();
        let enabled = specification.and_then(|one| one.boolean("PointInTimeRecoveryEnabled"));
        let days = specification.and_then(|one| one.integer("RecoveryPeriodInDays"));
        Self {
            table_name: control_table(fields),
            enabled: enabled.unwrap_or(false),
            days: days.and_then(|days| u32::try_from(days).ok()),
        }
    }
}

/// The points in time that a table can be restored to.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryWindow {
    /// For how many days history is kept.
    pub days: u32,
    /// The earliest of them.
    pub earliest_ms: u64,
    /// The latest of them.
    pub latest_ms: u64,
}

/// The reply of both operations; without a window, recovery is off.
pub fn encode_recovery(window: Option<RecoveryWindow>) -> Vec<u8> {
    let mut json = JsonWriter::object();
    json.structure("ContinuousBackupsDescription", |json| {
        // Backups on demand are always possible.
        json.string("ContinuousBackupsStatus", "ENABLED");
        json.structure("PointInTimeRecoveryDescription", |json| {
            let status = if window.is_some() { "ENABLED" } else { "DISABLED" };
            json.string("PointInTimeRecoveryStatus", status);
            if let Some(window) = window {
                json.integer("RecoveryPeriodInDays", window.days);
                json.seconds("EarliestRestorableDateTime", window.earliest_ms);
                json.seconds("LatestRestorableDateTime", window.latest_ms);
            }
        });
    });
    json.finish()
}
