//! Writes to a database on disk: they share syncs, and none is lost.

use std::net::SocketAddr;
use std::path::Path;
use std::thread::scope;

use keyloom_engine::Database;
use keyloom_server::{Config, Dispatch, RunningServer, Server};

use crate::client::{Client, config, post};

const CLIENTS: usize = 16;
const WRITES: usize = 20;

const TABLE: &str = r#"{"TableName":"table","BillingMode":"PAY_PER_REQUEST",
    "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
    "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}"#;

fn start(path: &Path) -> (Database, RunningServer) {
    let database = Database::open(path).unwrap();
    let config = Config { dispatch: Dispatch::disk(), ..config() };
    let server = Server::start(config, database.clone()).unwrap();
    (database, server)
}

fn put(id: &str) -> String {
    post("PutItem", &format!(r#"{{"TableName":"table","Item":{{"id":{{"S":"{id}"}}}}}}"#))
}

fn write_all(address: SocketAddr) {
    scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mut connection = Client::connect(address);
                for write in 0..WRITES {
                    let response = connection.ask(put(&format!("{client}-{write}")));
                    assert_eq!((response.status, response.text()), (200, "{}"));
                }
            });
        }
    });
}

#[test]
fn writers_share_syncs_and_writes_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let (database, server) = start(directory.path());
    assert_eq!(Client::connect(server.addr()).ask(post("CreateTable", TABLE)).status, 200);
    let before = database.store_stats().unwrap();
    write_all(server.addr());
    let after = database.store_stats().unwrap();
    let (commits, syncs) = (after.commits - before.commits, after.syncs - before.syncs);
    assert_eq!(commits, (CLIENTS * WRITES) as u64);
    assert!(syncs < commits, "{syncs} syncs for {commits} writes");
    server.shutdown();
    drop(database);

    let (_database, server) = start(directory.path());
    let mut connection = Client::connect(server.addr());
    let scan = post("Scan", r#"{"TableName":"table","Select":"COUNT"}"#);
    let count = format!(r#"{{"Count":{0},"ScannedCount":{0}}}"#, CLIENTS * WRITES);
    assert_eq!(connection.ask(scan).text(), count);
}

/// A write is committed whether or not its client waits for the response.
#[test]
fn a_write_survives_its_clients_disconnect() {
    let directory = tempfile::tempdir().unwrap();
    let (_database, server) = start(directory.path());
    let mut witness = Client::connect(server.addr());
    assert_eq!(witness.ask(post("CreateTable", TABLE)).status, 200);
    for write in 0..CLIENTS {
        Client::connect(server.addr()).send(put(&format!("left-{write}")));
    }
    let get = post("GetItem", &get(CLIENTS - 1));
    let described = post("DescribeTable", r#"{"TableName":"table"}"#);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        let description = witness.ask(described.as_str());
        let is_last_there = witness.ask(get.as_str()).text().contains("Item");
        if is_last_there && description.text().contains(&format!("\"ItemCount\":{CLIENTS}")) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{}", description.text());
    }
}

fn get(write: usize) -> String {
    format!(r#"{{"TableName":"table","Key":{{"id":{{"S":"left-{write}"}}}}}}"#)
}
