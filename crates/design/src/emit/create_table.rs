//! CreateTable requests.

use serde_json::{Map, Value as Json, json};

use super::{Capacity, positions, stream_view};
use crate::model::{Billing, Index, IndexKind, Table, TableClass};
use crate::plan::projection_json;

/// The CreateTable request of a table; a provisioned one gets one unit of everything, see
/// [`capacity_of`](super::capacity_of) for more.
pub fn create_table(table: &Table) -> Json {
    with_capacity(table, &|_| Capacity { read: 1, write: 1 })
}

/// The UpdateTimeToLive request of a table that has a time to live: CreateTable cannot set it.
pub fn time_to_live(table: &Table) -> Option<Json> {
    let attribute = table.ttl.as_ref()?;
    Some(json!({
        "TableName": table.name,
        "TimeToLiveSpecification": { "Enabled": true, "AttributeName": attribute },
    }))
}

/// The properties that CreateTable and CloudFormation share.
pub(super) fn with_capacity(table: &Table, capacity: &dyn Fn(usize) -> Capacity) -> Json {
    let mut body = Map::new();
    body.insert("TableName".into(), json!(table.name));
    let attributes: Vec<Json> = table
        .key_attributes()
        .iter()
        .map(|a| json!({ "AttributeName": a.name, "AttributeType": a.kind.as_str() }))
        .collect();
    body.insert("AttributeDefinitions".into(), json!(attributes));
    body.insert("KeySchema".into(), key_schema(table.primary()));
    let provisioned = table.billing == Billing::Provisioned;
    let mode = if provisioned { "PROVISIONED" } else { "PAY_PER_REQUEST" };
    body.insert("BillingMode".into(), json!(mode));
    if provisioned {
        body.insert("ProvisionedThroughput".into(), throughput(capacity(0)));
    }
    let (mut global, mut local) = (Vec::new(), Vec::new());
    for (at, index) in positions(table) {
        let mut entry = index_json(index);
        if index.kind == IndexKind::Local {
            local.push(Json::Object(entry));
            continue;
        }
        if provisioned {
            entry.insert("ProvisionedThroughput".into(), throughput(capacity(at)));
        }
        global.push(Json::Object(entry));
    }
    if !global.is_empty() {
        body.insert("GlobalSecondaryIndexes".into(), json!(global));
    }
    if !local.is_empty() {
        body.insert("LocalSecondaryIndexes".into(), json!(local));
    }
    if let Some(view) = table.stream {
        let stream = json!({ "StreamEnabled": true, "StreamViewType": stream_view(view) });
        body.insert("StreamSpecification".into(), stream);
    }
    if table.class == TableClass::InfrequentAccess {
        body.insert("TableClass".into(), json!("STANDARD_INFREQUENT_ACCESS"));
    }
    Json::Object(body)
}

fn index_json(index: &Index) -> Map<String, Json> {
    let mut entry = Map::new();
    entry.insert("IndexName".into(), json!(index.label()));
    entry.insert("KeySchema".into(), key_schema(index));
    entry.insert("Projection".into(), projection_json(&index.projection));
    entry
}

fn key_schema(index: &Index) -> Json {
    let hash = index.hash.iter().map(|a| json!({ "AttributeName": a.name, "KeyType": "HASH" }));
    let range = index.range.iter().map(|a| json!({ "AttributeName": a.name, "KeyType": "RANGE" }));
    Json::Array(hash.chain(range).collect())
}

fn throughput(capacity: Capacity) -> Json {
    json!({ "ReadCapacityUnits": capacity.read, "WriteCapacityUnits": capacity.write })
}
