//! Requests on a few items for concurrent runs: what they mean one after the other, and how they are
//! put to a database.

use keyloom_engine::Database;
use serde_json::{Value, json};

use super::search::Machine;
use crate::lockstep::{Answer, call};
use crate::rng::Rng;

/// The table that the requests use.
pub const TABLE: &str = "histories";

/// An item besides its key: something put, and something counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Replaced by puts.
    pub value: u64,
    /// Raised by updates.
    pub count: i64,
}

/// What is done to one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Put a new value, with a count of 0.
    Put(u64),
    /// Put, if the item has this value now; `None` is for no item.
    PutIf(Option<u64>, u64),
    /// Raise the count, creating the item with a value of 0.
    Add(i64),
    /// Raise the count of an item that exists.
    AddIfExists(i64),
    /// Delete.
    Delete,
    /// Only check that the item exists. In transactions only.
    Check,
}

/// A request. Items are known by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A consistent GetItem.
    Get(usize),
    /// A single write; with `true` it asks for what DynamoDB can return.
    Write(usize, Act, bool),
    /// TransactWriteItems.
    TransactWrite(Vec<(usize, Act)>),
    /// TransactGetItems.
    TransactGet(Vec<usize>),
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The item, or the items.
    Read(Vec<Option<Record>>),
    /// A write was done, and nothing was returned.
    Done,
    /// A write was done, and returned the item before.
    Old(Option<Record>),
    /// A write was done, and returned the item after.
    New(Record),
    /// The conditions that are marked were false.
    Refused(Vec<bool>),
    /// Another request was in the way; nothing was done.
    Conflict,
}

/// A condition was false.
#[derive(Clone, Copy, Debug)]
struct ConditionFailed;

impl Act {
    /// The item after the act.
    fn apply(self, item: Option<Record>) -> Result<Option<Record>, ConditionFailed> {
        let fresh = Record { value: 0, count: 0 };
        let added = |old: Record, by: i64| Some(Record { count: old.count + by, ..old });
        match self {
            Self::Put(value) => Ok(Some(Record { value, count: 0 })),
            Self::PutIf(expected, value) if item.map(|item| item.value) == expected => {
                Ok(Some(Record { value, count: 0 }))
            }
            Self::PutIf(..) => Err(ConditionFailed),
            Self::Add(by) => Ok(added(item.unwrap_or(fresh), by)),
            Self::AddIfExists(by) => Ok(added(item.ok_or(ConditionFailed)?, by)),
            Self::Delete => Ok(None),
            Self::Check => Ok(Some(item.ok_or(ConditionFailed)?)),
        }
    }
}

/// A database of a few items, one request after the other.
#[derive(Debug)]
pub struct Items;

impl Machine for Items {
    type State = Vec<Option<Record>>;
    type Operation = Request;
    type Answer = Outcome;

    fn step(state: &Self::State, request: &Request, outcome: &Outcome) -> Option<Self::State> {
        let item = |number: usize| state.get(number).copied().flatten();
        let unchanged = |expected: bool| expected.then(|| state.clone());
        match (request, outcome) {
            (Request::Get(number), Outcome::Read(read)) => unchanged(*read == [item(*number)]),
            (Request::TransactGet(numbers), Outcome::Read(read)) => {
                unchanged(numbers.iter().map(|&number| item(number)).eq(read.iter().copied()))
            }
            (_, Outcome::Conflict) => unchanged(true),
            (Request::Write(number, act, _), outcome) => {
                let old = item(*number);
                let after = act.apply(old);
                match (outcome, after) {
                    (Outcome::Refused(_), Err(ConditionFailed)) => unchanged(true),
                    (Outcome::Done, Ok(new)) => Some(with(state, &[(*number, new)])),
                    (Outcome::Old(returned), Ok(new)) if *returned == old => {
                        Some(with(state, &[(*number, new)]))
                    }
                    (Outcome::New(returned), Ok(new)) if Some(*returned) == new => {
                        Some(with(state, &[(*number, new)]))
                    }
                    _ => None,
                }
            }
            (Request::TransactWrite(acts), outcome) => {
                let after: Vec<_> = acts.iter().map(|(n, act)| act.apply(item(*n))).collect();
                let refused: Vec<bool> = after.iter().map(Result::is_err).collect();
                match outcome {
                    Outcome::Refused(reasons) => unchanged(*reasons == refused),
                    Outcome::Done if !refused.contains(&true) => {
                        let numbers = acts.iter().map(|(number, _)| *number);
                        let changes: Vec<_> = numbers.zip(after.into_iter().flatten()).collect();
                        Some(with(state, &changes))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

fn with(state: &[Option<Record>], changes: &[(usize, Option<Record>)]) -> Vec<Option<Record>> {
    let mut state = state.to_vec();
    for (number, item) in changes {
        if let Some(slot) = state.get_mut(*number) {
            *slot = *item;
        }
    }
    state
}

impl Request {
    /// A random single-item request.
    pub fn single(rng: &mut Rng, items: usize) -> Self {
        let number = rng.below(items);
        match rng.below(10) {
            0..3 => Self::Get(number),
            _ => Self::Write(number, Act::random(rng), rng.chance(50)),
        }
    }

    /// A random request of any kind, half of them transactions.
    pub fn any(rng: &mut Rng, items: usize) -> Self {
        if rng.chance(50) {
            return Self::single(rng, items);
        }
        let mut numbers: Vec<usize> = (0..items).filter(|_| rng.chance(50)).collect();
        if numbers.is_empty() {
            numbers.push(rng.below(items));
        }
        if rng.chance(40) {
            return Self::TransactGet(numbers);
        }
        let act = |number| {
            let check = rng.chance(15);
            (number, if check { Act::Check } else { Act::random(rng) })
        };
        Self::TransactWrite(numbers.into_iter().map(act).collect())
    }

    /// Puts the request to a database.
    pub fn run(&self, database: &Database) -> Outcome {
        let (operation, body) = self.encode();
        let answer = call(database, operation, body.to_string().as_bytes());
        self.decode(&answer)
    }

    fn encode(&self) -> (&'static str, Value) {
        match self {
            Self::Get(number) => {
                let body = json!({"TableName": TABLE, "Key": key(*number), "ConsistentRead": true});
                ("GetItem", body)
            }
            Self::Write(number, act, wants_return) => {
                let (kind, mut body) = act.encode(*number);
                let operation = match kind {
                    "Put" => "PutItem",
                    "Update" => "UpdateItem",
                    _ => "DeleteItem",
                };
                if *wants_return {
                    let values = if kind == "Update" { "ALL_NEW" } else { "ALL_OLD" };
                    set(&mut body, "ReturnValues", values.into());
                }
                (operation, body)
            }
            Self::TransactWrite(acts) => {
                let action = |(number, act): &(usize, Act)| {
                    let (kind, body) = act.encode(*number);
                    json!({kind: body})
                };
                let actions: Vec<Value> = acts.iter().map(action).collect();
                ("TransactWriteItems", json!({"TransactItems": actions}))
            }
            Self::TransactGet(numbers) => {
                let get = |n: &usize| json!({"Get": {"TableName": TABLE, "Key": key(*n)}});
                let gets: Vec<Value> = numbers.iter().map(get).collect();
                ("TransactGetItems", json!({"TransactItems": gets}))
            }
        }
    }

    fn decode(&self, answer: &Answer) -> Outcome {
        match (answer.code(), self) {
            ("", Self::Get(_)) => Outcome::Read(vec![answer.body.get("Item").map(record)]),
            ("", Self::TransactGet(_)) => {
                let responses = answer.body.get("Responses").and_then(Value::as_array);
                let items = responses.into_iter().flatten();
                Outcome::Read(items.map(|response| response.get("Item").map(record)).collect())
            }
            ("", Self::Write(_, Act::Add(_) | Act::AddIfExists(_), true)) => {
                Outcome::New(record(answer.body.get("Attributes").unwrap_or(&Value::Null)))
            }
            ("", Self::Write(_, _, true)) => {
                Outcome::Old(answer.body.get("Attributes").map(record))
            }
            ("", _) => Outcome::Done,
            ("ConditionalCheckFailedException", _) => Outcome::Refused(vec![true]),
            ("TransactionConflictException", _) => Outcome::Conflict,
            ("TransactionCanceledException", _) => {
                let reasons = answer.body.get("CancellationReasons").and_then(Value::as_array);
                let codes: Vec<&Value> =
                    reasons.into_iter().flatten().filter_map(|reason| reason.get("Code")).collect();
                if codes.iter().any(|code| *code == "TransactionConflict") {
                    return Outcome::Conflict;
                }
                Outcome::Refused(codes.iter().map(|code| *code != "None").collect())
            }
            _ => panic!("{self:?} got {answer}"),
        }
    }
}

impl Act {
    fn random(rng: &mut Rng) -> Self {
        // Few values, so that conditions on them hold now and then.
        let value = rng.below(8) as u64;
        match rng.below(10) {
            0..2 => Self::Put(value),
            2 => Self::PutIf(None, value),
            3 => Self::PutIf(Some(rng.below(8) as u64), value),
            4..7 => Self::Add(1 + rng.below(3) as i64),
            7 => Self::AddIfExists(1),
            _ => Self::Delete,
        }
    }

    /// The kind of action, and its members.
    fn encode(self, number: usize) -> (&'static str, Value) {
        let put = |value: u64| {
            let mut item = key(number);
            set(&mut item, "v", json!({"N": value.to_string()}));
            set(&mut item, "c", json!({"N": "0"}));
            json!({"TableName": TABLE, "Item": item})
        };
        let add = |by: i64| {
            json!({"TableName": TABLE, "Key": key(number),
                "UpdateExpression": "SET v = if_not_exists(v, :zero) ADD c :by",
                "ExpressionAttributeValues": {":zero": {"N": "0"}, ":by": {"N": by.to_string()}}})
        };
        match self {
            Self::Put(value) => ("Put", put(value)),
            Self::PutIf(expected, value) => {
                let mut body = put(value);
                let condition = match expected {
                    None => "attribute_not_exists(pk)",
                    Some(expected) => {
                        let values = json!({":v": {"N": expected.to_string()}});
                        set(&mut body, "ExpressionAttributeValues", values);
                        "v = :v"
                    }
                };
                set(&mut body, "ConditionExpression", condition.into());
                ("Put", body)
            }
            Self::Add(by) => ("Update", add(by)),
            Self::AddIfExists(by) => {
                let mut body = add(by);
                set(&mut body, "ConditionExpression", "attribute_exists(pk)".into());
                ("Update", body)
            }
            Self::Delete => ("Delete", json!({"TableName": TABLE, "Key": key(number)})),
            Self::Check => {
                let body = json!({"TableName": TABLE, "Key": key(number),
                    "ConditionExpression": "attribute_exists(pk)"});
                ("ConditionCheck", body)
            }
        }
    }
}

/// The request that makes the table of the histories.
pub fn create_table() -> Value {
    json!({
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    })
}

/// The key of an item by its number.
pub fn key(number: usize) -> Value {
    json!({"pk": {"S": format!("item-{number}")}})
}

fn record(item: &Value) -> Record {
    let number = |name: &str| {
        let text = item.pointer(&format!("/{name}/N")).and_then(Value::as_str);
        text.and_then(|text| text.parse::<i64>().ok())
            .unwrap_or_else(|| panic!("{name} of {item} is a number"))
    };
    Record { value: number("v") as u64, count: number("c") }
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Event;
    use crate::history::search::find_order;

    fn event(operation: Request, answer: Outcome, at: u64) -> Event<Request, Outcome> {
        Event { operation, answer, invoked: at, returned: at + 1 }
    }

    #[test]
    fn a_lost_update_is_rejected() {
        let add = || Request::Write(0, Act::Add(1), true);
        let one = Outcome::New(Record { value: 0, count: 1 });
        let both = |second: Outcome| {
            find_order::<Items>(
                vec![None],
                &[event(add(), one.clone(), 0), event(add(), second, 2)],
            )
        };
        assert!(both(Outcome::New(Record { value: 0, count: 2 })).is_ok());
        assert!(both(one.clone()).is_err());
    }

    #[test]
    fn half_a_transaction_is_rejected() {
        let write = Request::TransactWrite(vec![(0, Act::Put(5)), (1, Act::Put(5))]);
        let read = Request::TransactGet(vec![0, 1]);
        let five = Some(Record { value: 5, count: 0 });
        let check = |seen: Vec<Option<Record>>| {
            let mut write = event(write.clone(), Outcome::Done, 0);
            write.returned = 9;
            let read = event(read.clone(), Outcome::Read(seen), 1);
            find_order::<Items>(vec![None, None], &[write, read]).is_ok()
        };
        assert!(check(vec![None, None]) && check(vec![five, five]));
        assert!(!check(vec![five, None]));
    }

    #[test]
    fn a_refusal_must_have_a_reason() {
        let check = Request::TransactWrite(vec![(0, Act::Check), (1, Act::Put(1))]);
        let refused = |reasons: &[bool]| {
            let events = [event(check.clone(), Outcome::Refused(reasons.to_vec()), 0)];
            find_order::<Items>(vec![None, None], &events).is_ok()
        };
        assert!(refused(&[true, false]));
        assert!(!refused(&[false, true]));
    }
}
