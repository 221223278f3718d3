//! ListBackups.

use keyloom_api::Fields;
use keyloom_api::backups::{BackupSummary, ListBackupsInput, ListBackupsOutput};
use keyloom_core::Result;
use keyloom_core::error::resource as message;

use crate::catalog::TableLocation;
use crate::database::Inner;
use crate::ops::paging;
use crate::resource;

use super::{Backup, KIND};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = ListBackupsInput::decode(&fields);
    if input.created_ms.start > input.created_ms.end {
        return Err(message::time_range_reversed());
    }
    let start = input.exclusive_start_backup_arn;
    if start.is_some_and(|arn| database.catalog.locate(arn) == TableLocation::OtherRegion) {
        return Err(message::backup_start_of_other_region());
    }
    let table = input.table_name.map(|table| database.catalog.named(table));
    let after = start.map(|arn| arn.rsplit('/').next().unwrap_or_default());
    let now_ms = database.clock.now_ms();
    let backups: Vec<Backup> = resource::all(database, KIND)?;
    let (page, has_more) = paging::page(backups.iter(), input.limit, |backup| {
        input.kinds.contains(&backup.kind)
            && !backup.has_expired(now_ms)
            && input.created_ms.contains(&backup.created_ms)
            && table.is_none_or(|table| table == Some(backup.table.name.as_str()))
            && after.is_none_or(|after| backup.id.as_str() > after)
    });
    let backups = page.into_iter().map(|backup| BackupSummary {
        details: backup.details(database, backup.status()),
        table_name: &backup.table.name,
        table_id: &backup.table.id,
        table_arn: database.table_arn(&backup.table.name),
    });
    Ok(ListBackupsOutput { backups: backups.collect(), has_more }.encode())
}
