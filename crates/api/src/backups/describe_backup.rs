//! DescribeBackup and DeleteBackup.

use keyloom_core::schema::{IndexKind, TableSchema};

use crate::tables::{
    Encryption, IndexCapacity, OnDemandLimit, Throughput, write_key, write_projection,
    write_vector_schema,
};
use crate::{Fields, JsonWriter};

use super::BackupDetails;

/// The backup that DescribeBackup, DeleteBackup or RestoreTableFromBackup names.
pub fn decode_backup_arn<'a>(fields: &Fields<'a>) -> &'a str {
    fields.string("BackupArn").unwrap_or_default()
}

/// `BackupDescription`.
#[derive(Clone, Debug)]
pub struct BackupDescription<'a> {
    /// The backup itself.
    pub details: BackupDetails<'a>,
    /// Its table as it was.
    pub source: SourceTable<'a>,
}

/// The table of a backup as it was.
#[derive(Clone, Debug)]
pub struct SourceTable<'a> {
    /// Its name, keys and indexes.
    pub schema: &'a TableSchema,
    /// The source table's id.
    pub id: &'a str,
    /// The source table's ARN.
    pub arn: String,
    /// When it was created.
    pub created_ms: u64,
    /// The size of its items.
    pub size_bytes: i64,
    /// How many items it had.
    pub items: i64,
    /// Whether it was on-demand.
    pub on_demand: bool,
    /// Provisioned throughput; zero of an on-demand table.
    pub throughput: Throughput,
    /// The upper limit of an on-demand table.
    pub on_demand_limit: Option<OnDemandLimit>,
    /// What each index could take, in the order of the schema.
    pub indexes: Vec<IndexCapacity>,
    /// The view type of its stream, if it had one.
    pub stream_view: Option<&'a str>,
    /// The attribute with the time to live, if items expired.
    pub expiry_attribute: Option<&'a str>,
    /// Encryption at rest, if a key of the account was used.
    pub encryption: Option<&'a Encryption>,
}

impl BackupDescription<'_> {
    /// The reply of DescribeBackup and DeleteBackup.
    pub fn encode(&self) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure("BackupDescription", |json| {
            json.structure("BackupDetails", |json| self.details.write(json));
            json.structure("SourceTableDetails", |json| self.source.write(json));
            json.structure("SourceTableFeatureDetails", |json| self.source.write_features(json));
        });
        json.finish()
    }
}

impl SourceTable<'_> {
    fn write(&self, json: &mut JsonWriter) {
        json.string("TableName", &self.schema.name);
        json.string("TableId", self.id);
        json.string("TableArn", &self.arn);
        json.integer("TableSizeBytes", self.size_bytes);
        write_key(json, &self.schema.key);
        json.seconds("TableCreationDateTime", self.created_ms);
        self.throughput.write(json);
        if let Some(limit) = self.on_demand_limit {
            limit.write(json);
        }
        json.integer("ItemCount", self.items);
        let mode = if self.on_demand { "PAY_PER_REQUEST" } else { "PROVISIONED" };
        json.string("BillingMode", mode);
    }

    fn write_features(&self, json: &mut JsonWriter) {
        self.write_indexes(json, "LocalSecondaryIndexes", IndexKind::Local);
        self.write_indexes(json, "GlobalSecondaryIndexes", IndexKind::Global);
        if !self.schema.vector_indexes.is_empty() {
            json.objects("VectorIndexes", &self.schema.vector_indexes, write_vector_schema);
        }
        if let Some(view) = self.stream_view {
            json.structure("StreamDescription", |json| {
                json.boolean("StreamEnabled", true);
                json.string("StreamViewType", view);
            });
        }
        if let Some(attribute) = self.expiry_attribute {
            json.structure("TimeToLiveDescription", |json| {
                json.string("TimeToLiveStatus", "ENABLED");
                json.string("AttributeName", attribute);
            });
        }
        if let Some(encryption) = self.encryption {
            encryption.write(json);
        }
    }

    fn write_indexes(&self, json: &mut JsonWriter, member: &str, kind: IndexKind) {
        let indexes = self.schema.indexes.iter().zip(&self.indexes);
        let mut indexes = indexes.filter(|(schema, _)| schema.kind == kind).peekable();
        if indexes.peek().is_none() {
            return;
        }
        json.objects(member, indexes, |json, (schema, capacity)| {
            json.string("IndexName", &schema.name);
            write_key(json, &schema.key);
            write_projection(json, &schema.projection);
            if kind == IndexKind::Global {
                capacity.throughput.unwrap_or_default().write(json);
                if let Some(limit) = capacity.on_demand {
                    limit.write(json);
                }
            }
        });
    }
}
