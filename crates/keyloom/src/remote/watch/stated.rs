//! Requests that are stated as JSON: PartiQL, and single items.
//!
//! Their bodies go out as they are, so the answer says what they cost only if the caller asked; otherwise the sizes of
//! the items tell what it was at least.

use std::sync::Arc;

use keyloom_core::capacity::{ConsumedCapacity, Units};
use keyloom_core::expr::{Condition, KeyOperator, ResolvedKeyCondition};
use keyloom_core::json::{self, Json, JsonObject};
use keyloom_core::key::encode_key_value;
use keyloom_core::observation::{Operation, Outcome, Question};
use keyloom_core::partiql::{Statement, bind, keys, parameter_from, parse};
use keyloom_core::size::item_size;
use keyloom_core::{Item, KeySchema};

use super::account::accounts;
use super::described::Described;
use super::exchange::{Act, Asked, Items, Point};
use super::touches::{Drawn, estimated_read, share};
use super::{Ended, Look, outcome};
use crate::retry::Failure;

/// The operations that are told of; all others only if they fail.
pub(super) fn is_told(operation: &str) -> bool {
    operation == "ExecuteStatement" || single(operation).is_some()
}

fn single(operation: &str) -> Option<Operation> {
    let single =
        [Operation::GetItem, Operation::PutItem, Operation::UpdateItem, Operation::DeleteItem];
    single.into_iter().find(|known| known.name() == operation)
}

/// What a stated request is about.
enum Stated {
    Item { operation: Operation, table: String, key: Item },
    Ranges(Ranges),
}

/// A read of ranges, or of everything if there are none.
struct Ranges {
    table: Arc<Described>,
    index: Option<usize>,
    conditions: Vec<ResolvedKeyCondition>,
    filter: Option<Condition>,
}

/// What the answer says.
#[derive(Default)]
struct Answer {
    items: Vec<Item>,
    accounts: Vec<ConsumedCapacity>,
    has_more: bool,
}

impl Look<'_> {
    /// Tells of a request that was stated as JSON.
    pub(super) fn stated(&self, operation: &str, body: &[u8], sent: &Result<Vec<u8>, Failure>) {
        let Ok(Json::Object(request)) = json::parse(body) else { return };
        let stated = match single(operation) {
            Some(operation) => item(operation, &request),
            None => self.statement(&request),
        };
        let is_consistent = matches!(request.get("ConsistentRead"), Some(Json::Bool(true)));
        match stated {
            Some(Stated::Item { operation, table, key }) => {
                self.of(operation).stated_item(&table, &key, is_consistent, sent);
            }
            Some(Stated::Ranges(ranges)) => {
                let is_scan = ranges.conditions.is_empty();
                let look = self.of(if is_scan { Operation::Scan } else { Operation::Query });
                let is_continued = request.get("NextToken").is_some();
                look.stated_ranges(&ranges, is_consistent, is_continued, sent);
            }
            None => self.watch.refused(operation, sent),
        }
    }

    fn of(&self, operation: Operation) -> Self {
        Self { operation, ..*self }
    }

    /// What a statement is about: as the server, a statement counts as what it comes down to.
    fn statement(&self, request: &JsonObject<'_>) -> Option<Stated> {
        let Some(Json::Str(text)) = request.get("Statement") else { return None };
        let parameters = match request.get("Parameters") {
            Some(Json::Array(values)) => {
                values.iter().map(parameter_from).collect::<keyloom_core::Result<_>>().ok()?
            }
            _ => Vec::new(),
        };
        let bound = bind(&parse(text).ok()?, parameters).ok()?;
        let one = |operation, table: &str, condition| {
            let described = self.described(table, None)?;
            let found = keys::one_item(condition, &described.schema.key)?;
            Some(Stated::Item { operation, table: table.to_owned(), key: found.key })
        };
        match bound {
            Statement::Insert(insert) => Some(Stated::Item {
                operation: Operation::PutItem,
                table: insert.table.to_string(),
                key: insert.item,
            }),
            Statement::Update(update) => {
                one(Operation::UpdateItem, &update.table, update.condition)
            }
            Statement::Delete(delete) => {
                one(Operation::DeleteItem, &delete.table, delete.condition)
            }
            // Only in transactions, which are not told of.
            Statement::Exists(_) => None,
            Statement::Select(select) => {
                let table = self.described(&select.table, select.index.as_deref())?;
                let index = match &select.index {
                    Some(name) => Some(table.position(name)?),
                    None => None,
                };
                let key = table.place(index).key;
                let reads = keys::reads(select.condition.as_ref(), key).ok()?.unwrap_or_default();
                if let ([read], None) = (reads.as_slice(), index)
                    && let Some(key) = whole_key(key, read)
                {
                    let (operation, table) = (Operation::GetItem, select.table.to_string());
                    return Some(Stated::Item { operation, table, key });
                }
                let conditions = reads.iter().map(resolved).collect();
                let filter = match reads.as_slice() {
                    [] => select.condition.clone(),
                    [only] => only.filters.first().map(|filter| (*filter).clone()),
                    _ => None,
                };
                Some(Stated::Ranges(Ranges { table, index, conditions, filter }))
            }
        }
    }

    fn stated_item(
        &self,
        table: &str,
        key: &Item,
        is_consistent: bool,
        sent: &Result<Vec<u8>, Failure>,
    ) {
        let answer = sent.as_ref().map(|body| read(body));
        let found = answer.as_ref().ok().and_then(|answer| answer.items.first());
        let (act, image) = match self.operation {
            Operation::GetItem => (Act::Read(super::exchange::mode(is_consistent)), found),
            Operation::PutItem => (Act::Write, Some(key)),
            _ => (Act::Write, None),
        };
        let is_consistent = is_consistent || self.operation.is_write();
        let points = vec![Point { table, key, act, image, is_left: false }];
        let items = Items { points, is_projected: false, is_consistent };
        match &answer {
            Ok(answer) => self.items_done(&items, &answer.accounts),
            Err(failure) => self.failed(&Asked::Items(items), failure),
        }
    }

    fn stated_ranges(
        &self,
        ranges: &Ranges,
        is_consistent: bool,
        is_continued: bool,
        sent: &Result<Vec<u8>, Failure>,
    ) {
        let outcome = match sent {
            Ok(_) => Outcome::Done,
            Err(failure) => match outcome::of(failure, &mut []) {
                Some(refused) => refused.outcome,
                None => return,
            },
        };
        let answer = sent.as_ref().map(|body| read(body)).unwrap_or_default();
        let question = Question {
            place: ranges.table.place(ranges.index),
            condition: ranges.conditions.first(),
            filter: ranges.filter.as_ref(),
            limit: None,
            is_forward: true,
            is_continued,
            has_more: answer.has_more,
            // Rows that a filter threw away are not counted by these answers.
            scanned: answer.items.len(),
        };
        let ended = Ended {
            outcome,
            question: Some(question),
            returned: answer.items.len(),
            expired: ranges.table.expired(&answer.items),
            is_projected: false,
            is_consistent,
        };
        let is_done = outcome == Outcome::Done;
        self.tell(&ranges.drawn(&answer, is_consistent, is_done), ended);
    }
}

impl Ranges {
    fn drawn(&self, answer: &Answer, is_consistent: bool, is_done: bool) -> Vec<Drawn> {
        let bytes: usize = answer.items.iter().map(item_size).sum();
        let stated = answer.accounts.first().map(|account| account.total().total);
        let units = stated.unwrap_or_else(|| estimated_read(bytes, is_consistent));
        let partitions = self.conditions.iter().map(|condition| {
            let mut encoded = Vec::new();
            let all = condition.hash.iter().try_for_each(|v| encode_key_value(v, &mut encoded));
            if all.is_ok() { encoded } else { Vec::new() }
        });
        let everything = self.conditions.is_empty().then(Vec::new);
        let mut drawn: Vec<Drawn> = partitions
            .chain(everything)
            .map(|partition| Drawn {
                table: Arc::clone(&self.table),
                index: self.index,
                partition,
                sort: Vec::new(),
                units: Units::ZERO,
                is_write: false,
                bytes: 0,
            })
            .collect();
        if is_done {
            share(units, &mut drawn);
        }
        if let Some(first) = drawn.first_mut() {
            first.bytes = bytes;
        }
        drawn
    }
}

fn item(operation: Operation, request: &JsonObject<'_>) -> Option<Stated> {
    let member = if operation == Operation::PutItem { "Item" } else { "Key" };
    let key = json::item_from(request.get(member)?).ok()?;
    let Some(Json::Str(table)) = request.get("TableName") else { return None };
    Some(Stated::Item { operation, table: table.to_string(), key })
}

/// The key of the one item that a read is about.
fn whole_key(key: &KeySchema, read: &keys::KeyRead<'_>) -> Option<Item> {
    let mut found = Item::new();
    let [hash] = key.hash.as_slice() else { return None };
    found.insert(hash.name.clone(), read.hash.clone());
    if let Some(range) = key.range.first() {
        found.insert(range.name.clone(), read.sort_value()?.clone());
    }
    Some(found)
}

fn resolved(read: &keys::KeyRead<'_>) -> ResolvedKeyCondition {
    let equal = read.sort_value().cloned();
    let range = read.range.first().filter(|_| equal.is_none()).cloned();
    ResolvedKeyCondition {
        hash: vec![read.hash.clone()],
        range_prefix: equal.into_iter().collect(),
        range: range.filter(|operator| !matches!(operator, KeyOperator::Equal(_))),
    }
}

/// `Item`, or `Items` and whether more follow.
fn read(body: &[u8]) -> Answer {
    let Ok(Json::Object(object)) = json::parse(body) else { return Answer::default() };
    let items = match (object.get("Item"), object.get("Items")) {
        (Some(item), _) => std::slice::from_ref(item),
        (None, Some(Json::Array(items))) => items.as_slice(),
        _ => &[],
    };
    Answer {
        items: items.iter().filter_map(|item| json::item_from(item).ok()).collect(),
        accounts: accounts(body),
        has_more: object.get("NextToken").is_some(),
    }
}
