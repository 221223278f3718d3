//! Requests that are stated as JSON are told as those that the client makes: what both sides count agrees.

use std::collections::BTreeMap;

use keyloom::observe::Report;
use keyloom::{Retry, TableClient, item};

use crate::observed::{Both, patterns, units};

const CAPACITY: &str = r#""ReturnConsumedCapacity":"INDEXES""#;

/// What both sides know of every table and index: units, requests, and those of each key; bytes that were put.
type Known = BTreeMap<String, (f64, f64, u64, BTreeMap<String, (f64, f64, u64)>, u64)>;

fn known(report: &Report) -> Known {
    let places = report.places.iter().map(|place| {
        let keys = units(place).into_iter().map(|(key, counts)| (key.to_owned(), counts)).collect();
        let put = place.keys.iter().map(|key| key.written_bytes).sum();
        (place.name(), (place.reads, place.writes, place.requests, keys, put))
    });
    places.collect()
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
    assert_eq!(known(&here), known(&there));
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
    let both = Both::new("watch");
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
    let (here, _) = agree(both);
    assert_eq!(here.requests, 3, "a BatchGetItem is a request for each table");
    let index = &here.place("one", Some("by_g")).unwrap().keys[0];
    assert_eq!((index.key.as_str(), index.writes), ("G#1", 6.0));
}

#[test]
fn other_stated_requests_are_counted_as_those_of_the_client() {
    let both = Both::new("watch");
    let client = indexed(&both, "one");
    client.put(item! { "pk" => "A#1", "sk" => "B#1", "g" => "G#1", "n" => 1 }).unwrap();
    let key = json(&[("pk", "A#1"), ("sk", "B#1")]);
    let values = r#""ExpressionAttributeValues":{":p":{"S":"A#1"}}"#;
    let legacy = r#"{"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"A#1"}]}}"#;
    for (operation, members) in [
        ("Query", format!(r#""KeyConditionExpression":"pk = :p",{values}"#)),
        (
            "Query",
            format!(
                r#""KeyConditionExpression":"pk = :p","ProjectionExpression":"g","Limit":1,{values}"#
            ),
        ),
        ("Query", format!(r#""KeyConditions":{legacy},"AttributesToGet":["g"]"#)),
        (
            "Query",
            format!(
                r#""KeyConditions":{legacy},"QueryFilter":{{"n":{{"ComparisonOperator":"NOT_NULL"}}}}"#
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
fn entries_of_indexes_cost_what_their_items_do_where_nobody_says_their_size() {
    let both = Both::new("watch");
    let client = indexed(&both, "one");
    let long = "x".repeat(2500);
    client.put(item! { "pk" => "A#1", "sk" => "B#1", "text" => long.as_str() }).unwrap();
    let key = json(&[("pk", "A#1"), ("sk", "B#1")]);
    let set = |attribute: &str, value: &str| {
        let update = format!(
            r#""UpdateExpression":"SET {attribute} = :v","ExpressionAttributeValues":{{":v":{{"S":"{value}"}}}}"#
        );
        let body = format!(r#"{{"TableName":"one","Key":{key},{update},{CAPACITY}}}"#);
        client.call("UpdateItem", &body).unwrap();
    };
    // It enters one index; in the other one, whose key is the table's, it is written anew.
    set("g", "G#1");
    set("note", "y");
    client.call("DeleteItem", &format!(r#"{{"TableName":"one","Key":{key},{CAPACITY}}}"#)).unwrap();
    let (here, there) = both.reports();
    let index = |report: &Report, name: &str| {
        let place = report.place("one", Some(name)).unwrap().clone();
        let keys = units(&place).into_iter().map(|(key, (_, writes, _))| (key.to_owned(), writes));
        (place.writes, keys.collect::<BTreeMap<_, _>>())
    };
    assert_eq!(index(&here, "by_sk"), index(&there, "by_sk"));
    // A put, two updates and a delete.
    assert_eq!(index(&here, "by_sk").1, [("B#1".to_owned(), 12.0)].into());
    // Nobody but the server knows that the second update and the delete were about `G#1`, too.
    let ((mine, keys), (theirs, known)) = (index(&here, "by_g"), index(&there, "by_g"));
    assert_eq!((mine, theirs), (9.0, 9.0));
    assert_eq!((keys["G#1"], known["G#1"]), (3.0, 9.0));
}

#[test]
fn entries_that_an_answer_shows_are_counted_with_their_keys() {
    let both = Both::new("watch");
    let client = indexed(&both, "one");
    let long = "x".repeat(2500);
    // All of these answer with the item that was there, or is.
    client
        .put(item! { "pk" => "A#1", "sk" => "B", "g" => "G#1", "text" => long.as_str() })
        .unwrap();
    client.put(item! { "pk" => "A#1", "sk" => "B", "g" => "G#2" }).unwrap();
    client.put(item! { "pk" => "A#1", "sk" => "B", "g" => "G#2" }).unwrap();
    client.put(item! { "pk" => "A#1", "sk" => "B", "g" => "G#2", "n" => 1 }).unwrap();
    client.put(item! { "pk" => "A#1", "sk" => "B" }).unwrap();
    client.put(item! { "pk" => "A#1", "sk" => "B", "g" => "G#3" }).unwrap();
    client.delete(("A#1", "B")).unwrap();
    client.delete(("A#1", "B")).unwrap();
    let (here, _) = agree(both);
    let keys = units(here.place("one", Some("by_g")).unwrap()).into_iter();
    let writes: Vec<(&str, f64)> = keys.map(|(key, (_, writes, _))| (key, writes)).collect();
    assert_eq!(writes, [("G#1", 6.0), ("G#2", 3.0), ("G#3", 2.0)]);
}

#[test]
fn entries_of_local_indexes_are_counted_alike_with_the_items_that_are_fetched_for_them() {
    let both = Both::new("watch");
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
    let both = Both::new("watch");
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
fn statements_of_a_batch_are_requests_of_their_own() {
    let both = Both::new("watch");
    let (client, _other) = (indexed(&both, "one"), indexed(&both, "two"));
    let long = "x".repeat(2500);
    let insert = format!("INSERT INTO two VALUE {{'pk':'A#1','sk':'B#1','text':'{long}'}}");
    run(
        &client,
        &[
            "INSERT INTO one VALUE {'pk':'A#1','sk':'B#1','g':'G#1'}",
            "INSERT INTO one VALUE {'pk':'A#2','sk':'B#2','g':'G#1'}",
            &insert,
        ],
        "",
    );
    let answer = run(
        &client,
        &[
            "INSERT INTO one VALUE {'pk':'A#1','sk':'B#1'}",
            "UPDATE one SET n = 1 WHERE pk = 'A#2' AND sk = 'B#2' RETURNING ALL NEW *",
            "UPDATE one SET n = 1 WHERE pk = 'A#9' AND sk = 'B#9'",
            "UPDATE one SET n = n + 'x' WHERE pk = 'A#2' AND sk = 'B#3'",
            "DELETE FROM two WHERE pk = 'A#1' AND sk = 'B#1' RETURNING ALL OLD *",
            "DELETE FROM nowhere WHERE pk = 'A#1' AND sk = 'B#1'",
            "DELETE FROM one WHERE pk = 'A#1'",
        ],
        "",
    );
    assert!(answer.contains("DuplicateItem") && answer.contains("ConditionalCheckFailed"));
    run(
        &client,
        &[
            "SELECT * FROM one WHERE pk = 'A#1' AND sk = 'B#1'",
            "SELECT n FROM one WHERE pk = 'A#2' AND sk = 'B#2'",
            "SELECT * FROM two WHERE pk = 'A#1' AND sk = 'B#1'",
        ],
        r#","ConsistentRead":true"#,
    );
    let (here, there) = agree(both);
    let failed: u64 = here.patterns().map(|(_, pattern)| pattern.condition_failed).sum();
    assert!(failed >= 2, "{failed}");
    assert!(!errors(&there).is_empty());
    let names: Vec<&str> = errors(&here).iter().map(|(operation, ..)| *operation).collect();
    assert!(names.iter().all(|name| *name == "BatchExecuteStatement"), "{names:?}");
}

#[test]
fn a_statement_that_is_throttled_is_counted_with_its_key() {
    let both = Both::new("inject=table=one:write:every=2");
    let client = indexed(&both, "one");
    let insert = |number| format!("INSERT INTO one VALUE {{'pk':'A#{number}','sk':'B'}}");
    let inserts: Vec<String> = (0..4).map(insert).collect();
    run(&client, &inserts.iter().map(String::as_str).collect::<Vec<_>>(), "");
    let (here, there) = both.reports();
    let sum = |report: &Report| {
        let place = report.place("one", None).unwrap();
        (place.throttled.values().sum::<u64>(), place.writes, place.requests)
    };
    assert_eq!(sum(&here), sum(&there));
    assert_eq!(sum(&here).0, 2);
    // The answer does not say which limit it was.
    assert!(
        here.place("one", None).unwrap().throttled.contains_key("TableWriteThroughputExceeded")
    );
}

#[test]
fn statements_of_a_transaction_are_one_request() {
    let both = Both::new("watch");
    let client = indexed(&both, "one");
    let run = |statements: &[&str]| {
        let listed = statements.iter().map(|one| format!(r#"{{"Statement":"{one}"}}"#));
        let listed = listed.collect::<Vec<_>>().join(",");
        client.call(
            "ExecuteTransaction",
            &format!(r#"{{"TransactStatements":[{listed}],{CAPACITY}}}"#),
        )
    };
    run(&[
        "INSERT INTO one VALUE {'pk':'A#1','sk':'B#1','g':'G#1'}",
        "INSERT INTO one VALUE {'pk':'A#2','sk':'B#2','g':'G#2'}",
    ])
    .unwrap();
    run(&[
        "EXISTS(SELECT * FROM one WHERE pk = 'A#1' AND sk = 'B#1' AND g = 'G#1')",
        "UPDATE one SET n = 1 WHERE pk = 'A#2' AND sk = 'B#2'",
    ])
    .unwrap();
    run(&[
        "SELECT * FROM one WHERE pk = 'A#1' AND sk = 'B#1'",
        "SELECT n FROM one WHERE pk = 'A#7' AND sk = 'B#7'",
    ])
    .unwrap();
    run(&["INSERT INTO one VALUE {'pk':'A#1','sk':'B#1'}"]).unwrap_err();
    run(&["INSERT INTO nowhere VALUE {'pk':'A#1','sk':'B#1'}"]).unwrap_err();
    run(&["this is no statement"]).unwrap_err();
    let (here, there) = both.reports();
    assert_eq!(patterns(&here), patterns(&there));
    assert_eq!(errors(&here), errors(&there));
    // How large an updated item has become is known to the server alone.
    let table = |report: &Report| {
        let (reads, writes, requests, keys, _) = known(report).remove("one").unwrap();
        (reads, writes, requests, keys)
    };
    assert_eq!(table(&here), table(&there));
    assert_eq!(here.requests, 4);
}

#[test]
fn a_read_of_several_ranges_is_a_request_for_each() {
    let both = Both::new("watch");
    let client = indexed(&both, "one");
    for (pk, sk) in [("A#1", "B#1"), ("A#1", "B#2"), ("A#2", "B#1")] {
        client.put(item! { "pk" => pk, "sk" => sk, "g" => "G#1" }).unwrap();
    }
    for statement in [
        "SELECT * FROM one WHERE pk IN ['A#1', 'A#2', 'A#3']",
        "SELECT * FROM one WHERE pk = 'A#1' AND sk IN ['B#1', 'B#2']",
        "SELECT pk, sk FROM one WHERE pk = 'A#1' AND begins_with(sk, 'B') ORDER BY sk DESC",
        "SELECT * FROM one WHERE pk = 'A#1' AND n = 1",
        "SELECT * FROM one.by_g WHERE g = 'G#1' AND pk = 'A#1'",
    ] {
        let body = format!(r#"{{"Statement":"{}",{CAPACITY}}}"#, quoted(statement));
        client.call("ExecuteStatement", &body).unwrap();
    }
    let (here, there) = both.reports();
    let comparable = |report: &Report| {
        let all = patterns(report).into_iter().map(|(name, mut counts)| {
            // Rows that a filter threw away are known to the server alone, and the server does not count columns as a
            // projection of a page.
            (counts[3], counts[8]) = (0, 0);
            (name, counts)
        });
        all.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(comparable(&here), comparable(&there));
    assert_eq!(known(&here), known(&there));
    assert_eq!(here.requests, there.requests);
}

/// An index is named with quotes, which JSON escapes.
fn quoted(statement: &str) -> String {
    statement.replace("one.by_g", r#"\"one\".\"by_g\""#)
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
fn a_search_of_vectors_is_told_with_its_partition_and_its_bytes() {
    let both = Both::new("watch");
    let client = searchable(&both);
    let search = |projection: &str| {
        let condition = r#""SearchConditionExpression":"lang = :l","ExpressionAttributeValues":{":l":{"S":"en"}}"#;
        let vector = r#""SearchVector":[{"N":"1"},{"N":"2"}],"TopK":5"#;
        let body = format!(
            r#"{{"TableName":"docs","IndexName":"near",{vector},{condition}{projection},{CAPACITY}}}"#
        );
        client.call("SearchVectors", &body).unwrap()
    };
    assert_eq!(search("").matches("Score").count(), 2);
    search(r#","ProjectionExpression":"pk""#);
    let (here, there) = both.reports();
    assert_eq!(patterns(&here), patterns(&there));
    assert_eq!(known(&here), known(&there));
    let bytes = |report: &Report| -> Vec<u64> {
        let searches = report.patterns().filter(|(_, one)| one.operation == "SearchVectors");
        searches.map(|(_, one)| one.bytes).collect()
    };
    assert_eq!(bytes(&here), bytes(&there));
    assert!(bytes(&here).iter().sum::<u64>() > 1000);
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
    let both = Both::new("watch");
    let client = searchable(&both);
    assert!(both.here.snapshot().place("docs", Some("near")).is_some());
    let update = r#"{"TableName":"docs","VectorIndexUpdates":[{"Delete":{"IndexName":"near"}}]}"#;
    client.call("UpdateTable", update).unwrap();
    let report = both.here.snapshot();
    assert!(report.place("docs", Some("near")).is_none() && report.place("docs", None).is_some());
}
