//! Calls that are begun and answered later.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

#[path = "support/calls.rs"]
mod calls;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use keyloom_engine::{Call, Database, DiskOptions, Options};
use keyloom_store::{
    Direction, Fault, FaultyStore, KeyRange, MemoryStore, Store, Wrapped, Wrapper,
};
use serde_json::{Value, json};

use calls::ok;

const PUT: &str = "DynamoDB_20120810.PutItem";

fn create_table(database: &Database, extra: &Value) {
    let mut table = json!({
        "TableName": "notes",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"},
    });
    table.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    ok(database, "CreateTable", &table);
}

fn put(sk: &str) -> Value {
    json!({"TableName": "notes", "Item": {"pk": {"S": "a"}, "sk": {"S": sk}}})
}

fn items(database: &Database) -> Value {
    ok(database, "DescribeTable", json!({"TableName": "notes"}))["Table"]["ItemCount"].clone()
}

/// The store takes the write and fails later: the client learns it, and nothing is counted.
#[test]
fn a_write_that_fails_after_it_was_submitted_is_an_error_and_not_counted() {
    let store = Arc::new(FaultyStore::new(MemoryStore::new()));
    let options = Options { background: false, ..Options::default() };
    let database = Database::on(Arc::clone(&store) as Arc<dyn Store>, options).unwrap();
    create_table(&database, &json!({}));
    store.plan([Fault::UnknownLate, Fault::UnknownLate]);
    let Call::Waiting(waiting) = database.begin_call(PUT, put("late").to_string().as_bytes())
    else {
        panic!("there is something to wait for");
    };
    assert!(!waiting.would_lead());
    let reply = waiting.wait();
    assert_eq!(reply.status, 500);
    assert!(String::from_utf8_lossy(&reply.body).contains("this failure was planned"));
    let blocking = database.call(PUT, put("late").to_string().as_bytes());
    assert_eq!((blocking.status, blocking.body), (reply.status, reply.body));
    assert_eq!(items(&database), 0);

    // Streams are not held up by what has failed.
    ok(&database, "PutItem", put("next"));
    assert_eq!(items(&database), 1);
    assert_eq!(streamed(&database), 1);
}

/// How many records can be read from the table's stream.
fn streamed(database: &Database) -> usize {
    let streams = b"{\"TableName\":\"notes\"}";
    let list = database.call("DynamoDBStreams_20120810.ListStreams", streams);
    let list: Value = serde_json::from_slice(&list.body).unwrap();
    let arn = &list["Streams"][0]["StreamArn"];
    let ask = |operation: &str, body: Value| -> Value {
        let target = format!("DynamoDBStreams_20120810.{operation}");
        serde_json::from_slice(&database.call(&target, body.to_string().as_bytes()).body).unwrap()
    };
    let described = ask("DescribeStream", json!({"StreamArn": arn}));
    let shard = &described["StreamDescription"]["Shards"][0]["ShardId"];
    let iterator = ask(
        "GetShardIterator",
        json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}),
    );
    let records = ask("GetRecords", json!({"ShardIterator": iterator["ShardIterator"]}));
    records["Records"].as_array().unwrap().len()
}

#[test]
fn a_call_whose_reply_is_not_awaited_does_not_block_streams() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { background: false, ..Options::default() };
    let database = Database::open_with(directory.path(), DiskOptions::default(), options).unwrap();
    create_table(&database, &json!({}));
    let held = database.begin_call(PUT, put("held").to_string().as_bytes());
    assert!(matches!(held, Call::Waiting(_)));
    assert_eq!(streamed(&database), 0, "it is not durable");
    ok(&database, "PutItem", put("next"));
    assert_eq!(streamed(&database), 2);
    let Call::Waiting(waiting) = held else { unreachable!() };
    assert_eq!(waiting.wait().status, 200);
    assert_eq!(items(&database), 2);
}

/// As long as somebody holds the item, such as the job that fills an index.
#[test]
fn a_write_of_an_item_that_is_held_is_not_begun() {
    let store = Arc::new(MemoryStore::new());
    let options = Options { background: false, ..Options::default() };
    let database = Database::on(Arc::clone(&store) as Arc<dyn Store>, options).unwrap();
    create_table(&database, &json!({}));
    let begin = |sk: &str| database.begin_call(PUT, put(sk).to_string().as_bytes());
    assert!(matches!(begin("a"), Call::Answered(reply) if reply.status == 200));
    let entries = KeyRange::prefix(&[0x10]);
    let snapshot = store.snapshot().unwrap();
    let (key, _) = snapshot.scan(entries, Direction::Forward).next().unwrap().unwrap();
    let held = store.begin(&[&key]).unwrap();
    assert!(matches!(begin("a"), Call::NotBegun));
    // Two keys may share a lock; not all of them do.
    assert!(["b", "c", "d", "e"].iter().any(|sk| matches!(begin(sk), Call::Answered(_))));
    drop(held);
    assert!(matches!(begin("a"), Call::Answered(reply) if reply.status == 200));
}

/// The item is free for a write at first, meets a conflict there, and is then held by somebody for ever.
#[derive(Debug)]
struct HeldAfterConflict {
    /// How often a write still finds its item free.
    free: AtomicUsize,
}

impl<S: Store> Wrapper<S> for HeldAfterConflict {
    fn is_locked(&self) -> bool {
        let take = |free: usize| free.checked_sub(1);
        self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err()
    }
}

#[test]
fn a_write_that_must_not_wait_does_not_wait_after_a_conflict_either() {
    let inner = FaultyStore::new(MemoryStore::new());
    let held = HeldAfterConflict { free: AtomicUsize::new(usize::MAX) };
    let store = Arc::new(Wrapped::around(inner, held));
    let options = Options { background: false, ..Options::default() };
    let database = Database::on(Arc::clone(&store) as Arc<dyn Store>, options).unwrap();
    create_table(&database, &json!({}));
    let begin = |conflicts: usize, free: usize| {
        store.inner().plan(vec![Fault::Conflict; conflicts]);
        store.free.store(free, Ordering::Relaxed);
        let call = database.begin_call(PUT, put("a").to_string().as_bytes());
        store.free.store(usize::MAX, Ordering::Relaxed);
        call
    };
    assert!(matches!(begin(0, 0), Call::NotBegun));
    let Call::Answered(reply) = begin(2, 2) else { panic!("it was begun") };
    assert_eq!(reply.status, 400);
    let body = String::from_utf8_lossy(&reply.body);
    assert!(body.contains("TransactionConflictException"), "{body}");
    assert_eq!(items(&database), 0);
    assert!(matches!(begin(2, 3), Call::Answered(reply) if reply.status == 200));
    assert_eq!(items(&database), 1);
}

#[test]
fn what_is_in_memory_is_answered_at_once_and_what_takes_long_is_not_begun() {
    let database = Database::memory();
    create_table(
        &database,
        &json!({"LocalSecondaryIndexes": [{
            "IndexName": "by-sk",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }]}),
    );
    let begin = |body: &Value| database.begin_call(PUT, body.to_string().as_bytes());
    assert!(matches!(begin(&put("a")), Call::Answered(reply) if reply.status == 200));
    let mut measured = put("b");
    measured["ReturnItemCollectionMetrics"] = json!("SIZE");
    assert!(matches!(begin(&measured), Call::NotBegun));
    assert_eq!(items(&database), 1);
    let bad = json!({"TableName": "notes", "Item": {"pk": {"S": "a"}}});
    assert!(matches!(begin(&bad), Call::Answered(reply) if reply.status == 400));
}
