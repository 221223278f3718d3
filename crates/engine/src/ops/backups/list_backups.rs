//! ListBackups.

use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::Result;

use crate::catalog::table_name;
use crate::database::Inner;
use crate::ops::paging;
use crate::resource;

use super::{Backup, KIND, Origin};

const MAX_PAGE: usize = 100;

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let table = fields.string("TableName");
    let limit = fields.integer("Limit");
    let start = fields.string("ExclusiveStartBackupArn");
    let mut constraints = Constraints::new();
    if table.is_some() {
        constraints.table_name(table);
    }
    constraints.range(limit, "limit", 1, MAX_PAGE as i64);
    let types: [(&str, &[Origin]); 4] = [
        ("USER", &[Origin::User]),
        ("SYSTEM", &[Origin::System]),
        ("AWS_BACKUP", &[]),
        ("ALL", &[Origin::User, Origin::System]),
    ];
    let kind = fields.string("BackupType");
    let wanted = constraints.one_of(kind, "backupType", &types).unwrap_or(&[Origin::User]);
    constraints.finish()?;
    let milliseconds = |name: &str| -> Result<Option<u64>> {
        Ok(fields.decimal(name).map(|seconds| (seconds * 1000.0) as u64))
    };
    let lower = milliseconds("TimeRangeLowerBound")?.unwrap_or(0);
    let upper = milliseconds("TimeRangeUpperBound")?.unwrap_or(u64::MAX);
    let after = start.map(|arn| arn.rsplit('/').next().unwrap_or_default());

    let now_ms = database.clock.now_ms();
    let backups: Vec<Backup> = resource::all(database, KIND)?;
    let limit = limit.map_or(MAX_PAGE, |limit| limit as usize);
    let (page, more) = paging::page(backups.iter(), limit, |backup| {
        wanted.contains(&backup.origin)
            && !backup.has_expired(now_ms)
            && (lower..upper).contains(&backup.created_ms)
            && table.is_none_or(|table| backup.table.name == table_name(table))
            && after.is_none_or(|after| backup.id.as_str() > after)
    });
    let mut json = JsonWriter::object();
    json.list("BackupSummaries", &page, |json, backup| {
        json.nested(|json| {
            json.string("TableName", &backup.table.name);
            json.string("TableId", &backup.table.id);
            json.string("TableArn", &database.table_arn(&backup.table.name));
            backup.write_details(json, database, backup.status());
        });
    });
    if let Some(last) = page.last().filter(|_| more) {
        json.string("LastEvaluatedBackupArn", &last.arn(database));
    }
    Ok(json.finish())
}
