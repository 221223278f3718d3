//! DescribeTableReplicaAutoScaling, UpdateTableReplicaAutoScaling.

use std::collections::BTreeMap;

use keyloom_api::parameters::described_table;
use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::Result;
use keyloom_core::error::request;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::catalog::Table;
use crate::catalog::TableRecord;
use crate::database::Inner;

use super::change_table;
use super::scaling_settings::{decode, merge};

const SCALING: &str = "ReplicaAutoScaling";

const WRITE: &str = "ReplicaProvisionedWriteCapacityAutoScalingSettings";
const READ: &str = "ReplicaProvisionedReadCapacityAutoScalingSettings";
const INDEX_WRITE: &str = "ProvisionedWriteCapacityAutoScalingSettings";
const INDEX_READ: &str = "ProvisionedReadCapacityAutoScalingSettings";

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let table = database.catalog.described_table(described_table(&fields)?)?;
    Ok(answer(database, &table))
}

/// A setting of one replica or of one of its indexes.
struct Change {
    /// `None` for all replicas.
    region: Option<String>,
    index: Option<String>,
    member: &'static str,
    settings: Value,
}

pub(crate) fn update(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = described_table(&fields)?;
    let mut constraints = Constraints::new();
    let changes = changes(&fields, &mut constraints);
    constraints.finish()?;
    let find = || database.catalog.described_table(name);
    let (table, ()) = change_table(database, find, |record| {
        let mut scaling = scaling_of(record);
        for change in changes {
            apply(database, record, &mut scaling, change)?;
        }
        record.settings.insert(SCALING.into(), json!(scaling));
        Ok(())
    })?;
    Ok(answer(database, &table))
}

fn changes(fields: &Fields<'_>, constraints: &mut Constraints) -> Vec<Change> {
    let mut changes = Vec::new();
    let (member, path) =
        ("ProvisionedWriteCapacityAutoScalingUpdate", "provisionedWriteCapacityAutoScalingUpdate");
    if let Some(settings) = decode(fields, member, constraints, path) {
        changes.push(Change { region: None, index: None, member: WRITE, settings });
    }
    for update in fields.structures("GlobalSecondaryIndexUpdates").unwrap_or_default() {
        let index = update.owned_string("IndexName");
        if let Some(settings) = decode(&update, member, constraints, path) {
            changes.push(Change { region: None, index, member: INDEX_WRITE, settings });
        }
    }
    for replica in fields.structures("ReplicaUpdates").unwrap_or_default() {
        let region = replica.owned_string("RegionName");
        constraints.required(region.is_some(), "replicaUpdates.1.member.regionName");
        let member = "ReplicaProvisionedReadCapacityAutoScalingUpdate";
        let path = "replicaProvisionedReadCapacityAutoScalingUpdate";
        if let Some(settings) = decode(&replica, member, constraints, path) {
            changes.push(Change { region: region.clone(), index: None, member: READ, settings });
        }
        for update in replica.structures("ReplicaGlobalSecondaryIndexUpdates").unwrap_or_default() {
            let index = update.owned_string("IndexName");
            let member = "ProvisionedReadCapacityAutoScalingUpdate";
            let path = "provisionedReadCapacityAutoScalingUpdate";
            if let Some(settings) = decode(&update, member, constraints, path) {
                let region = region.clone();
                changes.push(Change { region, index, member: INDEX_READ, settings });
            }
        }
    }
    changes
}

/// What is kept: the settings of each replica by its region.
type Scaling = BTreeMap<String, ReplicaScaling>;

/// The scaling settings of a replica and of its indexes, as its description shows them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ReplicaScaling {
    own: Map<String, Value>,
    indexes: BTreeMap<String, Map<String, Value>>,
}

fn scaling_of(record: &TableRecord) -> Scaling {
    let kept = record.settings.get(SCALING).cloned();
    kept.and_then(|kept| serde_json::from_value(kept).ok()).unwrap_or_default()
}

/// The regions of a table: this one, and those of its replicas.
fn regions(database: &Inner, record: &TableRecord) -> Vec<String> {
    let replicas = record.settings.get("Replicas").and_then(Value::as_array);
    let region = |replica: &Value| replica.get("RegionName")?.as_str().map(str::to_owned);
    let others = replicas.into_iter().flatten().filter_map(region);
    let mut regions = vec![database.options.region.clone()];
    regions.extend(others.filter(|region| *region != database.options.region));
    regions
}

fn apply(
    database: &Inner,
    record: &TableRecord,
    scaling: &mut Scaling,
    change: Change,
) -> Result<()> {
    let known = regions(database, record);
    let wanted: Vec<String> = match change.region {
        None => known,
        Some(region) if known.contains(&region) => vec![region],
        Some(_) => return Err(request::resource_not_found()),
    };
    let has_index = |name: &str| record.indexes.iter().any(|index| index.name == name);
    if change.index.as_ref().is_some_and(|index| !has_index(index)) {
        return Err(request::resource_not_found());
    }
    for region in wanted {
        let replica = scaling.entry(region).or_default();
        let settings = match &change.index {
            None => &mut replica.own,
            Some(index) => replica.indexes.entry(index.clone()).or_default(),
        };
        let place = settings.entry(change.member).or_insert(Value::Null);
        merge(place, change.settings.clone());
    }
    Ok(())
}

fn answer(database: &Inner, table: &Table) -> Vec<u8> {
    let record = &table.record;
    let mut scaling = scaling_of(record);
    let mut json = JsonWriter::object();
    json.structure("TableAutoScalingDescription", |json| {
        json.string("TableName", table.name());
        json.string("TableStatus", record.status.as_str());
        json.list("Replicas", regions(database, record), |json, region| {
            let replica = scaling.remove(&region).unwrap_or_default();
            json.nested(|json| {
                json.string("RegionName", &region);
                let global = record.indexes.iter().filter(|index| index.global);
                json.list("GlobalSecondaryIndexes", global, |json, index| {
                    json.nested(|json| {
                        json.string("IndexName", &index.name);
                        json.string("IndexStatus", index.status.as_str());
                        write_settings(json, replica.indexes.get(&index.name));
                    });
                });
                write_settings(json, Some(&replica.own));
                json.string("ReplicaStatus", "ACTIVE");
            });
        });
    });
    json.finish()
}

fn write_settings(json: &mut JsonWriter, settings: Option<&Map<String, Value>>) {
    for (name, value) in settings.into_iter().flatten() {
        json.stored(name, value);
    }
}
