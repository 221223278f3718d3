//! One version of the tables at a time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use keyloom_testkit::cluster::Cluster;
use serde_json::{Value, json};

use crate::{SERVERS, cluster, everything, item, ok, rounds, table, try_call};

#[test]
fn every_server_sees_a_change_that_was_answered() {
    let Some(cluster) = cluster() else { return };
    for round in 0..rounds() {
        let (maker, user) = (round % SERVERS, (round + 1) % SERVERS);
        let name = format!("table-{round}");
        assert_eq!(
            try_call(&cluster, user, "DescribeTable", &json!({"TableName": name})).status,
            400
        );
        ok(&cluster, maker, "CreateTable", &table(&name));
        // The other server has nothing but an old list of tables.
        ok(&cluster, user, "PutItem", &json!({"TableName": name, "Item": item(1)}));
        let listed = ok(&cluster, (round + 2) % SERVERS, "ListTables", &json!({}));
        assert!(listed["TableNames"].as_array().unwrap().contains(&json!(name)), "{listed}");
        ok(&cluster, user, "DeleteTable", &json!({"TableName": name}));
        let key = json!({"TableName": name, "Key": {"pk": {"S": "p1"}}});
        for server in 0..SERVERS {
            let answer = try_call(&cluster, server, "GetItem", &key);
            assert_eq!(answer.code(), "ResourceNotFoundException", "{answer}");
        }
        // Of the same name, with another key: nobody answers by the old one.
        let mut other = table(&name);
        other["AttributeDefinitions"][0]["AttributeName"] = "id".into();
        other["KeySchema"][0]["AttributeName"] = "id".into();
        ok(&cluster, maker, "CreateTable", &other);
        let put = json!({"TableName": name, "Item": {"id": {"S": "x"}}});
        ok(&cluster, user, "PutItem", &put);
        let key = json!({"TableName": name, "Key": {"id": {"S": "x"}}});
        for server in 0..SERVERS {
            assert_eq!(ok(&cluster, server, "GetItem", &key)["Item"]["id"]["S"], "x");
        }
    }
}

#[test]
fn one_of_all_servers_creates_and_one_deletes() {
    let Some(cluster) = cluster() else { return };
    for round in 0..rounds() {
        for (operation, body, refusal) in [
            ("CreateTable", table("one"), "ResourceInUseException"),
            ("DeleteTable", json!({"TableName": "one"}), "ResourceNotFoundException"),
        ] {
            let (start, done) = (Barrier::new(SERVERS), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for server in 0..SERVERS {
                    let (cluster, start, done, body) = (&cluster, &start, &done, &body);
                    scope.spawn(move || {
                        start.wait();
                        let answer = try_call(cluster, server, operation, body);
                        if answer.status == 200 {
                            done.fetch_add(1, Ordering::SeqCst);
                        } else {
                            assert_eq!(answer.code(), refusal, "{answer}");
                        }
                    });
                }
            });
            assert_eq!(done.load(Ordering::SeqCst), 1, "round {round}: {operation}");
        }
    }
}

/// An index comes and goes while all servers write: it has what the table has, and the counts say so.
#[test]
fn an_index_is_a_function_of_its_table() {
    let Some(cluster) = cluster() else { return };
    ok(&cluster, 0, "CreateTable", &table("music"));
    for number in 0..300 {
        let put = json!({"TableName": "music", "Item": item(number)});
        ok(&cluster, number, "PutItem", &put);
    }
    for round in 0..rounds() {
        let (running, written) = (AtomicBool::new(true), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for server in 0..SERVERS {
                let (cluster, running, written) = (&cluster, &running, &written);
                scope.spawn(move || write_on(cluster, server, running, written));
            }
            // Also if something here panics: the writers would go on for ever.
            let end = StopOnDrop(&running);
            let maker = round % SERVERS;
            if round > 0 {
                ok(&cluster, maker, "UpdateTable", &with_index("Delete"));
                cluster.all().for_each(|server| server.run_maintenance().unwrap());
            }
            ok(&cluster, maker, "UpdateTable", &with_index("Create"));
            // The index is there and not yet filled: these writes have to keep it.
            let before = written.load(Ordering::SeqCst);
            wait_until(|| written.load(Ordering::SeqCst) > before + SERVERS);
            cluster.server(maker).run_maintenance().unwrap();
            drop(end);
        });
        let reader = (round + 1) % SERVERS;
        let described = ok(&cluster, reader, "DescribeTable", &json!({"TableName": "music"}));
        let index = &described["Table"]["GlobalSecondaryIndexes"][0];
        assert_eq!(index["IndexStatus"], "ACTIVE", "{described}");
        let items = everything(&cluster, reader, "music", None);
        assert_eq!(everything(&cluster, reader, "music", Some("by-g")), items, "round {round}");
        assert_eq!(described["Table"]["ItemCount"], json!(items.len()), "round {round}");
        assert_eq!(index["ItemCount"], json!(items.len()), "round {round}");
    }
}

/// Waits for something that must come about, however busy the machine is.
fn wait_until(is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < end, "it does not come about");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Tells the writers to stop.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// Puts and deletes until told to stop.
fn write_on(cluster: &Cluster, server: usize, running: &AtomicBool, written: &AtomicUsize) {
    let mut number = server;
    while running.load(Ordering::SeqCst) {
        number = (number * 7 + 13) % 400;
        let key = json!({"pk": item(number)["pk"]});
        if number.is_multiple_of(4) {
            ok(cluster, server, "DeleteItem", &json!({"TableName": "music", "Key": key}));
        } else {
            let mut changed = item(number);
            changed["g"] = json!({"S": format!("h{}", number % 5)});
            ok(cluster, server, "PutItem", &json!({"TableName": "music", "Item": changed}));
        }
        written.fetch_add(1, Ordering::SeqCst);
    }
}

fn with_index(verb: &str) -> Value {
    let mut update = json!({"TableName": "music", "GlobalSecondaryIndexUpdates": [{}]});
    update["GlobalSecondaryIndexUpdates"][0][verb] = if verb == "Delete" {
        json!({"IndexName": "by-g"})
    } else {
        update["AttributeDefinitions"] = json!([{"AttributeName": "g", "AttributeType": "S"}]);
        json!({"IndexName": "by-g", "Projection": {"ProjectionType": "ALL"},
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]})
    };
    update
}
