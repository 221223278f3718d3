//! Several servers on one PostgreSQL: one version of the tables, indexes that are functions of their tables, tokens,
//! streams, counts and jobs. `KEYLOOM_CLUSTER_ROUNDS` is how often each is tried (default 10; `scripts/long cluster` 200).
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod jobs;
mod tables;
mod upgrade;
mod writes;

use keyloom_engine::Options;
use keyloom_testkit::cluster::Cluster;
use keyloom_testkit::lockstep::{Answer, call, succeed};
use serde_json::{Value, json};

const SERVERS: usize = 3;

/// How often each is tried.
fn rounds() -> usize {
    std::env::var("KEYLOOM_CLUSTER_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(10)
}

/// Three servers on a new store, without background threads.
fn cluster() -> Option<Cluster> {
    Cluster::start(SERVERS, &Options { background: false, ..Options::default() })
}

fn table(name: &str) -> Value {
    json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]})
}

fn item(number: usize) -> Value {
    json!({"pk": {"S": format!("p{number}")}, "g": {"S": format!("g{}", number % 3)}})
}

fn try_call(cluster: &Cluster, server: usize, operation: &str, body: &Value) -> Answer {
    call(cluster.server(server), operation, body.to_string().as_bytes())
}

/// Sends one request and insists on success. One that surely did nothing, because the machine stalled until the database
/// closed the connection of a change, is repeated, as every SDK does.
fn ok(cluster: &Cluster, server: usize, operation: &str, body: &Value) -> Value {
    for _ in 0..3 {
        let answer = try_call(cluster, server, operation, body);
        let did_nothing = answer.to_string().contains("nothing is lost, try again");
        if answer.status == 200 {
            return answer.body;
        }
        assert!(answer.status == 500 && did_nothing, "{operation} {body}: {answer}");
        eprintln!("{operation} is repeated: {answer}");
    }
    succeed(cluster.server(server), operation, body)
}

/// All items of a table or an index, in a comparable order.
fn everything(cluster: &Cluster, server: usize, name: &str, index: Option<&str>) -> Vec<String> {
    let mut body = json!({"TableName": name});
    if let Some(index) = index {
        body["IndexName"] = index.into();
    }
    let mut items = Vec::new();
    loop {
        let page = ok(cluster, server, "Scan", &body);
        items.extend(page["Items"].as_array().unwrap().iter().map(ToString::to_string));
        match page.get("LastEvaluatedKey") {
            Some(key) => body["ExclusiveStartKey"] = key.clone(),
            None => break,
        }
    }
    items.sort();
    items
}
