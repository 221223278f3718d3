//! Requests with their answers: what each asks for, and which items it is about.

use keyloom_api::Expression;
use keyloom_api::batches::{BatchGetItemInput, BatchWriteItemInput, WriteRequest};
use keyloom_api::items::{
    ConditionInput, DeleteItemInput, GetItemInput, ProjectionInput, PutItemInput, UpdateItemInput,
    WriteReturns,
};
use keyloom_api::parameters::ReturnValues;
use keyloom_api::queries::{QueryInput, ReadInput, ScanInput};
use keyloom_api::transactions::{TransactEdit, TransactGetItemsInput, TransactWriteItemsInput};
use keyloom_core::Item;
use keyloom_core::capacity::ReadMode;
use keyloom_core::expr::{Bindings, Condition, Update};
use keyloom_core::legacy::{self, LegacyCondition};
use keyloom_core::observation::Operation;
use keyloom_core::{Result, Str};

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
    Items(Vec<Point<'a>>),
    /// A range or everything.
    Page(Page<'a>),
}

/// One item that a request is about.
pub(crate) struct Point<'a> {
    pub(super) table: &'a str,
    /// Its key; of a put the whole item.
    pub(super) key: &'a Item,
    pub(super) act: Act<'a>,
    /// The item that a write met.
    pub(super) before: State<'a>,
    /// The item that a read found, or that a write left.
    pub(super) after: State<'a>,
    /// Whether it was left for another request.
    pub(super) is_left: bool,
    /// Whether only some of its attributes were asked for.
    pub(super) is_projected: bool,
}

/// What is known of an item at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State<'a> {
    /// Nobody says.
    Unknown,
    /// It was not there.
    Absent,
    /// All of it, or what a projection left.
    Is(&'a Item),
}

impl<'a> State<'a> {
    /// What an answer says that has the item if there is one.
    pub(super) fn answered(item: Option<&'a Item>) -> Self {
        item.map_or(Self::Absent, Self::Is)
    }

    /// The same, of an answer that may be missing.
    fn of(answer: Option<&'a Option<Item>>) -> Self {
        answer.map_or(Self::Unknown, |item| Self::answered(item.as_ref()))
    }

    pub(super) fn item(self) -> Option<&'a Item> {
        match self {
            Self::Is(item) => Some(item),
            Self::Unknown | Self::Absent => None,
        }
    }

    pub(super) fn is_known(self) -> bool {
        self != Self::Unknown
    }
}

/// What is done to an item.
#[derive(Clone, Copy)]
pub(super) enum Act<'a> {
    Read(ReadMode),
    Write,
    /// A condition that is checked at the price of a write; no index is written.
    Check,
    Update(Changes<'a>),
}

/// What an update changes.
#[derive(Clone, Copy)]
pub(super) enum Changes<'a> {
    /// An expression, with the names and values of a condition.
    Expression(&'a Expression<Update>, &'a ConditionInput),
    /// The legacy `AttributeUpdates`, or nothing.
    Legacy(&'a UpdateItemInput),
    /// Those of a statement.
    Bound(&'a Update),
}

impl Changes<'_> {
    /// The changes, understood.
    pub(super) fn update(self) -> Result<Update> {
        match self {
            Self::Expression(text, input) => {
                text.update(&mut Bindings::new(input.names.clone(), input.values.clone())?)
            }
            Self::Legacy(input) => {
                legacy::attribute_updates(input.attribute_updates.clone().unwrap_or_default())
            }
            Self::Bound(update) => Ok(update.clone()),
        }
    }
}

/// A Query or a Scan.
pub(crate) struct Page<'a> {
    pub(super) read: &'a ReadInput,
    pub(super) range: Range<'a>,
    pub(super) is_forward: bool,
    pub(super) answer: Option<&'a RawPage>,
}

/// Which entries a page is of.
#[derive(Clone, Copy)]
pub(super) enum Range<'a> {
    All,
    Condition(Option<&'a Expression<Condition>>),
    /// The legacy `KeyConditions`.
    Legacy(&'a [(Str, LegacyCondition)]),
}

impl<'a> Point<'a> {
    /// A write that leaves this.
    pub(super) fn write(table: &'a str, key: &'a Item, after: State<'a>) -> Self {
        let (act, before) = (Act::Write, State::Unknown);
        Self { table, key, act, before, after, is_left: false, is_projected: false }
    }

    pub(super) fn put(table: &'a str, item: &'a Item) -> Self {
        Self::write(table, item, State::Is(item))
    }

    pub(super) fn delete(table: &'a str, key: &'a Item) -> Self {
        Self::write(table, key, State::Absent)
    }

    pub(super) fn update(table: &'a str, key: &'a Item, changes: Changes<'a>) -> Self {
        Self { act: Act::Update(changes), ..Self::write(table, key, State::Unknown) }
    }

    pub(super) fn check(table: &'a str, key: &'a Item) -> Self {
        Self { act: Act::Check, ..Self::write(table, key, State::Unknown) }
    }

    pub(super) fn read(table: &'a str, key: &'a Item, mode: ReadMode, found: State<'a>) -> Self {
        Self { act: Act::Read(mode), ..Self::write(table, key, found) }
    }

    /// With what `ReturnValues` brought.
    fn with_returned(self, returns: WriteReturns, answer: Option<&'a Option<Item>>) -> Self {
        match returns.values {
            ReturnValues::AllOld => Self { before: State::of(answer), ..self },
            ReturnValues::AllNew => Self { after: State::of(answer), ..self },
            _ => self,
        }
    }

    /// Whether it is read strongly, or written.
    pub(super) fn is_consistent(&self) -> bool {
        !matches!(self.act, Act::Read(ReadMode::Eventual))
    }
}

/// Whether only some attributes are asked for.
pub(super) fn is_projected(projection: &ProjectionInput) -> bool {
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
        let mode = mode(self.consistent_read);
        Asked::Items(vec![Point {
            is_projected: is_projected(&self.projection),
            ..Point::read(&self.table_name, &self.key, mode, State::of(answer))
        }])
    }
}

impl Exchange for PutItemInput {
    type Answer = Option<Item>;
    const KIND: Operation = Operation::PutItem;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::attributes(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let point = Point::put(&self.table_name, &self.item);
        Asked::Items(vec![point.with_returned(self.returns, answer)])
    }
}

impl Exchange for DeleteItemInput {
    type Answer = Option<Item>;
    const KIND: Operation = Operation::DeleteItem;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::attributes(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let point = Point::delete(&self.table_name, &self.key);
        Asked::Items(vec![point.with_returned(self.returns, answer)])
    }
}

impl Exchange for UpdateItemInput {
    type Answer = Option<Item>;
    const KIND: Operation = Operation::UpdateItem;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::attributes(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let changes = match &self.update {
            Some(text) => Changes::Expression(text, &self.condition),
            None => Changes::Legacy(self),
        };
        let point = Point::update(&self.table_name, &self.key, changes);
        Asked::Items(vec![point.with_returned(self.returns, answer)])
    }
}

impl Exchange for QueryInput {
    type Answer = RawPage;
    const KIND: Operation = Operation::Query;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::page(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let range = match (&self.key_condition, &self.key_conditions) {
            (None, Some(conditions)) => Range::Legacy(conditions),
            (condition, _) => Range::Condition(condition.as_ref()),
        };
        Asked::Page(Page { read: &self.read, range, is_forward: self.forward, answer })
    }
}

impl Exchange for ScanInput {
    type Answer = RawPage;
    const KIND: Operation = Operation::Scan;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::page(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        Asked::Page(Page { read: &self.read, range: Range::All, is_forward: true, answer })
    }
}

impl Exchange for BatchGetItemInput {
    type Answer = (Keyed<Item>, Keyed<Item>);
    const KIND: Operation = Operation::BatchGetItem;

    fn read(body: &[u8]) -> Result<Self::Answer, Failure> {
        wire::found_and_left(body)
    }

    fn asked<'a>(&'a self, answer: Option<&'a Self::Answer>) -> Asked<'a> {
        let mut points = Vec::new();
        for keys in &self.tables {
            let of_table = |all: &'a Keyed<Item>| -> Vec<&'a Item> {
                let mine = all.iter().filter(|(table, _)| *table == keys.table_name);
                mine.map(|(_, item)| item).collect()
            };
            let (mut found, left) =
                answer.map(|(found, left)| (of_table(found), of_table(left))).unwrap_or_default();
            let first = points.len();
            for key in &keys.keys {
                let has =
                    |item: &&Item| key.iter().all(|(name, value)| item.get(name) == Some(value));
                let own = found.iter().position(has).map(|at| found.swap_remove(at));
                let state = own.map_or(State::Unknown, State::Is);
                points.push(Point {
                    is_left: left.contains(&key),
                    is_projected: is_projected(&keys.projection),
                    ..Point::read(&keys.table_name, key, mode(keys.consistent_read), state)
                });
            }
            // A projection without the key leaves items that are nobody's: how many they are is true.
            for point in points.iter_mut().skip(first).filter(|point| !point.is_left) {
                if answer.is_some() && !point.after.is_known() {
                    point.after = State::answered(found.pop());
                }
            }
        }
        Asked::Items(points)
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
                WriteRequest::Put(item) => Point::put(&asked.0, item),
                WriteRequest::Delete(key) => Point::delete(&asked.0, key),
            };
            Point { is_left: answer.is_some_and(|left| left.contains(asked)), ..point }
        });
        Asked::Items(points.collect())
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
                TransactEdit::Put(item) => Point::put(table, item),
                TransactEdit::Update(key, update) => {
                    Point::update(table, key, Changes::Expression(update, &action.condition))
                }
                TransactEdit::Delete(key) => Point::delete(table, key),
                TransactEdit::Check(key) => Point::check(table, key),
            }
        });
        Asked::Items(points.collect())
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
            let found = State::of(answer.and_then(|found| found.get(position)));
            Point {
                is_projected: is_projected(&get.projection),
                ..Point::read(&get.table_name, &get.key, ReadMode::Transactional, found)
            }
        });
        Asked::Items(points.collect())
    }
}
