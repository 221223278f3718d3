//! Streams: records, iterators, shards, retention.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use keyloom_engine::Database;
use serde_json::{Value, json};

use crate::{Fixture, START_MS, call, describe, err, everything, ok, table};

const HOUR: Duration = Duration::from_hours(1);

/// The ARN of a table's latest stream.
pub(crate) fn arn(db: &Database, table: &str) -> String {
    describe(db, table)["LatestStreamArn"].as_str().unwrap().to_owned()
}

fn shards(db: &Database, arn: &str) -> Vec<Value> {
    let reply = ok(db, "DescribeStream", json!({"StreamArn": arn}));
    reply["StreamDescription"]["Shards"].as_array().unwrap().clone()
}

fn iterator(db: &Database, arn: &str, shard: &Value, kind: &str) -> String {
    let body = json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": kind});
    ok(db, "GetShardIterator", body)["ShardIterator"].as_str().unwrap().to_owned()
}

/// Reads from an iterator until a page is empty or the shard ends.
fn drain(db: &Database, mut iterator: String) -> (Vec<Value>, Option<String>) {
    let mut records = Vec::new();
    loop {
        let page = ok(db, "GetRecords", json!({"ShardIterator": iterator}));
        let read = page["Records"].as_array().unwrap();
        records.extend(read.iter().cloned());
        match page.get("NextShardIterator") {
            None => return (records, None),
            Some(next) => next.as_str().unwrap().clone_into(&mut iterator),
        }
        if read.is_empty() {
            return (records, Some(iterator));
        }
    }
}

/// All records of a stream, parents' before children's.
pub(crate) fn records(db: &Database, arn: &str) -> Vec<Value> {
    let shards = shards(db, arn);
    shards.iter().flat_map(|s| drain(db, iterator(db, arn, s, "TRIM_HORIZON")).0).collect()
}

fn fixture(view: &str) -> Fixture {
    let f = Fixture::new();
    let stream = json!({"StreamEnabled": true, "StreamViewType": view});
    f.ok("CreateTable", table("music", json!({"StreamSpecification": stream})));
    f
}

fn put(db: &Database, sk: u32, v: &str) {
    let item = json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}, "v": {"S": v}});
    ok(db, "PutItem", json!({"TableName": "music", "Item": item}));
}

fn delete(db: &Database, sk: u32) {
    let key = json!({"pk": {"S": "a"}, "sk": {"N": sk.to_string()}});
    ok(db, "DeleteItem", json!({"TableName": "music", "Key": key}));
}

#[test]
fn a_record_has_every_field() {
    let f = fixture("NEW_AND_OLD_IMAGES");
    put(&f.db, 1, "x");
    put(&f.db, 1, "x"); // Changes nothing, tells nothing.
    put(&f.db, 1, "y");
    delete(&f.db, 1);
    delete(&f.db, 1);
    let records = records(&f.db, &arn(&f.db, "music"));
    let names: Vec<&Value> = records.iter().map(|record| &record["eventName"]).collect();
    assert_eq!(names, ["INSERT", "MODIFY", "REMOVE"]);
    let modified = &records[1];
    assert_eq!(modified["eventVersion"], "1.1");
    assert_eq!(modified["eventSource"], "aws:dynamodb");
    assert_eq!(modified["awsRegion"], "us-east-1");
    assert!(modified.get("userIdentity").is_none());
    let change = &modified["dynamodb"];
    assert_eq!(change["ApproximateCreationDateTime"], START_MS / 1000);
    assert_eq!(change["Keys"], json!({"pk": {"S": "a"}, "sk": {"N": "1"}}));
    assert_eq!(change["OldImage"]["v"]["S"], "x");
    assert_eq!(change["NewImage"]["v"]["S"], "y");
    assert_eq!(change["StreamViewType"], "NEW_AND_OLD_IMAGES");
    // Keys: pk 2+1, sk 2+2; each image also v 1+1.
    assert_eq!(change["SizeBytes"], 7 + 9 + 9);
    assert_eq!(change["SequenceNumber"].as_str().unwrap().len(), 21);
    let ids: BTreeSet<&str> = records.iter().map(|r| r["eventID"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 3);
}

#[test]
fn the_view_type_says_which_images_are_shown() {
    for (view, old, new) in [
        ("KEYS_ONLY", false, false),
        ("NEW_IMAGE", false, true),
        ("OLD_IMAGE", true, false),
        ("NEW_AND_OLD_IMAGES", true, true),
    ] {
        let f = fixture(view);
        put(&f.db, 1, "x");
        put(&f.db, 1, "y");
        let records = records(&f.db, &arn(&f.db, "music"));
        let change = &records[1]["dynamodb"];
        assert_eq!(change.get("OldImage").is_some(), old, "{view}");
        assert_eq!(change.get("NewImage").is_some(), new, "{view}");
    }
}

#[test]
fn iterators_begin_at_their_stated_position() {
    let f = fixture("NEW_IMAGE");
    let arn = arn(&f.db, "music");
    for (sk, v) in [(1, "a"), (2, "b"), (3, "c")] {
        put(&f.db, sk, v);
        f.advance(Duration::from_millis(10));
    }
    let shard = shards(&f.db, &arn).remove(0);
    let seen = |body: Value| {
        let iterator = ok(&f.db, "GetShardIterator", body)["ShardIterator"].clone();
        let (records, next) = drain(&f.db, iterator.as_str().unwrap().to_owned());
        assert!(next.is_some(), "an open shard goes on");
        let name =
            |record: &Value| record["dynamodb"]["NewImage"]["v"]["S"].as_str().unwrap().to_owned();
        records.iter().map(name).collect::<String>()
    };
    let at = |kind: &str, more: Value| {
        let mut body =
            json!({"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": kind});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    assert_eq!(seen(at("TRIM_HORIZON", json!({}))), "abc");
    assert_eq!(seen(at("LATEST", json!({}))), "");
    let second = records(&f.db, &arn)[1]["dynamodb"]["SequenceNumber"].clone();
    assert_eq!(seen(at("AT_SEQUENCE_NUMBER", json!({"SequenceNumber": second}))), "bc");
    assert_eq!(seen(at("AFTER_SEQUENCE_NUMBER", json!({"SequenceNumber": second}))), "c");
    let time = (START_MS + 15) as f64 / 1000.0;
    assert_eq!(seen(at("AT_TIMESTAMP", json!({"Timestamp": time}))), "c");
    // LATEST sees what comes after it.
    let latest = iterator(&f.db, &arn, &shard, "LATEST");
    put(&f.db, 4, "d");
    assert_eq!(drain(&f.db, latest).0.len(), 1);

    let validation = |body: Value| {
        let (code, message) = f.err("GetShardIterator", body);
        assert_eq!(code, "ValidationException", "{message}");
    };
    validation(at("AT_SEQUENCE_NUMBER", json!({})));
    validation(at("LATEST", json!({"SequenceNumber": second})));
    validation(at("AT_SEQUENCE_NUMBER", json!({"SequenceNumber": "000000000000000000001"})));
    validation(at("SOMEWHERE", json!({})));
    validation(at("AT_TIMESTAMP", json!({})));
    let mut other = at("LATEST", json!({}));
    other["ShardId"] = "shardId-00000000000000000000-00000000".into();
    assert_eq!(f.err("GetShardIterator", other).0, "ResourceNotFoundException");
    let (code, message) = f.err("GetRecords", json!({"ShardIterator": "nonsense"}));
    assert_eq!((code.as_str(), message.as_str()), ("ValidationException", "Invalid ShardIterator"));
}

#[test]
fn iterators_expire_after_a_quarter_of_an_hour() {
    let f = fixture("KEYS_ONLY");
    let arn = arn(&f.db, "music");
    let iterator = iterator(&f.db, &arn, &shards(&f.db, &arn)[0], "TRIM_HORIZON");
    f.advance(Duration::from_mins(15));
    f.ok("GetRecords", json!({"ShardIterator": iterator}));
    f.advance(Duration::from_secs(1));
    let (code, _) = f.err("GetRecords", json!({"ShardIterator": iterator}));
    assert_eq!(code, "ExpiredIteratorException");
}

#[test]
fn pages_end_by_limit_and_by_size() {
    let f = fixture("NEW_IMAGE");
    let arn = arn(&f.db, "music");
    for sk in 0..7 {
        put(&f.db, sk, &"x".repeat(300 * 1024));
    }
    let shard = shards(&f.db, &arn).remove(0);
    let mut token = iterator(&f.db, &arn, &shard, "TRIM_HORIZON");
    let mut sizes = Vec::new();
    for limit in [None, None, Some(1), None] {
        let mut body = json!({"ShardIterator": token});
        if let Some(limit) = limit {
            body["Limit"] = json!(limit);
        }
        let page = f.ok("GetRecords", body);
        sizes.push(page["Records"].as_array().unwrap().len());
        token = page["NextShardIterator"].as_str().unwrap().to_owned();
    }
    assert_eq!(sizes, [3, 3, 1, 0]);
    for limit in [0, 1001] {
        let body = json!({"ShardIterator": token, "Limit": limit});
        assert_eq!(f.err("GetRecords", body).0, "ValidationException");
    }
}

#[test]
fn a_split_closes_a_shard_and_opens_two() {
    let f = fixture("NEW_IMAGE");
    let arn = arn(&f.db, "music");
    let insert = |n: u32| {
        let item = json!({"pk": {"S": n.to_string()}, "sk": {"N": "1"}});
        f.ok("PutItem", json!({"TableName": "music", "Item": item}));
    };
    (0..20).for_each(insert);
    let parent = shards(&f.db, &arn).remove(0);
    let open = iterator(&f.db, &arn, &parent, "TRIM_HORIZON");
    f.db.split_stream_shards("music").unwrap();
    (20..60).for_each(insert);

    let (records, next) = drain(&f.db, open);
    assert_eq!((records.len(), next), (20, None), "the parent ends where it was closed");
    let all = shards(&f.db, &arn);
    assert_eq!(all.len(), 3);
    assert!(all[0]["SequenceNumberRange"].get("EndingSequenceNumber").is_some());
    let mut read = 0;
    for child in &all[1..] {
        assert_eq!(child["ParentShardId"], parent["ShardId"]);
        let (records, next) = drain(&f.db, iterator(&f.db, &arn, child, "TRIM_HORIZON"));
        assert!(next.is_some());
        assert!(!records.is_empty(), "both halves take some of 40 partitions");
        read += records.len();
    }
    assert_eq!(read, 40);
    let filter = json!({"Type": "CHILD_SHARDS", "ShardId": parent["ShardId"]});
    let reply = f.ok("DescribeStream", json!({"StreamArn": arn, "ShardFilter": filter}));
    assert_eq!(reply["StreamDescription"]["Shards"].as_array().unwrap().len(), 2);
    let page = f.ok("DescribeStream", json!({"StreamArn": arn, "Limit": 2}));
    let last = page["StreamDescription"]["LastEvaluatedShardId"].clone();
    let rest = f.ok("DescribeStream", json!({"StreamArn": arn, "ExclusiveStartShardId": last}));
    assert_eq!(rest["StreamDescription"]["Shards"].as_array().unwrap().len(), 1);
    assert!(rest["StreamDescription"].get("LastEvaluatedShardId").is_none());
}

#[test]
fn shards_rotate_and_old_records_are_trimmed() {
    let f = fixture("NEW_IMAGE");
    let arn = arn(&f.db, "music");
    put(&f.db, 1, "first");
    let first = records(&f.db, &arn)[0]["dynamodb"]["SequenceNumber"].clone();
    let first_shard = shards(&f.db, &arn).remove(0);
    f.advance(5 * HOUR);
    f.tidy();
    put(&f.db, 2, "second");
    let both = shards(&f.db, &arn);
    assert_eq!(both.len(), 2);
    assert_eq!(both[1]["ParentShardId"], both[0]["ShardId"]);
    assert_eq!(records(&f.db, &arn).len(), 2);
    f.advance(18 * HOUR);
    let lagging = iterator(&f.db, &arn, &first_shard, "TRIM_HORIZON");
    f.advance(HOUR + Duration::from_mins(1));
    // A day has passed: the first record counts as gone before anybody has removed it.
    let at = json!({
        "StreamArn": arn, "ShardId": first_shard["ShardId"],
        "ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": first,
    });
    assert_eq!(f.err("GetShardIterator", at).0, "TrimmedDataAccessException");
    assert_eq!(
        f.err("GetRecords", json!({"ShardIterator": lagging})).0,
        "ExpiredIteratorException"
    );
    assert_eq!(records(&f.db, &arn).len(), 1);
    f.tidy();
    assert_eq!(records(&f.db, &arn).len(), 1);
    f.advance(5 * HOUR);
    f.tidy();
    assert!(!shards(&f.db, &arn).contains(&first_shard), "a shard goes with its last record");
    assert!(records(&f.db, &arn).is_empty());
}

#[test]
fn a_stream_that_ended_is_readable_for_a_day() {
    let f = fixture("NEW_IMAGE");
    let first = arn(&f.db, "music");
    put(&f.db, 1, "x");
    let off = json!({"TableName": "music", "StreamSpecification": {"StreamEnabled": false}});
    f.ok("UpdateTable", off);
    put(&f.db, 2, "untold");
    let described = f.ok("DescribeStream", json!({"StreamArn": first}));
    assert_eq!(described["StreamDescription"]["StreamStatus"], "DISABLED");
    let shard = shards(&f.db, &first).remove(0);
    let (read, next) = drain(&f.db, iterator(&f.db, &first, &shard, "TRIM_HORIZON"));
    assert_eq!((read.len(), next), (1, None));

    let on = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    f.ok("UpdateTable", json!({"TableName": "music", "StreamSpecification": on}));
    let second = arn(&f.db, "music");
    put(&f.db, 3, "y");
    f.ok("DeleteTable", json!({"TableName": "music"}));
    f.tidy();
    assert_eq!(records(&f.db, &first).len(), 1);
    assert_eq!(records(&f.db, &second).len(), 1);
    let listed = f.ok("ListStreams", json!({"TableName": "music"}));
    assert_eq!(listed["Streams"].as_array().unwrap().len(), 2);

    f.advance(24 * HOUR);
    for tidied in [false, true] {
        if tidied {
            f.tidy();
        }
        assert!(f.ok("ListStreams", json!({}))["Streams"].as_array().unwrap().is_empty());
        let (code, message) = f.err("DescribeStream", json!({"StreamArn": first}));
        assert_eq!(code, "ResourceNotFoundException");
        assert_eq!(message, format!("Requested resource not found: Stream: {first} not found"));
    }
}

#[test]
fn streams_are_listed_in_pages() {
    let f = Fixture::new();
    let stream = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    for name in ["music", "films", "books"] {
        f.ok("CreateTable", table(name, json!({"StreamSpecification": stream})));
    }
    let mut tables = Vec::new();
    let mut body = json!({"Limit": 2});
    loop {
        let page = f.ok("ListStreams", body.clone());
        for stream in page["Streams"].as_array().unwrap() {
            assert!(
                stream["StreamArn"]
                    .as_str()
                    .unwrap()
                    .ends_with(stream["StreamLabel"].as_str().unwrap())
            );
            tables.push(stream["TableName"].as_str().unwrap().to_owned());
        }
        match page.get("LastEvaluatedStreamArn") {
            Some(last) => body["ExclusiveStartStreamArn"] = last.clone(),
            None => break,
        }
    }
    assert_eq!(tables, ["books", "films", "music"]);
}

/// Applies records to a map of items.
fn replay(items: &mut BTreeMap<String, Value>, records: &[Value]) {
    for record in records {
        let change = &record["dynamodb"];
        let key = change["Keys"].to_string();
        let before = match record["eventName"].as_str().unwrap() {
            "REMOVE" => items.remove(&key),
            _ => items.insert(key, change["NewImage"].clone()),
        };
        assert_eq!(before.as_ref(), change.get("OldImage"), "records of an item come in order");
    }
}

/// Concurrent writers, transactions and splits: each change is told once, in the order of its item.
#[test]
fn replaying_a_stream_gives_the_table() {
    let db = Database::memory();
    let stream = json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
    ok(&db, "CreateTable", table("music", json!({"StreamSpecification": stream})));
    let arn = arn(&db, "music");
    let followed = thread::scope(|scope| {
        let writers: Vec<_> = (0..4_u32)
            .map(|writer| {
                let db = &db;
                scope.spawn(move || {
                    let mut seed = writer + 7;
                    for _ in 0..300 {
                        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        let key =
                            json!({"pk": {"S": format!("p{}", (seed >> 8) % 9)}, "sk": {"N": "1"}});
                        let mut item = key.clone();
                        item["v"] = json!({"N": seed.to_string()});
                        let (operation, body) = match seed >> 30 {
                            0 => ("DeleteItem", json!({"TableName": "music", "Key": key})),
                            1 => (
                                "TransactWriteItems",
                                json!({"TransactItems": [
                                {"Put": {"TableName": "music", "Item": item}}]}),
                            ),
                            _ => ("PutItem", json!({"TableName": "music", "Item": item})),
                        };
                        // A write may meet a transaction; then it has not happened.
                        let (status, reply) = call(db, operation, &body);
                        assert!(
                            status == 200 || reply.to_string().contains("Transaction"),
                            "{reply}"
                        );
                    }
                })
            })
            .collect();
        // A consumer follows meanwhile, and the shards split under it.
        let first = shards(&db, &arn).remove(0);
        let mut token = Some(iterator(&db, &arn, &first, "TRIM_HORIZON"));
        let mut followed = Vec::new();
        while writers.iter().any(|writer| !writer.is_finished()) {
            if let Some(at) = token {
                let (records, next) = drain(&db, at);
                followed.extend(records);
                token = next;
            }
            if followed.len() > 100 && shards(&db, &arn).len() < 3 {
                db.split_stream_shards("music").unwrap();
            }
        }
        if let Some(at) = token {
            followed.extend(drain(&db, at).0);
        }
        followed
    });
    let mut items = BTreeMap::new();
    replay(&mut items, &followed);
    for child in shards(&db, &arn).iter().skip(1) {
        let (records, _) = drain(&db, iterator(&db, &arn, child, "TRIM_HORIZON"));
        replay(&mut items, &records);
    }
    let mut replayed: Vec<String> = items.values().map(ToString::to_string).collect();
    replayed.sort();
    assert_eq!(replayed, everything(&db, "music", None));
    let unknown = "arn:aws:dynamodb:us-east-1:000000000000:table/x/stream/y";
    assert_eq!(
        err(&db, "DescribeStream", json!({"StreamArn": unknown})).0,
        "ResourceNotFoundException"
    );
}

#[test]
fn an_iterator_made_up_for_another_stream_reads_nothing() {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;

    let f = fixture("NEW_IMAGE");
    let stream = json!({"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"});
    f.ok("CreateTable", table("open", json!({"StreamSpecification": stream})));
    put(&f.db, 1, "secret");
    let (secret, open) = (arn(&f.db, "music"), arn(&f.db, "open"));
    let own = iterator(&f.db, &secret, &shards(&f.db, &secret)[0], "TRIM_HORIZON");
    let mut body = BASE64.decode(own.rsplit('|').next().unwrap()).unwrap();
    body.truncate(body.len() - 8);
    // The check sum guards against accidents, not against whoever knows how it is made.
    let sum = keyloom_core::hash::fnv1a(&[open.as_bytes(), &body].concat());
    body.extend_from_slice(&sum.to_be_bytes());
    let forged = format!("{open}|1|{}", BASE64.encode(body));
    let (code, _) = f.err("GetRecords", json!({"ShardIterator": forged}));
    assert_eq!(code, "ResourceNotFoundException");
}
