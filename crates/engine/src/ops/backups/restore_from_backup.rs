//! RestoreTableFromBackup.

use keyloom_api::{Constraints, Fields};
use keyloom_core::Result;
use keyloom_core::error::resource as message;

use crate::database::Inner;
use crate::store_error;

use super::find;
use super::restore::{self, Items, Source, Target};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let mut constraints = Constraints::new();
    let target = Target::decode(&fields, &mut constraints);
    constraints.finish()?;
    restore::begin(database, &target, || {
        let backup = find(database, &fields)?;
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
