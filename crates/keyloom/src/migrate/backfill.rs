//! Backfill: every item of one form is written in the other, unless that has a newer version already.

use keyloom_core::{AttributeValue, Item};
use keyloom_design::migration::{Fate, ItemMap};

use super::apply::{Change, Writer};
use super::mark::{Origin, Version};
use super::service::Service;
use super::state::{Fence, Record, number};
use super::{Problem, stream};
use crate::error::Result;

/// How the names of segments begin in the state.
const SEGMENT: &str = "SEGMENT#";

/// A part of a table that is copied by one worker.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) table: String,
    number: u32,
    of: u32,
    after: Option<Item>,
    pub(super) is_done: bool,
    /// Items read so far.
    pub(super) items: u64,
    /// Items that the whole table had at the beginning, by its last count.
    pub(super) table_items: u64,
}

impl Segment {
    /// The segments of all sources, from the beginning.
    pub(super) fn begin(
        service: &Service,
        record: &Record,
        fence: &Fence,
        map: &ItemMap,
        of: u32,
    ) -> Result<()> {
        record.clear(service, fence, SEGMENT)?;
        let mut items = Vec::new();
        for table in map.sources() {
            let table_items = stream::item_count(service, &table.name)?;
            for segment in 0..of.max(1) {
                let segment = Self {
                    table: table.name.clone(),
                    number: segment,
                    of: of.max(1),
                    after: None,
                    is_done: false,
                    items: 0,
                    table_items,
                };
                items.push(segment.item(record));
            }
        }
        Record::put(service, fence, &items)
    }

    /// The segments as they are remembered.
    pub(super) fn load(service: &Service, record: &Record) -> Result<Vec<Self>> {
        Ok(record.list(service, SEGMENT)?.iter().filter_map(Self::read).collect())
    }

    /// The segment, if the item of this name has one.
    pub(super) fn of(name: &str, item: &Item) -> Option<Self> {
        name.starts_with(SEGMENT).then(|| Self::read(item)).flatten()
    }

    /// Copies one page, and remembers how far it is. Returns what cannot be copied.
    pub(super) fn page(
        &mut self,
        writer: &Writer<'_>,
        record: &Record,
        generation: u64,
    ) -> Result<Vec<Problem>> {
        let service = writer.service;
        let page = service.scan(&self.table, Some((self.number, self.of)), self.after.clone())?;
        let version = Version::backfilled(generation);
        let (mut changes, mut problems) = (Vec::new(), Vec::new());
        for item in &page.items {
            let from =
                Origin { table: self.table.clone(), key: key_of(writer.map, &self.table, item) };
            match writer.map.fate(&self.table, item) {
                Ok(Fate::Mapped(mapped)) => {
                    let new = mapped.into_iter();
                    changes.extend(new.filter_map(|new| Change::of(new, item, &from, &version)));
                }
                Ok(Fate::Made) => {}
                Ok(Fate::Unknown) => problems.push(Problem::unknown(&from)),
                Err(error) => problems.push(Problem::unmappable(&from, &error)),
            }
        }
        writer.write(changes)?;
        self.items += page.items.len() as u64;
        self.is_done = page.last_key.is_none();
        self.after = page.last_key;
        Record::put(service, &writer.fence, &[self.item(record)])?;
        Ok(problems)
    }

    fn item(&self, record: &Record) -> Item {
        let mut item = record.named(&format!("{SEGMENT}{}#{:05}", self.table, self.number));
        item.insert("table", self.table.as_str());
        item.insert("number", number(self.number.into()));
        item.insert("of", number(self.of.into()));
        item.insert("items", number(self.items));
        item.insert("table_items", number(self.table_items));
        item.insert("done", self.is_done);
        if let Some(after) = &self.after {
            item.insert("after", AttributeValue::M(after.clone()));
        }
        item
    }

    fn read(item: &Item) -> Option<Self> {
        let number = |name: &str| item.get(name)?.as_n()?.to_i64();
        Some(Self {
            table: item.get("table")?.as_s()?.to_owned(),
            number: u32::try_from(number("number")?).ok()?,
            of: u32::try_from(number("of")?).ok()?,
            after: item.get("after").and_then(AttributeValue::as_m).cloned(),
            is_done: item.get("done") == Some(&AttributeValue::Bool(true)),
            items: number("items")?.cast_unsigned(),
            table_items: number("table_items").unwrap_or(0).cast_unsigned(),
        })
    }
}

/// The primary key of an item of a source table.
pub(super) fn key_of(map: &ItemMap, table: &str, item: &Item) -> Item {
    let known = map.sources().iter().chain(map.targets()).find(|known| known.name == table);
    let names = known.iter().flat_map(|table| table.primary().attributes());
    names.filter_map(|key| Some((key.name.as_str().into(), item.get(&key.name)?.clone()))).collect()
}
