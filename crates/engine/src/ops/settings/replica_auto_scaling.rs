//! DescribeTableReplicaAutoScaling, UpdateTableReplicaAutoScaling.

use std::collections::BTreeMap;

use keyloom_api::Fields;
use keyloom_api::parameters::control_table;
use keyloom_api::settings::{
    AutoScalingTarget, ReplicaScaling, TableAutoScaling, UpdateTableReplicaAutoScalingInput,
};
use keyloom_core::Result;
use keyloom_core::error::request;
use serde_json::{Value, json};

use crate::catalog::{Table, TableRecord};
use crate::database::Inner;

use super::change_table;

const SCALING: &str = "ReplicaAutoScaling";

/// The stored settings of each replica, by its region.
type Scaling = BTreeMap<String, ReplicaScaling>;

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let name = control_table(&fields);
    let table = database.catalog.described_table(name)?;
    Ok(answer(database, &table))
}

pub(crate) fn update(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let input = UpdateTableReplicaAutoScalingInput::decode(&fields);
    let find = || database.catalog.described_table(input.table_name);
    let (table, ()) = change_table(database, find, |record| {
        let mut scaling = scaling_of(record);
        for target in &input.targets {
            apply(database, record, &mut scaling, target)?;
        }
        record.settings.insert(SCALING.into(), json!(scaling));
        Ok(())
    })?;
    Ok(answer(database, &table))
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
    target: &AutoScalingTarget,
) -> Result<()> {
    let known = regions(database, record);
    let wanted: Vec<String> = match &target.region {
        None => known,
        Some(region) if known.contains(region) => vec![region.clone()],
        Some(_) => return Err(request::resource_not_found()),
    };
    let has_index = |name: &String| record.indexes.iter().any(|index| index.name == *name);
    if target.index.as_ref().is_some_and(|index| !has_index(index)) {
        return Err(request::resource_not_found());
    }
    for region in wanted {
        scaling.entry(region).or_default().change(target);
    }
    Ok(())
}

fn answer(database: &Inner, table: &Table) -> Vec<u8> {
    let record = &table.record;
    let mut scaling = scaling_of(record);
    let replica = |region: String| {
        let settings = scaling.remove(&region).unwrap_or_default();
        (region, settings)
    };
    let global = record.indexes.iter().filter(|index| index.global);
    let output = TableAutoScaling {
        table_name: table.name(),
        status: record.status.as_str(),
        indexes: global.map(|index| (index.name.as_str(), index.status.as_str())).collect(),
        replicas: regions(database, record).into_iter().map(replica).collect(),
    };
    output.encode()
}
