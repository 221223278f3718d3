//! The one executor of reads.
//!
//! GetItem, Query, Scan, batches and PartiQL lower to lookups of single items or to a [`ReadPlan`]: a byte range of
//! one keyspace, a direction, a budget, and what to do with each entry. A plan runs on a snapshot, so it is
//! consistent and does not block writers.

pub(crate) mod asking;
mod range;
mod start;

use std::sync::Arc;

use keyloom_core::expr::{Condition, Projection, ResolvedKeyCondition};
use keyloom_core::hash;
use keyloom_core::image::{Row, Stored};
use keyloom_core::schema::KeySchema;
use keyloom_core::{Item, Result, limits};
use keyloom_store::{Direction, Expected, KeyRange, Snapshot};

pub(crate) use range::of_key_condition;
pub(crate) use start::{
    check_start_in_query, check_start_key, check_start_partition, resume_after,
};

use self::asking::{Answer, Question};
use crate::catalog::{Index, Table};
use crate::database::Inner;
use crate::layout::{self, Keyspace};
use crate::observe::split_key;
use crate::store_error;

/// A range of entries to read, and what to do with them.
#[derive(Debug)]
pub(crate) struct ReadPlan {
    pub(crate) table: Arc<Table>,
    /// The position of the index that is read, or none for the table.
    pub(crate) index: Option<usize>,
    pub(crate) range: KeyRange,
    pub(crate) direction: Direction,
    /// How many entries may be evaluated.
    pub(crate) limit: Option<usize>,
    pub(crate) filter: Option<Condition>,
    pub(crate) projection: Option<Projection>,
    /// Whether the base item is read for each entry: a local index asked for what it does not hold.
    pub(crate) fetch_base: bool,
    /// Whether the filter is applied to the entry even then, as PartiQL's is.
    pub(crate) filter_entry: bool,
    /// The part of a parallel scan: segment and total.
    pub(crate) segment: Option<(u32, u32)>,
    /// Whether only the number of rows is requested.
    pub(crate) count_only: bool,
    /// The key condition that the range was made of; none if all partitions are read.
    pub(crate) condition: Option<ResolvedKeyCondition>,
    /// Whether the range continues an earlier page.
    pub(crate) is_continued: bool,
}

/// What a plan found.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) rows: Vec<Row>,
    /// Entries that passed the filter.
    pub(crate) count: usize,
    /// Entries that were evaluated, before any filter.
    pub(crate) scanned: usize,
    /// Where the next page starts.
    pub(crate) last_key: Option<Item>,
    /// Bytes evaluated in the keyspace that was read.
    pub(crate) bytes: usize,
    /// The sizes of the base items that a local index had to fetch.
    pub(crate) fetched: Vec<usize>,
    /// Bytes evaluated in each partition, where they are charged one by one.
    pub(crate) partitions: Option<[Option<usize>; NEW_TABLE_PARTITIONS]>,
}

/// How many partitions a new on-demand table has. A Scan visits them all and rounds each up by
/// itself: AWS reports 2 units (4 if consistent) for a Scan of a table with one small item.
const NEW_TABLE_PARTITIONS: usize = 4;

/// Rows for which a page has room at once, so that it seldom moves them while it grows.
const FIRST_ROWS: usize = 32;

impl Page {
    /// The range had no more: the scan went through every partition, also through the empty ones.
    fn end(&mut self) {
        for sum in self.partitions.iter_mut().flatten() {
            sum.get_or_insert(0);
        }
    }
}

impl ReadPlan {
    /// The index that is read, if it is one.
    pub(crate) fn index(&self) -> Option<&Index> {
        self.index.and_then(|position| self.table.indexes.get(position))
    }

    /// The keyspace that is read.
    pub(crate) fn keyspace(&self) -> Keyspace {
        self.index().map_or(self.table.record.keyspace, |index| index.keyspace)
    }

    /// The key schema of what is read.
    pub(crate) fn key(&self) -> &KeySchema {
        self.index().map_or(self.table.key(), |index| &index.schema.key)
    }

    /// The attributes of `LastEvaluatedKey`: the base key and the index key.
    pub(crate) fn position_of(&self, row: &Stored) -> Result<Item> {
        let mut position = Item::new();
        let index_key = self.index().map(|index| index.schema.key.attributes());
        for attribute in self.table.key().attributes().chain(index_key.into_iter().flatten()) {
            if let Some(value) = row.get(&attribute.name)? {
                position.insert(attribute.name.clone(), value);
            }
        }
        Ok(position)
    }

    /// Whether an entry's store key belongs to another segment than the plan's.
    pub(crate) fn is_outside_segment(&self, key: &[u8]) -> bool {
        self.segment.is_some_and(|(segment, total)| {
            !SegmentFilter::new(segment, total).contains(partition_of(self.key(), key))
        })
    }

    /// Whether the plan reads a partition of a table without a sort key, so one item at most.
    pub(crate) fn is_of_one_item(&self) -> bool {
        self.index.is_none() && self.condition.is_some() && self.key().range.is_empty()
    }

    /// Runs the plan on a fresh snapshot.
    pub(crate) fn run(&self, database: &Inner) -> Result<Page> {
        if self.range.is_empty() {
            // Nothing is read, so the epoch is not checked: check explicitly that the table still exists.
            database.learn_epoch()?;
        }
        if let Some(page) = self.run_on_first_page(database)? {
            return Ok(page);
        }
        asking::refuse_to_wait()?;
        let snapshot = database.store.late_snapshot().map_err(store_error)?;
        self.run_on(snapshot.as_ref())
    }

    /// Runs the plan on the first page of its range; none if it needs more than that.
    fn run_on_first_page(&self, database: &Inner) -> Result<Option<Page>> {
        if self.range.is_empty() || self.fetch_base || self.segment.is_some() {
            return Ok(None);
        }
        let max_bytes = limits::MAX_PAGE_BYTES;
        let expected = self.expected(max_bytes);
        let question = || Question::Page(self.range.clone(), self.direction, expected);
        let first = if let Some(Answer::Page(first)) = asking::answer(question)? {
            first
        } else {
            let first = database.store.first_page(&self.range, self.direction, expected);
            first.map_err(store_error)?
        };
        let Some(first) = first else { return Ok(None) };
        let mut page = self.empty_page();
        for (key, value) in first.entries {
            if self.add(&key, Stored::new(value), None, &mut page, max_bytes)? {
                return Ok(Some(page));
            }
        }
        if !first.is_whole {
            return Ok(None);
        }
        page.end();
        Ok(Some(page))
    }

    /// How much of the range is read: images are a little larger than what they count as, and keys come
    /// with them.
    fn expected(&self, max_bytes: usize) -> Expected {
        let bytes = max_bytes.saturating_add(max_bytes / 4);
        Expected { entries: self.limit.unwrap_or(usize::MAX), bytes }
    }

    fn empty_page(&self) -> Page {
        let partitions =
            self.starts_scan_of_on_demand_table().then_some([None; NEW_TABLE_PARTITIONS]);
        Page { partitions, ..Page::default() }
    }

    /// Runs the plan on a snapshot.
    pub(crate) fn run_on(&self, snapshot: &dyn Snapshot) -> Result<Page> {
        self.run_within(snapshot, limits::MAX_PAGE_BYTES)
    }

    /// Runs the plan on a snapshot until it has evaluated so many bytes.
    pub(crate) fn run_within(&self, snapshot: &dyn Snapshot, max_bytes: usize) -> Result<Page> {
        if self.range.is_empty() {
            return Ok(Page::default());
        }
        let mut page = self.empty_page();
        let expected = self.expected(max_bytes);
        let mut entries = snapshot.page(self.range.clone(), self.direction, expected);
        let mut segment = self.segment.map(|(segment, total)| SegmentFilter::new(segment, total));
        while let Some(entry) = entries.next() {
            let (key, value) = entry.map_err(store_error)?;
            if let Some(filter) = &mut segment {
                let partition = partition_of(self.key(), &key);
                if !filter.contains(partition) {
                    // The rest of this partition is in the same segment: seek past it.
                    let past = KeyRange {
                        lower: KeyRange::prefix(partition).upper,
                        upper: self.range.upper.clone(),
                    };
                    entries = snapshot.scan(past, self.direction);
                    continue;
                }
            }
            let stored = Stored::new(value);
            if self.add(&key, stored, Some(snapshot), &mut page, max_bytes)? {
                return Ok(page);
            }
        }
        page.end();
        Ok(page)
    }

    /// Adds an entry to the page. Whether the page ends with it. Base items are read from the snapshot, if there is one.
    /// Both loops over entries need it inline: a call per row is 3 % of a Query.
    #[expect(
        clippy::inline_always,
        reason = "measured; with two callers, `inline` alone is not enough"
    )]
    #[inline(always)]
    fn add(
        &self,
        key: &[u8],
        entry: Stored,
        snapshot: Option<&dyn Snapshot>,
        page: &mut Page,
        max_bytes: usize,
    ) -> Result<bool> {
        let bytes = entry.size_bytes()?;
        page.scanned += 1;
        page.bytes += bytes;
        if let Some(partitions) = &mut page.partitions {
            let hash = partition_hash(partition_of(self.key(), key));
            let position = (hash >> 62) as usize;
            if let Some(sum) = partitions.get_mut(position) {
                *sum = Some(sum.unwrap_or(0) + bytes);
            }
        }
        let is_full = page.bytes >= max_bytes;
        let is_last = is_full || self.limit.is_some_and(|limit| page.scanned >= limit);
        if is_last {
            page.last_key = Some(self.position_of(&entry)?);
        }
        self.evaluate(snapshot, entry, page)?;
        Ok(is_last)
    }

    /// Whether this is the first page of a Scan of a whole on-demand table.
    fn starts_scan_of_on_demand_table(&self) -> bool {
        self.index.is_none()
            && self.segment.is_none()
            && self.table.record.billing.on_demand
            && self.range == KeyRange::prefix(&layout::entries(self.keyspace()))
    }

    /// Takes one entry into the page.
    #[expect(clippy::inline_always, reason = "a part of `add`, measured with it")]
    #[inline(always)]
    fn evaluate(
        &self,
        snapshot: Option<&dyn Snapshot>,
        entry: Stored,
        page: &mut Page,
    ) -> Result<()> {
        let base = match snapshot {
            Some(snapshot) if self.fetch_base => self.base_of(snapshot, &entry)?,
            _ => None,
        };
        if let Some(base) = &base {
            page.fetched.push(base.size_bytes()?);
        }
        if self.filter_entry && !self.accepts(&entry)? {
            return Ok(());
        }
        self.take(base.unwrap_or(entry), page)
    }

    /// The page of a plan that reads one item, which has been looked up.
    pub(crate) fn page_of(&self, item: Option<Stored>) -> Result<Page> {
        let mut page = Page::default();
        if let Some(item) = item {
            page.scanned = 1;
            page.bytes = item.size_bytes()?;
            self.take(item, &mut page)?;
        }
        Ok(page)
    }

    fn accepts(&self, row: &Stored) -> Result<bool> {
        match &self.filter {
            Some(filter) => Ok(filter.matches(Some(row.item()?))),
            None => Ok(true),
        }
    }

    /// Takes one row into the page.
    fn take(&self, row: Stored, page: &mut Page) -> Result<()> {
        if !self.filter_entry && !self.accepts(&row)? {
            return Ok(());
        }
        page.count += 1;
        if self.count_only {
            return Ok(());
        }
        if page.rows.is_empty() {
            page.rows.reserve(self.limit.unwrap_or(usize::MAX).min(FIRST_ROWS));
        }
        page.rows.push(match &self.projection {
            Some(projection) => Row::Item(projection.apply(row.item()?)),
            None => Row::Stored(row),
        });
        Ok(())
    }

    /// The base item of an index entry.
    fn base_of(&self, snapshot: &dyn Snapshot, entry: &Stored) -> Result<Option<Stored>> {
        let mut key = Item::new();
        for attribute in self.table.key().attributes() {
            if let Some(value) = entry.get(&attribute.name)? {
                key.insert(attribute.name.clone(), value);
            }
        }
        let key = self.table.item_key(&key)?;
        Ok(snapshot.get(&key).map_err(store_error)?.map(Stored::new))
    }
}

/// Looks up one item by its store key.
pub(crate) fn lookup(database: &Inner, key: &[u8]) -> Result<Option<Stored>> {
    let value = match asking::answer(|| Question::Value(key.to_vec()))? {
        Some(Answer::Value(value)) => value,
        _ => database.store.get(key).map_err(store_error)?,
    };
    Ok(value.map(Stored::new))
}

/// Looks up several items on one snapshot.
pub(crate) fn lookup_many(database: &Inner, keys: &[&[u8]]) -> Result<Vec<Option<Stored>>> {
    let images = database.store.get_many(keys).map_err(store_error)?;
    Ok(images.into_iter().map(|image| image.map(Stored::new)).collect())
}

/// The part of an entry's store key that names its partition.
fn partition_of<'a>(schema: &KeySchema, key: &'a [u8]) -> &'a [u8] {
    let (partition, _) = split_key(schema, key);
    key.get(..layout::ENTRY_HEADER_BYTES + partition.len()).unwrap_or(key)
}

/// The hash of the partition that an entry's store key belongs to.
pub(crate) fn hash_of_entry(schema: &KeySchema, key: &[u8]) -> u64 {
    partition_hash(partition_of(schema, key))
}

/// Decides which partitions belong to a segment, remembering the last answer.
struct SegmentFilter {
    segment: u64,
    total: u64,
    last: Option<(Vec<u8>, bool)>,
}

impl SegmentFilter {
    fn new(segment: u32, total: u32) -> Self {
        Self { segment: u64::from(segment), total: u64::from(total.max(1)), last: None }
    }

    fn contains(&mut self, partition: &[u8]) -> bool {
        if let Some((known, answer)) = &self.last
            && known == partition
        {
            return *answer;
        }
        // The hash space is cut into equal ranges, one per segment, so segments are stable.
        let position = (u128::from(partition_hash(partition)) * u128::from(self.total)) >> 64;
        let answer = position as u64 == self.segment;
        self.last = Some((partition.to_vec(), answer));
        answer
    }
}

/// The place in the hash space of a partition, given by the start of its store keys.
fn partition_hash(partition: &[u8]) -> u64 {
    hash::partition_hash(partition.get(layout::ENTRY_HEADER_BYTES..).unwrap_or_default())
}
