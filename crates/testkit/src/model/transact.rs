//! Transactions: all writes or none, all reads at one moment.

use std::collections::BTreeMap;

use keyloom_core::error::{CancellationCode, CancellationReason};
use keyloom_core::{Error, Result};
use serde_json::{Map, Value};

use super::Model;
use super::cost::{Cost, Purpose, read_units, show_all};
use super::data::{item, list, text};
use super::write::Write;

impl Model {
    pub(super) fn transact_write_items(&mut self, body: &Value) -> Result<Value> {
        let mut writes: Vec<(&str, Write)> = Vec::new();
        for action in list(body, "TransactItems") {
            let (kind, action) =
                action.as_object().and_then(|a| a.iter().next()).unwrap_or_else(|| {
                    unreachable!("the workload writes one member per action: {action}")
                });
            let name = text(action, "TableName");
            let write = Write::read(self.table(name), kind, action)?;
            if writes.iter().any(|(other, earlier)| *other == name && earlier.key == write.key) {
                return Err(Error::Validation("one item twice".into()));
            }
            writes.push((name, write));
        }
        let token = body.get("ClientRequestToken").and_then(Value::as_str);
        if let Some(token) = token {
            match self.tokens.get(token) {
                Some(done) if done == body.get("TransactItems").unwrap_or(&Value::Null) => {
                    return self.replayed(&writes, body);
                }
                Some(_) => return Err(Error::IdempotentParameterMismatch(String::new())),
                None => {}
            }
        }
        let changes: Vec<_> =
            writes.iter().map(|(name, write)| write.change(self.table(name))).collect();
        if changes.iter().any(Result::is_err) {
            let reasons = changes.into_iter().map(|change| reason(change.err()));
            return Err(cancelled(reasons.collect()));
        }
        let mut costs: BTreeMap<String, Cost> = BTreeMap::new();
        for ((name, write), change) in writes.iter().zip(changes.into_iter().flatten()) {
            let table = self.table(name);
            let cost = Cost::of_write(table, change.old.as_ref(), change.new.as_ref());
            costs.entry((*name).to_owned()).or_default().add(cost.doubled());
            self.apply(name, &write.key, change);
        }
        if let Some(token) = token {
            let items = body.get("TransactItems").cloned().unwrap_or_default();
            self.tokens.insert(token.to_owned(), items);
        }
        let mut reply = Map::new();
        show_all(&costs, Purpose::TransactWrite, body, &mut reply);
        Ok(reply.into())
    }

    /// The answer to a transaction that was done before: nothing happens, and the items are read.
    fn replayed(&self, writes: &[(&str, Write)], body: &Value) -> Result<Value> {
        let mut costs: BTreeMap<String, Cost> = BTreeMap::new();
        for (name, write) in writes {
            let found = self.table(name).get(&write.key)?;
            let bytes = found.map_or(0, keyloom_core::size::item_size);
            let cost = Cost::of_table(2.0 * read_units(bytes, true));
            costs.entry((*name).to_owned()).or_default().add(cost);
        }
        let mut reply = Map::new();
        show_all(&costs, Purpose::TransactRead, body, &mut reply);
        Ok(reply.into())
    }

    pub(super) fn transact_get_items(&self, body: &Value) -> Result<Value> {
        let gets: Vec<&Value> =
            list(body, "TransactItems").iter().filter_map(|get| get.get("Get")).collect();
        let mut costs: BTreeMap<String, Cost> = BTreeMap::new();
        let mut responses = Vec::new();
        let mut reasons = Vec::new();
        for (position, get) in gets.iter().enumerate() {
            let same = |other: &&&Value| {
                other.get("TableName") == get.get("TableName") && other.get("Key") == get.get("Key")
            };
            if gets.iter().take(position).any(|earlier| same(&earlier)) {
                return Err(Error::Validation("one item twice".into()));
            }
            let read = self.transact_get(get);
            // An empty key refuses the whole request; any other unfit key is a reason.
            let key = item(get, "Key")?.unwrap_or_default();
            if read.is_err() && self.table(text(get, "TableName")).has_types_of(&key) {
                return read.map(|(_, response)| response);
            }
            reasons.push(reason(read.as_ref().err().cloned()));
            if let Ok((cost, response)) = read {
                costs.entry(text(get, "TableName").to_owned()).or_default().add(cost);
                responses.push(response);
            }
        }
        if responses.len() < gets.len() {
            return Err(cancelled(reasons));
        }
        let mut reply = Map::from_iter([("Responses".to_owned(), responses.into())]);
        show_all(&costs, Purpose::TransactRead, body, &mut reply);
        Ok(reply.into())
    }
}

fn reason(error: Option<Error>) -> CancellationReason {
    match error {
        None => CancellationReason::default(),
        Some(Error::ConditionalCheckFailed { item }) => CancellationReason {
            code: CancellationCode::ConditionalCheckFailed,
            message: None,
            item,
        },
        Some(_) => CancellationReason {
            code: CancellationCode::ValidationError,
            message: None,
            item: None,
        },
    }
}

/// Only the first action that is invalid says so.
fn cancelled(mut reasons: Vec<CancellationReason>) -> Error {
    let mut seen = false;
    for reason in &mut reasons {
        if reason.code == CancellationCode::ValidationError {
            if seen {
                *reason = CancellationReason::default();
            }
            seen = true;
        }
    }
    Error::TransactionCanceled(reasons)
}
