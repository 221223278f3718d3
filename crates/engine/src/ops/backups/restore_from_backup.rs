//! RestoreTableFromBackup.

use keyloom_api::Fields;
use keyloom_api::backups::{RestoreTarget, decode_backup_arn};
use keyloom_core::Result;
use keyloom_core::error::resource as message;

use crate::catalog::TableLocation;
use crate::database::Inner;
use crate::store_error;

use super::find;
use super::restore::{self, Items, Source};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let target = RestoreTarget::decode(&fields)?;
    restore::begin(database, &target, || {
        let named = decode_backup_arn(&fields);
        let is_elsewhere = database.catalog.locate(named) == TableLocation::OtherRegion;
        if is_elsewhere && !fields.has("SSESpecificationOverride") {
            return Err(message::restore_across_regions());
        }
        let backup = find(database, "RestoreTableFromBackup", named)?;
        let arn = backup.arn(database);
        if let Some(reason) = &backup.failure {
            return Err(message::backup_failed(&arn, reason));
        }
        if !backup.available {
            return Err(message::backup_in_use(&arn));
        }
        let snapshot = database.store.snapshot().map_err(store_error)?;
        Ok(Source {
            record: backup.table,
            items: Items { keyspace: backup.keyspace, past: None },
            snapshot,
            backup_arn: Some(arn),
            time_ms: backup.created_ms,
        })
    })
}
