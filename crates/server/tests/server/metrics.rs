//! The metrics page.

use keyloom_engine::{Clock as _, Reply, SystemClock};
use keyloom_server::{Backend, Config, Credentials, Server};

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
fn the_page_counts_requests() {
    let server = Server::start(config(), Throttling).unwrap();
    let mut client = Client::connect(server.addr());
    for _ in 0..3 {
        client.ask(post("GetItem", "{}"));
    }
    client.ask(post("PutItem", "{}"));
    for number in 0..200 {
        client.ask(post(&format!("Invented{number}"), "{}"));
    }
    let page = ask(&server, "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n");
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

const METRICS: &str = "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n";

#[test]
fn with_credentials_the_page_needs_a_signature() {
    let credentials = Credentials::new("AKIDEXAMPLE", "a secret of more than sixteen");
    let config = Config { credentials: vec![credentials.clone()], ..config() };
    let server = Server::start(config, Throttling).unwrap();
    let refused = ask(&server, METRICS);
    assert_eq!(refused.status, 400);
    assert!(refused.error().ends_with("MissingAuthenticationTokenException"));
    let headers = credentials.sign_get("us-east-1", "localhost", "/metrics", SystemClock.now_ms());
    let [(date, at), (authorization, claim)] = headers;
    let headers = format!("\r\n{date}: {at}\r\n{authorization}: {claim}");
    let signed = METRICS.replace("\r\nhost", &format!("{headers}\r\nhost"));
    let page = ask(&server, signed);
    assert_eq!(page.status, 200, "{}", page.text());
    assert!(page.text().contains("keyloom_connections "));
}

#[test]
fn metrics_may_have_a_separate_address() {
    let config = Config {
        credentials: vec![Credentials::new("AKIDEXAMPLE", "a secret of more than sixteen")],
        metrics_address: Some(([127, 0, 0, 1], 0).into()),
        ..config()
    };
    let server = Server::start(config, Throttling).unwrap();
    let metrics = |request: &str| Client::connect(server.metrics_addr().unwrap()).ask(request);
    let page = metrics(METRICS);
    assert_eq!(page.status, 200);
    assert!(page.text().contains("keyloom_store_writable 1"), "{}", page.text());
    assert_eq!(metrics(&METRICS.replace("/metrics", "/health")).text(), "ok\n");
    // Nothing else is served there, and origin checks apply as at the endpoint.
    assert_eq!(metrics(&post("GetItem", "{}")).status, 404);
    for path in ["/", "/keyloom/stats"] {
        assert_eq!(metrics(&METRICS.replace("/metrics", path)).status, 404, "{path}");
    }
    assert_eq!(metrics(&METRICS.replace("localhost", "evil.test")).status, 403);
    assert_eq!(metrics(&METRICS.replace("\r\nhost", "\r\norigin: http://a.b\r\nhost")).status, 403);
    assert_eq!(ask(&server, METRICS).status, 400);
}
