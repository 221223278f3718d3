//! RestoreTableToPointInTime.
//!
//! The present state can be restored; see [`super::continuous`].

use keyloom_api::{Constraints, Fields};
use keyloom_core::Result;
use keyloom_core::error::resource as message;

use crate::catalog::record::Status;
use crate::database::Inner;

use super::continuous::{Moment, recovery_of};
use super::restore::{self, Source, Target};

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
        let recovery = recovery_of(&table.record);
        let recovery = recovery.ok_or_else(|| message::recovery_disabled(table.name()))?;
        let now_ms = database.clock.now_ms();
        let moment = match time {
            _ if latest => Moment::Present,
            Some(seconds) => recovery.moment(seconds, now_ms),
            None => return Err(message::restore_time_missing()),
        };
        match moment {
            Moment::Present => {}
            Moment::Past => {
                let instead = "say UseLatestRestorableTime";
                return Err(message::past_not_kept("RestoreDateTime", instead));
            }
            Moment::Outside => return Err(message::restore_time_invalid()),
        }
        let record = table.record.clone();
        let keyspace = record.keyspace;
        Ok(Source { record, keyspace, backup_arn: None, time_ms: now_ms })
    })
}
