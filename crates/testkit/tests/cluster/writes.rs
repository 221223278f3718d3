//! Tokens, streams and counts of writes on all servers.

use std::sync::Barrier;

use keyloom_testkit::replay::replay;
use serde_json::{Value, json};

use crate::{SERVERS, cluster, everything, item, ok, rounds, table, try_call};

/// A transaction that is sent to all servers at once, and again later, is done once.
#[test]
fn a_token_is_honoured_on_every_server() {
    let Some(cluster) = cluster() else { return };
    ok(&cluster, 0, "CreateTable", &table("accounts"));
    for round in 0..rounds() {
        let add = |amount: &str| {
            json!({"ClientRequestToken": format!("token-{round}"), "TransactItems": [{"Update": {
                "TableName": "accounts", "Key": {"pk": {"S": "sum"}},
                "UpdateExpression": "ADD n :one",
                "ExpressionAttributeValues": {":one": {"N": amount}}}}]})
        };
        let start = Barrier::new(SERVERS);
        std::thread::scope(|scope| {
            for server in 0..SERVERS {
                let (cluster, start, body) = (&cluster, &start, add("1"));
                scope.spawn(move || {
                    start.wait();
                    let answer = try_call(cluster, server, "TransactWriteItems", &body);
                    let is_conflict = answer.code() == "TransactionCanceledException";
                    assert!(answer.status == 200 || is_conflict, "{answer}");
                });
            }
        });
        for server in 0..SERVERS {
            ok(&cluster, server, "TransactWriteItems", &add("1"));
            let other = try_call(&cluster, server, "TransactWriteItems", &add("2"));
            assert_eq!(other.code(), "IdempotentParameterMismatchException", "{other}");
        }
        let key = json!({"TableName": "accounts", "Key": {"pk": {"S": "sum"}}});
        let sum = ok(&cluster, round, "GetItem", &key);
        assert_eq!(sum["Item"]["n"]["N"], json!((round + 1).to_string()));
    }
}

/// Every change is in the stream, once and in the order of the item's changes, while shards split.
#[test]
fn a_stream_tells_everything_once_and_in_order() {
    let Some(cluster) = cluster() else { return };
    for round in 0..rounds() {
        let name = format!("table-{round}");
        let mut body = table(&name);
        body["StreamSpecification"] =
            json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
        ok(&cluster, round, "CreateTable", &body);
        std::thread::scope(|scope| {
            for server in 0..SERVERS {
                let (cluster, name) = (&cluster, &name);
                scope.spawn(move || {
                    for number in 0..40 {
                        let update = json!({"TableName": name,
                            "Key": {"pk": {"S": format!("p{}", number % 5)}},
                            "UpdateExpression": "ADD n :one",
                            "ExpressionAttributeValues": {":one": {"N": "1"}}});
                        ok(cluster, server, "UpdateItem", &update);
                    }
                });
            }
            cluster.server(round).split_stream_shards(&name).unwrap();
        });
        // The replay panics at a record that does not follow from those before it.
        let replayed = replay(cluster.server(round + 1), &name);
        assert_eq!(replayed.records, 40 * SERVERS, "round {round}");
        let items: Vec<String> = replayed.items.values().map(Value::to_string).collect();
        assert_eq!(items.len(), 5);
        let mut items = items;
        items.sort();
        assert_eq!(everything(&cluster, round + 2, &name, None), items);
    }
}

#[test]
fn counts_are_those_of_all_servers() {
    let Some(cluster) = cluster() else { return };
    ok(&cluster, 0, "CreateTable", &table("counted"));
    std::thread::scope(|scope| {
        for server in 0..SERVERS {
            let cluster = &cluster;
            scope.spawn(move || {
                for number in 0..60 {
                    let put = json!({"TableName": "counted", "Item": item(server * 40 + number)});
                    ok(cluster, server, "PutItem", &put);
                }
            });
        }
    });
    for server in 0..SERVERS {
        // What statistics and the console show, before DescribeTable asks for the counts.
        let shown = cluster.server(server).tables();
        assert_eq!(shown[0].items, 2 * 40 + 60, "{shown:?}");
        let described = ok(&cluster, server, "DescribeTable", &json!({"TableName": "counted"}));
        assert_eq!(described["Table"]["ItemCount"], json!(2 * 40 + 60), "{described}");
    }
}
