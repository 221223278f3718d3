//! Tables as the endpoint describes them: which attributes are keys, and what a table may take.
//!
//! A put does not say which of its attributes are keys, so a table is described when it is first looked at, and again
//! from time to time.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use keyloom_core::Item;
use keyloom_core::expiry::Expiry;
use keyloom_core::json::{self, Json, JsonObject};
use keyloom_core::observation::{Place, Throughput};
use keyloom_core::schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection, ScalarType, TableSchema,
};
use keyloom_engine::{Clock, SystemClock};

/// How long a description is taken for true.
const FRESH: Duration = Duration::from_mins(5);
/// After which time one that lacks something is asked for again.
const DOUBTED: Duration = Duration::from_secs(10);

/// A table as its endpoint describes it.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) schema: TableSchema,
    pub(super) table: Facts,
    /// One for each index of the schema.
    pub(super) indexes: Vec<Facts>,
    /// The attribute that says when an item expires, if the table has one.
    pub(super) ttl: Option<String>,
    #[cfg_attr(not(feature = "observe"), expect(dead_code, reason = "only reports show it"))]
    pub(super) created_ms: u64,
}

/// What is known of a table or index besides its schema.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    pub(super) throughput: Throughput,
    #[cfg_attr(not(feature = "observe"), expect(dead_code, reason = "only reports show it"))]
    pub(super) items: u64,
    pub(super) bytes: u64,
}

impl Described {
    /// The table, or the index at this position.
    pub(super) fn place(&self, index: Option<usize>) -> Place<'_> {
        let schema = index.and_then(|position| self.schema.indexes.get(position));
        let own = index.and_then(|position| self.indexes.get(position));
        let facts = own.unwrap_or(&self.table);
        Place {
            table: &self.schema.name,
            index: schema,
            key: schema.map_or(&self.schema.key, |index| &index.key),
            throughput: facts.throughput,
            has_local_indexes: self.schema.local_indexes().next().is_some(),
            size_bytes: facts.bytes,
            is_vector: false,
        }
    }

    /// How many of these items have expired and are still there.
    pub(super) fn expired<'i>(&self, items: impl IntoIterator<Item = &'i Item>) -> usize {
        let Some(attribute) = &self.ttl else { return 0 };
        let now_s = SystemClock.now_ms() / 1000;
        let is_past = |item: &&Item| Expiry::of(item.get(attribute), now_s).is_past(now_s);
        items.into_iter().filter(is_past).count()
    }

    /// Where the index of this name stands.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.schema.indexes.iter().position(|index| index.name == name)
    }
}

/// The tables that were looked at, by the names that requests give them.
#[derive(Debug, Default)]
pub(super) struct Tables {
    known: RwLock<HashMap<String, Known>>,
}

#[derive(Clone, Debug)]
struct Known {
    since: Instant,
    /// None if the endpoint did not say.
    table: Option<Arc<Described>>,
}

impl Tables {
    /// The table of this name, with the index if one is named; `describe` asks for it where it is not known well.
    pub(super) fn get(
        &self,
        name: &str,
        index: Option<&str>,
        describe: impl FnOnce() -> Option<Described>,
    ) -> Option<Arc<Described>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        let has_all = known
            .as_ref()
            .and_then(|known| known.table.as_ref())
            .is_some_and(|table| index.is_none_or(|index| table.position(index).is_some()));
        let patience = if has_all { FRESH } else { DOUBTED };
        if let Some(known) = known.as_ref().filter(|known| known.since.elapsed() < patience) {
            return known.table.clone();
        }
        // An old description is better than none.
        let table = describe().map(Arc::new).or_else(|| known?.table);
        let known = Known { since: Instant::now(), table: table.clone() };
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(name.to_owned(), known);
        table
    }

    /// The table of this name as far as it is known, without asking.
    pub(super) fn known(&self, name: &str) -> Option<Arc<Described>> {
        let all = self.known.read().unwrap_or_else(PoisonError::into_inner);
        all.get(name)?.table.clone()
    }

    /// Forgets a table, which is being changed.
    pub(super) fn forget(&self, name: &str) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// The names that requests gave.
    #[cfg(feature = "observe")]
    pub(super) fn names(&self) -> Vec<String> {
        let all = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<String> = all.keys().cloned().collect();
        names.sort_unstable();
        names
    }
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
    let created = table.get("CreationDateTime").and_then(number).unwrap_or_default();
    let name = text(table, "TableName")?;
    let schema =
        TableSchema { attributes, indexes: schemas, ..TableSchema::new(name.to_owned(), key) };
    let created_ms = (created * 1000.0) as u64;
    Some(Described { schema, table: own, indexes, ttl: None, created_ms })
}

fn index_schema(
    index: &JsonObject<'_>,
    kind: IndexKind,
    attributes: &[KeyAttribute],
) -> Option<IndexSchema> {
    let projection = match index.get("Projection") {
        Some(Json::Object(projection)) => match text(projection, "ProjectionType") {
            Some("KEYS_ONLY") => Projection::KeysOnly,
            Some("INCLUDE") => Projection::Include(included(projection)),
            _ => Projection::All,
        },
        _ => Projection::All,
    };
    let name = text(index, "IndexName")?.to_owned().into();
    Some(IndexSchema { name, kind, key: key(index, attributes)?, projection })
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
    let count = |member: &str| of.get(member).and_then(number).map_or(0, |count| count as u64);
    let limit = |object: &str, member: &str| match of.get(object) {
        // −1 stands for no limit.
        Some(Json::Object(stated)) => stated.get(member).and_then(number).filter(|n| *n >= 0.0),
        _ => None,
    };
    let own = if on_demand {
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
    let units = |limit: Option<f64>| limit.map(|units| units as u64);
    let own = Throughput {
        on_demand,
        read: units(own.0),
        write: units(own.1),
        warm_read: units(limit("WarmThroughput", "ReadUnitsPerSecond")),
        warm_write: units(limit("WarmThroughput", "WriteUnitsPerSecond")),
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
    list.iter().filter_map(|element| match element {
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

fn number(json: &Json<'_>) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        _ => None,
    }
}
