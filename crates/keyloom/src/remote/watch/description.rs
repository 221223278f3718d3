//! Descriptions of tables, read from the answers of DescribeTable and DescribeTimeToLive.

use keyloom_core::json::{self, Json, JsonObject};
use keyloom_core::observation::Throughput;
use keyloom_core::schema::{
    DistanceFunction, IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection, ScalarType,
    SearchElement, SearchRole, TableSchema, VectorIndexSchema,
};

use super::described::{Described, Facts};
use super::figure;

/// How many indexes or attributes a description has at most, several times what AWS allows: more are left out, as they are
/// searched one by one.
const MAX_LISTED: usize = 512;

/// The indexes that an UpdateTable removes.
pub(super) fn removed_indexes<'j>(request: &'j JsonObject<'_>) -> impl Iterator<Item = &'j str> {
    let updates = objects(request, "GlobalSecondaryIndexUpdates")
        .chain(objects(request, "VectorIndexUpdates"));
    updates.filter_map(|update| match update.get("Delete") {
        Some(Json::Object(removed)) => text(removed, "IndexName"),
        _ => None,
    })
}

/// The attribute that an answer of DescribeTimeToLive names.
pub(super) fn ttl_attribute(body: &[u8]) -> Option<String> {
    let Ok(Json::Object(answer)) = json::parse(body) else { return None };
    let Some(Json::Object(ttl)) = answer.get("TimeToLiveDescription") else { return None };
    let is_on = matches!(text(ttl, "TimeToLiveStatus"), Some("ENABLED" | "ENABLING"));
    text(ttl, "AttributeName").filter(|_| is_on).map(str::to_owned)
}

/// The table that an answer of DescribeTable describes.
pub(super) fn read(body: &[u8]) -> Option<Described> {
    let Ok(Json::Object(answer)) = json::parse(body) else { return None };
    let Some(Json::Object(table)) = answer.get("Table") else { return None };
    let attributes: Vec<KeyAttribute> = objects(table, "AttributeDefinitions")
        .filter_map(|definition| {
            let kind = ScalarType::from_wire(text(definition, "AttributeType")?)?;
            Some(KeyAttribute::new(text(definition, "AttributeName")?, kind))
        })
        .collect();
    let mode = match table.get("BillingModeSummary") {
        Some(Json::Object(summary)) => text(summary, "BillingMode"),
        _ => None,
    };
    let on_demand = mode == Some("PAY_PER_REQUEST");
    let key = key(table, &attributes)?;
    let own = facts(table, "TableSizeBytes", on_demand, None);
    let mut indexes = Vec::new();
    let mut schemas = Vec::new();
    for (member, kind) in
        [("LocalSecondaryIndexes", IndexKind::Local), ("GlobalSecondaryIndexes", IndexKind::Global)]
    {
        for index in objects(table, member) {
            schemas.push(index_schema(index, kind, &attributes)?);
            // A local index takes from its table.
            let shared = (kind == IndexKind::Local).then_some(own.throughput);
            indexes.push(facts(index, "IndexSizeBytes", on_demand, shared));
        }
    }
    // The table is worth knowing though one of these is not understood.
    let vectors = objects(table, "VectorIndexes").filter_map(|index| {
        let schema = vector_schema(index, &attributes)?;
        let facts = facts(index, "IndexSizeBytes", on_demand, Some(own.throughput));
        let observed = schema.observed();
        Some((schema, (observed, facts)))
    });
    let (vector_indexes, vectors) = vectors.unzip();
    let name = text(table, "TableName")?;
    let schema = TableSchema {
        attributes,
        indexes: schemas,
        vector_indexes,
        ..TableSchema::new(name.to_owned(), key)
    };
    let created_ms = table.get("CreationDateTime").and_then(figure::milliseconds).unwrap_or(0);
    Some(Described { schema, table: own, indexes, vectors, ttl: None, created_ms })
}

fn index_schema(
    index: &JsonObject<'_>,
    kind: IndexKind,
    attributes: &[KeyAttribute],
) -> Option<IndexSchema> {
    let name = text(index, "IndexName")?.to_owned().into();
    Some(IndexSchema { name, kind, key: key(index, attributes)?, projection: projection(index) })
}

fn vector_schema(index: &JsonObject<'_>, attributes: &[KeyAttribute]) -> Option<VectorIndexSchema> {
    let Some(Json::Object(vector)) = index.get("VectorAttribute") else { return None };
    let search = objects(index, "SearchSchema").map(|element| {
        let name = text(element, "AttributeName")?;
        Some(SearchElement {
            role: SearchRole::from_wire(text(element, "SearchSchemaElementType")?)?,
            attribute: attributes.iter().find(|attribute| attribute.name == name)?.clone(),
        })
    });
    Some(VectorIndexSchema {
        name: text(index, "IndexName")?.to_owned().into(),
        attribute: text(vector, "AttributeName")?.to_owned().into(),
        dimensions: usize::try_from(index.get("Dimensions").and_then(figure::count)?).ok()?,
        distance: DistanceFunction::from_wire(text(index, "DistanceFunction")?)?,
        search: search.collect::<Option<_>>()?,
        projection: projection(index),
    })
}

fn projection(index: &JsonObject<'_>) -> Projection {
    match index.get("Projection") {
        Some(Json::Object(projection)) => match text(projection, "ProjectionType") {
            Some("KEYS_ONLY") => Projection::KeysOnly,
            Some("INCLUDE") => Projection::Include(included(projection)),
            _ => Projection::All,
        },
        _ => Projection::All,
    }
}

fn included(projection: &JsonObject<'_>) -> Vec<keyloom_core::Str> {
    let Some(Json::Array(names)) = projection.get("NonKeyAttributes") else { return Vec::new() };
    let texts = names.iter().filter_map(|name| match name {
        Json::Str(name) => Some(name.to_string().into()),
        _ => None,
    });
    texts.collect()
}

fn key(of: &JsonObject<'_>, attributes: &[KeyAttribute]) -> Option<KeySchema> {
    let mut key = KeySchema::default();
    for element in objects(of, "KeySchema") {
        let name = text(element, "AttributeName")?;
        let attribute = attributes.iter().find(|attribute| attribute.name == name)?.clone();
        match text(element, "KeyType")? {
            "HASH" => key.hash.push(attribute),
            _ => key.range.push(attribute),
        }
    }
    (!key.hash.is_empty()).then_some(key)
}

fn facts(of: &JsonObject<'_>, size: &str, on_demand: bool, shared: Option<Throughput>) -> Facts {
    let count = |member: &str| of.get(member).and_then(figure::count).unwrap_or(0);
    let limit = |object: &str, member: &str| match of.get(object) {
        Some(Json::Object(stated)) => stated.get(member).and_then(figure::limit),
        _ => None,
    };
    let (read, write) = if on_demand {
        (
            limit("OnDemandThroughput", "MaxReadRequestUnits"),
            limit("OnDemandThroughput", "MaxWriteRequestUnits"),
        )
    } else {
        (
            limit("ProvisionedThroughput", "ReadCapacityUnits"),
            limit("ProvisionedThroughput", "WriteCapacityUnits"),
        )
    };
    let own = Throughput {
        on_demand,
        read,
        write,
        warm_read: limit("WarmThroughput", "ReadUnitsPerSecond"),
        warm_write: limit("WarmThroughput", "WriteUnitsPerSecond"),
    };
    Facts { throughput: shared.unwrap_or(own), items: count("ItemCount"), bytes: count(size) }
}

fn objects<'j, 'a>(
    of: &'j JsonObject<'a>,
    member: &str,
) -> impl Iterator<Item = &'j JsonObject<'a>> {
    let list = match of.get(member) {
        Some(Json::Array(list)) => list.as_slice(),
        _ => &[],
    };
    list.iter().take(MAX_LISTED).filter_map(|element| match element {
        Json::Object(object) => Some(object),
        _ => None,
    })
}

fn text<'j>(of: &'j JsonObject<'_>, member: &str) -> Option<&'j str> {
    match of.get(member) {
        Some(Json::Str(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_of_every_kind_are_removed() {
        let update = br#"{"TableName":"t","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"g"}},{"Update":{"IndexName":"h"}}],"VectorIndexUpdates":[{"Delete":{"IndexName":"v"}},{"Create":{"IndexName":"w"}}]}"#;
        let Ok(Json::Object(request)) = json::parse(update) else { panic!("not an object") };
        assert_eq!(removed_indexes(&request).collect::<Vec<_>>(), ["g", "v"]);
    }

    #[test]
    fn a_table_is_known_however_many_indexes_it_is_said_to_have() {
        let key = r#""KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]"#;
        let index = |number| format!(r#"{{"IndexName":"g{number}",{key}}}"#);
        let indexes = (0..2000).map(index).collect::<Vec<_>>().join(",");
        let body = format!(
            r#"{{"Table":{{"TableName":"t","AttributeDefinitions":[{{"AttributeName":"pk","AttributeType":"S"}}],{key},"GlobalSecondaryIndexes":[{indexes}],"VectorIndexes":[{{"IndexName":"v"}}]}}}}"#
        );
        let table = read(body.as_bytes()).unwrap();
        assert_eq!((table.indexes.len(), table.schema.indexes.len()), (MAX_LISTED, MAX_LISTED));
        // What is not understood is left out, and the rest is known.
        assert!(table.vectors.is_empty());
    }
}
