//! CreateTable.

use std::collections::BTreeMap;

use keyloom_core::schema::definition::TableDefinition;
use keyloom_core::{Result, Str};

use super::capacity::{IndexCapacity, OnDemandLimit, Throughput, decode_on_demand};
use super::schema::{self, IndexInput};
use super::settings::{Encryption, StreamChange};
use super::tags::decode_tags;
use crate::Fields;
use crate::settings::replicas;

/// The input of CreateTable, and of ImportTable for its new table.
#[derive(Debug, Default)]
pub struct CreateTableInput {
    /// The name, keys and indexes.
    pub definition: TableDefinition,
    /// The capacities of the global indexes, in the order of their definitions.
    pub global_capacity: Vec<IndexCapacity>,
    /// Whether the table is on-demand; provisioned if nothing is stated.
    pub on_demand: Option<bool>,
    /// `ProvisionedThroughput`.
    pub throughput: Option<Throughput>,
    /// `OnDemandThroughput`.
    pub on_demand_limit: Option<OnDemandLimit>,
    /// `WarmThroughput`.
    pub warm: Option<Throughput>,
    /// The view type of the stream, if one is wanted.
    pub stream_view: Option<String>,
    /// `Tags`.
    pub tags: BTreeMap<String, String>,
    /// Whether DeleteTable is refused.
    pub deletion_protection: bool,
    /// `TableClass`.
    pub table_class: Option<String>,
    /// `SSESpecification`.
    pub encryption: Option<Encryption>,
    /// The text of a policy.
    pub resource_policy: Option<String>,
}

impl CreateTableInput {
    /// Decodes the request, or ImportTable's `TableCreationParameters`.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        replicas::check_members(fields)?;
        let global = IndexInput::decode_all(fields, "GlobalSecondaryIndexes");
        let local = IndexInput::decode_all(fields, "LocalSecondaryIndexes");
        let stream = StreamChange::decode(fields, true)?;
        let global_capacity = global.iter().flatten().map(|index| index.capacity).collect();
        let definitions = |indexes: Vec<IndexInput>| {
            indexes.into_iter().map(|index| index.definition).collect::<Vec<_>>()
        };
        Ok(Self {
            definition: TableDefinition {
                name: fields.string("TableName").map(Str::from),
                key: schema::key_schema(fields),
                attributes: schema::definitions(fields),
                local: local.map(definitions),
                global: global.map(definitions),
                vector: schema::decode_vector_indexes(fields, "VectorIndexes"),
            },
            global_capacity,
            on_demand: decode_on_demand(fields, "BillingMode"),
            throughput: Throughput::decode(fields, "ProvisionedThroughput"),
            on_demand_limit: OnDemandLimit::decode(fields, "OnDemandThroughput"),
            warm: Throughput::decode_warm(fields),
            stream_view: stream.and_then(StreamChange::into_view),
            tags: decode_tags(fields)?,
            deletion_protection: fields.boolean("DeletionProtectionEnabled").unwrap_or(false),
            table_class: fields.owned_string("TableClass"),
            encryption: Encryption::decode(fields, "SSESpecification")?,
            resource_policy: fields.owned_string("ResourcePolicy"),
        })
    }
}
