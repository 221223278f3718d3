//! UpdateContinuousBackups, DescribeContinuousBackups.
//!
//! While recovery is on, the table's history is kept ([`crate::history`]).

use keyloom_api::parameters::described_table;
use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::error::resource as message;
use keyloom_core::{Result, limits};

use crate::catalog::Table;
use crate::catalog::record::Status;
use crate::database::Inner;
use crate::history;
use crate::ops::tables::description::seconds;

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

    let change = database.catalog.change(database.store.as_ref());
    let table = database.catalog.find(name).ok_or_else(|| message::table_not_found(name))?;
    if matches!(table.record.status, Status::Creating | Status::Failed) {
        return Err(message::continuous_backups_unavailable(table.name()));
    }
    let days = days.and_then(|days| u32::try_from(days).ok());
    let table = history::switch(database, &change, &table, enabled == Some(true), days)?;
    drop(change);
    // A history that is no longer kept waits to be removed.
    database.background.wake();
    Ok(answer(database, &table))
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let table = database.catalog.find(name).ok_or_else(|| message::table_not_found(name))?;
    Ok(answer(database, &table))
}

fn answer(database: &Inner, table: &Table) -> Vec<u8> {
    let now_ms = database.streams.now_ms();
    let mut json = JsonWriter::object();
    json.structure("ContinuousBackupsDescription", |json| {
        // Backups on demand are always possible.
        json.string("ContinuousBackupsStatus", "ENABLED");
        json.structure("PointInTimeRecoveryDescription", |json| {
            let Some(recovery) = table.recovery else {
                json.string("PointInTimeRecoveryStatus", "DISABLED");
                return;
            };
            json.string("PointInTimeRecoveryStatus", "ENABLED");
            json.integer("RecoveryPeriodInDays", recovery.days());
            seconds(json, "EarliestRestorableDateTime", recovery.earliest_ms(now_ms));
            seconds(json, "LatestRestorableDateTime", recovery.latest_ms(now_ms));
        });
    });
    json.finish()
}
