//! One read as a stream of pages.

use std::collections::VecDeque;

use keyloom_core::Item;
use keyloom_design::plan::{ConcreteRead, ReadKind};

use super::request::{get_input, query_input};
use super::runner::{PlanRunner, ReadTrace, Settings};
use crate::backend::RawPage;
use crate::error::Result;

/// Where a read stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Position {
    /// No entry was taken.
    Start,
    /// All entries up to this key were taken.
    After(Item),
    /// All entries were taken.
    Done,
}

/// A read and its rows that were not taken yet.
pub(super) struct Stream {
    read: ConcreteRead,
    /// The attributes that make a row's place in the index: its key there and its primary key.
    place: Vec<String>,
    buffer: VecDeque<Item>,
    /// Where the buffer ends.
    fetched: Position,
    /// What was taken.
    taken: Position,
    /// How many entries each page evaluated.
    pages: Vec<usize>,
    /// Whether its one page was fetched, where one is all that is wanted.
    is_stopped: bool,
}

impl Stream {
    pub(super) fn new(read: ConcreteRead, place: Vec<String>, position: Position) -> Self {
        Self {
            read,
            place,
            buffer: VecDeque::new(),
            fetched: position.clone(),
            taken: position,
            pages: Vec::new(),
            is_stopped: false,
        }
    }

    /// The next row, without taking it; the buffer must have been filled.
    pub(super) fn peek(&self) -> Option<&Item> {
        self.buffer.front()
    }

    pub(super) fn take(&mut self) -> Option<Item> {
        let row = self.buffer.pop_front()?;
        self.taken = if self.buffer.is_empty() {
            self.fetched.clone()
        } else {
            Position::After(self.place_of(&row))
        };
        Some(row)
    }

    fn place_of(&self, row: &Item) -> Item {
        let parts = self
            .place
            .iter()
            .filter_map(|name| Some((name.as_str().into(), row.get(name)?.clone())));
        parts.collect()
    }

    pub(super) fn position(&self) -> Position {
        self.taken.clone()
    }

    /// Whether rows must be fetched before it is known what comes next.
    pub(super) fn needs_fetch(&self) -> bool {
        self.buffer.is_empty() && self.fetched != Position::Done && !self.is_stopped
    }

    pub(super) fn is_done(&self) -> bool {
        self.buffer.is_empty() && self.fetched == Position::Done
    }

    pub(super) fn trace(&self) -> ReadTrace {
        let is_done = self.fetched == Position::Done;
        ReadTrace { read: self.read.clone(), pages: self.pages.clone(), is_done }
    }

    /// Whether it is for one whole primary key.
    pub(super) fn is_get(&self) -> bool {
        self.read.kind == ReadKind::Get
    }

    pub(super) fn is_consistent(&self) -> bool {
        self.read.consistent
    }

    /// The table and the key of a read for one item.
    pub(super) fn key(&self, consistent: bool) -> (String, Item) {
        let input = get_input(&self.read, consistent);
        (input.table_name, input.key)
    }

    /// Takes what a batch found for its key.
    pub(super) fn accept(&mut self, item: Option<Item>) {
        self.fetched = Position::Done;
        self.pages.push(usize::from(item.is_some()));
        self.buffer.extend(item);
        if self.buffer.is_empty() {
            self.taken = Position::Done;
        }
    }

    /// Fetches pages until there is a row or no more.
    pub(super) fn fill(&mut self, runner: PlanRunner<'_>, settings: Settings) -> Result<()> {
        while self.needs_fetch() {
            let page = self.fetch(runner, settings)?;
            self.fetched = page.last_key.map_or(Position::Done, Position::After);
            self.pages.push(page.scanned_count);
            self.is_stopped = settings.is_one_page;
            self.buffer.extend(page.items);
            if self.buffer.is_empty() {
                self.taken = self.fetched.clone();
            }
        }
        Ok(())
    }

    fn fetch(&self, runner: PlanRunner<'_>, settings: Settings) -> Result<RawPage> {
        let PlanRunner { backend, retry, .. } = runner;
        if self.read.kind == ReadKind::Get {
            let input = get_input(&self.read, settings.consistent);
            let found = retry.run("GetItem", true, |_| backend.get_item(input.clone()))?;
            runner.count_item(found.as_ref(), input.consistent_read);
            let scanned_count = usize::from(found.is_some());
            let items = found.into_iter().collect();
            return Ok(RawPage { items, scanned_count, ..RawPage::default() });
        }
        let start = match &self.fetched {
            Position::After(key) => Some(key.clone()),
            Position::Start | Position::Done => None,
        };
        let limit = settings.limit_of(&self.read);
        let input = query_input(&self.read, limit, settings.consistent, start);
        runner.query(input)
    }
}
