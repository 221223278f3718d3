//! RestoreTableToPointInTime.
//!
//! The table's indexes and capacity are those of the request's time, as on AWS; its items are those of
//! the point. `UseLatestRestorableTime` means all writes that have been acknowledged, where AWS is minutes
//! back.

use keyloom_api::{Constraints, Fields};
use keyloom_core::Result;
use keyloom_core::error::resource as message;

use crate::catalog::record::Status;
use crate::database::Inner;
use crate::history;

use super::restore::{self, Items, Source, Target};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let mut constraints = Constraints::new();
    let target = Target::decode(&fields, &mut constraints);
    let name = fields.string("SourceTableArn").or(fields.string("SourceTableName"));
    if name.is_some() {
        constraints.table_name_at(name, "sourceTableName");
    }
    constraints.finish()?;
    let name = name.ok_or_else(message::restore_source_missing)?;
    let latest = fields.boolean("UseLatestRestorableTime").unwrap_or(false);
    let time = fields.decimal("RestoreDateTime");

    restore::begin(database, &target, || {
        let table = database.catalog.find(name).ok_or_else(|| message::table_not_found(name))?;
        if table.record.status != Status::Active {
            return Err(message::table_in_use(table.name(), table.record.status.as_str()));
        }
        let recovery = table.recovery.ok_or_else(|| message::recovery_disabled(table.name()))?;
        let past = match time {
            _ if latest => recovery.until_now(database),
            Some(seconds) => {
                let past = recovery.at(seconds, database.streams.now_ms());
                past.ok_or_else(message::restore_time_invalid)?
            }
            None => return Err(message::restore_time_missing()),
        };
        let record = table.record.clone();
        Ok(Source {
            items: Items { keyspace: record.keyspace, past: Some(past) },
            snapshot: history::snapshot_with(database, past.before)?,
            backup_arn: None,
            time_ms: past.time_ms(),
            record,
        })
    })
}
