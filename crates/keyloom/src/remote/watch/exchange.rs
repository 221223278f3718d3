//! Requests with their answers: what each asks for, and which items it is about.

use keyloom_core::Item;
use keyloom_core::capacity::ReadMode;
use keyloom_core::observation::Operation;
use keyloom_engine::{
    BatchGetItemInput, BatchWriteItemInput, ConditionInput, DeleteItemInput, GetItemInput,
    ProjectionInput, PutItemInput, QueryInput, ReadInput, ReturnValues, ScanInput, TransactEdit,
    TransactGetItemsInput, TransactWriteItemsInput, UpdateItemInput, WriteRequest,
};

use crate::backend::{Keyed, RawPage};
use crate::retry::Failure;
use crate::wire::{self, Request};

/// A request whose answer can be read and told of.
pub(crate) trait Exchange: Request {
    /// What the answer says.
    type Answer;
    /// What kind of request it is.
    const KIND: Operation;

    /// Reads the answer.
    fn read(body: &[u8]) -> Result<Self::Answer, Failure>;

    /// What it is about; the answer tells more, if there is one.
    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a>;
}

/// What a request is about.
pub(crate) enum Asked<'a> {
    /// Single items.
    Items(Items<'a>),
    /// A range or everything.
    Page(Page<'a>),
}

/// Single items that a request is about.
pub(crate) struct Items<'a> {
    pub(super) points: Vec<Point<'a>>,
    pub(super) is_projected: bool,
    pub(super) is_consistent: bool,
}

/// One item that a request is about.
pub(crate) struct Point<'a> {
    pub(super) table: &'a str,
    /// Its key; of a put the whole item.
    pub(super) key: &'a Item,
    pub(super) act: Act<'a>,
    /// The whole item, if it is known: what was found, written or removed.
    pub(super) image: Option<&'a Item>,
    /// Whether it was left for another request.
    pub(super) is_left: bool,
}

/// What is done to an item.
#[derive(Clone, Copy)]
pub(super) enum Act<'a> {
    Read(ReadMode),
    Write,
    /// A condition that is checked at the price of a write; no index is written.
    Check,
    /// By an expression, with the names and values of a condition.
    Update(Option<&'a str>, &'a ConditionInput),
}

/// A Query or a Scan.
pub(crate) struct Page<'a> {
    pub(super) read: &'a ReadInput,
    /// None for a Scan.
    pub(super) key_condition: Option<&'a str>,
    pub(super) is_forward: bool,
    pub(super) answer: Option<&'a RawPage>,
}

impl<'a> Items<'a> {
    fn of(points: Vec<Point<'a>>) -> Self {
        Self { points, is_projected: false, is_consistent: true }
    }

    fn one(point: Point<'a>) -> Asked<'a> {
        Asked::Items(Self::of(vec![point]))
    }
}

impl<'a> Point<'a> {
    fn write(table: &'a str, key: &'a Item, image: Option<&'a Item>) -> Self {
        Self { table, key, act: Act::Write, image, is_left: false }
    }

    fn read(table: &'a str, key: &'a Item, mode: ReadMode, image: Option<&'a Item>) -> Self {
        Self { table, key, act: Act::Read(mode), image, is_left: false }
    }
}

fn is_projected(projection: &ProjectionInput) -> bool {
    projection.expression.is_some() || projection.attributes_to_get.is_some()
}

pub(super) fn mode(is_consistent: bool) -> ReadMode {
    if is_consistent { ReadMode::Strong } else { ReadMode::Eventual }
}

impl Exchange for GetItemInput {
    type Answer = Option<Item>;
    const KIND: Operation = Operation::GetItem;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::one_item(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let found = answer.and_then(Option::as_ref);
        let mode = mode(self.consistent_read);
        Asked::Items(Items {
            points: vec![Point::read(&self.table_name, &self.key, mode, found)],
            is_projected: is_projected(&self.projection),
            is_consistent: self.consistent_read,
        })
    }
}

impl Exchange for PutItemInput {
    type Answer = Option<Item>;
    const KIND: Operation = Operation::PutItem;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::attributes(body)
    }

    fn asked<'a>(&'a self, _answer: Option<&'a Self::Answer>) -> Asked<'a> {
        Items::one(Point::write(&self.table_name, &self.item, Some(&self.item)))
    }
}

impl Exchange for DeleteItemInput {
    type Answer = Option<Item>;
    const KIND: Operation = Operation::DeleteItem;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::attributes(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let removed = answer.and_then(Option::as_ref);
        Items::one(Point::write(&self.table_name, &self.key, removed))
    }
}

impl Exchange for UpdateItemInput {
    type Answer = Option<Item>;
    const KIND: Operation = Operation::UpdateItem;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::attributes(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let is_whole = self.returns.values == ReturnValues::AllNew;
        Items::one(Point {
            act: Act::Update(self.update.as_deref(), &self.condition),
            image: answer.and_then(Option::as_ref).filter(|_| is_whole),
            ..Point::write(&self.table_name, &self.key, None)
        })
    }
}

impl Exchange for QueryInput {
    type Answer = RawPage;
    const KIND: Operation = Operation::Query;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::page(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let key_condition = self.key_condition.as_deref();
        Asked::Page(Page { read: &self.read, key_condition, is_forward: self.forward, answer })
    }
}

impl Exchange for ScanInput {
    type Answer = RawPage;
    const KIND: Operation = Operation::Scan;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::page(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        Asked::Page(Page { read: &self.read, key_condition: None, is_forward: true, answer })
    }
}

impl Exchange for BatchGetItemInput {
    type Answer = (Keyed<Item>, Keyed<Item>);
    const KIND: Operation = Operation::BatchGetItem;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::found_and_left(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let (found, left) = answer.map_or((&[][..], &[][..]), |(found, left)| (found, left));
        let points = self.tables.iter().flat_map(|keys| {
            let name = keys.table_name.as_str();
            let found = found.iter().filter(move |(table, _)| table == name);
            let left = left.iter().filter(move |(table, _)| table == name);
            keys.keys.iter().map(move |key| {
                let has =
                    |item: &Item| key.iter().all(|(name, value)| item.get(name) == Some(value));
                let image = found.clone().map(|(_, item)| item).find(|item| has(item));
                let point = Point::read(name, key, mode(keys.consistent_read), image);
                Point { is_left: left.clone().any(|(_, left)| left == key), ..point }
            })
        });
        Asked::Items(Items {
            points: points.collect(),
            is_projected: self.tables.iter().any(|keys| is_projected(&keys.projection)),
            is_consistent: self.tables.iter().any(|keys| keys.consistent_read),
        })
    }
}

impl Exchange for BatchWriteItemInput {
    type Answer = Keyed<WriteRequest>;
    const KIND: Operation = Operation::BatchWriteItem;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::left_writes(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let points = self.requests.iter().map(|asked| {
            let point = match &asked.1 {
                WriteRequest::Put(item) => Point::write(&asked.0, item, Some(item)),
                WriteRequest::Delete(key) => Point::write(&asked.0, key, None),
            };
            Point { is_left: answer.is_some_and(|left| left.contains(asked)), ..point }
        });
        Asked::Items(Items::of(points.collect()))
    }
}

impl Exchange for TransactWriteItemsInput {
    type Answer = ();
    const KIND: Operation = Operation::TransactWriteItems;

    fn read(_body: &[u8]) -> Result<Self::Answer, Failure> {
        Ok(())
    }

    fn asked<'a>(&'a self, _answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let points = self.actions.iter().map(|action| {
            let table = action.table_name.as_str();
            match &action.edit {
                TransactEdit::Put(item) => Point::write(table, item, Some(item)),
                TransactEdit::Update(key, update) => Point {
                    act: Act::Update(Some(update), &action.condition),
                    ..Point::write(table, key, None)
                },
                TransactEdit::Delete(key) => Point::write(table, key, None),
                TransactEdit::Check(key) => {
                    Point { act: Act::Check, ..Point::write(table, key, None) }
                }
            }
        });
        Asked::Items(Items::of(points.collect()))
    }
}

impl Exchange for TransactGetItemsInput {
    type Answer = Vec<Option<Item>>;
    const KIND: Operation = Operation::TransactGetItems;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::items_in_order(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let points = self.gets.iter().enumerate().map(|(position, get)| {
            let found = answer.and_then(|found| found.get(position)).and_then(Option::as_ref);
            Point::read(&get.table_name, &get.key, ReadMode::Transactional, found)
        });
        Asked::Items(Items {
            is_projected: self.gets.iter().any(|get| is_projected(&get.projection)),
            ..Items::of(points.collect())
        })
    }
}
