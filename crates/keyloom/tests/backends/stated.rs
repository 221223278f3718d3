//! Requests that a program writes as JSON are observed by what they ask for and what their answers state.

use std::collections::BTreeMap;

use keyloom::observe::Report;
use keyloom::{Retry, TableClient, item};

use crate::observed::{Both, patterns, units};

const CAPACITY: &str = r#""ReturnConsumedCapacity":"INDEXES""#;

/// The units of every table and index, and its requests.
fn stated(report: &Report) -> BTreeMap<String, (f64, f64)> {
    report.places.iter().map(|place| (place.name(), (place.reads, place.writes))).collect()
}

fn errors(report: &Report) -> Vec<(&str, &str, u64)> {
    // The client describes a table that is not there because the program names it.
    let errors = report.errors.iter().filter(|one| one.operation != "DescribeTable");
    errors.map(|one| (one.operation.as_str(), one.code.as_str(), one.count)).collect()
}

/// A client of a table with a global index by `g`, which is not part of the key, and one by `sk`, which is.
fn indexed(both: &Both, name: &str) -> TableClient {
    let client = TableClient::new(both.remote.clone(), name).with_retry(Retry::never());
    let client = client.with_index("by_g", ["g"], ["pk"]).with_index("by_sk", ["sk"], ["pk"]);
    client.create().unwrap();
    client
}

fn agree(both: Both) -> (Report, Report) {
    let (here, there) = both.reports();
    assert_eq!(patterns(&here), patterns(&there));
    assert_eq!(stated(&here), stated(&there));
    assert_eq!(errors(&here), errors(&there));
    assert_eq!(here.requests, there.requests);
    (here, there)
}

/// The JSON of an item with strings.
fn json(attributes: &[(&str, &str)]) -> String {
    let members = attributes.iter().map(|(name, text)| format!(r#""{name}":{{"S":"{text}"}}"#));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

#[test]
fn stated_batches_are_counted_alike_table_by_table() {
    let both = Both::new("observe");
    let (client, _other) = (indexed(&both, "one"), indexed(&both, "two"));
    let long = "x".repeat(3000);
    let put = |pk: &str, sk: &str, g: &str| {
        let item = json(&[("pk", pk), ("sk", sk), ("g", g), ("text", &long)]);
        format!(r#"{{"PutRequest":{{"Item":{item}}}}}"#)
    };
    let writes = format!(
        r#"{{"RequestItems":{{"one":[{},{}],"two":[{}]}},{CAPACITY}}}"#,
        put("A#1", "B#1", "G#1"),
        put("A#2", "B#2", "G#1"),
        put("A#3", "B#3", "G#2")
    );
    client.call("BatchWriteItem", &writes).unwrap();
    let key = |pk: &str, sk: &str| json(&[("pk", pk), ("sk", sk)]);
    // The second table's part shows no keys, and is read in another way than the first one's.
    let reads = format!(
        r#"{{"RequestItems":{{"one":{{"Keys":[{},{}],"ConsistentRead":true}},"two":{{"Keys":[{},{}],"ProjectionExpression":"g"}}}},{CAPACITY}}}"#,
        key("A#1", "B#1"),
        key("A#9", "B#9"),
        key("A#9", "B#9"),
        key("A#3", "B#3")
    );
    client.call("BatchGetItem", &reads).unwrap();
    let (here, there) = both.reports();
    assert_eq!(stated(&here), stated(&there));
    assert_eq!(
        (here.requests, there.requests),
        (3, 3),
        "a BatchGetItem is a request for each table"
    );
    // Units are shared evenly among the keys of a table, whichever of them cost them.
    let keys = units(here.place("one", None).unwrap());
    assert_eq!((keys["A#1"].1, keys["A#2"].1), (3.0, 3.0));
    assert_eq!((keys["A#1"].0, keys["A#9"].0), (1.0, 1.0));
    assert!(here.place("one", Some("by_g")).unwrap().keys.is_empty(), "no answer states them");
}

#[test]
fn other_stated_requests_are_counted_as_those_of_the_client() {
    let both = Both::new("observe");
    let client = indexed(&both, "one");
    client.put(item! { "pk" => "A#1", "sk" => "B#1", "g" => "G#1", "n" => 1 }).unwrap();
    let key = json(&[("pk", "A#1"), ("sk", "B#1")]);
    let values = r#""ExpressionAttributeValues":{":p":{"S":"A#1"}}"#;
    for (operation, members) in [
        ("Query", format!(r#""KeyConditionExpression":"pk = :p",{values}"#)),
        (
            "Query",
            format!(
                r#""KeyConditionExpression":"pk = :p","ProjectionExpression":"g","Limit":1,{values}"#
            ),
        ),
        ("Scan", r#""FilterExpression":"attribute_exists(n)""#.to_owned()),
        ("GetItem", format!(r#""Key":{key},"ProjectionExpression":"n","ConsistentRead":true"#)),
        ("DeleteItem", format!(r#""Key":{key},"ReturnValues":"ALL_OLD""#)),
        ("PutItem", format!(r#""Item":{}"#, json(&[("pk", "A#2"), ("sk", "B#2"), ("g", "G#2")]))),
        (
            "UpdateItem",
            format!(
                r#""Key":{key},"AttributeUpdates":{{"g":{{"Value":{{"S":"G#3"}}}}}},"ReturnValues":"ALL_NEW""#
            ),
        ),
    ] {
        client.call(operation, &format!(r#"{{"TableName":"one",{members},{CAPACITY}}}"#)).unwrap();
    }
    let part = |members: String| format!(r#"{{"TableName":"one",{members}}}"#);
    let put = part(format!(r#""Item":{}"#, json(&[("pk", "A#3"), ("sk", "B#3"), ("g", "G#3")])));
    let check = part(format!(r#""Key":{key},"ConditionExpression":"attribute_exists(pk)""#));
    let write =
        format!(r#"{{"TransactItems":[{{"Put":{put}}},{{"ConditionCheck":{check}}}],{CAPACITY}}}"#);
    client.call("TransactWriteItems", &write).unwrap();
    let get = part(format!(r#""Key":{key},"ProjectionExpression":"g""#));
    client
        .call("TransactGetItems", &format!(r#"{{"TransactItems":[{{"Get":{get}}}],{CAPACITY}}}"#))
        .unwrap();
    agree(both);
}

#[test]
fn local_indexes_are_counted_with_the_items_that_are_fetched_for_them() {
    let both = Both::new("observe");
    let client = TableClient::new(both.remote.clone(), "local").with_retry(Retry::never());
    let attributes = ["pk", "sk", "at"]
        .map(|name| format!(r#"{{"AttributeName":"{name}","AttributeType":"S"}}"#))
        .join(",");
    let key = |range: &str| {
        format!(
            r#""KeySchema":[{{"AttributeName":"pk","KeyType":"HASH"}},{{"AttributeName":"{range}","KeyType":"RANGE"}}]"#
        )
    };
    let index = format!(
        r#"{{"IndexName":"by_at",{},"Projection":{{"ProjectionType":"KEYS_ONLY"}}}}"#,
        key("at")
    );
    let create = format!(
        r#"{{"TableName":"local","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{attributes}],{},"LocalSecondaryIndexes":[{index}]}}"#,
        key("sk")
    );
    client.call("CreateTable", &create).unwrap();
    let long = "x".repeat(5000);
    for number in 0..3 {
        let (sk, at) = (format!("B#{number}"), format!("T#{}", 9 - number));
        let text = long.as_str();
        client.put(item! { "pk" => "A#1", "sk" => sk, "at" => at, "text" => text }).unwrap();
    }
    client.delete(("A#1", "B#0")).unwrap();
    let values = r#""ExpressionAttributeValues":{":p":{"S":"A#1"}}"#;
    let query = format!(
        r#"{{"TableName":"local","IndexName":"by_at","KeyConditionExpression":"pk = :p","Select":"ALL_ATTRIBUTES",{values},{CAPACITY}}}"#
    );
    assert!(client.call("Query", &query).unwrap().contains("text"));
    let (here, _) = agree(both);
    assert!(here.place("local", Some("by_at")).unwrap().writes > 3.0);
}

#[test]
fn what_an_answer_had_no_room_for_is_no_retry() {
    let both = Both::new("observe");
    let client = TableClient::new(both.remote.clone(), "large").with_retry(Retry::never());
    client.create().unwrap();
    let long = "x".repeat(390 << 10);
    let keys: Vec<(String, &str)> = (0..45).map(|number| (format!("A#{number}"), "B")).collect();
    for (pk, sk) in &keys {
        client.put(item! { "pk" => pk.as_str(), "sk" => *sk, "text" => long.as_str() }).unwrap();
    }
    let found = client.batch_get(keys.clone()).unwrap();
    assert!(found.iter().all(Option::is_some));
    // Where the answer shows little of its items, it was full all the same.
    let stated: Vec<String> = keys.iter().map(|(pk, sk)| json(&[("pk", pk), ("sk", sk)])).collect();
    let body = format!(
        r#"{{"RequestItems":{{"large":{{"Keys":[{}],"ProjectionExpression":"pk"}}}},{CAPACITY}}}"#,
        stated.join(",")
    );
    let answer = client.call("BatchGetItem", &body).unwrap();
    let (_, left) = answer.split_once(r#""UnprocessedKeys""#).unwrap();
    assert_eq!(left.matches(r#""sk""#).count(), 3, "{left}");
    let (here, _) = agree(both);
    let gets: Vec<(u64, u64, u64)> = here
        .patterns()
        .filter(|(_, one)| one.operation == "BatchGetItem")
        .map(|(_, one)| (one.requests, one.throttled, one.retries))
        .collect();
    assert_eq!(gets, [(3, 0, 0)]);
}

fn run(client: &TableClient, statements: &[&str], members: &str) -> String {
    let listed = statements.iter().map(|one| format!(r#"{{"Statement":"{one}"{members}}}"#));
    let listed = listed.collect::<Vec<_>>().join(",");
    let body = format!(r#"{{"Statements":[{listed}],{CAPACITY}}}"#);
    client.call("BatchExecuteStatement", &body).unwrap()
}

#[test]
fn statements_count_for_their_tables_without_keys() {
    let both = Both::new("observe");
    let (client, _other) = (indexed(&both, "one"), indexed(&both, "two"));
    let answer = run(
        &client,
        &[
            "INSERT INTO one VALUE {'pk':'A#1','sk':'B#1','g':'G#1'}",
            "INSERT INTO two VALUE {'pk':'A#1','sk':'B#1'}",
            "DELETE FROM nowhere WHERE pk = 'A#1' AND sk = 'B#1'",
        ],
        "",
    );
    assert!(answer.contains("ResourceNotFound"), "{answer}");
    for statement in [
        "SELECT * FROM one WHERE pk = 'A#1' AND sk = 'B#1'",
        "SELECT * FROM one WHERE pk = 'A#1'",
        "UPDATE one SET n = 1 WHERE pk = 'A#1' AND sk = 'B#1'",
    ] {
        let body = format!(r#"{{"Statement":"{statement}",{CAPACITY}}}"#);
        client.call("ExecuteStatement", &body).unwrap();
    }
    let transaction = r#"{"Statement":"DELETE FROM one WHERE pk = 'A#1' AND sk = 'B#1'"}"#;
    let body = format!(r#"{{"TransactStatements":[{transaction}],{CAPACITY}}}"#);
    client.call("ExecuteTransaction", &body).unwrap();
    let (here, there) = both.reports();
    assert_eq!(stated(&here), stated(&there));
    assert_eq!(errors(&here), errors(&there));
    assert_eq!(errors(&here), [("BatchExecuteStatement", "ResourceNotFoundException", 1)]);
    let operations: Vec<(&str, u64)> = here
        .patterns()
        .filter(|(place, _)| place.table == "one")
        .map(|(_, one)| (one.operation.as_str(), one.requests))
        .collect();
    let expected =
        [("Query", 2), ("BatchWriteItem", 1), ("TransactWriteItems", 1), ("UpdateItem", 1)];
    assert_eq!(operations, expected);
    assert!(here.place("one", None).unwrap().keys.is_empty());
}

/// A client of a table with an index over vectors, which has three entries.
fn searchable(both: &Both) -> TableClient {
    let client = TableClient::new(both.remote.clone(), "docs");
    let attributes = ["pk", "sk", "lang"]
        .map(|name| format!(r#"{{"AttributeName":"{name}","AttributeType":"S"}}"#))
        .join(",");
    let create = format!(
        r#"{{"TableName":"docs","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{attributes}],"KeySchema":[{{"AttributeName":"pk","KeyType":"HASH"}},{{"AttributeName":"sk","KeyType":"RANGE"}}],"VectorIndexes":[{{"IndexName":"near","VectorAttribute":{{"AttributeName":"v"}},"Dimensions":2,"DistanceFunction":"EUCLIDEAN","SearchSchema":[{{"AttributeName":"lang","SearchSchemaElementType":"HASH"}}],"Projection":{{"ProjectionType":"ALL"}}}}]}}"#
    );
    client.call("CreateTable", &create).unwrap();
    wait_until_searchable(&client);
    for (sk, lang) in [("1", "en"), ("2", "en"), ("3", "fr")] {
        let vector = r#"{"L":[{"N":"1"},{"N":"2.5"}]}"#;
        let item = format!(
            r#"{{"pk":{{"S":"D#{sk}"}},"sk":{{"S":"{sk}"}},"lang":{{"S":"{lang}"}},"v":{vector}}}"#
        );
        let body = format!(r#"{{"TableName":"docs","Item":{item},{CAPACITY}}}"#);
        client.call("PutItem", &body).unwrap();
    }
    client
}

#[test]
fn a_search_of_vectors_is_observed_with_its_index() {
    let both = Both::new("observe");
    let client = searchable(&both);
    let body = format!(
        r#"{{"TableName":"docs","IndexName":"near","SearchVector":[{{"N":"1"}},{{"N":"2"}}],"TopK":5,"SearchConditionExpression":"lang = :l","ExpressionAttributeValues":{{":l":{{"S":"en"}}}},{CAPACITY}}}"#
    );
    assert_eq!(client.call("SearchVectors", &body).unwrap().matches("Score").count(), 2);
    let (here, there) = both.reports();
    assert_eq!(stated(&here), stated(&there));
    let searches = |report: &Report| -> Vec<(String, u64, u64)> {
        let searches = report.patterns().filter(|(_, one)| one.operation == "SearchVectors");
        searches.map(|(place, one)| (place.name(), one.requests, one.returned)).collect()
    };
    assert_eq!(searches(&here), searches(&there));
    assert_eq!(searches(&here).len(), 1);
    assert_eq!(here.tables[0].indexes.len(), 1);
}

fn wait_until_searchable(client: &TableClient) {
    let patience = std::time::Instant::now() + std::time::Duration::from_mins(1);
    let is_active = || {
        let described = client.call("DescribeTable", r#"{"TableName":"docs"}"#).unwrap();
        let (_, indexes) = described.split_once(r#""VectorIndexes":["#).unwrap();
        let (_, status) = indexes.split_once(r#""IndexStatus":""#).unwrap();
        status.starts_with("ACTIVE")
    };
    while !is_active() {
        assert!(std::time::Instant::now() < patience, "the index is not there after a minute");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_removed_index_of_vectors_is_forgotten() {
    let both = Both::new("observe");
    let client = searchable(&both);
    assert!(both.here.snapshot().place("docs", Some("near")).is_some());
    let update = r#"{"TableName":"docs","VectorIndexUpdates":[{"Delete":{"IndexName":"near"}}]}"#;
    client.call("UpdateTable", update).unwrap();
    let report = both.here.snapshot();
    assert!(report.place("docs", Some("near")).is_none() && report.place("docs", None).is_some());
}
