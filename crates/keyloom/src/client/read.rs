//! Queries and scans of the untyped client.

use keyloom_api::Expression;
use keyloom_api::queries::{QueryInput, ReadInput, ScanInput, Select};
use keyloom_core::expr::{Operand, Path};
use keyloom_core::{AttributeValue, Item};
use serde::de::DeserializeOwned;

use crate::backend::RawPage;
use crate::error::{Error, Result};
use crate::expression;
use crate::item::from_item;

use super::{Condition, Op, TableClient};

/// What queries and scans share.
#[derive(Clone, Debug, Default)]
struct Wanted {
    index: Option<String>,
    filter: Option<Condition>,
    attributes: Vec<String>,
    limit: Option<usize>,
    take: Option<usize>,
    consistent: bool,
    count_only: bool,
    start: Option<Item>,
}

impl Wanted {
    fn input(&self, table: &str, start: Option<Item>) -> Result<ReadInput> {
        let filter = self.filter.as_ref().map(Condition::tree).transpose()?.flatten();
        // Without a filter, a page of the requested size is enough.
        let limit = self.limit.or(self.take.filter(|_| filter.is_none()));
        Ok(ReadInput {
            table_name: table.to_owned(),
            index_name: self.index.clone(),
            limit: limit.map(|limit| limit.max(1)),
            select: self.count_only.then_some(Select::Count),
            exclusive_start_key: start,
            consistent_read: self.consistent,
            filter: filter.map(Expression::Tree),
            projection: expression::projection(self.attributes.iter().map(String::as_str))?,
            ..ReadInput::default()
        })
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
        pub fn filter(self, path: &str, op: Op) -> Self {
            self.filter_by(Condition::when(path, op))
        }

        /// A condition that items must satisfy after they are read, in addition to those before.
        pub fn filter_by(mut self, condition: impl Into<Condition>) -> Self {
            let condition = condition.into();
            self.wanted.filter = Some(match self.wanted.filter.take() {
                Some(before) => before.and(condition),
                None => condition,
            });
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

        /// Continues after the last key of a page.
        pub fn after(mut self, last_key: Option<Item>) -> Self {
            self.wanted.start = last_key;
            self
        }

        /// Reads one page.
        pub fn page(&self) -> Result<RawPage> {
            self.fetch(self.wanted.start.clone())
        }

        /// All pages, each read when the iterator reaches it.
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

        /// All items, one after the other; pages are read as they are needed.
        pub fn items(self) -> impl Iterator<Item = Result<Item>> + 't {
            let take = self.wanted.take.unwrap_or(usize::MAX);
            let items = self.pages().flat_map(|page| match page {
                Ok(page) => page.items.into_iter().map(Ok).collect::<Vec<_>>(),
                Err(error) => vec![Err(error)],
            });
            items.take(take)
        }

        /// The first item, if there is one.
        pub fn first(self) -> Result<Option<Item>> {
            Ok(self.take(1).collect()?.into_iter().next())
        }

        /// How many items there are, without fetching them. The read costs as much.
        pub fn count(mut self) -> Result<usize> {
            self.wanted.count_only = true;
            self.pages().try_fold(0, |sum, page| Ok(sum + page?.count))
        }

        /// Reads all pages and returns their items.
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
    partition: Vec<AttributeValue>,
    within: Vec<AttributeValue>,
    sort: Option<Op>,
    descending: bool,
    wanted: Wanted,
}

impl<'t> RawQuery<'t> {
    pub(super) fn new(table: &'t TableClient, partition: AttributeValue) -> Self {
        Self {
            table,
            partition: vec![partition],
            within: Vec::new(),
            sort: None,
            descending: false,
            wanted: Wanted::default(),
        }
    }

    /// Reads an index that [`TableClient::with_index`] declared.
    pub fn index(mut self, name: &str) -> Self {
        self.wanted.index = Some(name.to_owned());
        self
    }

    /// The value of the next attribute of a multi-attribute partition key.
    pub fn also(mut self, value: impl Into<AttributeValue>) -> Self {
        self.partition.push(value.into());
        self
    }

    /// The value of the next attribute of a sort key that is made of several; the test on the sort key is then about the
    /// attribute after it.
    pub fn within(mut self, value: impl Into<AttributeValue>) -> Self {
        self.within.push(value.into());
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
        let keys = match &self.wanted.index {
            Some(name) => self.table.index(name)?,
            None => &self.table.keys,
        };
        if keys.partition.len() != self.partition.len() {
            return Err(Error::Config(format!(
                "the partition key has {} attributes and the query {} values: add them with RawQuery::also",
                keys.partition.len(),
                self.partition.len()
            )));
        }
        let equal = keys.partition.iter().zip(&self.partition);
        let within = keys.sort.iter().zip(&self.within);
        let mut tests: Vec<_> = equal
            .chain(within)
            .map(|(key, value)| expression::equal(&key.name, value.clone()))
            .collect();
        let next = keys.sort.get(self.within.len());
        match (&self.sort, next) {
            (Some(op), Some(key)) => {
                tests.push(op.tree(Operand::Path(Path::attribute(key.name.as_str())))?);
            }
            (None, _) if self.within.len() <= keys.sort.len() => {}
            (Some(_) | None, _) => {
                return Err(Error::Config(
                    "the query tests more sort keys than the table or index has".into(),
                ));
            }
        }
        let input = QueryInput {
            read: self.wanted.input(&self.table.table, start)?,
            key_condition: Some(Expression::Tree(expression::all(tests))),
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
        let input =
            ScanInput { read: self.wanted.input(&self.table.table, start)?, segment: self.segment };
        self.table.retry.run("Scan", true, |_| self.table.backend.scan(&input))
    }
}
