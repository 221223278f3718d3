//! `POST` and `DELETE /keyloom/fork`.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use keyloom_engine::Database;
use keyloom_server::{Config, Credentials, RunningServer, Server};
use serde_json::{Value, json};

use crate::client::{Client, Response, ask, config, echo, post};

fn request(method: &str) -> String {
    format!("{method} /keyloom/fork HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n")
}

fn operation(at: SocketAddr, name: &str, body: &Value) -> Response {
    Client::connect(at).ask(post(name, &body.to_string()))
}

/// A server with a table.
fn server() -> RunningServer {
    let server = Server::start(config(), Database::memory()).unwrap();
    let table = json!({"TableName": "notes", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}]});
    assert_eq!(operation(server.addr(), "CreateTable", &table).status, 200);
    server
}

fn fork(at: SocketAddr) -> SocketAddr {
    let response = Client::connect(at).ask(request("POST"));
    assert_eq!(response.status, 200, "{}", response.text());
    let answer: Value = serde_json::from_str(response.text()).unwrap();
    let endpoint = answer.get("endpoint").and_then(Value::as_str).unwrap();
    endpoint.strip_prefix("http://").unwrap().parse().unwrap()
}

fn put(at: SocketAddr, id: &str) {
    let put = json!({"TableName": "notes", "Item": {"id": {"S": id}}});
    assert_eq!(operation(at, "PutItem", &put).status, 200);
}

fn count(at: SocketAddr) -> u64 {
    let scanned = operation(at, "Scan", &json!({"TableName": "notes", "Select": "COUNT"}));
    let scanned: Value = serde_json::from_str(scanned.text()).unwrap();
    scanned.get("Count").and_then(Value::as_u64).unwrap()
}

/// Whether nobody listens there any more, after a while.
fn is_gone(at: SocketAddr) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        if TcpStream::connect(at).is_err() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn a_fork_has_what_was_there_and_goes_its_own_way() {
    let server = server();
    put(server.addr(), "shared");
    let (one, two) = (fork(server.addr()), fork(server.addr()));
    put(one, "of one");
    put(server.addr(), "of the server");
    put(server.addr(), "another");
    let of_one = fork(one);
    assert_eq!((count(server.addr()), count(one), count(two), count(of_one)), (3, 2, 1, 2));
}

#[test]
fn a_fork_ends_when_it_is_deleted_and_with_its_origin() {
    let server = server();
    let (one, two) = (fork(server.addr()), fork(server.addr()));
    let of_two = fork(two);
    assert_eq!(Client::connect(one).ask(request("DELETE")).status, 200);
    assert!(is_gone(one));
    assert_eq!((count(two), count(server.addr())), (0, 0));
    server.shutdown();
    assert!(is_gone(two) && is_gone(of_two));
}

#[test]
fn a_server_that_is_no_fork_is_not_ended() {
    let server = server();
    let response = ask(&server, request("DELETE"));
    assert_eq!(response.status, 409);
    assert!(response.text().contains("not a fork"), "{}", response.text());
    assert_eq!(count(server.addr()), 0);
}

#[test]
fn what_cannot_be_forked_says_so() {
    let response = ask(&echo(), request("POST"));
    assert_eq!(response.status, 409);
    assert!(response.text().contains("serve --memory"), "{}", response.text());
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(config(), Database::open(folder.path()).unwrap()).unwrap();
    assert_eq!(ask(&server, request("POST")).status, 409);
}

#[test]
fn a_fork_needs_a_signature_where_the_server_does() {
    let credentials = vec![Credentials::new("key", "a secret that is long enough")];
    let config = Config { credentials, ..config() };
    let server = Server::start(config, Database::memory()).unwrap();
    for method in ["POST", "DELETE"] {
        assert_eq!(ask(&server, request(method)).status, 400);
    }
}
