//! `TableDescription`: what CreateTable, UpdateTable, DeleteTable and DescribeTable say of a table.

use keyloom_core::schema::{
    IndexKind, IndexSchema, KeyRole, KeySchema, Projection, TableSchema, VectorIndexSchema,
};

use super::capacity::{OnDemandLimit, Throughput};
use super::settings::Encryption;
use crate::JsonWriter;

/// A table as replies describe it.
#[derive(Clone, Debug)]
pub struct TableDescription<'a> {
    /// The name, keys and indexes. For a table that is being deleted, DynamoDB returns only the name.
    pub schema: &'a TableSchema,
    /// The secondary indexes, in the order of the schema.
    pub indexes: Vec<IndexDescription>,
    /// The vector indexes, in the order of the schema.
    pub vector_indexes: Vec<VectorIndexDescription>,
    /// The status that the operation reports.
    pub status: &'static str,
    /// When the table was created.
    pub created_ms: u64,
    /// The table's ARN.
    pub arn: String,
    /// The table's id, which is never used again.
    pub id: &'a str,
    /// How it is paid for.
    pub billing: BillingDescription,
    /// How large it is, if that is known.
    pub counts: Option<Counts>,
    /// The stream that it writes to, or the last one.
    pub stream: Option<StreamDescription<'a>>,
    /// Whether DeleteTable is refused.
    pub deletion_protection: bool,
    /// The table class, and when it was last changed.
    pub table_class: Option<(&'a str, Option<u64>)>,
    /// Encryption at rest, if a key of the account is used.
    pub encryption: Option<&'a Encryption>,
    /// Settings of a global table, and of the restore that made the table: members as they were stored.
    pub others: Vec<(&'static str, serde_json::Value)>,
}

/// How a table is paid for.
#[derive(Clone, Debug, Default)]
pub struct BillingDescription {
    /// The billing mode, if it is shown: always of an on-demand table, else if a request stated it.
    pub mode: Option<&'static str>,
    /// When the table last became on-demand.
    pub on_demand_since_ms: Option<u64>,
    /// Provisioned throughput; zero of an on-demand table.
    pub throughput: Throughput,
    /// When the throughput was last raised.
    pub last_increase_ms: Option<u64>,
    /// When the throughput was last lowered.
    pub last_decrease_ms: Option<u64>,
    /// How often it was lowered today.
    pub decreases_today: u32,
    /// The upper limit of an on-demand table.
    pub on_demand_limit: Option<OnDemandLimit>,
    /// What the table can take at once.
    pub warm: Throughput,
}

/// A size and a number of items.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// The size of all items.
    pub bytes: i64,
    /// How many there are.
    pub items: i64,
}

/// What a description says of a secondary index beside its schema.
#[derive(Clone, Debug)]
pub struct IndexDescription {
    /// How large it is, if that is known.
    pub counts: Option<Counts>,
    /// What only global indexes have.
    pub global: Option<GlobalIndexDescription>,
}

/// What a description says only of a global index.
#[derive(Clone, Debug)]
pub struct GlobalIndexDescription {
    /// The index's status.
    pub status: &'static str,
    /// Whether items are being copied into it, while it is created.
    pub backfilling: Option<bool>,
    /// Provisioned throughput; zero of an on-demand table.
    pub throughput: Throughput,
    /// The upper limit of an on-demand table.
    pub on_demand_limit: Option<OnDemandLimit>,
    /// What it can take at once.
    pub warm: Throughput,
}

/// What a description says of a vector index beside its schema.
#[derive(Clone, Debug)]
pub struct VectorIndexDescription {
    /// The index's status.
    pub status: &'static str,
    /// Whether items are being copied into it, while it is created.
    pub backfilling: Option<bool>,
    /// How large it is, if that is known.
    pub counts: Option<Counts>,
}

/// A table's stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamDescription<'a> {
    /// Whether it still takes records.
    pub enabled: bool,
    /// Which images it shows.
    pub view: &'a str,
    /// Its label, the last part of its ARN.
    pub label: &'a str,
}

impl TableDescription<'_> {
    /// The reply's body: the description under `Table` or `TableDescription`.
    pub fn encode(&self, member: &str) -> Vec<u8> {
        let mut json = JsonWriter::object();
        json.structure(member, |json| self.write_members(json));
        json.finish()
    }

    fn write_members(&self, json: &mut JsonWriter) {
        let is_whole = self.status != "DELETING";
        if is_whole {
            json.objects("AttributeDefinitions", &self.schema.attributes, |json, attribute| {
                json.string("AttributeName", &attribute.name);
                json.string("AttributeType", attribute.kind.as_str());
            });
            write_key(json, &self.schema.key);
            json.seconds("CreationDateTime", self.created_ms);
        }
        json.string("TableName", &self.schema.name);
        json.string("TableStatus", self.status);
        self.billing.write_throughput(json);
        Counts::write(self.counts, json, "TableSizeBytes");
        json.string("TableArn", &self.arn);
        json.string("TableId", self.id);
        self.billing.write(json);
        if is_whole {
            self.write_indexes(json, "LocalSecondaryIndexes", IndexKind::Local);
            self.write_indexes(json, "GlobalSecondaryIndexes", IndexKind::Global);
            self.write_vector_indexes(json);
        }
        if let Some(stream) = &self.stream {
            stream.write(json, &self.arn);
        }
        self.write_settings(json);
    }

    fn write_indexes(&self, json: &mut JsonWriter, member: &str, kind: IndexKind) {
        let indexes = self.schema.indexes.iter().zip(&self.indexes);
        let mut indexes = indexes.filter(|(schema, _)| schema.kind == kind).peekable();
        if indexes.peek().is_some() {
            json.objects(member, indexes, |json, (schema, index)| {
                index.write(json, schema, &self.arn);
            });
        }
    }

    fn write_vector_indexes(&self, json: &mut JsonWriter) {
        if self.vector_indexes.is_empty() {
            return;
        }
        let indexes = self.schema.vector_indexes.iter().zip(&self.vector_indexes);
        json.objects("VectorIndexes", indexes, |json, (schema, index)| {
            write_vector_schema(json, schema);
            json.string("IndexArn", &format!("{}/index/{}", self.arn, schema.name));
            json.string("IndexStatus", index.status);
            json.optional_boolean("Backfilling", index.backfilling);
            Counts::write(index.counts, json, "IndexSizeBytes");
        });
    }

    fn write_settings(&self, json: &mut JsonWriter) {
        json.boolean("DeletionProtectionEnabled", self.deletion_protection);
        if let Some((class, changed_ms)) = self.table_class {
            json.structure("TableClassSummary", |json| {
                json.string("TableClass", class);
                json.optional_seconds("LastUpdateDateTime", changed_ms);
            });
        }
        if let Some(encryption) = self.encryption {
            encryption.write(json);
        }
        for (name, value) in &self.others {
            json.stored(name, value);
        }
    }
}

impl BillingDescription {
    fn write_throughput(&self, json: &mut JsonWriter) {
        json.structure("ProvisionedThroughput", |json| {
            json.optional_seconds("LastIncreaseDateTime", self.last_increase_ms);
            json.optional_seconds("LastDecreaseDateTime", self.last_decrease_ms);
            write_units(json, self.throughput, self.decreases_today);
        });
    }

    fn write(&self, json: &mut JsonWriter) {
        if let Some(mode) = self.mode {
            json.structure("BillingModeSummary", |json| {
                json.string("BillingMode", mode);
                json.optional_seconds("LastUpdateToPayPerRequestDateTime", self.on_demand_since_ms);
            });
        }
        if let Some(limit) = self.on_demand_limit {
            limit.write(json);
        }
        self.warm.write_warm(json);
    }
}

impl IndexDescription {
    fn write(&self, json: &mut JsonWriter, schema: &IndexSchema, table_arn: &str) {
        json.string("IndexName", &schema.name);
        write_key(json, &schema.key);
        write_projection(json, &schema.projection);
        Counts::write(self.counts, json, "IndexSizeBytes");
        json.string("IndexArn", &format!("{table_arn}/index/{}", schema.name));
        let Some(global) = &self.global else { return };
        json.string("IndexStatus", global.status);
        json.optional_boolean("Backfilling", global.backfilling);
        json.structure("ProvisionedThroughput", |json| write_units(json, global.throughput, 0));
        if let Some(limit) = global.on_demand_limit {
            limit.write(json);
        }
        global.warm.write_warm(json);
    }
}

impl Counts {
    fn write(counts: Option<Self>, json: &mut JsonWriter, size: &str) {
        if let Some(counts) = counts {
            json.integer(size, counts.bytes);
            json.integer("ItemCount", counts.items);
        }
    }
}

impl StreamDescription<'_> {
    fn write(&self, json: &mut JsonWriter, table_arn: &str) {
        if self.enabled {
            json.structure("StreamSpecification", |json| {
                json.boolean("StreamEnabled", true);
                json.string("StreamViewType", self.view);
            });
        }
        json.string("LatestStreamLabel", self.label);
        json.string("LatestStreamArn", &format!("{table_arn}/stream/{}", self.label));
    }
}

fn write_units(json: &mut JsonWriter, throughput: Throughput, decreases_today: u32) {
    json.integer("NumberOfDecreasesToday", decreases_today);
    json.integer("ReadCapacityUnits", throughput.read);
    json.integer("WriteCapacityUnits", throughput.write);
}

pub(crate) fn write_key(json: &mut JsonWriter, key: &KeySchema) {
    write_key_schema(json, key.roles().map(|(role, attribute)| (attribute.name.as_str(), role)));
}

/// Writes `KeySchema`: the attributes of a key with their roles.
pub(crate) fn write_key_schema<'a>(
    json: &mut JsonWriter,
    elements: impl IntoIterator<Item = (&'a str, KeyRole)>,
) {
    json.objects("KeySchema", elements, |json, (name, role)| {
        json.string("AttributeName", name);
        json.string("KeyType", role.as_str());
    });
}

/// Writes an index's `Projection` member.
pub(crate) fn write_projection(json: &mut JsonWriter, projection: &Projection) {
    json.structure("Projection", |json| {
        json.string("ProjectionType", projection.type_name());
        if let Projection::Include(names) = projection {
            json.strings("NonKeyAttributes", names);
        }
    });
}

pub(crate) fn write_vector_schema(json: &mut JsonWriter, schema: &VectorIndexSchema) {
    json.string("IndexName", &schema.name);
    json.structure("VectorAttribute", |json| json.string("AttributeName", &schema.attribute));
    json.integer("Dimensions", schema.dimensions as i64);
    json.string("DistanceFunction", schema.distance.as_str());
    if !schema.search.is_empty() {
        json.objects("SearchSchema", &schema.search, |json, element| {
            json.string("AttributeName", &element.attribute.name);
            json.string("SearchSchemaElementType", element.role.as_str());
        });
    }
    write_projection(json, &schema.projection);
}
