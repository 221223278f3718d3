//! `TableDescription`: what CreateTable, UpdateTable, DeleteTable and DescribeTable say of a table.

use keyloom_api::JsonWriter;
use keyloom_core::schema::SearchRole;

use crate::catalog::record::{
    Billing, IndexRecord, KeyElement, OnDemandLimit, Phase, ProjectionRecord, Status, Throughput,
    VectorIndexRecord,
};
use crate::catalog::{Stats, Table};
use crate::database::Inner;

use super::replicas;

/// What a new on-demand table or index can take at once.
const NEW_ON_DEMAND_WARM: Throughput = Throughput { read: 12_000, write: 4_000 };

/// Writes a table's description under `name`, with the status that the operation reports.
pub(crate) fn write(
    json: &mut JsonWriter,
    name: &str,
    database: &Inner,
    table: &Table,
    status: Status,
) {
    let arn = database.table_arn(table.name());
    let record = &table.record;
    // Of a table that goes, DynamoDB no longer says what it was made of.
    let is_whole = status != Status::Deleting;
    json.structure(name, |json| {
        if is_whole {
            json.list("AttributeDefinitions", &record.definitions, |json, definition| {
                json.nested(|json| {
                    json.string("AttributeName", &definition.name);
                    json.string("AttributeType", &definition.kind);
                });
            });
            key_schema(json, "KeySchema", &record.key);
            seconds(json, "CreationDateTime", record.created_ms);
        }
        json.string("TableName", &record.name);
        json.string("TableStatus", status.as_str());
        throughput(json, &record.billing.throughput, Some(&record.billing));
        counts(json, "TableSizeBytes", table.counts(&table.shared.stats));
        json.string("TableArn", &arn);
        json.string("TableId", &record.id);
        billing(json, &record.billing);
        let grown = database.observer.grown(&record.name, None);
        warm(json, raised(warm_of(record.billing.warm, &record.billing), grown));
        if is_whole {
            indexes(json, database, table, &arn, status);
            vector_indexes(json, database, table, &arn, status);
        }
        stream(json, table, &arn);
        settings(json, table);
        if is_whole {
            replicas::write(json, database, record);
        }
    });
}

/// The size under `size`, and the number of items, if they are known.
fn counts(json: &mut JsonWriter, size: &str, stats: Option<&Stats>) {
    if let Some(stats) = stats {
        json.integer(size, stats.bytes());
        json.integer("ItemCount", stats.items());
    }
}

/// A key schema as a list of elements.
pub(crate) fn key_schema(json: &mut JsonWriter, name: &str, elements: &[KeyElement]) {
    json.list(name, elements, |json, element| {
        json.nested(|json| {
            json.string("AttributeName", &element.name);
            json.string("KeyType", if element.hash { "HASH" } else { "RANGE" });
        });
    });
}

/// A projection.
pub(crate) fn projection(json: &mut JsonWriter, projection: &ProjectionRecord) {
    json.structure("Projection", |json| match projection {
        ProjectionRecord::All => json.string("ProjectionType", "ALL"),
        ProjectionRecord::KeysOnly => json.string("ProjectionType", "KEYS_ONLY"),
        ProjectionRecord::Include(names) => {
            json.string("ProjectionType", "INCLUDE");
            json.strings("NonKeyAttributes", names);
        }
    });
}

/// A point in time, in seconds with milliseconds.
pub(crate) fn seconds(json: &mut JsonWriter, name: &str, ms: u64) {
    json.decimal(name, ms as f64 / 1000.0);
}

fn throughput(json: &mut JsonWriter, throughput: &Throughput, billing: Option<&Billing>) {
    json.structure("ProvisionedThroughput", |json| {
        if let Some(ms) = billing.and_then(|billing| billing.last_increase_ms) {
            seconds(json, "LastIncreaseDateTime", ms);
        }
        if let Some(ms) = billing.and_then(|billing| billing.last_decrease_ms) {
            seconds(json, "LastDecreaseDateTime", ms);
        }
        json.integer(
            "NumberOfDecreasesToday",
            billing.map_or(0, |billing| billing.decreases_today),
        );
        json.integer("ReadCapacityUnits", throughput.read);
        json.integer("WriteCapacityUnits", throughput.write);
    });
}

fn billing(json: &mut JsonWriter, billing: &Billing) {
    if billing.on_demand || billing.stated {
        json.structure("BillingModeSummary", |json| {
            let mode = if billing.on_demand { "PAY_PER_REQUEST" } else { "PROVISIONED" };
            json.string("BillingMode", mode);
            if let Some(ms) = billing.switches_to_on_demand_ms.last() {
                seconds(json, "LastUpdateToPayPerRequestDateTime", *ms);
            }
        });
    }
    on_demand_limit(json, billing.on_demand_limit.as_ref());
}

/// What can be taken at once, after the traffic so far: it only grows.
fn raised(warm: Throughput, grown: Option<(u64, u64)>) -> Throughput {
    let (read, write) = grown.unwrap_or_default();
    let units = |units: u64| i64::try_from(units).unwrap_or(i64::MAX);
    Throughput { read: warm.read.max(units(read)), write: warm.write.max(units(write)) }
}

/// What a table can take at once: what was asked for, or what its billing mode starts with.
pub(crate) fn warm_of(asked: Option<Throughput>, billing: &Billing) -> Throughput {
    asked.unwrap_or(if billing.on_demand { NEW_ON_DEMAND_WARM } else { billing.throughput })
}

/// What an index can take at once.
pub(crate) fn index_warm_of(index: &IndexRecord, billing: &Billing) -> Throughput {
    let throughput = index.throughput.unwrap_or_default();
    warm_of(index.warm, &Billing { throughput, ..billing.clone() })
}

fn on_demand_limit(json: &mut JsonWriter, limit: Option<&OnDemandLimit>) {
    let Some(limit) = limit else { return };
    json.structure("OnDemandThroughput", |json| {
        json.integer("MaxReadRequestUnits", limit.read.unwrap_or(-1));
        json.integer("MaxWriteRequestUnits", limit.write.unwrap_or(-1));
    });
}

fn warm(json: &mut JsonWriter, warm: Throughput) {
    json.structure("WarmThroughput", |json| {
        json.integer("ReadUnitsPerSecond", warm.read);
        json.integer("WriteUnitsPerSecond", warm.write);
        json.string("Status", "ACTIVE");
    });
}

fn indexes(json: &mut JsonWriter, database: &Inner, table: &Table, arn: &str, status: Status) {
    for (member, global) in [("LocalSecondaryIndexes", false), ("GlobalSecondaryIndexes", true)] {
        let chosen: Vec<(&IndexRecord, Option<&Stats>)> = table
            .record
            .indexes
            .iter()
            .zip(&table.indexes)
            .filter(|(record, _)| record.global == global)
            .map(|(record, index)| (record, table.counts(&index.stats)))
            .collect();
        if chosen.is_empty() {
            continue;
        }
        json.list(member, chosen, |json, (record, stats)| {
            json.nested(|json| {
                index(json, record, stats, arn, status);
                if global {
                    let own = index_warm_of(record, &table.record.billing);
                    let grown = database.observer.grown(table.name(), Some(&record.name));
                    warm(json, raised(own, grown));
                }
            });
        });
    }
}

fn index(
    json: &mut JsonWriter,
    record: &IndexRecord,
    stats: Option<&Stats>,
    arn: &str,
    table_status: Status,
) {
    json.string("IndexName", &record.name);
    key_schema(json, "KeySchema", &record.key);
    projection(json, &record.projection);
    counts(json, "IndexSizeBytes", stats);
    json.string("IndexArn", &format!("{arn}/index/{}", record.name));
    if !record.global {
        return;
    }
    // An index is created and deleted with its table.
    let status = match table_status {
        Status::Creating | Status::Deleting | Status::Failed => table_status,
        _ => record.status,
    };
    json.string("IndexStatus", status.as_str());
    if status == Status::Creating && table_status != Status::Creating {
        json.boolean("Backfilling", record.backfilling);
    }
    throughput(json, &record.throughput.unwrap_or_default(), None);
    on_demand_limit(json, record.on_demand.as_ref());
}

fn vector_indexes(
    json: &mut JsonWriter,
    database: &Inner,
    table: &Table,
    arn: &str,
    table_status: Status,
) {
    if table.record.vector_indexes.is_empty() {
        return;
    }
    let now_ms = database.clock.now_ms();
    let indexes = table.record.vector_indexes.iter().zip(&table.vector_indexes);
    json.list("VectorIndexes", indexes, |json, (record, index)| {
        let (status, backfilling) = match (table_status, record.life.phase(now_ms)) {
            // An index is created and deleted with its table.
            (Status::Creating | Status::Deleting | Status::Failed, _) => (table_status, None),
            (_, Phase::Allocating) => (Status::Creating, Some(false)),
            (_, Phase::Backfilling) => (Status::Creating, Some(true)),
            (_, Phase::Active) => (Status::Active, None),
            (_, Phase::Deleting) => (Status::Deleting, None),
        };
        json.nested(|json| {
            vector_index(json, record, arn);
            json.string("IndexStatus", status.as_str());
            if let Some(backfilling) = backfilling {
                json.boolean("Backfilling", backfilling);
            }
            counts(json, "IndexSizeBytes", table.counts(&index.stats));
        });
    });
}

fn vector_index(json: &mut JsonWriter, record: &VectorIndexRecord, arn: &str) {
    json.string("IndexName", &record.name);
    json.structure("VectorAttribute", |json| json.string("AttributeName", &record.attribute));
    json.integer("Dimensions", record.dimensions);
    json.string("DistanceFunction", &record.distance);
    if !record.search_schema.is_empty() {
        json.list("SearchSchema", &record.search_schema, |json, element| {
            json.nested(|json| {
                json.string("AttributeName", &element.name);
                let role = if element.hash { SearchRole::Hash } else { SearchRole::InlineFilter };
                json.string("SearchSchemaElementType", role.as_str());
            });
        });
    }
    projection(json, &record.projection);
    json.string("IndexArn", &format!("{arn}/index/{}", record.name));
}

fn stream(json: &mut JsonWriter, table: &Table, arn: &str) {
    let Some(stream) = &table.record.stream else { return };
    if stream.enabled {
        json.structure("StreamSpecification", |json| {
            json.boolean("StreamEnabled", true);
            json.string("StreamViewType", &stream.view);
        });
    }
    json.string("LatestStreamLabel", &stream.label);
    json.string("LatestStreamArn", &format!("{arn}/stream/{}", stream.label));
}

fn settings(json: &mut JsonWriter, table: &Table) {
    let record = &table.record;
    json.boolean("DeletionProtectionEnabled", record.deletion_protection);
    if let Some(class) = &record.table_class {
        json.structure("TableClassSummary", |json| {
            json.string("TableClass", &class.class);
            if let Some(ms) = class.changed_ms {
                seconds(json, "LastUpdateDateTime", ms);
            }
        });
    }
    if let Some(encryption) = record.encryption.as_ref().filter(|encryption| encryption.enabled) {
        json.structure("SSEDescription", |json| {
            json.string("Status", "ENABLED");
            json.string("SSEType", &encryption.kind);
            json.optional_string("KMSMasterKeyArn", encryption.key_arn.as_deref());
        });
    }
    if let Some(restore) = record.settings.get("RestoreSummary") {
        json.stored("RestoreSummary", restore);
    }
}
