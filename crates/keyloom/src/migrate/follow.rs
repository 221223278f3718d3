//! Follow: changes of one form are copied to the other.
//!
//! The position in every shard is stored in the database, after the last record that was copied. A shard is read only
//! after its parent is finished, so that an item's changes arrive in order. Records may be read twice after a crash;
//! versions make that harmless.

use keyloom_core::{AttributeValue, Error as Refusal, Item, Number};
use keyloom_design::migration::{Fate, ItemMap, Mapped};

use super::apply::{Change, Edit, Writer};
use super::mark::{Origin, Version};
use super::service::Service;
use super::state::{self, Fence, number};
use super::stream::{self, Listed, Record, Start};
use crate::error::{Error, Result};

/// A stream keeps its records for a day; an hour less is safe.
const KEPT_MS: u64 = 23 * 3_600_000;
/// The attribute of a shard that left tombstones.
const LEFT: &str = "left_tombstones";

/// Where a shard is read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Position {
    /// At an iterator, which was given out then and is good for some minutes.
    Iterator(String, u64),
    /// At the first record.
    First(String),
    /// Behind this record.
    After(String),
    /// It is finished.
    Done,
}

/// A shard that is followed.
#[derive(Clone, Debug)]
struct Shard {
    table: String,
    arn: String,
    id: String,
    parent: Option<String>,
    position: Position,
    /// Whether tombstones were left for what it told, which a sweep has to remove.
    left_tombstones: bool,
    /// The iterator of the next records.
    next: Option<String>,
}

/// What one round of reading brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Round {
    /// How many records were read.
    pub(super) records: usize,
    /// Whether nothing is left to read for now.
    pub(super) caught_up: bool,
    /// Whether records were lost, so that everything must be copied again.
    pub(super) gap: bool,
    /// When the last change read was made, in seconds since 1970.
    pub(super) newest_s: f64,
    /// What is left to read was made after this; infinite if nothing was read.
    pub(super) left_since_s: f64,
}

/// Follows the streams of one direction's sources.
pub(super) struct Follower {
    record: state::Record,
    fence: Fence,
    prefix: String,
    generation: u64,
    /// The tables, and the ARNs of their streams.
    streams: Vec<(String, String)>,
    shards: Vec<Shard>,
    /// Whether the streams may have shards that are not known yet.
    is_stale: bool,
}

impl Follower {
    /// Takes the present end of the streams as the beginning, and remembers it.
    pub(super) fn begin(
        service: &Service,
        record: &state::Record,
        fence: &Fence,
        prefix: &str,
        map: &ItemMap,
    ) -> Result<()> {
        for kind in ["SHARD", "STREAM"] {
            record.clear(service, fence, &format!("{kind}#{prefix}#"))?;
        }
        let mut items = Vec::new();
        for table in map.sources() {
            let arn = stream::ensure(service, &table.name)?;
            let mut followed = record.named(&format!("STREAM#{prefix}#{}", table.name));
            followed.insert("table", table.name.as_str());
            followed.insert("arn", arn.as_str());
            items.push(followed);
            for listed in stream::shards(service, &arn)? {
                let position = if listed.is_closed {
                    Position::Done
                } else {
                    let iterator = stream::iterator(service, &arn, &listed.id, &Start::Latest)?;
                    Position::Iterator(iterator, service.clock.now_ms())
                };
                let shard = Shard::new(&table.name, &arn, &listed, position);
                items.push(shard.item(record, prefix));
            }
        }
        state::Record::put(service, fence, &items)
    }

    /// Goes on where the positions say.
    pub(super) fn load(
        service: &Service,
        record: &state::Record,
        fence: Fence,
        prefix: &str,
        generation: u64,
    ) -> Result<Self> {
        let items = record.list(service, &format!("SHARD#{prefix}#"))?;
        let streams = record.list(service, &format!("STREAM#{prefix}#"))?;
        Ok(Self {
            streams: streams
                .iter()
                .filter_map(|item| Some((text(item, "table")?, text(item, "arn")?)))
                .collect(),
            record: record.clone(),
            fence,
            prefix: prefix.to_owned(),
            generation,
            shards: items.iter().filter_map(Shard::read).collect(),
            is_stale: true,
        })
    }

    /// Whether tombstones were left.
    pub(super) fn left_tombstones(&self) -> bool {
        self.shards.iter().any(|shard| shard.left_tombstones)
    }

    /// Reads each shard once, and carries over what changed.
    pub(super) fn round(&mut self, writer: &Writer<'_>) -> Result<Round> {
        let service = writer.service;
        if (self.is_stale || self.lacks_shards()) && !self.refresh(service)? {
            return Ok(Round { gap: true, ..Round::default() });
        }
        let mut round = Round { caught_up: true, left_since_s: f64::INFINITY, ..Round::default() };
        for at in 0..self.shards.len() {
            if !self.is_due(at) {
                continue;
            }
            match self.read(at, writer) {
                Ok(part) => {
                    round.records += part.records;
                    round.caught_up &= part.caught_up;
                    round.newest_s = round.newest_s.max(part.newest_s);
                    if part.records > 0 {
                        round.left_since_s = round.left_since_s.min(part.newest_s);
                    }
                }
                Err(Error::Database(
                    Refusal::TrimmedDataAccess(_) | Refusal::ResourceNotFound(_),
                )) => {
                    return Ok(Round { gap: true, ..Round::default() });
                }
                Err(error) => return Err(error),
            }
        }
        round.caught_up &= !self.is_stale;
        Ok(round)
    }

    /// Whether a stream has no shard yet: one that was turned on a moment ago may list its first one late.
    fn lacks_shards(&self) -> bool {
        let mut tables = self.streams.iter().map(|(table, _)| table);
        tables.any(|table| self.shards.iter().all(|shard| shard.table != *table))
    }

    /// Looks for new shards. False if records were lost: a stream is another one, or a shard went before its end.
    fn refresh(&mut self, service: &Service) -> Result<bool> {
        let mut found = Vec::new();
        for (table, arn) in &self.streams {
            if stream::find(service, table)?.is_none_or(|(_, now)| now != *arn) {
                return Ok(false);
            }
            let listed = stream::shards(service, arn)?;
            let lives = |shard: &Shard| listed.iter().any(|listed| listed.id == shard.id);
            let mut unread = self.shards.iter().filter(|shard| shard.position != Position::Done);
            if unread.any(|shard| shard.table == *table && !lives(shard)) {
                return Ok(false);
            }
            let is_new = |listed: &&Listed| self.shards.iter().all(|shard| shard.id != listed.id);
            for listed in listed.iter().filter(is_new) {
                let first = Position::First(listed.first.clone());
                found.push(Shard::new(table, arn, listed, first));
            }
        }
        let items: Vec<Item> =
            found.iter().map(|shard| shard.item(&self.record, &self.prefix)).collect();
        state::Record::put(service, &self.fence, &items)?;
        self.shards.extend(found);
        self.is_stale = false;
        Ok(true)
    }

    /// Whether a shard has something to read, and its parent has not.
    fn is_due(&self, at: usize) -> bool {
        let Some(shard) = self.shards.get(at) else { return false };
        let is_open = |parent: &Shard| {
            shard.parent.as_ref() == Some(&parent.id) && parent.position != Position::Done
        };
        shard.position != Position::Done && !self.shards.iter().any(is_open)
    }

    fn read(&mut self, at: usize, writer: &Writer<'_>) -> Result<Round> {
        let Some(shard) = self.shards.get_mut(at) else { return Ok(Round::default()) };
        let service = writer.service;
        let iterator = match shard.next.take() {
            Some(iterator) => iterator,
            None => shard.iterator(service)?,
        };
        let page = match stream::records(service, &iterator) {
            // The position tells where to get another.
            Err(Error::Database(Refusal::ExpiredIterator(_))) => {
                shard.expire(service.clock.now_ms())?;
                return Ok(Round::default());
            }
            page => page?,
        };
        let mut changes = Vec::new();
        for record in &page.records {
            changes.extend(self::changes(writer.map, &shard.table, record, self.generation));
        }
        // Remembered together with the position.
        shard.left_tombstones |=
            writer.tombstones && changes.iter().any(|change| matches!(change.edit, Edit::Gone));
        writer.write(changes)?;
        if let Some(last) = page.records.last() {
            shard.position = Position::After(last.sequence.clone());
        }
        let is_done = page.next.is_none();
        if is_done {
            shard.position = Position::Done;
            self.is_stale = true;
        }
        if is_done || !page.records.is_empty() {
            let item = shard.item(&self.record, &self.prefix);
            state::Record::put(service, &self.fence, &[item])?;
        }
        shard.next = page.next;
        Ok(Round {
            records: page.records.len(),
            caught_up: page.records.is_empty() && !is_done,
            gap: false,
            newest_s: page.records.last().map_or(0.0, |record| record.created_s),
            left_since_s: f64::INFINITY,
        })
    }
}

/// What a record changes in the other form.
pub(super) fn changes(map: &ItemMap, table: &str, record: &Record, generation: u64) -> Vec<Change> {
    let from = Origin { table: table.to_owned(), key: record.keys.clone() };
    let version = Version::of(generation, &record.sequence);
    // An image that has no other form is found by `verify`; what it was before goes all the same.
    let mapped = |image: Option<&Item>| -> Vec<Mapped> {
        match image.map(|image| map.fate(table, image)) {
            Some(Ok(Fate::Mapped(mapped))) => mapped,
            _ => Vec::new(),
        }
    };
    let (old, new) = (mapped(record.old.as_ref()), mapped(record.new.as_ref()));
    let mut changes = Vec::new();
    for left in old.into_iter().filter(|old| old.amendment.is_none()) {
        if !new.iter().any(|new| new.table == left.table && new.key == left.key) {
            let (from, version) = (from.clone(), version.clone());
            changes.push(Change {
                table: left.table,
                key: left.key,
                edit: Edit::Gone,
                from,
                version,
            });
        }
    }
    if let Some(image) = &record.new {
        changes.extend(new.into_iter().filter_map(|new| Change::of(new, image, &from, &version)));
    }
    changes
}

fn text(item: &Item, name: &str) -> Option<String> {
    item.get(name).and_then(AttributeValue::as_s).map(str::to_owned)
}

impl Shard {
    fn new(table: &str, arn: &str, listed: &Listed, position: Position) -> Self {
        Self {
            table: table.to_owned(),
            arn: arn.to_owned(),
            id: listed.id.clone(),
            parent: listed.parent.clone(),
            position,
            left_tombstones: false,
            next: None,
        }
    }

    /// An iterator at the position.
    fn iterator(&self, service: &Service) -> Result<String> {
        let start = match &self.position {
            Position::Iterator(iterator, _) => return Ok(iterator.clone()),
            Position::First(number) if number.is_empty() => Start::Oldest,
            Position::First(number) => Start::At(number),
            Position::After(number) => Start::After(number),
            Position::Done => Start::Latest,
        };
        stream::iterator(service, &self.arn, &self.id, &start)
    }

    /// The iterator is no longer good. If nothing was read with it yet, the shard is read from its oldest record; if that
    /// may be gone, so may others.
    fn expire(&mut self, now_ms: u64) -> Result<()> {
        if let Position::Iterator(_, given_ms) = &self.position {
            if now_ms.saturating_sub(*given_ms) > KEPT_MS {
                let lost = "its first records were never read".to_owned();
                return Err(Error::Database(Refusal::TrimmedDataAccess(lost)));
            }
            self.position = Position::First(String::new());
        }
        Ok(())
    }

    fn item(&self, record: &state::Record, prefix: &str) -> Item {
        let mut item = record.named(&format!("SHARD#{prefix}#{}#{}", self.table, self.id));
        item.insert("table", self.table.as_str());
        item.insert("arn", self.arn.as_str());
        item.insert("shard", self.id.as_str());
        if let Some(parent) = &self.parent {
            item.insert("parent", parent.as_str());
        }
        let (kind, value) = match &self.position {
            Position::Iterator(iterator, _) => ("iterator", iterator.as_str()),
            Position::First(number) => ("first", number.as_str()),
            Position::After(number) => ("after", number.as_str()),
            Position::Done => ("done", ""),
        };
        item.insert("position", kind);
        item.insert("value", value);
        if self.left_tombstones {
            item.insert(LEFT, true);
        }
        if let Position::Iterator(_, given_ms) = &self.position {
            item.insert("given_ms", number(*given_ms));
        }
        item
    }

    fn read(item: &Item) -> Option<Self> {
        let text = |name: &str| text(item, name);
        let value = text("value")?;
        let given_ms = item.get("given_ms").and_then(AttributeValue::as_n).and_then(Number::to_i64);
        let position = match text("position")?.as_str() {
            "iterator" => Position::Iterator(value, given_ms.unwrap_or(0).cast_unsigned()),
            "first" => Position::First(value),
            "after" => Position::After(value),
            _ => Position::Done,
        };
        Some(Self {
            table: text("table")?,
            arn: text("arn")?,
            id: text("shard")?,
            parent: text("parent"),
            position,
            left_tombstones: item.contains_key(LEFT),
            next: None,
        })
    }
}
