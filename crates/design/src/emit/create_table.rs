//! `CreateTable` requests.

use serde_json::{Map, Value as Json, json};

use super::{capacity, tables};
use crate::check::CheckReport;
use crate::model::{Design, Index, IndexKind, StreamView, Table, TableClass};
use crate::plan::{Request, projection_json};

pub(super) fn text(design: &Design, report: &CheckReport) -> String {
    let mut requests = Vec::new();
    for table in tables(design) {
        requests.push(create_table(report, table).to_json());
        requests.extend(time_to_live(table).map(|request| request.to_json()));
    }
    let shown = if let [only] = requests.as_slice() { only.clone() } else { json!(requests) };
    let mut text = serde_json::to_string_pretty(&shown).unwrap_or_default();
    text.push('\n');
    text
}

/// The request that creates a table.
pub fn create_table(report: &CheckReport, table: &Table) -> Request {
    Request { operation: "CreateTable".to_owned(), body: Json::Object(properties(report, table)) }
}

/// The request that switches time to live on, for tables that have it.
pub fn time_to_live(table: &Table) -> Option<Request> {
    let attribute = table.ttl.as_ref()?;
    let body = json!({
        "TableName": table.name,
        "TimeToLiveSpecification": { "AttributeName": attribute, "Enabled": true },
    });
    Some(Request { operation: "UpdateTimeToLive".to_owned(), body })
}

/// What `CreateTable` and CloudFormation have in common.
pub(super) fn properties(report: &CheckReport, table: &Table) -> Map<String, Json> {
    let mut body = Map::new();
    let primary = table.primary();
    let definitions: Vec<Json> = table
        .key_attributes()
        .iter()
        .map(|a| json!({ "AttributeName": a.name, "AttributeType": a.kind.as_str() }))
        .collect();
    body.insert("TableName".into(), json!(table.name));
    body.insert("AttributeDefinitions".into(), json!(definitions));
    body.insert("KeySchema".into(), key_schema(primary));
    let indexes = |kind: IndexKind| -> Vec<Json> {
        let wanted = table.secondary().iter().filter(|index| index.kind == kind);
        wanted.map(|index| index_json(report, table, index)).collect()
    };
    for (name, kind) in
        [("GlobalSecondaryIndexes", IndexKind::Global), ("LocalSecondaryIndexes", IndexKind::Local)]
    {
        let list = indexes(kind);
        if !list.is_empty() {
            body.insert(name.into(), json!(list));
        }
    }
    match capacity(report, table, primary) {
        None => {
            body.insert("BillingMode".into(), json!("PAY_PER_REQUEST"));
        }
        Some(units) => {
            body.insert("BillingMode".into(), json!("PROVISIONED"));
            body.insert(
                "ProvisionedThroughput".into(),
                json!({ "ReadCapacityUnits": units.read, "WriteCapacityUnits": units.write }),
            );
        }
    }
    if let Some(stream) = table.stream {
        let view = json!({ "StreamEnabled": true, "StreamViewType": view_type(stream) });
        body.insert("StreamSpecification".into(), view);
    }
    if table.class == TableClass::InfrequentAccess {
        body.insert("TableClass".into(), json!("STANDARD_INFREQUENT_ACCESS"));
    }
    body
}

fn index_json(report: &CheckReport, table: &Table, index: &Index) -> Json {
    let mut body = Map::new();
    body.insert("IndexName".into(), json!(index.label()));
    body.insert("KeySchema".into(), key_schema(index));
    body.insert("Projection".into(), projection_json(&index.projection));
    if let (IndexKind::Global, Some(units)) = (index.kind, capacity(report, table, index)) {
        let units = json!({ "ReadCapacityUnits": units.read, "WriteCapacityUnits": units.write });
        body.insert("ProvisionedThroughput".into(), units);
    }
    Json::Object(body)
}

fn key_schema(index: &Index) -> Json {
    let entry = |name: &str, kind: &str| json!({ "AttributeName": name, "KeyType": kind });
    let hash = index.hash.iter().map(|attribute| entry(&attribute.name, "HASH"));
    let range = index.range.iter().map(|attribute| entry(&attribute.name, "RANGE"));
    Json::Array(hash.chain(range).collect())
}

pub(super) fn view_type(stream: StreamView) -> &'static str {
    match stream {
        StreamView::KeysOnly => "KEYS_ONLY",
        StreamView::NewImage => "NEW_IMAGE",
        StreamView::OldImage => "OLD_IMAGE",
        StreamView::NewAndOldImages => "NEW_AND_OLD_IMAGES",
    }
}
