//! UpdateContinuousBackups, DescribeContinuousBackups.
//!
//! While point-in-time recovery is enabled, the table's history is recorded ([`crate::history`]).

use keyloom_api::Fields;
use keyloom_api::backups::{RecoveryWindow, UpdateContinuousBackupsInput, encode_recovery};
use keyloom_api::parameters::control_table;
use keyloom_core::Result;
use keyloom_core::error::resource as message;

use crate::catalog::Table;
use crate::catalog::record::Status;
use crate::database::Inner;
use crate::history;

pub(crate) fn update(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = UpdateContinuousBackupsInput::decode(&fields);
    if !input.enabled && input.days.is_some() {
        return Err(message::period_without_recovery());
    }
    let change = database.change()?;
    let table = database.catalog.find(input.table_name);
    let table = table.ok_or_else(|| message::table_not_found(input.table_name))?;
    if matches!(table.record.status, Status::Creating | Status::Failed) {
        return Err(message::continuous_backups_unavailable(table.name()));
    }
    let table = history::switch(database, &change, &table, input.enabled, input.days)?;
    drop(change);
    // A history that is no longer kept waits to be removed.
    database.background.wake();
    Ok(encode_recovery(window(database, &table)))
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = control_table(&fields);
    let table = database.catalog.find(name).ok_or_else(|| message::table_not_found(name))?;
    Ok(encode_recovery(window(database, &table)))
}

fn window(database: &Inner, table: &Table) -> Option<RecoveryWindow> {
    let recovery = table.recovery?;
    let now_ms = database.streams.now_ms();
    Some(RecoveryWindow {
        days: recovery.days(),
        earliest_ms: recovery.earliest_ms(now_ms),
        latest_ms: recovery.latest_ms(now_ms),
    })
}
