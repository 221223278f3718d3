//! Random tables and random requests on them.
//!
//! Keys come from small domains, so that requests meet each other's items, and most requests are
//! valid; some break a rule on purpose. The same seed gives the same requests, as long as the
//! answers are the same.

mod query;
mod schema;
mod values;
mod write;

use keyloom_core::{IndexKind, KeyAttribute, TableSchema};
use serde_json::{Value, json};

use crate::lockstep::Answer;
use crate::rng::Rng;

pub use schema::{create_table, update_table};

/// A source of requests on a set of tables.
#[derive(Debug)]
pub struct Workload {
    rng: Rng,
    schemas: Vec<TableSchema>,
    /// Whether items are often large, so that pages end at 1 MB.
    large: bool,
    /// A query that has more pages.
    next_page: Option<Value>,
    /// The last transaction with a client token.
    last_transaction: Option<Value>,
    tokens: u64,
}

impl Workload {
    /// Random tables and requests of this seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let tables = 1 + rng.below(2);
        let large = seed.is_multiple_of(6);
        let schema = |n| schema::random(&mut rng, &format!("table-{n}"), large);
        let schemas = (0..tables).map(schema).collect();
        Self { rng, schemas, large, next_page: None, last_transaction: None, tokens: 0 }
    }

    /// The tables to make before the first request.
    pub fn schemas(&self) -> &[TableSchema] {
        &self.schemas
    }

    /// Whether items are often large; such runs are slower.
    pub fn is_large(&self) -> bool {
        self.large
    }

    /// The source of chance, for decisions around the requests.
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// A table before and after a change of its indexes: a new one, or one less.
    pub fn next_schema(&mut self) -> (TableSchema, TableSchema) {
        let before = self.schema();
        self.tokens += 1;
        let global = before.indexes.iter().position(|i| i.kind == IndexKind::Global);
        let mut after = before.clone();
        match global {
            Some(position) if self.rng.chance(50) => {
                after.indexes.remove(position);
                let used = |a: &KeyAttribute| {
                    let mut keys = after.indexes.iter().map(|index| &index.key);
                    after.key.contains(&a.name) || keys.any(|key| key.contains(&a.name))
                };
                let attributes = after.attributes.iter().filter(|a| used(a)).cloned().collect();
                after.attributes = attributes;
            }
            _ => after = schema::with_new_index(&mut self.rng, &before, 100 + self.tokens as usize),
        }
        (before, after)
    }

    /// Takes over a schema, so that requests use its indexes.
    pub fn set_schema(&mut self, schema: TableSchema) {
        self.next_page = None;
        if let Some(slot) = self.schemas.iter_mut().find(|known| known.name == schema.name) {
            *slot = schema;
        }
    }

    /// The next request.
    pub fn next_request(&mut self) -> (&'static str, Value) {
        if let Some(page) = self.next_page.take()
            && self.rng.chance(80)
        {
            return ("Query", page);
        }
        let (operation, mut body) = match self.rng.below(100) {
            0..28 => ("PutItem", self.put_item()),
            28..46 => ("UpdateItem", self.update_item()),
            46..54 => ("DeleteItem", self.delete_item()),
            54..62 => ("GetItem", self.get_item()),
            62..82 => ("Query", self.query()),
            82..86 => ("BatchGetItem", self.batch_get_item()),
            86..90 => ("BatchWriteItem", self.batch_write_item()),
            90..97 => ("TransactWriteItems", self.transact_write_items()),
            _ => ("TransactGetItems", self.transact_get_items()),
        };
        if self.rng.chance(60) {
            let detail = self.rng.pick(&["INDEXES", "INDEXES", "TOTAL", "NONE"]);
            set(&mut body, "ReturnConsumedCapacity", *detail);
        }
        (operation, body)
    }

    /// Takes note of an answer: a page may have a next one.
    pub fn observe(&mut self, operation: &str, body: &Value, answer: &Answer) {
        if let (true, Some(last)) = (operation == "Query", answer.body.get("LastEvaluatedKey")) {
            let mut next = body.clone();
            set(&mut next, "ExclusiveStartKey", last.clone());
            self.next_page = Some(next);
        }
    }

    fn schema(&mut self) -> TableSchema {
        self.rng.pick(&self.schemas).clone()
    }

    fn get_item(&mut self) -> Value {
        let schema = self.schema();
        let mut body = json!({"TableName": schema.name.as_str(), "Key": self.key(&schema)});
        if self.rng.chance(50) {
            set(&mut body, "ConsistentRead", self.rng.chance(70));
        }
        if self.rng.chance(30) {
            let projection = self.rng.pick(&["n", "n, tags", "doc.x, l[0]", "l[1], t"]);
            set(&mut body, "ProjectionExpression", *projection);
        }
        body
    }

    fn batch_get_item(&mut self) -> Value {
        let mut tables = json!({});
        for schema in self.schemas.clone() {
            let keys: Vec<Value> = (0..=self.rng.below(5)).map(|_| self.key(&schema)).collect();
            let request = json!({"Keys": keys, "ConsistentRead": self.rng.chance(50)});
            set(&mut tables, &schema.name, request);
        }
        json!({"RequestItems": tables})
    }

    fn transact_get_items(&mut self) -> Value {
        let get = |workload: &mut Self| {
            let schema = workload.schema();
            json!({"Get": {"TableName": schema.name.as_str(), "Key": workload.key(&schema)}})
        };
        let gets: Vec<Value> = (0..=self.rng.below(4)).map(|_| get(self)).collect();
        json!({"TransactItems": gets})
    }
}

/// Sets a member of an object.
fn set(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value.into());
    }
}
