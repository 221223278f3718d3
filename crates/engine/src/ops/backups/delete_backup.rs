//! DeleteBackup.
//!
//! A backup that a table is being restored from can be deleted: its entries are kept until the restore
//! is complete.

use keyloom_api::Fields;
use keyloom_api::backups::{BackupType, decode_backup_arn};
use keyloom_core::Result;
use keyloom_core::error::resource as message;

use crate::database::Inner;

use super::{delete, describe_backup, find, iso_seconds};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let change = database.change()?;
    let backup = find(database, "DeleteBackup", decode_backup_arn(&fields))?;
    if backup.kind == BackupType::System {
        let expires = backup.expires_ms().map(iso_seconds).unwrap_or_default();
        return Err(message::system_backup(&backup.arn(database), &expires));
    }
    if backup.is_creating() {
        return Err(message::backup_in_use(&backup.arn(database)));
    }
    delete(&change, &backup)?;
    drop(change);
    database.background.wake();
    Ok(describe_backup::answer(database, &backup, "DELETED"))
}
