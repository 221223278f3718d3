//! DescribeTableReplicaAutoScaling, UpdateTableReplicaAutoScaling.
//!
//! Nothing scales here, so settings are refused; the description says which replicas there are.

use keyloom_api::parameters::described_table;
use keyloom_api::{Fields, JsonWriter};
use keyloom_core::Result;
use keyloom_core::error::table as message;

use crate::catalog::Table;
use crate::database::Inner;
use crate::ops::tables::replicas;

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let table = database.catalog.described_table(described_table(&fields)?)?;
    Ok(answer(database, &table))
}

pub(crate) fn update(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let table = database.catalog.described_table(described_table(&fields)?)?;
    let settings = [
        "ProvisionedWriteCapacityAutoScalingUpdate",
        "GlobalSecondaryIndexUpdates",
        "ReplicaUpdates",
    ];
    match settings.iter().find(|member| fields.has(member)) {
        Some(member) => {
            let reason = "throughput is not scaled automatically; set it with UpdateTable, or use PAY_PER_REQUEST";
            Err(message::not_served(member, reason))
        }
        None => Ok(answer(database, &table)),
    }
}

fn answer(database: &Inner, table: &Table) -> Vec<u8> {
    let record = &table.record;
    let mut regions = vec![(database.options.region.as_str(), "ACTIVE")];
    let others = replicas::all(database, record);
    regions.extend(others.iter().map(|(region, state)| (*region, replicas::status(state))));
    let mut json = JsonWriter::object();
    json.structure("TableAutoScalingDescription", |json| {
        json.string("TableName", table.name());
        json.string("TableStatus", record.status.as_str());
        json.list("Replicas", regions, |json, (region, status)| {
            json.nested(|json| {
                json.string("RegionName", region);
                json.string("ReplicaStatus", status);
            });
        });
    });
    json.finish()
}
