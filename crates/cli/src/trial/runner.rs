//! Runs a plan on the engine as a client would: pages, fan-out merged in order, the second step.

use std::collections::HashMap;

use keyloom_core::Item;
use keyloom_core::capacity::{ReadMode, Units, read_units};
use keyloom_core::size::item_size;
use keyloom_design::evaluate::{Inputs, Row, order_of};
use keyloom_design::model::{Access, Entity, OrderBy, Table};
use keyloom_design::plan::{
    Plan, Request, Verdict, concretize, predicted_read, requests, second_step,
};
use serde_json::{Value as Json, json};

use super::data::Data;
use super::engine::{Engine, Refusal, wire_item};

/// What one call of a pattern returned.
pub(crate) struct Answer {
    /// The items, in order.
    pub(crate) items: Vec<Item>,
    /// What the engine charged.
    pub(crate) consumed: Units,
    /// What the plan said it would charge.
    pub(crate) predicted: Units,
}

/// Why a call did not come to an answer.
pub(crate) enum Failed {
    /// The plan cannot take these inputs; the request is never sent.
    Inputs(String),
    /// The engine refuses what the plan sends.
    Refused(Refusal),
    /// The engine returned an item that nobody wrote.
    Unknown(String),
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Inputs(reason) => f.write_str(reason),
            Self::Refused(refusal) => write!(f, "the engine refuses the request: {refusal}"),
            Self::Unknown(key) => write!(f, "{key} is returned, and nobody wrote it"),
        }
    }
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// One engine with its rows, ready to run plans.
pub(crate) struct Runner<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) data: &'a Data,
    pub(crate) limits: Limits,
}

/// How a limit is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limits {
    /// As planned: behind a filter pages are read until enough rows remain.
    AsPlanned,
    /// The careless way: every request gets the limit, and its one page is the answer.
    SentAlong,
}

impl Runner<'_> {
    /// Calls a pattern once.
    pub(crate) fn run(
        &self,
        access: &Access,
        plan: &Plan,
        inputs: &Inputs,
    ) -> Result<Answer, Failed> {
        let table =
            table_of(access).ok_or_else(|| Failed::Inputs("it finds nothing".to_owned()))?;
        let predicted = self.predict(access, plan, inputs, table)?;
        let mut consumed = Units::ZERO;
        let mut parts = Vec::new();
        for mut request in requests(access, plan, inputs).map_err(Failed::Inputs)? {
            if let (Limits::SentAlong, Some(limit)) = (self.limits, access.limit) {
                set(&mut request.body, "Limit", json!(limit));
            }
            let one_page = plan.raw.is_some() || self.limits == Limits::SentAlong;
            let (items, units) = self.pages(&request, one_page)?;
            consumed += units;
            let items = self.with_rows(table, items)?;
            if plan.verdict == Verdict::Batch {
                // A batch answers in any order: each item is merged by itself.
                parts.extend(items.into_iter().map(|item| vec![item]));
            } else {
                parts.push(items);
            }
        }
        let mut items = merge(&access.order, parts);
        let mut answer = Answer { items: Vec::new(), consumed, predicted };
        if plan.hydrate.is_some() {
            items = self.second_step(access, plan, &items, &mut answer)?;
        }
        // A hand-written request has its limit in it; what comes, comes.
        if let (None, Some(limit)) = (&access.raw, access.limit) {
            items.truncate(limit as usize);
        }
        answer.items = items;
        Ok(answer)
    }

    /// The units of the first step, from the rows that its requests can reach.
    fn predict(
        &self,
        access: &Access,
        plan: &Plan,
        inputs: &Inputs,
        table: &Table,
    ) -> Result<Units, Failed> {
        let reads = match &plan.raw {
            Some(raw) => vec![raw.concrete(inputs).map_err(Failed::Inputs)?],
            None => concretize(access, plan, inputs).map_err(Failed::Inputs)?,
        };
        Ok(reads.iter().map(|read| predicted_read(read, self.data.in_partition(table, read))).sum())
    }

    /// All pages of a request, or as many as it takes to fill its limit.
    fn pages(&self, request: &Request, one_page: bool) -> Result<(Vec<Item>, Units), Refusal> {
        let mut body = request.body.clone();
        set(&mut body, "ReturnConsumedCapacity", json!("TOTAL"));
        let limit = body.get("Limit").and_then(Json::as_u64).map(|limit| limit as usize);
        let mut items = Vec::new();
        let mut units = Units::ZERO;
        loop {
            let page = self.engine.read(&request.operation, &body)?;
            units += page.units;
            items.extend(page.items);
            let enough = limit.is_some_and(|limit| items.len() >= limit || one_page);
            match page.last_key {
                Some(last) if !enough => {
                    set(&mut body, "ExclusiveStartKey", wire_item(&last));
                    if let Some(limit) = limit {
                        set(&mut body, "Limit", json!(limit - items.len()));
                    }
                }
                _ => return Ok((items, units)),
            }
        }
    }

    /// Each item with the row it was written from, whose values tell its place in the order.
    fn with_rows(&self, table: &Table, items: Vec<Item>) -> Result<Vec<(Item, &Row)>, Failed> {
        items
            .into_iter()
            .map(|item| match self.data.row_of(table, &item) {
                Some(row) => Ok((item, row)),
                None => Err(Failed::Unknown(wire_item(&item).to_string())),
            })
            .collect()
    }

    /// Fetches what the first step leads to, in its order. DynamoDB refuses a key twice in one batch,
    /// so each is fetched once and put into every place it belongs to.
    fn second_step(
        &self,
        access: &Access,
        plan: &Plan,
        links: &[Item],
        answer: &mut Answer,
    ) -> Result<Vec<Item>, Failed> {
        let mode = if access.consistent { ReadMode::Strong } else { ReadMode::Eventual };
        let mut fetched = Vec::new();
        for mut request in second_step(access, plan, links) {
            set(&mut request.body, "ReturnConsumedCapacity", json!("TOTAL"));
            let wanted = batch_keys(&request.body);
            dedup_batch(&mut request.body);
            let page = self.engine.read(&request.operation, &request.body)?;
            answer.consumed += page.units;
            answer.predicted += predicted_second(plan, &request.body, &page.items, mode);
            let Some(wanted) = wanted else {
                fetched.extend(page.items);
                continue;
            };
            let target = plan.hydrate.as_ref().and_then(|step| step.entities.first());
            let by_key: HashMap<String, Item> = page
                .items
                .into_iter()
                .map(|item| (target.map_or_else(String::new, |e| key_text(e, &item)), item))
                .collect();
            fetched.extend(wanted.iter().filter_map(|key| by_key.get(&key.to_string()).cloned()));
        }
        Ok(fetched)
    }
}

/// What the second step charges: each item by itself, and the least for a key without one.
fn predicted_second(plan: &Plan, body: &Json, items: &[Item], mode: ReadMode) -> Units {
    let batch = plan.hydrate.as_ref().is_some_and(|step| step.batch);
    if !batch {
        return read_units(items.iter().map(item_size).sum(), ReadMode::Eventual);
    }
    let asked = batch_keys(body).map_or(0, |keys| keys.len());
    let missing = asked.saturating_sub(items.len());
    let found: Units = items.iter().map(|item| read_units(item_size(item), mode)).sum();
    (0..missing).map(|_| read_units(0, mode)).sum::<Units>() + found
}

/// The table whose items the first step reads.
pub(super) fn table_of(access: &Access) -> Option<&Table> {
    access.asked().map(|entity| entity.table.as_ref())
}

fn key_text(entity: &Entity, item: &Item) -> String {
    let mut key = Item::new();
    for attribute in entity.table.primary().attributes() {
        if let Some(value) = item.get(&attribute.name) {
            key.insert(attribute.name.as_str(), value.clone());
        }
    }
    wire_item(&key).to_string()
}

/// The keys of a BatchGetItem, in order.
fn batch_keys(body: &Json) -> Option<Vec<Json>> {
    let tables = body.get("RequestItems")?.as_object()?;
    let keys = tables.values().next()?.get("Keys")?.as_array()?;
    Some(keys.clone())
}

fn dedup_batch(body: &mut Json) {
    let tables = body.get_mut("RequestItems").and_then(Json::as_object_mut);
    for request in tables.into_iter().flat_map(|tables| tables.values_mut()) {
        let Some(keys) = request.get_mut("Keys").and_then(Json::as_array_mut) else { continue };
        let mut seen: Vec<String> = Vec::new();
        keys.retain(|key| {
            let text = key.to_string();
            let new = !seen.contains(&text);
            if new {
                seen.push(text);
            }
            new
        });
    }
}

fn set(body: &mut Json, name: &str, value: Json) {
    if let Json::Object(body) = body {
        body.insert(name.to_owned(), value);
    }
}

/// Takes the next item of whichever read comes first; without an order, one read after the other.
fn merge(order: &[OrderBy], mut parts: Vec<Vec<(Item, &Row)>>) -> Vec<Item> {
    if order.is_empty() || parts.len() == 1 {
        return parts.into_iter().flatten().map(|(item, _)| item).collect();
    }
    for part in &mut parts {
        part.reverse();
    }
    let mut merged = Vec::new();
    loop {
        let heads = parts.iter().enumerate().filter_map(|(at, part)| Some((at, part.last()?.1)));
        let Some((at, _)) = heads.min_by(|a, b| order_of(order, a.1, b.1)) else { return merged };
        if let Some((item, _)) = parts.get_mut(at).and_then(Vec::pop) {
            merged.push(item);
        }
    }
}
