//! Reads over a prefix of the partition key: for the embedded database only.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "support/calls.rs"]
mod calls;

use keyloom_engine::{Database, PartitionPrefixInput, ReadInput};
use serde_json::json;

use calls::{call, ok};

/// A table `events` with the key `pk`, `sk`, and the index `by-g` on `g`.
fn events() -> Database {
    let db = Database::memory();
    let body = json!({
        "TableName": "events",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
            {"AttributeName": "g", "AttributeType": "S"},
        ],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "GlobalSecondaryIndexes": [{
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
    });
    ok(&db, "CreateTable", body);
    // The keys around a prefix, with the bytes that an encoding could get wrong.
    for pk in
        ["a", "user", "user#", "user#1", "user#10", "user#2", "user#\u{0}", "user#é", "uses", "z"]
    {
        for sk in [10, 2] {
            let item = json!({
                "pk": {"S": pk}, "sk": {"N": sk.to_string()}, "g": {"S": format!("group of {pk}")},
            });
            ok(&db, "PutItem", json!({"TableName": "events", "Item": item}));
        }
    }
    db
}

fn keys(db: &Database, input: &PartitionPrefixInput) -> Vec<(String, String)> {
    let items = db.scan_partitions(input).unwrap().into_items().unwrap();
    let text = |item: &keyloom_core::Item, name: &str| match item.get(name).unwrap() {
        keyloom_core::AttributeValue::S(text) => text.to_string(),
        other => other.as_n().unwrap().to_string(),
    };
    items.iter().map(|item| (text(item, "pk"), text(item, "sk"))).collect()
}

const USERS: [&str; 6] = ["user#", "user#\u{0}", "user#1", "user#10", "user#2", "user#é"];

fn users() -> Vec<(String, String)> {
    USERS.iter().flat_map(|pk| ["2", "10"].map(|sk| ((*pk).to_owned(), sk.to_owned()))).collect()
}

#[test]
fn pages_come_in_key_order_over_all_partitions_of_the_prefix() {
    let db = events();
    let mut input = PartitionPrefixInput::new("events", "user#");
    assert_eq!(keys(&db, &input), users());
    let mut backward = users();
    backward.reverse();
    assert_eq!(keys(&db, &PartitionPrefixInput { forward: false, ..input.clone() }), backward);
    // Page by page.
    input.read.limit = Some(5);
    let mut paged = Vec::new();
    loop {
        let page = db.scan_partitions(&input).unwrap();
        assert!(page.count <= 5);
        input.read.exclusive_start_key = page.last_evaluated_key.clone();
        paged.extend(page.into_items().unwrap());
        if input.read.exclusive_start_key.is_none() {
            break;
        }
    }
    assert_eq!(paged.len(), users().len());
    let all = PartitionPrefixInput::new("events", "");
    assert_eq!(keys(&db, &all).len(), 20);
    assert_eq!(keys(&db, &PartitionPrefixInput::new("events", "nobody")), []);
}

#[test]
fn filters_projections_and_indexes_work_as_in_a_scan() {
    let db = events();
    let mut input = PartitionPrefixInput::new("events", "user#1");
    input.read = ReadInput {
        filter: Some("sk > :two".into()),
        values: Some(vec![(":two".into(), 2.into())]),
        ..input.read
    };
    let page = db.scan_partitions(&input).unwrap();
    assert_eq!((page.count, page.scanned_count), (2, 4));
    let mut grouped = PartitionPrefixInput::new("events", "group of user#1");
    grouped.read.index_name = Some("by-g".into());
    let page = db.scan_partitions(&grouped).unwrap();
    assert_eq!(page.count, 4);
    assert!(page.consumed_capacity.global.contains_key("by-g"));
}

#[test]
fn a_prefix_must_be_of_the_type_of_the_key() {
    let db = events();
    let refused = |input: &PartitionPrefixInput| db.scan_partitions(input).unwrap_err().message();
    assert_eq!(
        refused(&PartitionPrefixInput::new("events", 1)),
        "Partition key pk has type S, but the prefix has type N: give a prefix of type S"
    );
    let mut outside = PartitionPrefixInput::new("events", "user#1");
    outside.read.exclusive_start_key =
        Some([("pk".into(), "z".into()), ("sk".into(), 1.into())].into_iter().collect());
    assert_eq!(
        refused(&outside),
        "The provided starting key is outside query boundaries based on provided conditions"
    );
    let body = json!({
        "TableName": "numbers",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "n", "AttributeType": "N"}],
        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
    });
    ok(&db, "CreateTable", body);
    assert_eq!(
        refused(&PartitionPrefixInput::new("numbers", 1)),
        "Partition key n is a number, and only strings and binaries have prefixes: use Scan"
    );
}

#[test]
fn the_wire_refuses_them_as_dynamodb_does() {
    let db = events();
    let query = json!({
        "TableName": "events",
        "KeyConditionExpression": "begins_with(pk, :p)",
        "ExpressionAttributeValues": {":p": {"S": "user#"}},
    });
    let (status, reply) = call(&db, "Query", &query);
    assert_eq!(status, 400);
    assert_eq!(reply["message"], "Query key condition not supported");
    let (status, reply) = call(&db, "ScanPartitions", &json!({}));
    assert_eq!(status, 400);
    assert!(reply["__type"].as_str().unwrap().ends_with("#UnknownOperationException"));
}
