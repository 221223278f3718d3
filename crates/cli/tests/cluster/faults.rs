//! Servers that are killed, servers that are stopped in the middle of something and go on later, and databases that
//! restart or lose their connections under them.
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::postgres::{Cut, Postgres, Proxy};
use crate::server::Server;

/// How long a stopped server may hold up the others: two seconds for what it holds in the database, and some for a
/// busy machine.
const DELAY: Duration = Duration::from_secs(20);

/// For how long a server tries what its database does not answer, at least.
const PATIENCE: Duration = Duration::from_secs(19);

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

/// What writers were told.
#[derive(Default)]
struct Told {
    /// Items whose PutItem was acknowledged.
    items: Mutex<Vec<String>>,
    /// UpdateItems that have added one to `sum`.
    additions: AtomicU64,
    /// TransactWriteItems with a token that have added one to `tokens`, each sent until it was acknowledged.
    transactions: AtomicU64,
    /// Answers that were no success, though their server had no reason to lose patience with its database.
    failures: Mutex<Vec<String>>,
    /// UpdateItems that were given up after as long as a server waits: they have added one to `sum` or not.
    given_up: AtomicU64,
}

/// Puts items, adds to a sum, and adds to another one with a token, until told to stop.
fn write_all_on(server: &Server, name: &str, running: &AtomicBool, told: &Told) {
    let add = |key: &str| {
        json!({"TableName": "Orders", "Key": {"id": {"S": key}},
            "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}})
    };
    // On a machine that stalls, a server may wait for its database as long as it ever does.
    let is_given_up = |sent: Instant, answer: Option<(u16, serde_json::Value)>| {
        let is_given_up = sent.elapsed() >= PATIENCE;
        if !is_given_up {
            told.failures.lock().unwrap().push(format!("{name}: {answer:?}"));
        }
        is_given_up
    };
    for number in 0.. {
        if !running.load(Ordering::SeqCst) {
            break;
        }
        let id = format!("{name}-{number}");
        let put = json!({"TableName": "Orders", "Item": {"id": {"S": id}}});
        let sent = Instant::now();
        match server.try_call("PutItem", &put) {
            Some((200, _)) => told.items.lock().unwrap().push(id.clone()),
            other => drop(is_given_up(sent, other)),
        }
        let sent = Instant::now();
        match server.try_call("UpdateItem", &add("sum")) {
            Some((200, _)) => drop(told.additions.fetch_add(1, Ordering::SeqCst)),
            other if is_given_up(sent, other.clone()) => {
                told.given_up.fetch_add(1, Ordering::SeqCst);
            }
            _ => {}
        }
        let transact =
            json!({"ClientRequestToken": id, "TransactItems": [{"Update": add("tokens")}]});
        while !matches!(server.try_call("TransactWriteItems", &transact), Some((200, _))) {
            thread::sleep(Duration::from_millis(5));
        }
        told.transactions.fetch_add(1, Ordering::SeqCst);
    }
}

/// Has two servers write while something happens to their database, again and again. Nothing may be lost, nothing done
/// twice, and nobody need know: the servers wait, find out what became of lost commits, and come back by themselves.
fn nothing_is_lost_while(servers: &[Server; 2], disturb: impl Fn(u64)) {
    let [first, second] = servers;
    first.create_table("Orders");
    let (running, told) = (AtomicBool::new(true), Told::default());
    thread::scope(|scope| {
        let writers: Vec<_> = [("a", first), ("b", second), ("c", first), ("d", second)]
            .into_iter()
            .map(|(name, server)| {
                let (running, told) = (&running, &told);
                scope.spawn(move || write_all_on(server, name, running, told))
            })
            .collect();
        // Also if the disturbance panics: the writers would go on for ever.
        let end = StopOnDrop(&running);
        for round in 0..rounds() {
            let before = told.transactions.load(Ordering::SeqCst);
            disturb(round);
            let patience = Instant::now() + 2 * DELAY;
            while told.transactions.load(Ordering::SeqCst) < before + 8 {
                assert!(Instant::now() < patience, "round {round}: they do not come back");
                thread::sleep(Duration::from_millis(2));
            }
        }
        drop(end);
        for writer in writers {
            writer.join().unwrap();
        }
    });
    let failures = told.failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} failures: {:?}", failures.len(), failures.first());
    let given_up = told.given_up.into_inner();
    for (key, told, given_up) in [
        ("sum", told.additions.into_inner(), given_up),
        ("tokens", told.transactions.into_inner(), 0),
    ] {
        let get = json!({"TableName": "Orders", "Key": {"id": {"S": key}}, "ConsistentRead": true});
        for server in servers {
            let found = server.call("GetItem", &get)["Item"]["n"]["N"].as_str().unwrap().to_owned();
            let expected = told..=told + given_up;
            assert!(expected.contains(&found.parse().unwrap()), "{key}: {found} of {expected:?}");
        }
    }
    for id in told.items.into_inner().unwrap() {
        assert_eq!(second.get("Orders", &id), Some(id.clone()));
    }
}

/// Tells the writers to stop.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

#[test]
fn a_database_that_stops_at_once_and_comes_back_loses_nothing() {
    let Some(postgres) = Postgres::start(false) else { return };
    let url = postgres.url("restarts");
    let servers = [Server::start(&url), Server::start(&url)];
    nothing_is_lost_while(&servers, |_| {
        postgres.stop_immediately();
        postgres.resume();
    });
}

#[test]
fn backends_that_are_terminated_lose_nothing() {
    let Some(postgres) = Postgres::start(false) else { return };
    let url = postgres.url("terminated");
    let servers = [Server::start(&url), Server::start(&url)];
    nothing_is_lost_while(&servers, |_| {
        let terminated = postgres.query(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
             WHERE application_name = 'keyloom'",
        );
        assert_ne!(terminated, "0");
    });
}

#[test]
fn connections_that_are_cut_in_their_commit_lose_nothing() {
    let Some(postgres) = Postgres::start(false) else { return };
    let proxy = Proxy::start(postgres.port());
    let url = Postgres::url_through(proxy.port(), "cut");
    let servers = [Server::start(&url), Server::start(&url)];
    nothing_is_lost_while(&servers, |round| {
        let cuts = [Cut::After, Cut::Before, Cut::Late(Duration::from_millis(60))];
        let before = proxy.cuts();
        proxy.cut_at("COMMIT\0", cuts[round as usize % cuts.len()], 0);
        let patience = Instant::now() + DELAY;
        while proxy.cuts() == before {
            assert!(Instant::now() < patience, "round {round}: no COMMIT was cut");
            thread::sleep(Duration::from_millis(1));
        }
    });
    assert!(proxy.lost_commits() > 0, "no commit was lost");
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
            let patience = Instant::now() + 2 * DELAY;
            while !has_begun() && Instant::now() < patience {
                thread::sleep(Duration::from_millis(1));
            }
            let has_begun = has_begun();
            thread::sleep(Duration::from_millis(17 * (round % 7)));
            signal(&victim, "-KILL");
            running.store(false, Ordering::SeqCst);
            for writer in writers {
                writer.join().unwrap();
            }
            assert!(has_begun, "round {round}: nothing was written");
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
