//! The settings of the new table in RestoreTableFromBackup and RestoreTableToPointInTime.

use keyloom_core::Result;
use keyloom_core::schema::definition::VectorIndexDefinition;

use crate::Fields;
use crate::tables::{
    Encryption, IndexInput, OnDemandLimit, Throughput, decode_on_demand, decode_vector_indexes,
};

/// A new table that is made from the items of an old one. What is not overridden is as it was.
#[derive(Clone, Debug, Default)]
pub struct RestoreTarget {
    /// The new table's name.
    pub table_name: String,
    /// Whether it is on-demand.
    pub on_demand: Option<bool>,
    /// Its provisioned throughput.
    pub throughput: Option<Throughput>,
    /// The upper limit of an on-demand table.
    pub on_demand_limit: Option<OnDemandLimit>,
    /// The global indexes to keep; all if absent.
    pub global: Option<Vec<IndexInput>>,
    /// The local indexes that it keeps.
    pub local: Option<Vec<IndexInput>>,
    /// The vector indexes that it keeps.
    pub vector: Option<Vec<VectorIndexDefinition>>,
    /// Encryption at rest.
    pub encryption: Option<Encryption>,
}

impl RestoreTarget {
    /// Decodes what both requests have.
    pub fn decode(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self {
            table_name: fields.owned_string("TargetTableName").unwrap_or_default(),
            on_demand: decode_on_demand(fields, "BillingModeOverride"),
            throughput: Throughput::decode(fields, "ProvisionedThroughputOverride"),
            on_demand_limit: OnDemandLimit::decode(fields, "OnDemandThroughputOverride"),
            global: IndexInput::decode_all(fields, "GlobalSecondaryIndexOverride"),
            local: IndexInput::decode_all(fields, "LocalSecondaryIndexOverride"),
            vector: decode_vector_indexes(fields, "VectorIndexOverride"),
            encryption: Encryption::decode(fields, "SSESpecificationOverride")?,
        })
    }
}
