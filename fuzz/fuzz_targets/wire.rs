//! Requests: whatever the target and the body, the database answers with JSON, and never with an
//! internal error.

#![no_main]

use std::sync::LazyLock;

use keyloom_engine::Database;
use libfuzzer_sys::fuzz_target;

/// The first byte chooses one of these.
const OPERATIONS: [&str; 26] = [
    "BatchExecuteStatement",
    "BatchGetItem",
    "BatchWriteItem",
    "CreateTable",
    "DeleteItem",
    "DeleteTable",
    "DescribeStream",
    "DescribeTable",
    "DescribeTimeToLive",
    "ExecuteStatement",
    "ExecuteTransaction",
    "GetItem",
    "GetRecords",
    "GetShardIterator",
    "ListStreams",
    "ListTables",
    "PutItem",
    "Query",
    "Scan",
    "SearchVectors",
    "TagResource",
    "TransactGetItems",
    "TransactWriteItems",
    "UpdateItem",
    "UpdateTable",
    "UpdateTimeToLive",
];

/// A database with a table and an item, of which every request gets its own fork.
static DATABASE: LazyLock<Database> = LazyLock::new(|| {
    let database = Database::memory();
    for (operation, body) in [
        (
            "CreateTable",
            r#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
                "AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},
                    {"AttributeName":"s","AttributeType":"N"},{"AttributeName":"g","AttributeType":"S"}],
                "KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
                "GlobalSecondaryIndexes":[{"IndexName":"idx","Projection":{"ProjectionType":"ALL"},
                    "KeySchema":[{"AttributeName":"g","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}]}],
                "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}}"#,
        ),
        (
            "PutItem",
            r#"{"TableName":"tab","Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"},"l":{"L":[{"N":"1"}]}}}"#,
        ),
    ] {
        let reply = database.call(&format!("DynamoDB_20120810.{operation}"), body.as_bytes());
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
    }
    database
});

fuzz_target!(|data: &[u8]| {
    let Some((choice, body)) = data.split_first() else { return };
    let operation = OPERATIONS[usize::from(*choice) % OPERATIONS.len()];
    let service = match operation {
        "DescribeStream" | "GetRecords" | "GetShardIterator" | "ListStreams" => {
            "DynamoDBStreams_20120810"
        }
        _ => "DynamoDB_20120810",
    };
    let database = DATABASE.fork().expect("a database in memory forks");
    let reply = database.call(&format!("{service}.{operation}"), body);
    assert!(reply.status == 200 || (400..500).contains(&reply.status), "{}", reply.status);
    if !reply.body.is_empty() {
        keyloom_core::json::parse(&reply.body).expect("the database answers with JSON");
    }
});
