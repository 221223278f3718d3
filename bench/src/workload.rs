//! What everyone is asked: the same tables, items and calls.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;

use crate::http::Client;

/// The table of most cases; its key is `pk` and `sk`.
pub(crate) const TABLE: &str = "bench";

/// The same with two global indexes that hold whole items.
pub(crate) const INDEXED_TABLE: &str = "indexed";

/// The size of an item, counted as DynamoDB does.
pub(crate) const ITEM_BYTES: usize = 1024;

/// The items of a query, and their size.
pub(crate) const QUERY_ITEMS: usize = 100;
const QUERY_ITEM_BYTES: usize = 200;

/// More than fit on a page of 1 MB.
const PAGE_ITEMS: usize = 1200;

/// How many partitions the queries choose from.
const QUERY_PARTITIONS: usize = 16;

/// How many different calls of each kind there are: a multiple of every number of connections.
const CALLS: usize = 2048;
const LARGE_CALLS: usize = 256;

/// The kinds of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Operation {
    Get,
    Put,
    Update,
    PutIndexed,
    Query,
    Page,
    Batch,
    Transact,
}

impl Operation {
    pub(crate) const ALL: [Self; 8] = [
        Self::Get,
        Self::Put,
        Self::Update,
        Self::PutIndexed,
        Self::Query,
        Self::Page,
        Self::Batch,
        Self::Transact,
    ];

    /// As it is called in tables and plots.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Get => "GetItem 1 KB",
            Self::Put => "PutItem 1 KB",
            Self::Update => "UpdateItem with a condition",
            Self::PutIndexed => "PutItem with two GSIs",
            Self::Query => "Query 100 × 200 B",
            Self::Page => "Query, a page of 1 MB",
            Self::Batch => "BatchWriteItem 25 × 1 KB",
            Self::Transact => "TransactWriteItems 10 × 1 KB",
        }
    }

    /// The operation of the API.
    pub(crate) fn target(self) -> &'static str {
        match self {
            Self::Get => "GetItem",
            Self::Put | Self::PutIndexed => "PutItem",
            Self::Update => "UpdateItem",
            Self::Query | Self::Page => "Query",
            Self::Batch => "BatchWriteItem",
            Self::Transact => "TransactWriteItems",
        }
    }
}

/// An item and its key.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) pk: String,
    pub(crate) sk: String,
    /// The item in DynamoDB JSON.
    pub(crate) item: String,
}

impl Record {
    /// An item of so many bytes that no compression helps with.
    pub(crate) fn new(pk: String, sk: String, bytes: usize, random: &mut Random) -> Self {
        Self::with_attributes(pk, sk, bytes, "", random)
    }

    fn with_attributes(
        pk: String,
        sk: String,
        bytes: usize,
        attributes: &str,
        random: &mut Random,
    ) -> Self {
        let name = format!("Customer {:06}", random.below(1_000_000));
        // Names and values: pk, sk, n (a number of one digit takes two bytes), name, active, data.
        let fixed = 2 + pk.len() + 2 + sk.len() + 3 + 4 + name.len() + 7 + 4;
        let data = random.text(bytes.saturating_sub(fixed));
        let item = format!(
            r#"{{"pk":{{"S":"{pk}"}},"sk":{{"S":"{sk}"}},"n":{{"N":"7"}},"name":{{"S":"{name}"}},"active":{{"BOOL":true}},{attributes}"data":{{"S":"{data}"}}}}"#
        );
        Self { pk, sk, item }
    }

    /// The primary key in DynamoDB JSON.
    pub(crate) fn key(&self) -> String {
        format!(r#"{{"pk":{{"S":"{}"}},"sk":{{"S":"{}"}}}}"#, self.pk, self.sk)
    }
}

/// One call, from which each contender makes its own request.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Get(Record),
    Put(&'static str, Record),
    Update(Record),
    Query(String),
    Batch(Vec<Record>),
    Transact(Vec<Record>),
}

/// The condition of the update.
pub(crate) const CONDITION: &str = "attribute_exists(pk) AND n >= :zero";
/// The update: a counter.
pub(crate) const UPDATE: &str = "SET n = n + :one";
/// The key condition of the queries.
pub(crate) const KEY_CONDITION: &str = "pk = :pk";

impl Call {
    /// The body of the request.
    pub(crate) fn body(&self) -> String {
        match self {
            Self::Get(record) => format!(r#"{{"TableName":"{TABLE}","Key":{}}}"#, record.key()),
            Self::Put(table, record) => {
                format!(r#"{{"TableName":"{table}","Item":{}}}"#, record.item)
            }
            Self::Update(record) => format!(
                r#"{{"TableName":"{TABLE}","Key":{},"UpdateExpression":"{UPDATE}","ConditionExpression":"{CONDITION}","ExpressionAttributeValues":{{":one":{{"N":"1"}},":zero":{{"N":"0"}}}}}}"#,
                record.key()
            ),
            Self::Query(pk) => format!(
                r#"{{"TableName":"{TABLE}","KeyConditionExpression":"{KEY_CONDITION}","ExpressionAttributeValues":{{":pk":{{"S":"{pk}"}}}}}}"#
            ),
            Self::Batch(records) => batch_body(TABLE, records),
            Self::Transact(records) => {
                let puts: Vec<String> = records
                    .iter()
                    .map(|record| {
                        format!(r#"{{"Put":{{"TableName":"{TABLE}","Item":{}}}}}"#, record.item)
                    })
                    .collect();
                format!(r#"{{"TransactItems":[{}]}}"#, puts.join(","))
            }
        }
    }
}

/// A BatchWriteItem that puts these items.
pub(crate) fn batch_body(table: &str, records: &[Record]) -> String {
    let mut body = format!(r#"{{"RequestItems":{{"{table}":["#);
    for (place, record) in records.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(body, r#"{comma}{{"PutRequest":{{"Item":{}}}}}"#, record.item);
    }
    body.push_str("]}}");
    body
}

/// The CreateTable that makes a table with `pk` and `sk`, and perhaps with two indexes.
pub(crate) fn create_table(name: &str, is_indexed: bool) -> String {
    let attribute = |name: &str| format!(r#"{{"AttributeName":"{name}","AttributeType":"S"}}"#);
    let key = |hash: &str, range: &str| {
        format!(
            r#"[{{"AttributeName":"{hash}","KeyType":"HASH"}},{{"AttributeName":"{range}","KeyType":"RANGE"}}]"#
        )
    };
    let index = |name: &str, hash: &str, range: &str| {
        format!(
            r#"{{"IndexName":"{name}","KeySchema":{},"Projection":{{"ProjectionType":"ALL"}}}}"#,
            key(hash, range)
        )
    };
    let (names, indexes) = if is_indexed {
        let indexes =
            [index("by-status", "g1pk", "g1sk"), index("by-customer", "g2pk", "g2sk")].join(",");
        let names = vec!["pk", "sk", "g1pk", "g1sk", "g2pk", "g2sk"];
        (names, format!(r#","GlobalSecondaryIndexes":[{indexes}]"#))
    } else {
        (vec!["pk", "sk"], String::new())
    };
    let attributes: Vec<String> = names.into_iter().map(attribute).collect();
    format!(
        r#"{{"TableName":"{name}","BillingMode":"PAY_PER_REQUEST","KeySchema":{},"AttributeDefinitions":[{}]{indexes}}}"#,
        key("pk", "sk"),
        attributes.join(",")
    )
}

/// The tables, the items that are there before, and the calls.
#[derive(Debug)]
pub(crate) struct Workload {
    /// The items that Get, Put and Update choose from.
    pub(crate) items: Vec<Record>,
    /// What the queries read.
    collections: Vec<Record>,
    /// What is put into the table with indexes, twice the keys with other index keys.
    indexed: Vec<Record>,
}

impl Workload {
    /// A workload over so many items of 1 KB.
    pub(crate) fn new(items: usize) -> Self {
        let mut random = Random::new(7);
        let items = (0..items).map(|n| item(n, &mut random)).collect();
        let mut collections = Vec::new();
        for partition in 0..QUERY_PARTITIONS {
            collections.extend((0..QUERY_ITEMS).map(|n| {
                let sk = format!("EVENT#{n:08}");
                Record::new(query_partition(partition), sk, QUERY_ITEM_BYTES, &mut random)
            }));
        }
        collections.extend((0..PAGE_ITEMS).map(|n| {
            Record::new(PAGE_PARTITION.into(), format!("EVENT#{n:08}"), ITEM_BYTES, &mut random)
        }));
        let indexed = (0..CALLS).map(|n| indexed_item(n, &mut random)).collect();
        Self { items, collections, indexed }
    }

    /// The calls of one kind. Made in this order, again and again, each write changes its items: a
    /// database may see that an item is put as it is already, and write nothing. So each operation
    /// has content of its own, and the second half of its calls writes the keys of the first half.
    pub(crate) fn calls(&self, operation: Operation) -> Vec<Call> {
        let mut random = Random::new(100 + operation as u64);
        let place = |n: usize| scatter(n, self.items.len());
        let known = |n: usize| self.items.get(place(n)).cloned();
        let mut group = |n: usize, size: usize| {
            let first = n % (LARGE_CALLS / 2) * size;
            (first..first + size).map(|n| item(place(n), &mut random)).collect()
        };
        let (each, large) = (0..CALLS, 0..LARGE_CALLS);
        match operation {
            Operation::Get => each.filter_map(known).map(Call::Get).collect(),
            Operation::Put => {
                let mut put = |n| Call::Put(TABLE, item(place(n % (CALLS / 2)), &mut random));
                each.map(&mut put).collect()
            }
            Operation::Update => each.filter_map(known).map(Call::Update).collect(),
            Operation::PutIndexed => {
                let puts = self.indexed.iter().cloned();
                puts.map(|record| Call::Put(INDEXED_TABLE, record)).collect()
            }
            Operation::Query => {
                large.map(|n| Call::Query(query_partition(n % QUERY_PARTITIONS))).collect()
            }
            Operation::Page => large.map(|_| Call::Query(PAGE_PARTITION.into())).collect(),
            Operation::Batch => large.map(|n| Call::Batch(group(n, 25))).collect(),
            Operation::Transact => large.map(|n| Call::Transact(group(n, 10))).collect(),
        }
    }

    /// The requests that make the tables: name and body.
    pub(crate) fn tables() -> [(&'static str, String); 2] {
        [(TABLE, create_table(TABLE, false)), (INDEXED_TABLE, create_table(INDEXED_TABLE, true))]
    }

    /// The bodies of the batches that fill them.
    pub(crate) fn batches(&self) -> impl Iterator<Item = String> {
        let batches = self.items.chunks(25).chain(self.collections.chunks(25));
        batches.map(|chunk| batch_body(TABLE, chunk))
    }

    /// Makes and fills the tables of a server.
    pub(crate) fn prepare(&self, client: &mut Client) -> Result<()> {
        for (table, body) in Self::tables() {
            client.call("CreateTable", &body)?;
            wait_until_active(client, table)?;
        }
        for body in self.batches() {
            client.call("BatchWriteItem", &body)?;
        }
        Ok(())
    }
}

/// Some peers make tables in the background.
pub(crate) fn wait_until_active(client: &mut Client, table: &str) -> Result<()> {
    let question = format!(r#"{{"TableName":"{table}"}}"#);
    loop {
        let answer = client.call("DescribeTable", &question)?;
        let answer: serde_json::Value = serde_json::from_slice(&answer)?;
        let status = answer.get("Table").and_then(|table| table.get("TableStatus"));
        if status.and_then(serde_json::Value::as_str) == Some("ACTIVE") {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// The partition whose first page is 1 MB.
const PAGE_PARTITION: &str = "LOG#large";

fn query_partition(number: usize) -> String {
    format!("LOG#{number:04}")
}

/// The `n`th item of a table of single items.
pub(crate) fn item(n: usize, random: &mut Random) -> Record {
    Record::new(format!("USER#{n:08}"), "PROFILE".into(), ITEM_BYTES, random)
}

fn indexed_item(n: usize, random: &mut Random) -> Record {
    let (status, customer) = (random.below(10), random.below(1000));
    let at = random.below(1_000_000_000);
    let attributes = format!(
        r#""g1pk":{{"S":"STATUS#{status}"}},"g1sk":{{"S":"{at:012}"}},"g2pk":{{"S":"CUSTOMER#{customer:06}"}},"g2sk":{{"S":"{at:012}"}},"#
    );
    // The names and values of the four attributes.
    let extra = 16 + 8 + 12 + 15 + 12;
    let pk = format!("ORDER#{:08}", n % (CALLS / 2));
    Record::with_attributes(pk, "ORDER".into(), ITEM_BYTES - extra, &attributes, random)
}

/// A fixed order of the items that jumps about: two neighbours are far apart in the table.
fn scatter(n: usize, length: usize) -> usize {
    // Odd, so that all places of a power of two are visited.
    n.wrapping_mul(0x9E37_79B1) % length.max(1)
}

/// A small generator of numbers: runs are the same every time.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// Letters and digits that do not repeat.
    pub(crate) fn text(&mut self, length: usize) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut text = String::with_capacity(length + 8);
        while text.len() < length {
            let bits = self.next();
            for shift in (8..56).step_by(6) {
                let digit = DIGITS.get((bits >> shift) as usize % 64);
                text.push(char::from(digit.copied().unwrap_or(b'x')));
            }
        }
        text.truncate(length);
        text
    }
}

#[cfg(test)]
mod tests {
    use keyloom_core::{json, size};

    use super::*;

    fn bytes_of(record: &Record) -> usize {
        let tree = json::parse(record.item.as_bytes()).unwrap();
        size::item_size(&json::item_from(&tree).unwrap())
    }

    #[test]
    fn items_have_the_size_they_are_said_to_have() {
        let workload = Workload::new(64);
        assert!(workload.items.iter().all(|record| bytes_of(record) == ITEM_BYTES));
        let sizes: Vec<usize> = workload.collections.iter().map(bytes_of).collect();
        assert_eq!(sizes.first(), Some(&QUERY_ITEM_BYTES));
        assert_eq!(sizes.last(), Some(&ITEM_BYTES));
        assert!(workload.indexed.iter().all(|record| bytes_of(record) == ITEM_BYTES));
    }

    #[test]
    fn the_items_of_a_batch_differ() {
        let workload = Workload::new(2048);
        for operation in [Operation::Batch, Operation::Transact] {
            for call in workload.calls(operation) {
                let (Call::Batch(records) | Call::Transact(records)) = call else { panic!() };
                let mut keys: Vec<String> = records.iter().map(Record::key).collect();
                keys.sort();
                keys.dedup();
                assert_eq!(keys.len(), records.len());
            }
        }
    }
}
