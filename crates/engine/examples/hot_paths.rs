//! The hot paths of the database in memory, as a fixed workload for profilers.
//!
//! `hot_paths` runs every case and prints what an operation takes, `hot_paths --list` names the
//! cases. `hot_paths CASE COUNT` prepares the database and runs one case `COUNT` times, in silence:
//! the difference between two counts is what the operations cost, without the preparation.
//! `scripts/instructions` measures so.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

use std::time::Instant;

use keyloom_core::{AttributeValue, Item};
use keyloom_engine::{ConditionInput, Database, GetItemInput, PutItemInput, QueryInput, ReadInput};

/// Partitions of 100 items each: the first half of 1 KB, the second of 200 bytes.
const PARTITIONS: usize = 40;
const ITEMS: usize = PARTITIONS * 100;

/// Runs one operation on the database; the number says which item or partition.
type Case = fn(&Database, usize);

const CASES: [(&str, Case); 12] = [
    ("get", get),
    ("put", put),
    ("put-recorded", put_recorded),
    ("put-two-indexes", put_two_indexes),
    ("put-if-absent", put_if_absent),
    ("query-100", query),
    ("call-get", call_get),
    ("call-put", call_put),
    ("call-put-recorded", call_put_recorded),
    ("call-put-two-indexes", call_put_two_indexes),
    ("call-update-if", call_update_if),
    ("call-query-100", call_query),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => time_all(),
        ["--list"] => CASES.iter().for_each(|(name, _)| println!("{name}")),
        [name, count] => {
            let count: usize = count.parse().unwrap();
            let (_, case) = CASES.iter().find(|(known, _)| known == name).unwrap();
            let database = prepare();
            (0..count).for_each(|i| case(&database, i));
        }
        _ => println!("usage: hot_paths [--list | CASE COUNT]"),
    }
}

fn time_all() {
    let database = prepare();
    for (name, case) in CASES {
        let count = if name.contains("query") { 3_000 } else { 100_000 };
        let best = (0..5).map(|_| time(&database, case, count)).min().unwrap();
        let nanos = best / count as u128;
        println!("{name:22} {nanos:>7} ns  {:>9.0}/s", 1e9 / nanos as f64);
    }
}

fn time(database: &Database, case: Case, count: usize) -> u128 {
    let start = Instant::now();
    (0..count).for_each(|i| case(database, i));
    start.elapsed().as_nanos()
}

/// A table of items, the same with point-in-time recovery, and one with two indexes.
fn prepare() -> Database {
    let database = Database::memory();
    let key = r#""BillingMode":"PAY_PER_REQUEST","KeySchema":[
        {"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]"#;
    let names = |names: &[&str]| {
        let one = |name| format!(r#"{{"AttributeName":"{name}","AttributeType":"S"}}"#);
        names.iter().map(one).collect::<Vec<_>>().join(",")
    };
    let index = |name: &str, hash: &str| {
        format!(
            r#"{{"IndexName":"{name}","KeySchema":[{{"AttributeName":"{hash}","KeyType":"HASH"}}],
            "Projection":{{"ProjectionType":"ALL"}}}}"#
        )
    };
    let simple = |name: &str| {
        let names = names(&["pk", "sk"]);
        format!(r#"{{"TableName":"{name}","AttributeDefinitions":[{names}],{key}}}"#)
    };
    let indexed = format!(
        r#"{{"TableName":"indexed","AttributeDefinitions":[{}],{key},
            "GlobalSecondaryIndexes":[{},{}]}}"#,
        names(&["pk", "sk", "phase", "seller"]),
        index("by-phase", "phase"),
        index("by-seller", "seller"),
    );
    for table in [simple("plain"), simple("recorded"), indexed] {
        call(&database, "DynamoDB_20120810.CreateTable", &table);
    }
    for table in ["plain", "recorded"] {
        (0..ITEMS).for_each(|i| put_into(&database, table, item(i, 0)));
    }
    let recovery = r#"{"TableName":"recorded",
        "PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}}"#;
    call(&database, "DynamoDB_20120810.UpdateContinuousBackups", recovery);
    database
}

fn key_text(i: usize) -> (String, String) {
    (format!("customer#{:06}", i / 100), format!("order#{:06}", i % 100))
}

fn key(i: usize) -> Item {
    let (pk, sk) = key_text(i);
    [("pk".into(), pk.as_str().into()), ("sk".into(), sk.as_str().into())].into_iter().collect()
}

/// How long an item's text is: 1 KB for the first half, 200 bytes in all for the second.
fn padding(i: usize) -> usize {
    if i < ITEMS / 2 { 900 } else { 110 }
}

fn item(i: usize, version: usize) -> Item {
    let mut item = key(i);
    item.insert("phase", "active");
    item.insert("seller", format!("seller#{:04}", i % 50).as_str());
    item.insert("amount", i64::try_from(version).unwrap());
    item.insert("text", "x".repeat(padding(i)).as_str());
    item
}

/// Spreads the operations over the items of 1 KB.
fn large(i: usize) -> usize {
    i * 7919 % (ITEMS / 2)
}

fn put_into(database: &Database, table: &str, item: Item) {
    database
        .put_item(PutItemInput { table_name: table.into(), item, ..Default::default() })
        .unwrap();
}

fn get(database: &Database, i: usize) {
    let input =
        GetItemInput { table_name: "plain".into(), key: key(large(i)), ..Default::default() };
    assert!(database.get_item(input).unwrap().into_item().unwrap().is_some());
}

fn put(database: &Database, i: usize) {
    put_into(database, "plain", item(large(i), i + 1));
}

fn put_recorded(database: &Database, i: usize) {
    put_into(database, "recorded", item(large(i), i + 1));
}

fn put_two_indexes(database: &Database, i: usize) {
    put_into(database, "indexed", item(large(i), i + 1));
}

fn put_if_absent(database: &Database, i: usize) {
    let condition = ConditionInput {
        expression: Some("attribute_not_exists(pk) OR amount < :t".into()),
        values: Some(vec![(":t".into(), AttributeValue::from(i64::MAX))]),
        ..Default::default()
    };
    let item = item(large(i), i + 1);
    database
        .put_item(PutItemInput {
            table_name: "plain".into(),
            item,
            condition,
            ..Default::default()
        })
        .unwrap();
}

/// A partition of small items.
fn partition(i: usize) -> String {
    format!("customer#{:06}", PARTITIONS / 2 + i * 31 % (PARTITIONS / 2))
}

fn query(database: &Database, i: usize) {
    let value = AttributeValue::from(partition(i).as_str());
    let input = QueryInput {
        read: ReadInput {
            table_name: "plain".into(),
            values: Some(vec![(":p".into(), value)]),
            ..Default::default()
        },
        key_condition: Some("pk = :p".into()),
        ..Default::default()
    };
    assert_eq!(database.query(&input).unwrap().into_items().unwrap().len(), 100);
}

fn call(database: &Database, operation: &str, body: &str) {
    let reply = database.call(operation, body.as_bytes());
    assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
}

fn call_get(database: &Database, i: usize) {
    let (pk, sk) = key_text(large(i));
    let key = format!(r#"{{"pk":{{"S":"{pk}"}},"sk":{{"S":"{sk}"}}}}"#);
    let body = format!(r#"{{"TableName":"plain","Key":{key}}}"#);
    call(database, "DynamoDB_20120810.GetItem", &body);
}

fn call_put_into(database: &Database, table: &str, i: usize) {
    let (pk, sk) = key_text(large(i));
    let seller = large(i) % 50;
    let text = "x".repeat(900);
    let body = format!(
        r#"{{"TableName":"{table}","Item":{{"pk":{{"S":"{pk}"}},"sk":{{"S":"{sk}"}},"phase":{{"S":"active"}},"seller":{{"S":"seller#{seller:04}"}},"amount":{{"N":"{i}"}},"text":{{"S":"{text}"}}}}}}"#
    );
    call(database, "DynamoDB_20120810.PutItem", &body);
}

fn call_put(database: &Database, i: usize) {
    call_put_into(database, "plain", i + 1);
}

fn call_put_recorded(database: &Database, i: usize) {
    call_put_into(database, "recorded", i + 1);
}

fn call_put_two_indexes(database: &Database, i: usize) {
    call_put_into(database, "indexed", i + 1);
}

fn call_update_if(database: &Database, i: usize) {
    let (pk, sk) = key_text(large(i));
    let body = format!(
        r##"{{"TableName":"plain","Key":{{"pk":{{"S":"{pk}"}},"sk":{{"S":"{sk}"}}}},"UpdateExpression":"SET #t = :t","ConditionExpression":"#s = :s","ExpressionAttributeNames":{{"#t":"amount","#s":"phase"}},"ExpressionAttributeValues":{{":t":{{"N":"{i}"}},":s":{{"S":"active"}}}}}}"##
    );
    call(database, "DynamoDB_20120810.UpdateItem", &body);
}

fn call_query(database: &Database, i: usize) {
    let body = format!(
        r#"{{"TableName":"plain","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{{":p":{{"S":"{}"}}}}}}"#,
        partition(i)
    );
    call(database, "DynamoDB_20120810.Query", &body);
}
