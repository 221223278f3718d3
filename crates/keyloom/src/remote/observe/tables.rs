//! The key schemas of tables, as their endpoint describes them.
//!
//! A put does not say which of its attributes are keys, so a table is described when a request to it is first observed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use keyloom_api::member::{object, objects, text};
use keyloom_core::json::{self, Json, JsonObject};
use keyloom_core::observation::{Insights, Place, Throughput};
use keyloom_core::schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection, ScalarType,
};

use crate::tables::table_of;

/// How long to wait before describing a table again that the endpoint did not describe.
const DOUBTED: Duration = Duration::from_secs(10);
/// How many names are remembered; the cache starts over with the next one.
const MAX_KNOWN: usize = 1024;

/// The keys of a table and of its indexes.
#[derive(Debug)]
pub(super) struct Described {
    name: String,
    pub(super) key: KeySchema,
    indexes: Vec<(IndexSchema, bool)>,
}

impl Described {
    /// The table that an answer of DescribeTable describes.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let Ok(Json::Object(answer)) = json::parse(body) else { return None };
        let table = object(&answer, "Table")?;
        let attributes = objects(table, "AttributeDefinitions").filter_map(|definition| {
            let kind = ScalarType::from_wire(text(definition, "AttributeType")?)?;
            Some(KeyAttribute::new(text(definition, "AttributeName")?, kind))
        });
        let attributes: Vec<KeyAttribute> = attributes.collect();
        let mut indexes = Vec::new();
        for (member, kind, is_vector) in [
            ("LocalSecondaryIndexes", IndexKind::Local, false),
            ("GlobalSecondaryIndexes", IndexKind::Global, false),
            // What a vector index is searched by is no key.
            ("VectorIndexes", IndexKind::Global, true),
        ] {
            for index in objects(table, member) {
                let (name, key) = (text(index, "IndexName")?.to_owned(), key(index, &attributes)?);
                let projection = Projection::All;
                indexes.push((IndexSchema { name: name.into(), kind, key, projection }, is_vector));
            }
        }
        let name = text(table, "TableName")?.to_owned();
        Some(Self { name, key: key(table, &attributes)?, indexes })
    }

    /// The table, or one of its indexes, as observers see it; none if there is no such index.
    pub(super) fn place(&self, index: Option<&str>) -> Option<Place<'_>> {
        let index = match index {
            Some(name) => Some(self.indexes.iter().find(|(index, _)| index.name == name)?),
            None => None,
        };
        Some(Place {
            table: &self.name,
            index: index.map(|(schema, _)| schema),
            key: index.map_or(&self.key, |(schema, _)| &schema.key),
            throughput: Throughput::default(),
            has_local_indexes: self.indexes.iter().any(|(one, _)| one.kind == IndexKind::Local),
            size_bytes: 0,
            is_vector: index.is_some_and(|(_, is_vector)| *is_vector),
            insights: Insights::Off,
        })
    }
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
    Some(key)
}

/// The tables that were observed, by their names.
#[derive(Debug, Default)]
pub(super) struct Tables {
    known: Mutex<HashMap<String, Arc<Mutex<Known>>>>,
}

/// A table, if the endpoint described it, and when it was last described.
#[derive(Debug, Default)]
struct Known {
    asked: Option<Instant>,
    table: Option<Arc<Described>>,
}

impl Tables {
    /// The table of this name, with the index if one is named; `describe` asks the endpoint for what is not known. Threads
    /// that need the same table wait for one answer.
    pub(super) fn get(
        &self,
        name: &str,
        index: Option<&str>,
        describe: impl FnOnce() -> Option<Described>,
    ) -> Option<Arc<Described>> {
        let (mut all, name) = (lock(&self.known), table_of(name));
        if all.len() >= MAX_KNOWN && !all.contains_key(name) {
            all.clear();
        }
        let entry = Arc::clone(all.entry(name.to_owned()).or_default());
        drop(all);
        let mut known = lock(&entry);
        let is_known = known.table.as_ref().is_some_and(|table| table.place(index).is_some());
        if !is_known && known.asked.is_none_or(|asked| asked.elapsed() >= DOUBTED) {
            known.asked = Some(Instant::now());
            known.table = describe().map(Arc::new).or(known.table.take());
        }
        known.table.clone()
    }

    /// Forgets a table that is being changed.
    pub(super) fn forget(&self, name: &str) {
        lock(&self.known).remove(table_of(name));
    }

    #[cfg(feature = "observe")]
    pub(super) fn names(&self) -> std::collections::BTreeSet<String> {
        lock(&self.known).keys().cloned().collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn example(indexes: usize) -> Described {
        let key = r#""KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]"#;
        let index = |number| format!(r#"{{"IndexName":"g{number}",{key}}}"#);
        let indexes = (0..indexes).map(index).collect::<Vec<_>>().join(",");
        let body = format!(
            r#"{{"Table":{{"TableName":"t","AttributeDefinitions":[{{"AttributeName":"pk","AttributeType":"S"}}],{key},"GlobalSecondaryIndexes":[{indexes}],"VectorIndexes":[{{"IndexName":"v"}}]}}}}"#
        );
        Described::read(body.as_bytes()).unwrap()
    }

    #[test]
    fn a_description_is_bounded() {
        assert_eq!(example(2000).indexes.len(), keyloom_api::member::MAX_LISTED + 1);
        assert!(example(1).place(Some("v")).unwrap().is_vector);
    }

    #[test]
    fn an_endpoint_is_asked_once_by_many_threads_and_again_for_what_is_missing() {
        let (tables, asked) = (Tables::default(), AtomicUsize::new(0));
        let ask = |name: &str, index: Option<&str>| {
            let table = tables.get(name, index, || {
                asked.fetch_add(1, Ordering::Relaxed);
                (name == "t").then(|| example(1))
            });
            (table.is_some(), asked.load(Ordering::Relaxed))
        };
        std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(|| ask("t", None)))));
        assert_eq!([ask("t", Some("g0")), ask("t", Some("new"))], [(true, 1), (true, 1)]);
        assert_eq!([ask("none", None), ask("none", None)], [(false, 2), (false, 2)]);
        for entry in lock(&tables.known).values() {
            lock(entry).asked = Instant::now().checked_sub(DOUBTED);
        }
        assert_eq!([ask("t", None), ask("t", Some("new"))], [(true, 2), (true, 3)]);
        assert_eq!(ask("none", None), (false, 4));
        tables.forget("arn:aws:dynamodb:eu-west-1:1:table/t");
        assert_eq!(ask("t", None), (true, 5));
        for number in 0..3 * MAX_KNOWN {
            ask(&format!("none-{number}"), None);
        }
        assert!(lock(&tables.known).len() <= MAX_KNOWN);
    }
}
