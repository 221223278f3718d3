//! The first version of global tables: CreateGlobalTable, UpdateGlobalTable, DescribeGlobalTable,
//! ListGlobalTables, and their settings.

use std::collections::BTreeMap;

use keyloom_api::settings::scaling_update;
use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::error::resource as message;
use keyloom_core::schema::model::check_new_name;
use keyloom_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::database::Inner;
use crate::ops::paging;
use crate::ops::tables::description;
use crate::resource;

pub(super) const KIND: &str = "global-table";
const MAX_PAGE: usize = 100;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct GlobalTable {
    name: String,
    created_ms: u64,
    replicas: Vec<Replica>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Replica {
    region: String,
    /// What UpdateGlobalTableSettings has set, as DescribeGlobalTableSettings shows it.
    settings: Map<String, Value>,
    /// The same of the global indexes, by their names.
    indexes: BTreeMap<String, Map<String, Value>>,
}

pub(crate) fn create(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let mut constraints = Constraints::new();
    let name = name_parameter(&fields, &mut constraints);
    let group = fields.structures("ReplicationGroup");
    constraints.required(group.is_some(), "replicationGroup");
    constraints.finish()?;
    let regions: Vec<String> = group
        .unwrap_or_default()
        .iter()
        .filter_map(|replica| replica.owned_string("RegionName"))
        .collect();

    let _change = database.catalog.change(database.store.as_ref());
    if resource::get::<GlobalTable>(database, KIND, name)?.is_some() {
        return Err(message::global_table_exists(name));
    }
    database.catalog.find(name).ok_or_else(|| message::table_not_found(name))?;
    let mut table = GlobalTable {
        name: name.to_owned(),
        created_ms: database.clock.now_ms(),
        replicas: Vec::new(),
    };
    for region in regions {
        table.add(region)?;
    }
    resource::put(database, KIND, name, &table)?;
    Ok(table.answer(database, "CREATING"))
}

pub(crate) fn update(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let mut constraints = Constraints::new();
    let name = name_parameter(&fields, &mut constraints);
    let updates = fields.structures("ReplicaUpdates");
    constraints.required(updates.is_some(), "replicaUpdates");
    constraints.finish()?;
    let _change = database.catalog.change(database.store.as_ref());
    let mut table = find(database, name)?;
    for update in updates.unwrap_or_default() {
        let region = |action: &Fields<'_>| action.owned_string("RegionName");
        if let Some(create) = update.structure("Create") {
            table.add(region(&create).unwrap_or_default())?;
        }
        if let Some(delete) = update.structure("Delete") {
            let region = region(&delete).unwrap_or_default();
            table.replica(&region)?;
            table.replicas.retain(|replica| replica.region != region);
        }
    }
    resource::put(database, KIND, name, &table)?;
    Ok(table.answer(database, "UPDATING"))
}

pub(crate) fn describe(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let mut constraints = Constraints::new();
    let name = name_parameter(&fields, &mut constraints);
    constraints.finish()?;
    Ok(find(database, name)?.answer(database, "ACTIVE"))
}

pub(crate) fn list(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let start = fields.string("ExclusiveStartGlobalTableName");
    let limit = fields.integer("Limit");
    let region = fields.string("RegionName");
    let mut constraints = Constraints::new();
    constraints.range(limit, "limit", 1, i64::MAX);
    constraints.finish()?;
    let tables: Vec<GlobalTable> = resource::all(database, KIND)?;
    let limit = limit.map_or(MAX_PAGE, |limit| limit as usize).min(MAX_PAGE);
    let (page, more) = paging::page(tables.iter(), limit, |table| {
        start.is_none_or(|start| table.name.as_str() > start)
            && region.is_none_or(|region| table.replicas.iter().any(|r| r.region == region))
    });
    let mut json = JsonWriter::object();
    json.list("GlobalTables", &page, |json, table| {
        json.nested(|json| {
            json.string("GlobalTableName", &table.name);
            json.list("ReplicationGroup", &table.replicas, |json, replica| {
                json.nested(|json| json.string("RegionName", &replica.region));
            });
        });
    });
    if let Some(last) = page.last().filter(|_| more) {
        json.string("LastEvaluatedGlobalTableName", &last.name);
    }
    Ok(json.finish())
}

pub(crate) fn describe_settings(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let mut constraints = Constraints::new();
    let name = name_parameter(&fields, &mut constraints);
    constraints.finish()?;
    Ok(find(database, name)?.answer_settings(database))
}

pub(crate) fn update_settings(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let mut constraints = Constraints::new();
    let name = name_parameter(&fields, &mut constraints);
    let common = common_settings(&fields, &mut constraints);
    let mut own = Vec::new();
    for (position, update) in
        fields.structures("ReplicaSettingsUpdate").unwrap_or_default().iter().enumerate()
    {
        let path = format!("replicaSettingsUpdate.{}.member", position + 1);
        own.push(replica_settings(update, &mut constraints, &path));
    }
    let indexes = index_settings(&fields, &mut constraints);
    constraints.finish()?;

    let _change = database.catalog.change(database.store.as_ref());
    let mut table = find(database, name)?;
    let local = database.catalog.find(name).ok_or_else(|| message::table_not_found(name))?;
    if let Some((missing, _)) = indexes.iter().find(|(index, _)| local.index(index).is_none()) {
        return Err(message::index_not_found(name, missing));
    }
    for replica in &mut table.replicas {
        replica.settings.extend(common.clone());
        for (index, settings) in &indexes {
            replica.indexes.entry(index.clone()).or_default().extend(settings.clone());
        }
    }
    for (region, settings) in own {
        table.replica(&region)?.settings.extend(settings);
    }
    resource::put(database, KIND, name, &table)?;
    Ok(table.answer_settings(database))
}

fn name_parameter<'a>(fields: &Fields<'a>, constraints: &mut Constraints) -> &'a str {
    let name = fields.string("GlobalTableName");
    match name {
        None => constraints.required(false, "globalTableName"),
        Some(name) => check_new_name(name, "globalTableName", constraints.violations()),
    }
    name.unwrap_or_default()
}

fn find(database: &Inner, name: &str) -> Result<GlobalTable> {
    resource::get(database, KIND, name)?.ok_or_else(|| message::global_table_not_found(name))
}

/// The settings that hold for all replicas.
fn common_settings(fields: &Fields<'_>, constraints: &mut Constraints) -> Map<String, Value> {
    let mut settings = Map::new();
    let modes = [("PROVISIONED", ()), ("PAY_PER_REQUEST", ())];
    let mode = fields.string("GlobalTableBillingMode");
    constraints.one_of(mode, "globalTableBillingMode", &modes);
    if let Some(mode) = mode {
        let summary = serde_json::json!({ "BillingMode": mode });
        settings.insert("ReplicaBillingModeSummary".into(), summary);
    }
    if let Some(units) = fields.integer("GlobalTableProvisionedWriteCapacityUnits") {
        constraints.range(Some(units), "globalTableProvisionedWriteCapacityUnits", 1, i64::MAX);
        settings.insert("ReplicaProvisionedWriteCapacityUnits".into(), units.into());
    }
    let member = "GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate";
    if let Some(scaling) = scaling_update(fields, member) {
        settings
            .insert("ReplicaProvisionedWriteCapacityAutoScalingSettings".into(), scaling.into());
    }
    settings
}

/// The settings of one replica.
fn replica_settings(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
    path: &str,
) -> (String, Map<String, Value>) {
    let region = fields.owned_string("RegionName");
    constraints.required(region.is_some(), &format!("{path}.regionName"));
    let mut settings = Map::new();
    if let Some(units) = fields.integer("ReplicaProvisionedReadCapacityUnits") {
        let path = format!("{path}.replicaProvisionedReadCapacityUnits");
        constraints.range(Some(units), &path, 1, i64::MAX);
        settings.insert("ReplicaProvisionedReadCapacityUnits".into(), units.into());
    }
    let member = "ReplicaProvisionedReadCapacityAutoScalingSettingsUpdate";
    if let Some(scaling) = scaling_update(fields, member) {
        settings.insert("ReplicaProvisionedReadCapacityAutoScalingSettings".into(), scaling.into());
    }
    if let Some(class) = fields.string("ReplicaTableClass") {
        let summary = serde_json::json!({ "TableClass": class });
        settings.insert("ReplicaTableClassSummary".into(), summary);
    }
    (region.unwrap_or_default(), settings)
}

/// The settings of global indexes that hold for all replicas, by the indexes' names.
fn index_settings(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
) -> Vec<(String, Map<String, Value>)> {
    let member = "GlobalTableGlobalSecondaryIndexSettingsUpdate";
    let updates = fields.structures(member).unwrap_or_default();
    let mut indexes = Vec::with_capacity(updates.len());
    for (position, update) in updates.iter().enumerate() {
        let path = format!("globalTableGlobalSecondaryIndexSettingsUpdate.{}.member", position + 1);
        let name = update.owned_string("IndexName");
        constraints.required(name.is_some(), &format!("{path}.indexName"));
        let mut settings = Map::new();
        if let Some(units) = update.integer("ProvisionedWriteCapacityUnits") {
            let path = format!("{path}.provisionedWriteCapacityUnits");
            constraints.range(Some(units), &path, 1, i64::MAX);
            settings.insert("ProvisionedWriteCapacityUnits".into(), units.into());
        }
        let member = "ProvisionedWriteCapacityAutoScalingSettingsUpdate";
        if let Some(scaling) = scaling_update(update, member) {
            settings.insert("ProvisionedWriteCapacityAutoScalingSettings".into(), scaling.into());
        }
        indexes.push((name.unwrap_or_default(), settings));
    }
    indexes
}

impl GlobalTable {
    fn add(&mut self, region: String) -> Result<()> {
        if self.replicas.iter().any(|replica| replica.region == region) {
            return Err(message::replica_exists(&self.name, &region));
        }
        self.replicas.push(Replica { region, ..Replica::default() });
        Ok(())
    }

    fn replica(&mut self, region: &str) -> Result<&mut Replica, Error> {
        let name = self.name.clone();
        let replica = self.replicas.iter_mut().find(|replica| replica.region == region);
        replica.ok_or_else(|| message::replica_not_found(&name, region))
    }

    fn answer(&self, database: &Inner, status: &str) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("GlobalTableDescription", |json| {
            json.list("ReplicationGroup", &self.replicas, |json, replica| {
                json.nested(|json| {
                    json.string("RegionName", &replica.region);
                    json.string("ReplicaStatus", "ACTIVE");
                });
            });
            let account = &database.options.account;
            let arn = format!("arn:aws:dynamodb::{account}:global-table/{}", self.name);
            json.string("GlobalTableArn", &arn);
            description::seconds(json, "CreationDateTime", self.created_ms);
            json.string("GlobalTableStatus", status);
            json.string("GlobalTableName", &self.name);
        });
        json.finish()
    }

    fn answer_settings(&self, database: &Inner) -> Vec<u8> {
        let local = database.catalog.find(&self.name);
        let throughput = local.map(|table| table.record.billing.throughput).unwrap_or_default();
        let mut json = JsonWriter::object();
        json.string("GlobalTableName", &self.name);
        json.list("ReplicaSettings", &self.replicas, |json, replica| {
            json.nested(|json| {
                json.string("RegionName", &replica.region);
                json.string("ReplicaStatus", "ACTIVE");
                for (name, units) in [
                    ("ReplicaProvisionedReadCapacityUnits", throughput.read),
                    ("ReplicaProvisionedWriteCapacityUnits", throughput.write),
                ] {
                    if !replica.settings.contains_key(name) {
                        json.integer(name, units);
                    }
                }
                for (name, value) in &replica.settings {
                    json.stored(name, value);
                }
                if !replica.indexes.is_empty() {
                    json.list("ReplicaGlobalSecondaryIndexSettings", &replica.indexes, write_index);
                }
            });
        });
        json.finish()
    }
}

fn write_index(json: &mut JsonWriter, (name, settings): (&String, &Map<String, Value>)) {
    json.nested(|json| {
        json.string("IndexName", name);
        json.string("IndexStatus", "ACTIVE");
        for (member, value) in settings {
            json.stored(member, value);
        }
    });
}
