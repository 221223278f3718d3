//! What the server tells of itself.

use keyloom_engine::Reply;
use keyloom_server::{Backend, Server};

use crate::client::{Client, ask, config, counter, post};

/// Throttles writes.
struct Throttling;

impl Backend for Throttling {
    fn call(&self, target: &str, body: &[u8]) -> Reply {
        if target.ends_with("PutItem") {
            let kind = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
            return Reply { status: 400, body: format!("{{\"__type\":\"{kind}\"}}").into_bytes() };
        }
        Reply { status: 200, body: body.to_vec() }
    }
}

#[test]
fn the_page_counts_what_happened() {
    let server = Server::start(config(), Throttling).unwrap();
    let mut client = Client::connect(server.addr());
    for _ in 0..3 {
        client.ask(post("GetItem", "{}"));
    }
    client.ask(post("PutItem", "{}"));
    for number in 0..200 {
        client.ask(post(&format!("Invented{number}"), "{}"));
    }
    let page = ask(&server, "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!(page.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = page.text();
    for line in [
        "keyloom_requests_total{operation=\"GetItem\",status=\"200\"} 3",
        "keyloom_requests_total{operation=\"PutItem\",status=\"400\"} 1",
        "keyloom_requests_total{operation=\"Unknown\",status=\"200\"} 200",
        "keyloom_request_duration_seconds_count{operation=\"GetItem\"} 3",
        "keyloom_throttled_requests_total 1",
        "keyloom_connections_total 2",
        "keyloom_connections 2",
        "keyloom_requests_in_flight 0",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} in\n{text}");
    }
    assert!(counter(&server, "keyloom_received_bytes_total ") > 204 * 100);
    assert!(counter(&server, "keyloom_sent_bytes_total ") > 204 * 100);
    assert!(!text.contains("Invented"), "no client can add a row");
}
