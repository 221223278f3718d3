//! Tables as the endpoint describes them: which attributes are keys, and what a table may take.
//!
//! A put does not say which of its attributes are keys, so a table is described when it is first looked at, and again
//! from time to time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};
use std::time::{Duration, Instant};

use keyloom_core::Item;
use keyloom_core::expiry::Expiry;
use keyloom_core::observation::{Insights, Place, Throughput};
use keyloom_core::schema::{IndexSchema, TableSchema};
use keyloom_engine::{Clock, SystemClock};

/// How long a description is taken for true.
const FRESH: Duration = Duration::from_mins(5);
/// After which time one that lacks something is asked for again.
const DOUBTED: Duration = Duration::from_secs(10);
/// How many names are remembered.
const MAX_KNOWN: usize = 1024;

/// A table as its endpoint describes it.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) schema: TableSchema,
    pub(super) table: Facts,
    /// One for each index of the schema.
    pub(super) indexes: Vec<Facts>,
    /// One for each vector index of the schema, with what observers see of it.
    pub(super) vectors: Vec<(IndexSchema, Facts)>,
    /// The attribute that says when an item expires, if the table has one.
    pub(super) ttl: Option<String>,
    #[cfg_attr(not(feature = "observe"), expect(dead_code, reason = "only reports show it"))]
    pub(super) created_ms: u64,
}

/// A table or one of its indexes, by its position in the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    Table,
    Index(usize),
    Vector(usize),
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
    /// The table, or one of its indexes, as observers see it.
    pub(super) fn place(&self, spot: Spot) -> Place<'_> {
        let (index, facts) = match spot {
            Spot::Table => (None, None),
            Spot::Index(at) => (self.schema.indexes.get(at), self.indexes.get(at)),
            Spot::Vector(at) => self.vectors.get(at).map(|(index, facts)| (index, facts)).unzip(),
        };
        let facts = facts.unwrap_or(&self.table);
        Place {
            table: &self.schema.name,
            index,
            key: index.map_or(&self.schema.key, |index| &index.key),
            throughput: facts.throughput,
            has_local_indexes: self.schema.local_indexes().next().is_some(),
            size_bytes: facts.bytes,
            is_vector: matches!(spot, Spot::Vector(_)),
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
        index.is_none_or(|index| {
            self.position(index).or_else(|| self.vector_position(index)).is_some()
        })
    }

    /// Where the index of this name stands.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.schema.indexes.iter().position(|index| index.name == name)
    }

    /// Where the vector index of this name stands.
    pub(super) fn vector_position(&self, name: &str) -> Option<usize> {
        self.schema.vector_indexes.iter().position(|index| index.name == name)
    }

    /// The table, or the index if one is named; none if it is not there.
    pub(super) fn spot(&self, index: Option<&str>) -> Option<Spot> {
        index.map_or(Some(Spot::Table), |name| self.position(name).map(Spot::Index))
    }
}

/// The tables that were looked at, by the names that requests give them.
#[derive(Debug, Default)]
pub(super) struct Tables {
    known: RwLock<HashMap<String, Known>>,
    /// A lock for each name that somebody wants to ask the endpoint for, held by the one who does.
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
        let turn = self.turn(name);
        let table = self.ask(&turn, name, index, old, describe);
        self.leave(name, turn);
        table
    }

    /// Asks the endpoint, once whoever asks already is done.
    fn ask(
        &self,
        turn: &Mutex<()>,
        name: &str,
        index: Option<&str>,
        old: Option<Arc<Described>>,
        describe: impl FnOnce() -> Option<Described>,
    ) -> Option<Arc<Described>> {
        let has_all = old.as_ref().is_some_and(|table| table.has(index));
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
        self.remember(name, Known { since: Instant::now(), table: table.clone() });
        table
    }

    fn remember(&self, name: &str, known: Known) {
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Names of which nothing is known are kept only so that the endpoint is not asked all the time.
        all.retain(|_, known| known.table.is_some() || known.since.elapsed() < DOUBTED);
        if all.len() >= MAX_KNOWN && !all.contains_key(name) {
            let worth = |known: &Known| (known.table.is_some(), known.since);
            let least = all.iter().min_by_key(|(_, known)| worth(known));
            if let Some(least) = least.map(|(name, _)| name.clone()) {
                all.remove(&least);
            }
        }
        all.insert(name.to_owned(), known);
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

    /// Gives a turn back; the last one who wanted it takes it away.
    fn leave(&self, name: &str, turn: Arc<Mutex<()>>) {
        let mut all = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        drop(turn);
        if all.get(name).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            all.remove(name);
        }
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

    /// The names that requests gave to tables that are described.
    #[cfg(feature = "observe")]
    pub(super) fn names(&self) -> Vec<String> {
        let all = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let described = all.iter().filter(|(_, known)| known.table.is_some());
        let mut names: Vec<String> = described.map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }
}

#[cfg(test)]
impl Described {
    /// A table `t` with the key `pk`, `sk` and global indexes `g` on `sk` and `h` on `gk`.
    pub(super) fn example() -> Arc<Self> {
        let key =
            |name: &str, kind: &str| format!(r#"{{"AttributeName":"{name}","KeyType":"{kind}"}}"#);
        let index = |name: &str, hash: &str| {
            format!(r#"{{"IndexName":"{name}","KeySchema":[{}]}}"#, key(hash, "HASH"))
        };
        let names = ["pk", "sk", "gk"]
            .map(|name| format!(r#"{{"AttributeName":"{name}","AttributeType":"S"}}"#))
            .join(",");
        let body = format!(
            r#"{{"Table":{{"TableName":"t","AttributeDefinitions":[{names}],"KeySchema":[{},{}],"GlobalSecondaryIndexes":[{},{}]}}}}"#,
            key("pk", "HASH"),
            key("sk", "RANGE"),
            index("g", "sk"),
            index("h", "gk"),
        );
        Arc::new(super::description::read(body.as_bytes()).unwrap())
    }
}

/// The name of a table that is given by its name or its ARN.
pub(super) fn table_of(given: &str) -> &str {
    given.rsplit_once(":table/").map_or(given, |(_, name)| name)
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
        assert!(tables.asking.lock().unwrap().is_empty(), "nobody asks any more");
    }

    /// Makes all that is known so much older.
    fn age(tables: &Tables, seconds: u64) {
        for known in tables.known.write().unwrap().values_mut() {
            known.since = known.since.checked_sub(Duration::from_secs(seconds)).unwrap();
        }
    }

    #[test]
    fn what_a_description_lacks_is_asked_for_again_after_a_while() {
        let (tables, asked) = (Tables::default(), AtomicUsize::new(0));
        let ask = |index: Option<&str>, answer: fn() -> Option<Described>| {
            tables.get("t", index, || {
                asked.fetch_add(1, Ordering::Relaxed);
                answer()
            });
            asked.load(Ordering::Relaxed)
        };
        // The endpoint does not say.
        assert_eq!([ask(None, || None), ask(None, || None)], [1, 1]);
        age(&tables, 9);
        assert_eq!(ask(None, || None), 1);
        age(&tables, 2);
        assert_eq!([ask(None, example), ask(None, example)], [2, 2]);
        // An index that was added meanwhile, or that is nowhere.
        age(&tables, 9);
        assert_eq!([ask(Some("g"), example), ask(Some("new"), example)], [2, 2]);
        age(&tables, 2);
        assert_eq!([ask(Some("g"), example), ask(Some("new"), example)], [2, 3]);
        age(&tables, 11);
        assert_eq!(ask(None, example), 3);
        age(&tables, 300);
        assert_eq!(ask(None, example), 4);
    }

    #[test]
    fn names_of_no_table_are_forgotten_and_those_of_tables_are_not_too_many() {
        let tables = Tables::default();
        let known = || tables.known.read().unwrap().len();
        tables.get("t", None, example).unwrap();
        for number in 0..2 * MAX_KNOWN {
            assert!(tables.get(&format!("none-{number}"), None, || None).is_none());
        }
        assert_eq!(known(), MAX_KNOWN);
        assert!(tables.known("t").is_some(), "a table is worth more than a name");
        age(&tables, 11);
        tables.get("u", None, example).unwrap();
        assert_eq!(known(), 2);
        for number in 0..2 * MAX_KNOWN {
            tables.get(&format!("table-{number}"), None, example).unwrap();
        }
        assert_eq!(known(), MAX_KNOWN);
        assert!(tables.known("t").is_none(), "the oldest");
        assert!(tables.asking.lock().unwrap().is_empty());
    }

    #[test]
    fn an_old_description_stays_where_a_new_one_fails_and_serves_while_it_is_asked_for() {
        let tables = Tables::default();
        tables.get("t", None, example).unwrap();
        age(&tables, 301);
        assert!(tables.get("t", None, || None).is_some());
        age(&tables, 301);
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
