//! DescribeBackup.

use keyloom_api::Fields;
use keyloom_api::backups::{BackupDescription, SourceTable, decode_backup_arn};
use keyloom_api::tables::IndexCapacity;
use keyloom_core::Result;

use crate::database::Inner;

use super::{Backup, find};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let backup = find(database, "DescribeBackup", decode_backup_arn(&fields))?;
    Ok(answer(database, &backup, backup.status()))
}

/// The reply with the status that the operation reports.
pub(super) fn answer(database: &Inner, backup: &Backup, status: &'static str) -> Vec<u8> {
    let table = &backup.table;
    let capacity = table.indexes.iter().map(|index| IndexCapacity {
        throughput: index.throughput,
        on_demand: index.on_demand,
        warm: None,
    });
    let stream = table.stream.as_ref().filter(|stream| stream.enabled);
    let expiry = table.ttl.as_ref().filter(|ttl| ttl.enabled);
    BackupDescription {
        details: backup.details(database, status),
        source: SourceTable {
            schema: &table.typed_schema(),
            id: &table.id,
            arn: database.table_arn(&table.name),
            created_ms: table.created_ms,
            size_bytes: backup.bytes,
            items: backup.items,
            on_demand: table.billing.on_demand,
            throughput: table.billing.throughput,
            on_demand_limit: table.billing.on_demand_limit,
            indexes: capacity.collect(),
            stream_view: stream.map(|stream| stream.view.as_str()),
            expiry_attribute: expiry.map(|ttl| ttl.attribute.as_str()),
            encryption: table.encryption.as_ref().filter(|encryption| encryption.enabled),
        },
    }
    .encode()
}
