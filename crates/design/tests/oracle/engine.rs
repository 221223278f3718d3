//! The embedded engine with a population in it, and a client that runs plans on it.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use keyloom::{Backend, Error, PlanRunner, Retry};
use keyloom_core::json::{self, Json, item_from};
use keyloom_core::{Item, Operation};
use keyloom_design::Design;
use keyloom_design::emit::create_table;
use keyloom_design::evaluate::Inputs;
use keyloom_design::model::{Access, Table};
use keyloom_design::oracle::{Record, sorts};
use keyloom_design::plan::{Plan, Request, Verdict, requests, second_step};
use keyloom_engine::{Database, Options};
use serde_json::{Value, json};

use crate::population::{Population, wire};

/// A database that holds a population.
pub(crate) struct Engine {
    database: Database,
    /// Positions in the population by table and primary key.
    by_key: HashMap<(String, String), usize>,
}

/// An item with the position in the population of what it was written from.
pub(crate) type Placed = (Option<usize>, Item);

/// What a run of a plan returned.
#[derive(Debug, Default)]
pub(crate) struct Response {
    /// Items with the positions of what they were written from.
    pub(crate) items: Vec<Placed>,
    /// Requests of the first step.
    pub(crate) requests: u64,
    /// Whether all requests were strongly consistent.
    pub(crate) strong: bool,
}

/// When there are pages enough.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    FirstPage,
    Limit,
    End,
}

/// Why a run came to no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The plan does not take these inputs.
    Inputs(String),
    /// The engine refuses the request.
    Engine(String),
}

impl Engine {
    /// Writes a population; what the engine refuses to store, such as an empty text in a key, is taken out.
    pub(crate) fn new(design: &Design, population: &mut Population) -> Result<Self, String> {
        let options = Options { background: false, ..Options::default() };
        let mut engine = Self { database: Database::memory_with(options), by_key: HashMap::new() };
        for table in design.tables() {
            engine.call("CreateTable", &create_table(table))?;
        }
        let all = std::mem::take(population);
        for (record, item) in all.records.into_iter().zip(all.items) {
            let table = &record.entity.table;
            let put = json!({ "TableName": table.name, "Item": wire(&item) });
            if engine.call("PutItem", &put).is_err() {
                continue;
            }
            let key = (table.name.clone(), key_of(table, &item));
            engine.by_key.insert(key, population.records.len());
            population.records.push(record);
            population.items.push(item);
        }
        Ok(engine)
    }

    fn call(&self, operation: &str, body: &Value) -> Result<Vec<u8>, String> {
        let target = format!("DynamoDB_20120810.{operation}");
        let reply = self.database.call(&target, body.to_string().as_bytes());
        if reply.status == 200 {
            return Ok(reply.body);
        }
        Err(String::from_utf8_lossy(&reply.body).into_owned())
    }

    /// Runs a plan with the runner that ships.
    pub(crate) fn run(
        &self,
        access: &Access,
        plan: &Plan,
        inputs: &Inputs,
    ) -> Result<Response, Failed> {
        let (backend, retry) = (Backend::from(&self.database), Retry::never());
        let answer = PlanRunner::new(&backend, &retry).run(access, plan, inputs);
        let answer = answer.map_err(|error| match error {
            Error::Pattern { reason, .. } => Failed::Inputs(reason),
            other => Failed::Engine(other.to_string()),
        })?;
        let Some(table) = access.find.first().map(|entity| entity.table.clone()) else {
            return Ok(Response::default());
        };
        let reads = answer.reads.len() as u64;
        let requests = if plan.verdict == Verdict::Batch { reads.div_ceil(100) } else { reads };
        let strong = answer.reads.iter().all(|trace| trace.read.consistent);
        Ok(Response { items: self.placed(&table, answer.items), requests, strong })
    }

    /// Sends the requests that a plan shows, as a careful client would: pages, fan-out merged in order, the second step,
    /// the limit.
    pub(crate) fn send(
        &self,
        access: &Access,
        plan: &Plan,
        inputs: &Inputs,
        records: &[Record],
    ) -> Result<Response, Failed> {
        let sent = requests(access, plan, inputs).map_err(Failed::Inputs)?;
        let mut response =
            Response { requests: sent.len() as u64, strong: true, ..Response::default() };
        let Some(first) = access.asked() else { return Ok(response) };
        let mut parts = Vec::new();
        for request in &sent {
            response.strong &= is_strong(request);
            let stop = match (&plan.raw, &access.via) {
                (Some(_), _) => Stop::FirstPage,
                // A link may lead nowhere, so that it takes more of them than items are wanted.
                (None, Some(_)) => Stop::End,
                (None, None) => Stop::Limit,
            };
            let items = self.pages(request, stop).map_err(Failed::Engine)?;
            let items = self.placed(&first.table, items);
            if request.operation == Operation::BatchGetItem {
                // DynamoDB gives no order to what it returns: each item is a part by itself.
                parts.extend(items.into_iter().map(|item| vec![item]));
            } else {
                parts.push(items);
            }
        }
        let mut items = merge(access, records, parts);
        if !access.alternatives.is_empty() {
            let mut seen = HashSet::new();
            items.retain(|(at, _)| at.is_none_or(|at| seen.insert(at)));
        }
        if plan.hydrate.is_some() {
            let links: Vec<Item> = items.into_iter().map(|(_, item)| item).collect();
            items = self.second(access, plan, &links, &mut response)?;
        }
        if let (None, Some(limit)) = (&access.raw, access.limit) {
            items.truncate(limit as usize);
        }
        response.items = items;
        Ok(response)
    }

    /// All pages, or as many as fill the limit; a hand-written request with a limit is one page.
    fn pages(&self, request: &Request, stop: Stop) -> Result<Vec<Item>, String> {
        let mut body = request.body.clone();
        let limit = body.get("Limit").and_then(Value::as_u64).map(|limit| limit as usize);
        let mut items = Vec::new();
        loop {
            let (page, last) = page_of(&self.call(request.operation.name(), &body)?);
            items.extend(page);
            let enough = limit.is_some_and(|limit| match stop {
                Stop::FirstPage => true,
                Stop::Limit => items.len() >= limit,
                Stop::End => false,
            });
            let Some(last) = last.filter(|_| !enough) else { return Ok(items) };
            body["ExclusiveStartKey"] = wire(&last);
            if let (Some(limit), Stop::Limit) = (limit, stop) {
                body["Limit"] = json!(limit - items.len());
            }
        }
    }

    fn placed(&self, table: &Table, items: Vec<Item>) -> Vec<Placed> {
        let at = |item: &Item| self.by_key.get(&(table.name.clone(), key_of(table, item))).copied();
        items.into_iter().map(|item| (at(&item), item)).collect()
    }

    /// The second step. DynamoDB refuses a key twice in a batch, so each is fetched once and put into every
    /// place it belongs to.
    fn second(
        &self,
        access: &Access,
        plan: &Plan,
        links: &[Item],
        response: &mut Response,
    ) -> Result<Vec<Placed>, Failed> {
        let target = plan.hydrate.as_ref().and_then(|step| step.entities.first());
        let Some(target) = target else { return Ok(Vec::new()) };
        let mut fetched = Vec::new();
        for mut request in second_step(access, plan, links) {
            response.strong &= !access.consistent || is_strong(&request);
            if request.operation != Operation::BatchGetItem {
                let items = self.pages(&request, Stop::Limit).map_err(Failed::Engine)?;
                fetched.extend(self.placed(&target.table, items));
                continue;
            }
            let keys = &mut request.body["RequestItems"][&target.table.name]["Keys"];
            let wanted: Vec<Value> = keys.as_array().cloned().unwrap_or_default();
            let mut once: Vec<Value> = Vec::new();
            for key in &wanted {
                if !once.contains(key) {
                    once.push(key.clone());
                }
            }
            *keys = Value::Array(once);
            let answer = self.call("BatchGetItem", &request.body).map_err(Failed::Engine)?;
            let items = self.placed(&target.table, page_of(&answer).0);
            for key in wanted {
                let fits = items.iter().find(|(_, item)| key_json(&target.table, item) == key);
                fetched.extend(fits.cloned());
            }
        }
        Ok(fetched)
    }
}

/// Whether a request asks for strong consistency, of each table in a batch.
fn is_strong(request: &Request) -> bool {
    let strong = |body: &Value| body.get("ConsistentRead") == Some(&json!(true));
    match request.body.get("RequestItems").and_then(Value::as_object) {
        Some(tables) => tables.values().all(strong),
        None => strong(&request.body),
    }
}

/// Takes whichever head comes first; without an order, one part after the other.
fn merge(access: &Access, records: &[Record], mut parts: Vec<Vec<Placed>>) -> Vec<Placed> {
    if access.order.is_empty() || parts.len() == 1 {
        return parts.into_iter().flatten().collect();
    }
    for part in &mut parts {
        part.reverse();
    }
    let record = |part: &Vec<Placed>| part.last().and_then(|(at, _)| records.get((*at)?));
    let mut merged = Vec::new();
    loop {
        let mut first: Option<usize> = None;
        for (at, part) in parts.iter().enumerate().filter(|(_, part)| !part.is_empty()) {
            let earlier = first.is_none_or(|first| match (record(part), record(&parts[first])) {
                (Some(own), Some(other)) => {
                    sorts(&access.order, own, other).is_some_and(Ordering::is_lt)
                }
                _ => false,
            });
            // What has no place in the order must not hold up what lies behind it.
            let lost = record(part).is_none_or(|own| sorts(&access.order, own, own).is_none());
            if earlier || lost {
                first = Some(at);
            }
            if lost {
                break;
            }
        }
        let Some(first) = first else { return merged };
        merged.extend(parts[first].pop());
    }
}

fn key_json(table: &Table, item: &Item) -> Value {
    let mut key = Item::new();
    for attribute in table.primary().attributes() {
        if let Some(value) = item.get(&attribute.name) {
            key.insert(attribute.name.as_str(), value.clone());
        }
    }
    wire(&key)
}

fn key_of(table: &Table, item: &Item) -> String {
    key_json(table, item).to_string()
}

fn page_of(answer: &[u8]) -> (Vec<Item>, Option<Item>) {
    let Ok(Json::Object(answer)) = json::parse(answer) else { return (Vec::new(), None) };
    let mut items = Vec::new();
    items.extend(answer.get("Item").and_then(|item| item_from(item).ok()));
    if let Some(Json::Array(list)) = answer.get("Items") {
        items.extend(list.iter().filter_map(|item| item_from(item).ok()));
    }
    if let Some(Json::Object(tables)) = answer.get("Responses") {
        for (_, list) in tables.iter() {
            let Json::Array(list) = list else { continue };
            items.extend(list.iter().filter_map(|item| item_from(item).ok()));
        }
    }
    (items, answer.get("LastEvaluatedKey").and_then(|key| item_from(key).ok()))
}
