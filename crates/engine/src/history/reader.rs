//! Reads a table as of a point in time, and its changes between two points.
//!
//! Both iterate over all versions of all items, in key order, and of each item from the oldest to the current one.
//! This is a merge of the table with the days of its history, in memory that does not depend on the size of either.
//! Differences are kept in memory until the next whole image of their item. Of the images that follow from them, only
//! those that were asked for are kept: a chain of differences is much smaller than its images.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Bound;

use keyloom_core::{Error, Result, image};
use keyloom_store::{Bytes, Direction, Entries, KeyRange, Snapshot};

use crate::layout::{self, ENTRY_HEADER_BYTES, HISTORY_HEADER_BYTES, Keyspace};
use crate::store_error;
use crate::stream::NUMBERS_PER_MS;

use super::{Past, day_of};

/// The number of the present version: it is what was before a change that is still to come.
const PRESENT: u64 = u64::MAX;

/// The items of a table at a time, in the order of their keys.
pub(crate) struct TableAt<'a> {
    versions: Versions<'a>,
    before: u64,
    /// Where to go on: behind the item with this key.
    after: Option<Bytes>,
}

impl<'a> TableAt<'a> {
    /// The table in a keyspace as the snapshot has it.
    pub(crate) fn present(snapshot: &'a dyn Snapshot, table: Keyspace) -> Self {
        let versions = Versions { snapshot, table, history: 0, days: Vec::new() };
        Self { versions, before: PRESENT, after: None }
    }

    /// The table in a keyspace as it was. The snapshot must have all writes before that
    /// ([`super::snapshot_with`]).
    pub(crate) fn past(snapshot: &'a dyn Snapshot, table: Keyspace, past: Past) -> Result<Self> {
        let versions = Versions::since(snapshot, table, past)?;
        Ok(Self { versions, before: past.before, after: None })
    }

    /// The table as it was, or as the snapshot has it.
    pub(crate) fn at(
        snapshot: &'a dyn Snapshot,
        table: Keyspace,
        past: Option<Past>,
    ) -> Result<Self> {
        past.map_or_else(
            || Ok(Self::present(snapshot, table)),
            |past| Self::past(snapshot, table, past),
        )
    }

    /// All items from here on: the key of each in its keyspace, and its image.
    pub(crate) fn items(&self) -> impl Iterator<Item = Result<(Bytes, Bytes)>> + '_ {
        let before = self.before;
        let mut decided: Option<Bytes> = None;
        self.versions.scan(self.after.as_ref(), &[before]).filter_map(move |version| {
            let version = match version {
                Ok(version) => version,
                Err(error) => return Some(Err(error)),
            };
            // The first one from the time on is what the item was then.
            if version.number < before || decided.as_ref() == Some(&version.item) {
                return None;
            }
            decided = Some(version.item.clone());
            version.image().map(|image| Ok((version.item, image)))
        })
    }

    /// The next items, at most so many. A chunk that could not be read or used can be read again.
    pub(crate) fn chunk(&self, count: usize) -> Result<Vec<(Bytes, Bytes)>> {
        self.items().take(count).collect()
    }

    /// Goes on behind the item with this key.
    pub(crate) fn advance(&mut self, item: Bytes) {
        self.after = Some(item);
    }
}

/// The items of a table that changed between two times, in the order of their keys.
pub(crate) struct Changes<'a> {
    versions: Versions<'a>,
    from: u64,
    to: u64,
}

/// What happened to an item between two times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ItemChange {
    /// The item's key in its keyspace.
    pub(crate) item: Bytes,
    /// What it was at the first time.
    pub(crate) old: Option<Bytes>,
    /// What it was at the second.
    pub(crate) new: Option<Bytes>,
    /// When it was last written in between.
    pub(crate) written_ms: u64,
}

impl<'a> Changes<'a> {
    /// The changes of the table in a keyspace from one time up to another. The snapshot must have all
    /// writes before the second.
    pub(crate) fn between(
        snapshot: &'a dyn Snapshot,
        table: Keyspace,
        from: Past,
        to: Past,
    ) -> Result<Self> {
        let versions = Versions::since(snapshot, table, from)?;
        Ok(Self { versions, from: from.before, to: to.before })
    }

    /// All items that were written, even if they became what they were before.
    pub(crate) fn items(&self) -> impl Iterator<Item = Result<ItemChange>> + '_ {
        let (from, to) = (self.from, self.to);
        let mut versions = self.versions.scan(None, &[from, to]);
        let mut next = versions.next();
        std::iter::from_fn(move || {
            loop {
                let first = match next.take()? {
                    Ok(first) => first,
                    Err(error) => return Some(Err(error)),
                };
                let mut change = ItemChange {
                    old: first.image(),
                    new: None,
                    written_ms: first.number / NUMBERS_PER_MS,
                    item: first.item.clone(),
                };
                let was_written = first.number < to;
                let mut is_decided = !was_written;
                loop {
                    next = versions.next();
                    let version = match &next {
                        Some(Ok(version)) if version.item == change.item => version,
                        _ => break,
                    };
                    if version.number < to {
                        change.written_ms = version.number / NUMBERS_PER_MS;
                    } else if !is_decided {
                        is_decided = true;
                        change.new = version.image();
                    }
                }
                if was_written {
                    return Some(Ok(change));
                }
            }
        })
    }
}

/// An item before a change.
pub(crate) struct Version {
    /// The item's key in its keyspace.
    pub(crate) item: Bytes,
    /// The number of the change.
    number: u64,
    /// The image; empty if the item did not exist, or the image is not wanted. As it is stored, it may be a difference.
    value: Bytes,
}

impl Version {
    /// The number of the change, if it has happened.
    pub(crate) fn changed_at(&self) -> Option<u64> {
        (self.number != PRESENT).then_some(self.number)
    }

    pub(crate) fn image(&self) -> Option<Bytes> {
        (!self.value.is_empty()).then(|| self.value.clone())
    }

    /// The version with its image instead of the difference from what it became.
    fn resolved(self, later: &Self) -> Result<Self> {
        if self.item != later.item {
            return Err(damaged());
        }
        let value = image::before(&self.value, &later.value)?.into();
        Ok(Self { value, ..self })
    }
}

/// Where all versions of a table's items lie.
pub(crate) struct Versions<'a> {
    snapshot: &'a dyn Snapshot,
    table: Keyspace,
    history: Keyspace,
    /// The days that have records, the oldest first.
    days: Vec<u32>,
}

impl<'a> Versions<'a> {
    /// All versions since a time, and some from before it.
    pub(crate) fn since(snapshot: &'a dyn Snapshot, table: Keyspace, past: Past) -> Result<Self> {
        let mut days = Vec::new();
        let mut day = Some(past.day());
        while let Some(from) = day {
            let found = first_day(snapshot, past.history, from)?;
            days.extend(found);
            day = found.and_then(|found| found.checked_add(1));
        }
        Ok(Self { snapshot, table, history: past.history, days })
    }

    /// The versions of all items behind this one: by item, then by number, the present last. `wanted` are numbers in
    /// rising order: versions from before the first are left out, and the images of an item are those of its first
    /// version from each number on.
    fn scan<'s>(&'s self, after: Option<&Bytes>, wanted: &[u64]) -> Whole<'s> {
        let (stored, wanted) = (self.merge(after), wanted.to_vec());
        Whole { stored, wanted, waiting: Vec::new(), ready: Vec::new() }
    }

    /// Shows all versions of all items with their images: by item, mostly from its newest to its oldest.
    pub(crate) fn visit(&self, mut visit: impl FnMut(&Version)) -> Result<()> {
        let mut waiting: Vec<Version> = Vec::new();
        for version in self.merge(None) {
            let mut later = version?;
            if image::is_difference(&later.value) {
                waiting.push(later);
                continue;
            }
            visit(&later);
            while let Some(earlier) = waiting.pop() {
                later = earlier.resolved(&later)?;
                visit(&later);
            }
        }
        if waiting.is_empty() { Ok(()) } else { Err(damaged()) }
    }

    fn merge(&self, after: Option<&Bytes>) -> Merge<'_> {
        let mut sources: Vec<Source<'_>> = Vec::with_capacity(self.days.len() + 1);
        for day in &self.days {
            let prefix = layout::history_day(self.history, *day);
            // Behind all records of the item.
            let end = u64::MAX.to_be_bytes();
            let lower = after.map(|item| [prefix.as_slice(), item, &end].concat());
            sources.push(Source { entries: self.entries(&prefix, lower), is_history: true });
        }
        let prefix = layout::entries(self.table);
        let lower = after.map(|item| [prefix.as_slice(), item].concat());
        sources.push(Source { entries: self.entries(&prefix, lower), is_history: false });
        Merge::new(sources)
    }

    fn entries(&self, prefix: &[u8], after: Option<Vec<u8>>) -> Entries<'_> {
        let mut range = KeyRange::prefix(prefix);
        if let Some(after) = after {
            range.lower = Bound::Excluded(after.into());
        }
        self.snapshot.scan(range, Direction::Forward)
    }
}

/// The first day from this one on that has records.
pub(super) fn first_day(
    snapshot: &dyn Snapshot,
    history: Keyspace,
    from: u32,
) -> Result<Option<u32>> {
    let mut range = KeyRange::prefix(&layout::history(history));
    range.lower = Bound::Included(layout::history_day(history, from).into());
    let first = snapshot.scan(range, Direction::Forward).next().transpose().map_err(store_error)?;
    first.map(|(key, _)| layout::day_of(&key).ok_or_else(damaged)).transpose()
}

/// Versions with the images that are wanted, whether differences are stored or not.
struct Whole<'a> {
    stored: Merge<'a>,
    /// Of each item, the first version from each of these numbers on; in rising order.
    wanted: Vec<u64>,
    /// Differences of an item, the oldest first, whose next whole image has not been met.
    waiting: Vec<Version>,
    /// What comes next, the last first.
    ready: Vec<Version>,
}

impl Whole<'_> {
    /// Makes all that waits for this version ready, and the version itself.
    fn resolve(&mut self, version: Version) -> Result<Version> {
        let mut later = version;
        while let Some(earlier) = self.waiting.pop() {
            let earlier = earlier.resolved(&later)?;
            if !self.wanted.iter().any(|number| earlier.number < *number && *number <= later.number)
            {
                later.value = Bytes::new();
            }
            self.ready.push(std::mem::replace(&mut later, earlier));
        }
        Ok(later)
    }

    #[cfg(test)]
    fn ready_bytes(&self) -> usize {
        self.ready.iter().map(|version| version.value.len()).sum()
    }
}

impl Iterator for Whole<'_> {
    type Item = Result<Version>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(version) = self.ready.pop() {
            return Some(Ok(version));
        }
        loop {
            match self.stored.next() {
                Some(Ok(version)) if self.wanted.first() > Some(&version.number) => {}
                Some(Ok(version)) if image::is_difference(&version.value) => {
                    self.waiting.push(version);
                }
                Some(version) => {
                    let version = version.and_then(|version| self.resolve(version));
                    if version.is_err() {
                        self.waiting.clear();
                        self.ready.clear();
                    }
                    return Some(version);
                }
                None if self.waiting.is_empty() => return None,
                None => {
                    self.waiting.clear();
                    return Some(Err(damaged()));
                }
            }
        }
    }
}

/// A day of the history, or the table.
struct Source<'a> {
    entries: Entries<'a>,
    is_history: bool,
}

impl Source<'_> {
    fn next(&mut self) -> Option<Result<Version>> {
        let entry = self.entries.next()?;
        Some(
            entry
                .map_err(store_error)
                .and_then(|(key, value)| self.version(&key.into_bytes(), value)),
        )
    }

    fn version(&self, key: &Bytes, value: Bytes) -> Result<Version> {
        if !self.is_history {
            let item = key.slice(ENTRY_HEADER_BYTES.min(key.len())..);
            return Ok(Version { item, number: PRESENT, value });
        }
        let end = key.len().checked_sub(size_of::<u64>()).ok_or_else(damaged)?;
        let number = layout::sequence_of(key).ok_or_else(damaged)?;
        if end < HISTORY_HEADER_BYTES || layout::day_of(key) != Some(day_of(number)) {
            return Err(damaged());
        }
        Ok(Version { item: key.slice(HISTORY_HEADER_BYTES..end), number, value })
    }
}

/// The versions of several sources as one.
struct Merge<'a> {
    sources: Vec<Source<'a>>,
    /// The next version of each source, by its item and the source's place.
    heads: BinaryHeap<Reverse<Head>>,
    /// What is wrong with a source. Nothing follows it.
    failure: Option<Error>,
}

struct Head {
    version: Version,
    source: usize,
}

impl<'a> Merge<'a> {
    fn new(sources: Vec<Source<'a>>) -> Self {
        let count = sources.len();
        let mut merge = Self { sources, heads: BinaryHeap::with_capacity(count), failure: None };
        (0..count).for_each(|source| merge.pull(source));
        merge
    }

    fn pull(&mut self, source: usize) {
        match self.sources.get_mut(source).and_then(Source::next) {
            Some(Ok(version)) => self.heads.push(Reverse(Head { version, source })),
            Some(Err(error)) => self.failure = Some(error),
            None => {}
        }
    }
}

impl Iterator for Merge<'_> {
    type Item = Result<Version>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failure.take() {
            self.heads.clear();
            return Some(Err(error));
        }
        let Reverse(Head { version, source }) = self.heads.pop()?;
        self.pull(source);
        Some(Ok(version))
    }
}

impl Head {
    fn place(&self) -> (&Bytes, usize) {
        (&self.version.item, self.source)
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

fn damaged() -> Error {
    Error::InternalServer("a record in the history of a table is damaged".into())
}

#[cfg(test)]
mod tests {
    use keyloom_store::{MemoryStore, Store};

    use super::*;
    use crate::history::{number_at, record_key};

    const TABLE: Keyspace = 3;
    const HISTORY: Keyspace = 4;
    const VERSIONS: u64 = 100;

    fn number(version: u64) -> u64 {
        number_at(version + 1000)
    }

    /// A counter in a large item.
    fn image(version: u64) -> Bytes {
        let text = "as ever ".repeat(1000);
        let attributes =
            [("n".into(), (version as i64).into()), ("text".into(), text.as_str().into())];
        image::encode(&attributes.into_iter().collect()).into()
    }

    /// An item of which only the present is a whole image.
    fn counted() -> MemoryStore {
        let store = MemoryStore::new();
        let mut transaction = store.begin(&[]).unwrap();
        for version in 0..VERSIONS {
            let difference = image::difference(&image(version), &image(version + 1)).unwrap();
            transaction
                .put(record_key(HISTORY, b"item", number(version)).into(), difference.into());
        }
        let key = [layout::entries(TABLE).as_slice(), b"item"].concat();
        transaction.put(key.into(), image(VERSIONS));
        transaction.commit().unwrap();
        store
    }

    #[test]
    fn few_images_of_a_long_chain_are_in_memory() {
        let store = counted();
        let snapshot = store.snapshot().unwrap();
        let past = |version| Past { history: HISTORY, before: number(version) };
        for first in [0, 1, 50, VERSIONS - 1] {
            let versions = Versions::since(snapshot.as_ref(), TABLE, past(first)).unwrap();
            let mut whole = versions.scan(None, &[number(first), number(first + 1)]);
            let (one, other) = (whole.next().unwrap().unwrap(), whole.ready_bytes());
            assert_eq!(one.image(), Some(image(first)));
            assert_eq!(other, image(first + 1).len(), "of {first}");
            let at = TableAt::past(snapshot.as_ref(), TABLE, past(first)).unwrap();
            assert_eq!(at.chunk(9).unwrap(), [(Bytes::from("item"), image(first))]);
        }
    }

    #[test]
    fn every_image_is_shown() {
        let store = counted();
        let snapshot = store.snapshot().unwrap();
        let all = Past { history: HISTORY, before: 0 };
        let versions = Versions::since(snapshot.as_ref(), TABLE, all).unwrap();
        let mut shown = Vec::new();
        versions.visit(|version| shown.extend(version.image())).unwrap();
        let expected: Vec<Bytes> = (0..=VERSIONS).rev().map(image).collect();
        assert_eq!(shown, expected);
    }
}
