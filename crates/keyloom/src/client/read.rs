//! Queries and scans by name.

use keyloom_core::{AttributeValue, Item};
use keyloom_engine::{ProjectionInput, QueryInput, ReadInput, ScanInput};
use serde::de::DeserializeOwned;

use super::{Op, TableClient, condition};
use crate::backend::RawPage;
use crate::error::{Error, Result};
use crate::expression::Placeholders;
use crate::item::from_item;

/// What queries and scans share.
#[derive(Clone, Debug, Default)]
struct Wanted {
    index: Option<String>,
    filters: Vec<(String, Op)>,
    attributes: Vec<String>,
    limit: Option<usize>,
    take: Option<usize>,
    consistent: bool,
    start: Option<Item>,
}

impl Wanted {
    fn input(&self, table: &str, mut placeholders: Placeholders, start: Option<Item>) -> ReadInput {
        let filter = condition::all(&mut placeholders, &self.filters);
        let projected: Vec<String> =
            self.attributes.iter().map(|path| placeholders.path(path)).collect();
        let (names, values) = placeholders.into_parts();
        // A page of the number wanted is enough when nothing is filtered away.
        let limit = self.limit.or(self.take.filter(|_| self.filters.is_empty()));
        ReadInput {
            table_name: table.to_owned(),
            index_name: self.index.clone(),
            limit: limit.map(|limit| limit.max(1)),
            exclusive_start_key: start,
            consistent_read: self.consistent,
            filter,
            projection: ProjectionInput {
                expression: (!projected.is_empty()).then(|| projected.join(", ")),
                names,
                ..ProjectionInput::default()
            },
            values,
            ..ReadInput::default()
        }
    }

    fn collect(&self, mut page: impl FnMut(Option<Item>) -> Result<RawPage>) -> Result<Vec<Item>> {
        let take = self.take.unwrap_or(usize::MAX);
        let mut items = Vec::new();
        let mut start = self.start.clone();
        while items.len() < take {
            let next = page(start)?;
            items.extend(next.items);
            match next.last_key {
                Some(key) => start = Some(key),
                None => break,
            }
        }
        items.truncate(take);
        Ok(items)
    }
}

macro_rules! wanted {
    () => {
        /// A test that items must pass after they are read. It does not make the read cheaper.
        pub fn filter(mut self, path: &str, op: Op) -> Self {
            self.wanted.filters.push((path.to_owned(), op));
            self
        }

        /// Only these attributes.
        pub fn only(mut self, paths: &[&str]) -> Self {
            self.wanted.attributes.extend(paths.iter().map(|path| (*path).to_owned()));
            self
        }

        /// The size of a page: how many items one request evaluates at most.
        pub fn limit(mut self, items: usize) -> Self {
            self.wanted.limit = Some(items);
            self
        }

        /// How many items are wanted in all.
        pub fn take(mut self, items: usize) -> Self {
            self.wanted.take = Some(items);
            self
        }

        /// Reads as of the latest write.
        pub fn consistent(mut self) -> Self {
            self.wanted.consistent = true;
            self
        }

        /// Goes on after the last key of a page.
        pub fn after(mut self, last_key: Option<Item>) -> Self {
            self.wanted.start = last_key;
            self
        }

        /// One page.
        pub fn page(&self) -> Result<RawPage> {
            self.fetch(self.wanted.start.clone())
        }

        /// All pages, each read when it is asked for.
        pub fn pages(self) -> impl Iterator<Item = Result<RawPage>> + 't {
            let mut next = Some(self.wanted.start.clone());
            std::iter::from_fn(move || {
                let page = self.fetch(next.take()?);
                if let Ok(page) = &page {
                    next = page.last_key.clone().map(Some);
                }
                Some(page)
            })
        }

        /// All items.
        pub fn collect(self) -> Result<Vec<Item>> {
            self.wanted.collect(|start| self.fetch(start))
        }

        /// All items as structs.
        pub fn collect_values<T: DeserializeOwned>(self) -> Result<Vec<T>> {
            let wrong = |error| Error::Item { entity: "item", error };
            self.collect()?.into_iter().map(|item| from_item(item).map_err(wrong)).collect()
        }
    };
}

/// A query that was not sent yet.
#[derive(Clone, Debug)]
#[must_use = "nothing is sent until the answer is taken"]
pub struct RawQuery<'t> {
    table: &'t TableClient,
    partition_key: String,
    partition: AttributeValue,
    sort_key: Option<String>,
    sort: Option<Op>,
    descending: bool,
    wanted: Wanted,
}

impl<'t> RawQuery<'t> {
    pub(super) fn new(table: &'t TableClient, partition: AttributeValue) -> Self {
        Self {
            table,
            partition_key: table.partition_key.clone(),
            partition,
            sort_key: table.sort_key.clone(),
            sort: None,
            descending: false,
            wanted: Wanted::default(),
        }
    }

    /// Reads an index, whose keys have these names.
    pub fn index(mut self, name: &str, partition_key: &str, sort_key: Option<&str>) -> Self {
        self.wanted.index = Some(name.to_owned());
        partition_key.clone_into(&mut self.partition_key);
        self.sort_key = sort_key.map(str::to_owned);
        self
    }

    /// The test on the sort key. DynamoDB takes one; a second replaces the first.
    pub fn sort(mut self, op: Op) -> Self {
        self.sort = Some(op);
        self
    }

    /// Sort keys that start with this text.
    pub fn begins_with(self, prefix: impl Into<AttributeValue>) -> Self {
        self.sort(Op::begins_with(prefix))
    }

    /// Sort keys from one to another, both included.
    pub fn between(self, low: impl Into<AttributeValue>, high: impl Into<AttributeValue>) -> Self {
        self.sort(Op::between(low, high))
    }

    /// The greatest sort key first.
    pub fn descending(mut self) -> Self {
        self.descending = true;
        self
    }

    wanted!();

    fn fetch(&self, start: Option<Item>) -> Result<RawPage> {
        let mut placeholders = Placeholders::default();
        let mut tests =
            vec![Op::Eq(self.partition.clone()).expression(&mut placeholders, &self.partition_key)];
        match (&self.sort, &self.sort_key) {
            (Some(op), Some(name)) => tests.push(op.expression(&mut placeholders, name)),
            (Some(_), None) => {
                return Err(Error::Config("the table or index has no sort key to test".into()));
            }
            (None, _) => {}
        }
        let input = QueryInput {
            read: self.wanted.input(&self.table.table, placeholders, start),
            key_condition: Some(tests.join(" AND ")),
            forward: !self.descending,
            ..QueryInput::default()
        };
        self.table.retry.run("Query", true, |_| self.table.backend.query(&input))
    }
}

/// A scan that was not sent yet.
#[derive(Clone, Debug)]
#[must_use = "nothing is sent until the answer is taken"]
pub struct RawScan<'t> {
    table: &'t TableClient,
    segment: Option<(u32, u32)>,
    wanted: Wanted,
}

impl<'t> RawScan<'t> {
    pub(super) fn new(table: &'t TableClient) -> Self {
        Self { table, segment: None, wanted: Wanted::default() }
    }

    /// Reads an index.
    pub fn index(mut self, name: &str) -> Self {
        self.wanted.index = Some(name.to_owned());
        self
    }

    /// Reads one of several parts, so that others can read the rest at the same time.
    pub fn segment(mut self, segment: u32, of: u32) -> Self {
        self.segment = Some((segment, of));
        self
    }

    wanted!();

    fn fetch(&self, start: Option<Item>) -> Result<RawPage> {
        let input = ScanInput {
            read: self.wanted.input(&self.table.table, Placeholders::default(), start),
            segment: self.segment,
        };
        self.table.retry.run("Scan", true, |_| self.table.backend.scan(&input))
    }
}
