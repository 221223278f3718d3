//! Designs for NoSQL Workbench, data model 3.x.

use serde_json::{Map, Value as Json, json};

use super::{attribute_type, stored, table_settings, template, unread};
use crate::exchange::Lost;
use crate::model::{Billing, Design, Entity, Index, IndexKind, KeyAttribute, Table};
use crate::plan::projection_json;

pub(super) fn model(design: &Design, lost: &mut Vec<Lost>) -> Json {
    let tables: Vec<Json> = design.tables().iter().map(|it| table(design, it, lost)).collect();
    unread(design, lost, &[]);
    json!({
        "ModelName": design.name(),
        "ModelMetadata": {
            "Author": "", "DateCreated": "Jan 01, 2024, 12:00 AM", "DateLastModified": "Jan 01, 2024, 12:00 AM",
            "Description": design.description(), "AWSService": "Amazon DynamoDB", "Version": "3.0",
        },
        "DataModel": tables,
    })
}

fn table(design: &Design, table: &Table, lost: &mut Vec<Lost>) -> Json {
    let mut attributes: Map<String, Json> = Map::new();
    let facets: Vec<Json> =
        design.entities_in(table).map(|entity| facet(entity, &mut attributes, lost)).collect();
    let fits = |index: &Index| {
        index.kind == IndexKind::Global && index.hash.len() == 1 && index.range.len() < 2
    };
    let mut indexes = Vec::new();
    for index in table.secondary() {
        if fits(index) {
            indexes.push(json!({
                "IndexName": index.label(), "KeyAttributes": keys(index),
                "Projection": projection_json(&index.projection),
            }));
        } else {
            let why = "the format has global indexes of one partition and one sort key";
            lost.push(Lost::new(format!("index {}", index.label()), why));
        }
    }
    table_settings(table, lost);
    let is_key = |name: &str| table.primary().attributes().any(|key| key.name == name);
    let others: Vec<Json> = attributes
        .iter()
        .filter(|(name, _)| !is_key(name))
        .map(|(name, kind)| json!({ "AttributeName": name, "AttributeType": kind }))
        .collect();
    let provisioned = table.billing == Billing::Provisioned;
    json!({
        "TableName": table.name, "KeyAttributes": keys(table.primary()), "NonKeyAttributes": others,
        "TableFacets": facets, "GlobalSecondaryIndexes": indexes, "TableData": [], "DataAccess": { "MySql": {} },
        "BillingMode": if provisioned { "PROVISIONED" } else { "PAY_PER_REQUEST" },
    })
}

fn keys(index: &Index) -> Json {
    let key =
        |it: &KeyAttribute| json!({ "AttributeName": it.name, "AttributeType": it.kind.as_str() });
    let mut keys = Map::new();
    keys.extend(index.hash.first().map(|it| ("PartitionKey".to_owned(), key(it))));
    keys.extend(index.range.first().map(|it| ("SortKey".to_owned(), key(it))));
    Json::Object(keys)
}

/// An entity as a facet; its attributes are added to those of the table.
fn facet(entity: &Entity, attributes: &mut Map<String, Json>, lost: &mut Vec<Lost>) -> Json {
    let table = &entity.table;
    let primary: Vec<&str> = table.primary().attributes().map(|it| it.name.as_str()).collect();
    let mut aliases = Map::new();
    for (attribute, member) in primary.iter().zip(["PartitionKeyAlias", "SortKeyAlias"]) {
        let alias = entity
            .key(attribute)
            .map(|key| template(entity, key, false, |name, _| format!("{{{name}}}"), lost));
        aliases.insert(member.to_owned(), json!(alias.unwrap_or_default()));
    }
    for field in stored(entity) {
        attributes.entry(field.name.clone()).or_insert_with(|| json!(attribute_type(field)));
    }
    for key in entity.keys.iter().filter(|key| !primary.contains(&key.attribute.as_str())) {
        let what = format!("entity {}: {}", entity.name, key.attribute);
        lost.push(Lost::new(what, "facets have aliases of the table's own keys only"));
        attributes.entry(key.attribute.clone()).or_insert_with(|| json!("S"));
    }
    let names = stored(entity).map(|field| field.name.as_str());
    let names: Vec<&str> = names.filter(|name| !primary.contains(name)).collect();
    json!({
        "FacetName": entity.name, "KeyAttributeAlias": aliases, "TableData": [], "NonKeyAttributes": names,
    })
}
