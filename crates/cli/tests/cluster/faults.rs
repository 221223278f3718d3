//! Servers that are killed, and servers that are stopped in the middle of something and go on later.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::postgres::Postgres;
use crate::server::Server;

/// How long a stopped server may hold up the others: two seconds for what it holds in the database, and some for a
/// busy machine.
const DELAY: Duration = Duration::from_secs(20);

fn rounds() -> u64 {
    std::env::var("KEYLOOM_CLUSTER_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(10)
}

fn signal(server: &Server, signal: &str) {
    let id = server.process.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

/// Writes items until told to stop, and remembers those that were acknowledged.
fn write_on(server: &Server, name: &str, running: &AtomicBool, acknowledged: &Mutex<Vec<String>>) {
    for number in 0.. {
        if !running.load(Ordering::SeqCst) {
            break;
        }
        let id = format!("{name}-{number}");
        let put = json!({"TableName": "Orders", "Item": {"id": {"S": id}}});
        if matches!(server.try_call("PutItem", &put), Some((200, _))) {
            acknowledged.lock().unwrap().push(id);
        }
    }
}

#[test]
fn what_was_acknowledged_survives_the_kill_of_its_server() {
    let Some(postgres) = Postgres::start(false) else { return };
    let url = postgres.url("kills");
    let survivor = Server::start(&url);
    survivor.create_table("Orders");
    for round in 0..rounds() {
        let mut victim = Server::start(&url);
        let (running, acknowledged) = (AtomicBool::new(true), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            let writers: Vec<_> = [("survivor", &survivor), ("victim", &victim)]
                .into_iter()
                .map(|(name, server)| {
                    let (running, acknowledged) = (&running, &acknowledged);
                    let name = format!("{name}-{round}");
                    scope.spawn(move || write_on(server, &name, running, acknowledged))
                })
                .collect();
            // On a busy machine the first write takes long.
            let has_begun =
                || acknowledged.lock().unwrap().iter().any(|id: &String| id.starts_with("victim"));
            while !has_begun() {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_millis(17 * (round % 7)));
            signal(&victim, "-KILL");
            running.store(false, Ordering::SeqCst);
            for writer in writers {
                writer.join().unwrap();
            }
        });
        victim.process.wait().unwrap();
        let acknowledged = acknowledged.into_inner().unwrap();
        for id in acknowledged {
            assert_eq!(survivor.get("Orders", &id), Some(id.clone()), "round {round}");
        }
    }
}

/// A server is stopped while it writes: the others go on, and what it was doing is done or not, never twice.
#[test]
fn a_server_stopped_in_a_flight_holds_up_nobody() {
    let Some(postgres) = Postgres::start(false) else { return };
    let url = postgres.url("stops");
    let (first, second) = (Server::start(&url), Server::start(&url));
    first.create_table("Orders");
    let add = json!({"TableName": "Orders", "Key": {"id": {"S": "sum"}},
        "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}});
    let mut sum = 0;
    for round in 0..rounds() {
        let running = AtomicBool::new(true);
        let added: usize = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut added = 0;
                while running.load(Ordering::SeqCst) {
                    let answer = second.try_call("UpdateItem", &add);
                    added += usize::from(matches!(answer, Some((200, _))));
                }
                added
            });
            thread::sleep(Duration::from_millis(20 + 7 * (round % 11)));
            signal(&second, "-STOP");
            let began = Instant::now();
            first.call("UpdateItem", &add);
            assert!(began.elapsed() < DELAY, "round {round}: {:?}", began.elapsed());
            running.store(false, Ordering::SeqCst);
            signal(&second, "-CONT");
            writer.join().unwrap()
        });
        sum += added + 1;
        let key =
            json!({"TableName": "Orders", "Key": {"id": {"S": "sum"}}, "ConsistentRead": true});
        let found = first.call("GetItem", &key);
        assert_eq!(found["Item"]["n"]["N"], json!(sum.to_string()), "round {round}");
    }
}

/// A server is stopped while it changes tables: the others change theirs, and it finds what they made.
#[test]
fn a_server_stopped_in_a_change_of_tables_holds_up_nobody() {
    let Some(postgres) = Postgres::start(false) else { return };
    let url = postgres.url("changes");
    let (first, second) = (Server::start(&url), Server::start(&url));
    for round in 0..rounds() {
        let running = AtomicBool::new(true);
        let name = format!("made-{round}");
        thread::scope(|scope| {
            let changer = scope.spawn(|| {
                while running.load(Ordering::SeqCst) {
                    let tags = json!({"TableName": "flicker", "BillingMode": "PAY_PER_REQUEST",
                        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]});
                    second.try_call("CreateTable", &tags);
                    second.try_call("DeleteTable", &json!({"TableName": "flicker"}));
                }
            });
            thread::sleep(Duration::from_millis(20 + 7 * (round % 11)));
            signal(&second, "-STOP");
            let began = Instant::now();
            first.create_table(&name);
            first.put(&name, "a");
            assert!(began.elapsed() < DELAY, "round {round}: {:?}", began.elapsed());
            running.store(false, Ordering::SeqCst);
            signal(&second, "-CONT");
            changer.join().unwrap();
        });
        assert_eq!(second.get(&name, "a"), Some("a".into()), "round {round}");
        let listed = |server: &Server| server.call("ListTables", &json!({}));
        assert_eq!(listed(&first), listed(&second), "round {round}");
    }
}
