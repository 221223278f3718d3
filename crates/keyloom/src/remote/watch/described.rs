//! Tables as the endpoint describes them: which attributes are keys, and what a table may take.
//!
//! A put does not say which of its attributes are keys, so a table is described when it is first looked at, and again
//! from time to time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};
use std::time::{Duration, Instant};

use keyloom_core::Item;
use keyloom_core::expiry::Expiry;
use keyloom_core::json::{self, Json, JsonObject};
use keyloom_core::observation::{Insights, Place, Throughput};
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
            insights: Insights::Off,
        }
    }

    /// How many of these items have expired and are still there.
    pub(super) fn expired<'i>(&self, items: impl IntoIterator<Item = &'i Item>) -> usize {
        let Some(attribute) = &self.ttl else { return 0 };
        let now_s = SystemClock.now_ms() / 1000;
        let is_past = |item: &&Item| Expiry::of(item.get(attribute), now_s).is_past(now_s);
        items.into_iter().filter(is_past).count()
    }

    /// Whether it has this index, if one is named.
    fn has(&self, index: Option<&str>) -> bool {
        index.is_none_or(|index| self.position(index).is_some())
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
    /// For each name a lock, held by the one who asks the endpoint.
    asking: Mutex<HashMap<String, Arc<Mutex<()>>>>,
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
        let old = match self.fresh(name, index) {
            Ok(table) => return table,
            Err(old) => old,
        };
        let has_all = old.as_ref().is_some_and(|table| table.has(index));
        let turn = self.turn(name);
        let _asking = match turn.try_lock() {
            Ok(asking) => asking,
            // Who can go on with what is known does not wait.
            Err(TryLockError::WouldBlock) if has_all => return old,
            Err(_) => turn.lock().unwrap_or_else(PoisonError::into_inner),
        };
        // Somebody else may have asked in the meantime.
        let old = match self.fresh(name, index) {
            Ok(table) => return table,
            Err(old) => old,
        };
        // An old description is better than none.
        let table = describe().map(Arc::new).or(old);
        let known = Known { since: Instant::now(), table: table.clone() };
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(name.to_owned(), known);
        table
    }

    /// What is taken for true of a table, or else what was true before.
    fn fresh(
        &self,
        name: &str,
        index: Option<&str>,
    ) -> Result<Option<Arc<Described>>, Option<Arc<Described>>> {
        let all = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(Known { since, table }) = all.get(name) else { return Err(None) };
        let has_all = table.as_ref().is_some_and(|table| table.has(index));
        let patience = if has_all { FRESH } else { DOUBTED };
        if since.elapsed() < patience { Ok(table.clone()) } else { Err(table.clone()) }
    }

    /// The turn to ask the endpoint for a table.
    fn turn(&self, name: &str) -> Arc<Mutex<()>> {
        let mut all = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(name.to_owned()).or_default())
    }

    /// The table of this name as far as it is known, without asking.
    pub(super) fn known(&self, name: &str) -> Option<Arc<Described>> {
        let all = self.known.read().unwrap_or_else(PoisonError::into_inner);
        all.get(name)?.table.clone()
    }

    /// Forgets a table, which is being changed, by whatever name it is known.
    pub(super) fn forget(&self, name: &str) {
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known, _| table_of(known) != table_of(name));
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

#[cfg(test)]
impl Described {
    /// A table `t` with the key `pk`, `sk` and a global index `g` on `sk`.
    pub(super) fn example() -> Arc<Self> {
        let key =
            |name: &str, kind: &str| format!(r#"{{"AttributeName":"{name}","KeyType":"{kind}"}}"#);
        let names = ["pk", "sk"]
            .map(|name| format!(r#"{{"AttributeName":"{name}","AttributeType":"S"}}"#))
            .join(",");
        let body = format!(
            r#"{{"Table":{{"TableName":"t","AttributeDefinitions":[{names}],"KeySchema":[{},{}],"GlobalSecondaryIndexes":[{{"IndexName":"g","KeySchema":[{}]}}]}}}}"#,
            key("pk", "HASH"),
            key("sk", "RANGE"),
            key("sk", "HASH"),
        );
        Arc::new(read(body.as_bytes()).unwrap())
    }
}

/// The name of a table that is given by its name or its ARN.
pub(super) fn table_of(given: &str) -> &str {
    given.rsplit_once(":table/").map_or(given, |(_, name)| name)
}

/// The indexes that an UpdateTable removes.
pub(super) fn removed_indexes<'j>(request: &'j JsonObject<'_>) -> impl Iterator<Item = &'j str> {
    objects(request, "GlobalSecondaryIndexUpdates").filter_map(|update| {
        match update.get("Delete") {
            Some(Json::Object(removed)) => text(removed, "IndexName"),
            _ => None,
        }
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn example() -> Option<Described> {
        Arc::into_inner(Described::example())
    }

    #[test]
    fn an_endpoint_is_asked_once_however_many_want_to_know() {
        let (tables, asked) = (Tables::default(), AtomicUsize::new(0));
        let ask = || {
            let describe = || {
                asked.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(20));
                example()
            };
            assert!(tables.get("t", None, describe).is_some());
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(ask);
            }
        });
        assert_eq!(asked.into_inner(), 1);
    }

    #[test]
    fn an_old_description_stays_where_a_new_one_fails_and_serves_while_it_is_asked_for() {
        let tables = Tables::default();
        let age = |seconds| {
            let mut known = tables.known.write().unwrap();
            let table = known.get_mut("t").unwrap();
            table.since = table.since.checked_sub(Duration::from_secs(seconds)).unwrap();
        };
        tables.get("t", None, example).unwrap();
        age(301);
        assert!(tables.get("t", None, || None).is_some());
        age(301);
        let meanwhile = || {
            let other = tables.get("t", None, || unreachable!("somebody asks"));
            assert!(other.is_some());
            None
        };
        assert!(tables.get("t", None, meanwhile).is_some());
        tables.forget("arn:aws:dynamodb:eu-west-1:1:table/t");
        assert!(tables.known("t").is_none());
    }
}
