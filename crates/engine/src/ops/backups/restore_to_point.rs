//! RestoreTableToPointInTime.
//!
//! As on AWS, indexes and capacity are those at the time of the request, and items those at the requested point.
//! `UseLatestRestorableTime` includes all acknowledged writes, where AWS is minutes behind.

use keyloom_api::Fields;
use keyloom_api::backups::{RestoreTableToPointInTimeInput, RestoreTime};
use keyloom_core::Result;
use keyloom_core::error::resource as message;

use crate::catalog::record::Status;
use crate::catalog::{TableLocation, table_name};
use crate::database::Inner;
use crate::history;

use super::iso_seconds;
use super::restore::{self, Items, Source};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = RestoreTableToPointInTimeInput::decode(&fields)?;
    check_place(database, &input)?;
    restore::begin(database, &input.target, || {
        let table = database.catalog.find(input.source);
        let table = table.ok_or_else(|| message::table_not_found(table_name(input.source)))?;
        if table.record.status != Status::Active {
            return Err(message::table_in_use(table.name(), table.record.status.as_str()));
        }
        let recovery = table.recovery.ok_or_else(|| message::recovery_disabled(table.name()))?;
        let past = match input.time {
            RestoreTime::Latest => recovery.until_now(database),
            RestoreTime::Seconds(seconds) => {
                let now_ms = database.streams.now_ms();
                recovery.at(seconds, now_ms).ok_or_else(|| {
                    message::restore_time_invalid(
                        &iso_seconds((seconds.max(0.0) * 1000.0) as u64),
                        &iso_seconds(recovery.earliest_ms(now_ms)),
                        &iso_seconds(recovery.latest_ms(now_ms)),
                    )
                })?
            }
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

/// AWS restores tables of other regions; here they are not within reach.
fn check_place(database: &Inner, input: &RestoreTableToPointInTimeInput<'_>) -> Result<()> {
    match database.catalog.locate(input.source) {
        TableLocation::Here(_) => Ok(()),
        TableLocation::OtherAccount => Err(message::account_differs()),
        TableLocation::OtherRegion if !input.names_encryption => {
            Err(message::restore_across_regions())
        }
        TableLocation::OtherRegion => Err(message::restore_source_absent()),
    }
}
