//! CreateTable.

use std::collections::BTreeMap;

use keyloom_api::settings::replicas;
use keyloom_api::tables::decode_tags;
use keyloom_api::{Constraints, Fields, JsonWriter};
use keyloom_core::error::{message, request};
use keyloom_core::schema::definition::TableDefinition;
use keyloom_core::schema::{IndexKind, TableSchema};
use keyloom_core::{Error, Result, Str, limits};

use crate::catalog::record::{
    Billing, EncryptionSetting, IndexCapacity, IndexRecord, OnDemandLimit, Status,
    TableClassSetting, Throughput, VectorIndexLife, VectorIndexRecord,
};
use crate::catalog::{Alongside, Change, TableRecord};
use crate::database::Inner;
use crate::identity;
use crate::ops::settings::resource_policy;

use super::stream_setting::StreamChange;
use super::table_input::{self, IndexInput};
use super::{description, stream_setting};

pub(crate) fn call(database: &Inner, fields: Fields<'_>) -> Result<Vec<u8>> {
    let change = database.catalog.change(database.store.as_ref());
    let record = prepare(database, &change, &fields)?;
    let streams = stream_setting::begun(database, &record).into_iter().collect();
    let table = change.put(record, || Ok(Alongside { streams, ..Alongside::default() }))?;
    let mut json = JsonWriter::object();
    description::write(&mut json, "TableDescription", database, &table, Status::Creating);
    Ok(json.finish())
}

/// The record of a new table, which must not exist yet.
pub(crate) fn prepare(
    database: &Inner,
    change: &Change<'_>,
    fields: &Fields<'_>,
) -> Result<TableRecord> {
    let input = CreateTableInput::decode(fields)?;
    let schema = input.definition.clone().into_schema()?;
    input.check_billing()?;
    if database.catalog.find(&schema.name).is_some() {
        return Err(request::table_exists(&schema.name));
    }
    if database.catalog.all().len() >= limits::MAX_TABLES {
        return Err(request::too_many_tables());
    }
    input.record(database, change, &schema)
}

/// CreateTable's parameters, read but not judged as a whole.
#[derive(Debug, Default)]
struct CreateTableInput {
    definition: TableDefinition,
    /// The capacities of the global indexes, in the order of their definitions.
    global_capacity: Vec<IndexCapacity>,
    on_demand: bool,
    billing_stated: bool,
    throughput: Option<Throughput>,
    on_demand_limit: Option<OnDemandLimit>,
    warm: Option<Throughput>,
    /// The view type of the stream, if one is wanted.
    stream_view: Option<String>,
    tags: BTreeMap<String, String>,
    deletion_protection: bool,
    table_class: Option<String>,
    encryption: Option<EncryptionSetting>,
    resource_policy: Option<String>,
}

impl CreateTableInput {
    fn decode(fields: &Fields<'_>) -> Result<Self> {
        let name =
            fields.string("TableName").ok_or_else(|| request::parameter_missing("TableName"))?;
        let mut constraints = Constraints::new();
        keyloom_core::schema::model::check_new_name(name, "tableName", constraints.violations());
        constraints.finish()?;

        replicas::check_members(fields)?;
        let mut constraints = Constraints::new();
        let global = table_input::indexes(
            fields,
            &mut constraints,
            "GlobalSecondaryIndexes",
            "globalSecondaryIndexes",
        )?;
        let local = table_input::indexes(
            fields,
            &mut constraints,
            "LocalSecondaryIndexes",
            "localSecondaryIndexes",
        )?;
        let definitions = |list: &Option<Vec<IndexInput>>| -> Option<Vec<_>> {
            list.as_ref().map(|list| list.iter().map(|index| index.definition.clone()).collect())
        };
        let definition = TableDefinition {
            name: Some(Str::from(name)),
            key: table_input::key_schema(fields)?,
            attributes: table_input::definitions(fields)?,
            local: definitions(&local),
            global: definitions(&global),
            vector: table_input::vector_indexes(fields)?,
        };
        let mut input = Self {
            global_capacity: global.iter().flatten().map(|index| index.capacity).collect(),
            throughput: table_input::throughput(fields, &mut constraints, "")?,
            on_demand_limit: table_input::on_demand(fields),
            warm: table_input::warm(fields),
            stream_view: match stream_setting::decode(fields, &mut constraints, true)? {
                Some(StreamChange::Begin(view)) => Some(view),
                Some(StreamChange::End) | None => None,
            },
            tags: decode_tags(fields, &mut constraints)?.unwrap_or_default(),
            deletion_protection: fields.boolean("DeletionProtectionEnabled").unwrap_or(false),
            encryption: encryption(fields, &mut constraints),
            ..Self::default()
        };
        input.decode_settings(fields, &mut constraints);
        definition.check_attributes(constraints.violations());
        definition.check_key(constraints.violations());
        definition.check_indexes(constraints.violations());
        definition.check_vector_indexes(constraints.violations());
        constraints.finish()?;
        input.definition = definition;
        Ok(input)
    }

    fn decode_settings(&mut self, fields: &Fields<'_>, constraints: &mut Constraints) {
        let modes = [("PROVISIONED", false), ("PAY_PER_REQUEST", true)];
        let mode = fields.string("BillingMode");
        self.billing_stated = mode.is_some();
        self.on_demand = constraints.one_of(mode, "billingMode", &modes).unwrap_or(false);
        let class = fields.string("TableClass");
        let classes = [("STANDARD", ()), ("STANDARD_INFREQUENT_ACCESS", ())];
        constraints.one_of(class, "tableClass", &classes);
        self.table_class = class.map(str::to_owned);
        self.resource_policy = fields.owned_string("ResourcePolicy");
    }

    /// The rules between billing mode and throughput.
    fn check_billing(&self) -> Result<()> {
        let global = self.definition.global.iter().flatten().zip(&self.global_capacity);
        if self.on_demand {
            if self.throughput.is_some() {
                return Err(request::throughput_on_demand());
            }
            for (definition, capacity) in global {
                if capacity.throughput.is_some() {
                    let name = definition.name.clone().unwrap_or_default();
                    return Err(request::index_throughput_on_demand(&name));
                }
            }
            return Ok(());
        }
        if self.definition.vector.is_some() {
            return Err(message::vector::needs_on_demand());
        }
        if self.throughput.is_none() {
            return Err(request::throughput_missing());
        }
        if self.on_demand_limit.is_some() {
            return Err(request::on_demand_limit_on_provisioned());
        }
        for (definition, capacity) in global {
            if capacity.throughput.is_none() {
                let name = definition.name.clone().unwrap_or_default();
                return Err(request::index_throughput_missing(&name));
            }
        }
        Ok(())
    }

    /// The table as it will be stored.
    fn record(
        &self,
        database: &Inner,
        change: &Change<'_>,
        schema: &TableSchema,
    ) -> Result<TableRecord> {
        let now_ms = database.clock.now_ms();
        let indexes = schema.indexes.len() + schema.vector_indexes.len();
        let count = u32::try_from(indexes + 2).map_err(|_| {
            Error::validation("One or more parameter values were invalid: too many indexes")
        })?;
        let keyspace = change.allocate_keyspaces(count)?;
        let mut record = TableRecord::new(schema, keyspace, now_ms);
        record.id = identity::uuid();
        record.indexes = self.index_records(schema, keyspace + 2);
        record.vector_indexes = (keyspace + 2 + schema.indexes.len() as u32..)
            .zip(&schema.vector_indexes)
            .map(|(keyspace, index)| {
                VectorIndexRecord::new(index, keyspace, VectorIndexLife::Active)
            })
            .collect();
        record.billing = Billing {
            on_demand: self.on_demand,
            stated: self.billing_stated,
            throughput: self.throughput.unwrap_or_default(),
            on_demand_limit: self.on_demand_limit,
            warm: self.warm,
            switches_to_on_demand_ms: self.on_demand.then_some(now_ms).into_iter().collect(),
            ..Billing::default()
        };
        if let Some(view) = &self.stream_view {
            record.stream =
                Some(stream_setting::begin(database, &schema.name, keyspace + 1, view)?);
        }
        record.tags = self.tags.clone();
        record.deletion_protection = self.deletion_protection;
        record.table_class = self
            .table_class
            .as_ref()
            .map(|class| TableClassSetting { class: class.clone(), changed_ms: None });
        record.encryption.clone_from(&self.encryption);
        if let Some(policy) = &self.resource_policy {
            resource_policy::attach(&mut record, policy)?;
        }
        Ok(record)
    }

    fn index_records(&self, schema: &TableSchema, first_keyspace: u32) -> Vec<IndexRecord> {
        let mut capacities = self.global_capacity.iter();
        (first_keyspace..)
            .zip(&schema.indexes)
            .map(|(keyspace, index)| {
                let capacity = match index.kind {
                    IndexKind::Global => capacities.next().copied().unwrap_or_default(),
                    IndexKind::Local => IndexCapacity::default(),
                };
                IndexRecord::new(index, keyspace, Status::Active).with_capacity(&capacity)
            })
            .collect()
    }
}

/// `SSESpecification`.
pub(crate) fn encryption(
    fields: &Fields<'_>,
    constraints: &mut Constraints,
) -> Option<EncryptionSetting> {
    encryption_at(fields, "SSESpecification", constraints)
}

/// An encryption setting under another name.
pub(crate) fn encryption_at(
    fields: &Fields<'_>,
    member: &str,
    constraints: &mut Constraints,
) -> Option<EncryptionSetting> {
    let encryption = fields.structure(member)?;
    let kind = encryption.string("SSEType");
    let kinds = [("AES256", "AES256"), ("KMS", "KMS")];
    let kind = constraints.one_of(kind, "sSESpecification.sSEType", &kinds).unwrap_or("KMS");
    Some(EncryptionSetting {
        enabled: encryption.boolean("Enabled").unwrap_or(false),
        kind: kind.to_owned(),
        key_arn: encryption.owned_string("KMSMasterKeyId"),
    })
}
