//! A new table made from the items of an old one.
//!
//! The table is there at once, with the status `CREATING`; no request reads or writes it until its
//! items have been copied. Tags, time to live, streams, policies and protection are not restored, as
//! on AWS.

use std::collections::BTreeMap;

use keyloom_api::tables::IndexInput;
use keyloom_api::{Constraints, Fields};
use keyloom_core::error::{request, resource as message};
use keyloom_core::schema::model::check_new_name;
use keyloom_core::{Error, Result};
use keyloom_store::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::catalog::record::{
    AttributeDefinition, Billing, Encryption, IndexRecord, OnDemandLimit, Status, Throughput,
    VectorIndexLife,
};
use crate::catalog::{Alongside, Change, TableRecord};
use crate::database::Inner;
use crate::history::Past;
use crate::identity;
use crate::layout::Keyspace;
use crate::ops::tables::description;

use super::restoring::{self, Restore};

const SUMMARY: &str = "RestoreSummary";
const IN_PROGRESS: &str = "RestoreInProgress";
/// The items that a table is being restored from, so that a restart can go on.
const ITEMS: &str = "RestoreItems";

/// What a restore asks of the new table.
#[derive(Debug, Default)]
pub(super) struct Target {
    pub(super) name: String,
    on_demand: Option<bool>,
    throughput: Option<Throughput>,
    on_demand_limit: Option<OnDemandLimit>,
    /// The indexes to keep; all if nothing is said.
    global: Option<Vec<IndexInput>>,
    local: Option<Vec<IndexInput>>,
    encryption: Option<Encryption>,
}

impl Target {
    pub(super) fn decode(fields: &Fields<'_>, constraints: &mut Constraints) -> Self {
        let name = fields.owned_string("TargetTableName");
        match &name {
            None => constraints.required(false, "targetTableName"),
            Some(name) => check_new_name(name, "targetTableName", constraints.violations()),
        }
        let modes = [("PROVISIONED", false), ("PAY_PER_REQUEST", true)];
        let mode = fields.string("BillingModeOverride");
        Self {
            name: name.unwrap_or_default(),
            on_demand: constraints.one_of(mode, "billingModeOverride", &modes),
            throughput: Throughput::decode(fields, "ProvisionedThroughputOverride"),
            on_demand_limit: OnDemandLimit::decode(fields, "OnDemandThroughputOverride"),
            global: IndexInput::decode_all(fields, "GlobalSecondaryIndexOverride"),
            local: IndexInput::decode_all(fields, "LocalSecondaryIndexOverride"),
            encryption: Encryption::decode(fields, "SSESpecificationOverride"),
        }
    }

    /// The record of the new table.
    fn record(
        &self,
        database: &Inner,
        change: &Change<'_>,
        source: &TableRecord,
    ) -> Result<TableRecord> {
        let mut record = source.clone();
        record.name.clone_from(&self.name);
        record.id = identity::uuid();
        record.created_ms = database.clock.now_ms();
        record.status = Status::Creating;
        record.indexes = kept(source, self.global.as_ref(), true)?;
        record.indexes.extend(kept(source, self.local.as_ref(), false)?);
        let count = 1 + record.indexes.len() + record.vector_indexes.len();
        let mut keyspaces = change.allocate_keyspaces(count as u32)?..;
        let mut next = || keyspaces.next().unwrap_or_default();
        record.keyspace = next();
        for index in &mut record.indexes {
            index.keyspace = next();
            (index.status, index.backfilling) = (Status::Active, false);
        }
        for index in &mut record.vector_indexes {
            index.keyspace = next();
            index.life = VectorIndexLife::Active;
        }
        // Dropped indexes take their definitions along.
        let mut schema = record.typed_schema();
        schema.drop_unused_definitions();
        record.definitions = AttributeDefinition::all(&schema);
        record.billing = self.billing(&mut record.indexes, &source.billing)?;
        record.stream = None;
        record.ttl = None;
        record.tags = BTreeMap::new();
        record.settings = BTreeMap::new();
        record.deletion_protection = false;
        if self.encryption.is_some() {
            record.encryption.clone_from(&self.encryption);
        }
        Ok(record)
    }

    fn billing(&self, indexes: &mut [IndexRecord], source: &Billing) -> Result<Billing> {
        let on_demand = self.on_demand.unwrap_or(source.on_demand);
        let throughput = self.throughput.or((!source.on_demand).then_some(source.throughput));
        if on_demand && self.throughput.is_some() {
            return Err(request::throughput_on_demand());
        }
        for index in indexes.iter_mut() {
            if on_demand {
                index.throughput = None;
            } else if index.global && index.throughput.is_none() {
                index.throughput = throughput;
            }
        }
        let units = if on_demand { Some(Throughput::default()) } else { throughput };
        Ok(Billing {
            on_demand,
            stated: source.stated || self.on_demand.is_some(),
            throughput: units.ok_or_else(request::throughput_missing)?,
            on_demand_limit: self.on_demand_limit.or(source.on_demand_limit).filter(|_| on_demand),
            ..Billing::default()
        })
    }
}

/// The indexes of one kind that the new table has: a restore can only leave some out.
fn kept(
    source: &TableRecord,
    wanted: Option<&Vec<IndexInput>>,
    global: bool,
) -> Result<Vec<IndexRecord>> {
    let indexes = source.indexes.iter().filter(|index| index.global == global);
    let Some(wanted) = wanted else { return Ok(indexes.cloned().collect()) };
    let known: Vec<&IndexRecord> = indexes.collect();
    wanted
        .iter()
        .map(|wanted| {
            let name = wanted.definition.name.as_deref().unwrap_or_default();
            let same = |index: &&&IndexRecord| {
                let key = wanted.definition.key.as_deref().unwrap_or_default();
                index.name == name
                    && key.len() == index.key.len()
                    && key.iter().zip(&index.key).all(|(wanted, own)| {
                        wanted.name.as_deref() == Some(own.name.as_str())
                            && (wanted.role.as_deref() == Some("HASH")) == own.hash
                    })
            };
            let index = known.iter().find(same).ok_or_else(|| message::override_unknown(name))?;
            let mut index = IndexRecord::clone(index);
            index.throughput = wanted.capacity.throughput.or(index.throughput);
            Ok(index)
        })
        .collect()
}

/// The items of a restore: those of a keyspace, at a time if that is not now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Items {
    pub(super) keyspace: Keyspace,
    pub(super) past: Option<Past>,
}

/// Where a restore takes its items from.
pub(super) struct Source {
    pub(super) record: TableRecord,
    pub(super) items: Items,
    pub(super) snapshot: Box<dyn Snapshot>,
    /// The ARN of the backup, if it is one.
    pub(super) backup_arn: Option<String>,
    pub(super) time_ms: u64,
}

/// Makes the new table and has its items copied; the answer is its description. `find` is called while
/// nothing can be deleted.
pub(super) fn begin(
    database: &Inner,
    target: &Target,
    find: impl FnOnce() -> Result<Source>,
) -> Result<Vec<u8>> {
    let change = database.catalog.change(database.store.as_ref());
    let source = find()?;
    if database.catalog.find(&target.name).is_some() {
        return Err(message::restore_target_exists(&target.name));
    }
    let mut record = target.record(database, &change, &source.record)?;
    let mut summary = Map::new();
    let arn = database.table_arn(&source.record.name);
    summary.insert("SourceTableArn".into(), json!(arn));
    summary.insert("RestoreDateTime".into(), json!(source.time_ms as f64 / 1000.0));
    summary.insert(IN_PROGRESS.into(), json!(true));
    if let Some(arn) = &source.backup_arn {
        summary.insert("SourceBackupArn".into(), json!(arn));
    }
    record.settings.insert(ITEMS.into(), json!(source.items));
    record.settings.insert(SUMMARY.into(), Value::Object(summary));
    let table = change.put(record, || Ok(Alongside::default()))?;
    drop(change);
    let answer = description::of(database, &table, Status::Creating).encode("TableDescription");
    restoring::submit(database, Restore { table, from: source.items, snapshot: source.snapshot });
    Ok(answer)
}

/// What a table is being restored from.
pub(super) fn items_of(record: &TableRecord) -> Option<Items> {
    serde_json::from_value(record.settings.get(ITEMS)?.clone()).ok()
}

/// The record of a table whose restore has ended: it opens, or it has failed for a reason.
pub(super) fn ended(record: &TableRecord, failure: Option<&Error>) -> TableRecord {
    let mut record = record.clone();
    record.status = if failure.is_none() { Status::Active } else { Status::Failed };
    record.settings.remove(ITEMS);
    if let Some(Value::Object(summary)) = record.settings.get_mut(SUMMARY) {
        summary.insert(IN_PROGRESS.into(), json!(false));
        if let Some(failure) = failure {
            summary.insert("FailureMessage".into(), json!(failure.message()));
        }
    }
    record
}

/// Whether a table is being restored, or was.
pub(super) fn is_restored(record: &TableRecord) -> bool {
    record.settings.contains_key(SUMMARY)
}
