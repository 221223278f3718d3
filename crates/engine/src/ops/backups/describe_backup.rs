//! DescribeBackup.

use keyloom_api::tables::write_projection;
use keyloom_api::{Fields, JsonWriter};
use keyloom_core::Result;

use crate::catalog::record::{IndexRecord, OnDemandLimit, Throughput};
use crate::database::Inner;
use crate::ops::tables::description::{key_schema, seconds};

use super::{Backup, find};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let backup = find(database, &fields)?;
    Ok(answer(database, &backup, backup.status()))
}

/// `BackupDescription`, with the status that the operation reports.
pub(super) fn answer(database: &Inner, backup: &Backup, status: &str) -> Vec<u8> {
    let mut json = JsonWriter::object();
    json.structure("BackupDescription", |json| {
        json.structure("BackupDetails", |json| backup.write_details(json, database, status));
        json.structure("SourceTableDetails", |json| source(json, database, backup));
        json.structure("SourceTableFeatureDetails", |json| features(json, backup));
    });
    json.finish()
}

fn source(json: &mut JsonWriter, database: &Inner, backup: &Backup) {
    let table = &backup.table;
    json.string("TableName", &table.name);
    json.string("TableId", &table.id);
    json.string("TableArn", &database.table_arn(&table.name));
    json.integer("TableSizeBytes", backup.bytes);
    key_schema(json, &table.key);
    seconds(json, "TableCreationDateTime", table.created_ms);
    throughput(json, table.billing.throughput);
    on_demand(json, table.billing.on_demand_limit);
    json.integer("ItemCount", backup.items);
    let mode = if table.billing.on_demand { "PAY_PER_REQUEST" } else { "PROVISIONED" };
    json.string("BillingMode", mode);
}

fn throughput(json: &mut JsonWriter, throughput: Throughput) {
    json.structure("ProvisionedThroughput", |json| {
        json.integer("ReadCapacityUnits", throughput.read);
        json.integer("WriteCapacityUnits", throughput.write);
    });
}

fn on_demand(json: &mut JsonWriter, limit: Option<OnDemandLimit>) {
    let Some(limit) = limit else { return };
    json.structure("OnDemandThroughput", |json| {
        json.integer("MaxReadRequestUnits", limit.read.unwrap_or(-1));
        json.integer("MaxWriteRequestUnits", limit.write.unwrap_or(-1));
    });
}

fn features(json: &mut JsonWriter, backup: &Backup) {
    let table = &backup.table;
    for (member, global) in [("LocalSecondaryIndexes", false), ("GlobalSecondaryIndexes", true)] {
        let indexes: Vec<&IndexRecord> =
            table.indexes.iter().filter(|index| index.global == global).collect();
        if indexes.is_empty() {
            continue;
        }
        json.list(member, indexes, |json, index| {
            json.nested(|json| {
                json.string("IndexName", &index.name);
                key_schema(json, &index.key);
                write_projection(json, &index.projection.typed());
                if global {
                    throughput(json, index.throughput.unwrap_or_default());
                    on_demand(json, index.on_demand);
                }
            });
        });
    }
    if let Some(stream) = table.stream.as_ref().filter(|stream| stream.enabled) {
        json.structure("StreamDescription", |json| {
            json.boolean("StreamEnabled", true);
            json.string("StreamViewType", &stream.view);
        });
    }
    if let Some(ttl) = table.ttl.as_ref().filter(|ttl| ttl.enabled) {
        json.structure("TimeToLiveDescription", |json| {
            json.string("TimeToLiveStatus", "ENABLED");
            json.string("AttributeName", &ttl.attribute);
        });
    }
}
