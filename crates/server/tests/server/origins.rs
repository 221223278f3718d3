//! Web pages: allowed origins and hosts. The behaviour of a real browser is tested in
//! `crates/testkit/tests/server/browser.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use http_body_util::{BodyExt, Full};
use hyper::Request;
use keyloom_engine::Reply;
use keyloom_server::{Backend, Config, Cors, Credentials, RunningServer, Server};
use tokio::net::TcpStream;

use crate::client::{Response, ask, config, echo, post};

/// Counts executed requests.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Backend for Counting {
    fn call(&self, _target: &str, body: &[u8]) -> Reply {
        self.0.fetch_add(1, Relaxed);
        Reply { status: 200, body: body.to_vec() }
    }

    fn statistics(&self, _with_heat: bool) -> Option<String> {
        self.0.fetch_add(1, Relaxed);
        Some("{}".to_owned())
    }
}

/// A request with one more header.
fn with(request: &str, header: &str) -> String {
    request.replacen("\r\n", &format!("\r\n{header}\r\n"), 1)
}

const PREFLIGHT: &str = "OPTIONS / HTTP/1.1\r\nhost: localhost\r\n\
    access-control-request-headers: x-amz-target, x-y\r\naccess-control-request-method: POST\r\n\
    access-control-request-private-network: true\r\n\r\n";
const STATS: &str = "GET /keyloom/stats HTTP/1.1\r\nhost: localhost\r\n\r\n";
const METRICS: &str = "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n";

#[test]
fn loopback_origins_are_allowed() {
    let server = echo();
    for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:9"] {
        let header = format!("origin: {origin}");
        let preflight = ask(&server, with(PREFLIGHT, &header));
        assert_eq!((preflight.status, preflight.text()), (200, ""));
        for (name, value) in [
            ("access-control-allow-origin", origin),
            ("access-control-allow-headers", "x-amz-target, x-y"),
            ("access-control-allow-methods", "POST"),
            ("access-control-allow-private-network", "true"),
            ("access-control-max-age", "172800"),
            ("vary", "origin"),
            ("content-length", "0"),
        ] {
            assert_eq!(preflight.header(name), Some(value), "{name}");
        }
        let response = ask(&server, with(&post("GetItem", "{}"), &header));
        assert_eq!((response.status, response.text()), (200, "{}"));
        assert_eq!(response.header("access-control-allow-origin"), Some(origin));
        let exposed = response.header("access-control-expose-headers").unwrap();
        for name in ["x-amzn-requestid", "x-amzn-query-error", "smithy-protocol"] {
            assert!(exposed.split(',').any(|other| other == name), "{name} in {exposed}");
        }
    }
    let other = ask(&server, post("GetItem", "{}"));
    assert_eq!(other.header("access-control-allow-origin"), None);
}

fn is_refused(response: &Response, said: &str) {
    assert_eq!(response.status, 403, "{}", response.text());
    assert_eq!(response.error(), "com.amazon.coral.service#AccessDeniedException");
    assert!(response.text().contains(said), "{}", response.text());
    assert_eq!(response.header("access-control-allow-origin"), None);
}

#[test]
fn other_origins_are_refused_before_execution() {
    let counting = Arc::new(Counting::default());
    let server = Server::start(config(), Arc::clone(&counting)).unwrap();
    // Including the kinds of request that browsers send without a preflight.
    let plain = post("PutItem", "{}").replace("application/x-amz-json-1.0", "text/plain");
    let form = post("PutItem", "a=b")
        .replace("application/x-amz-json-1.0", "application/x-www-form-urlencoded");
    let bare = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n".to_owned();
    let cbor = "POST /service/GraniteServiceVersion20100801/operation/DescribeInsightRules \
                HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
    for request in [
        &post("PutItem", "{}"),
        &post("Scan", "{}"),
        &plain,
        &form,
        &bare,
        cbor,
        PREFLIGHT,
        STATS,
        METRICS,
    ] {
        for origin in ["http://evil.test", "null", "http://localhost.evil.test:8000"] {
            let response = ask(&server, with(request, &format!("origin: {origin}")));
            is_refused(&response, &format!("--cors {origin}"));
        }
    }
    assert_eq!(counting.0.load(Relaxed), 0);
    assert!(ask(&server, METRICS).text().contains("keyloom_refused_pages_total 27"));
}

#[test]
fn further_origins_are_allowed_by_name() {
    let start = |origins: &[&str]| {
        let cors = Cors::of(origins.iter().copied()).unwrap();
        Server::start(Config { cors, ..config() }, Arc::new(Counting::default())).unwrap()
    };
    let shown = |server: &RunningServer, request: &str, origin: &str| {
        let response = ask(server, with(request, &format!("origin: {origin}")));
        response.header("access-control-allow-origin").map(str::to_owned)
    };
    let some = start(&["https://app.example.com", "null"]);
    let any = start(&["*"]);
    for request in [&post("GetItem", "{}"), PREFLIGHT, STATS, METRICS] {
        for origin in ["https://app.example.com", "null", "http://localhost:1"] {
            assert_eq!(shown(&some, request, origin).as_deref(), Some(origin));
            assert_eq!(shown(&any, request, origin).as_deref(), Some("*"));
        }
        assert_eq!(shown(&some, request, "https://other.example.com"), None);
    }
}

/// With credentials a page can do nothing without a signature, and foreign origins can read
/// nothing.
#[test]
fn with_credentials_signatures_decide() {
    let credentials = vec![Credentials::new("AKIDEXAMPLE", "a secret of more than sixteen")];
    let server = Server::start(Config { credentials, ..config() }, crate::client::Echo).unwrap();
    let named = post("GetItem", "{}").replace("host: localhost", "host: db.example.com");
    let response = ask(&server, with(&named, "origin: http://evil.test"));
    assert_eq!(response.status, 400);
    assert!(response.error().ends_with("MissingAuthenticationTokenException"));
    assert_eq!(response.header("access-control-allow-origin"), None);
}

#[test]
fn other_hosts_are_refused_unless_they_are_advertised() {
    let counting = Arc::new(Counting::default());
    let advertised = vec!["db.example.com:443".to_owned()];
    let config = Config { advertised, ..config() };
    let server = Server::start(config, Arc::clone(&counting)).unwrap();
    let to =
        |host: &str| post("PutItem", "{}").replace("host: localhost", &format!("host: {host}"));
    let absolute = |uri: &str, host: &str| to(host).replace("POST /", &format!("POST {uri}"));
    for request in [
        to("evil.test"),
        to("evil.test:8000"),
        to(""),
        absolute("http://evil.test/", "localhost"),
        absolute("http://localhost/", "evil.test"),
        STATS.replace("host: localhost", "host: evil.test"),
        METRICS.replace("host: localhost", "host: evil.test"),
    ] {
        is_refused(&ask(&server, request), "--advertise HOST:PORT");
    }
    assert_eq!(counting.0.load(Relaxed), 0);
    let without = post("PutItem", "{}").replace("host: localhost\r\n", "");
    assert_eq!(ask(&server, &without).status, 400);
    let twice = with(&post("PutItem", "{}"), "host: localhost");
    assert_eq!(ask(&server, twice).status, 400);
    assert_eq!(counting.0.load(Relaxed), 0);
    for request in [
        to("localhost:1"),
        to("a.localhost"),
        to("127.1.2.3"),
        to("[::1]:8000"),
        to("DB.example.com"),
        to("db.example.com:443"),
        absolute("http://localhost/", "localhost"),
        without.replace("HTTP/1.1", "HTTP/1.0"),
    ] {
        assert_eq!(ask(&server, &request).status, 200, "{request}");
    }
}

/// HTTP/2 has the host in its URI.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn hosts_of_http2_are_checked_too() {
    let server = echo();
    let sender = crate::http2::over(TcpStream::connect(server.addr()).await.unwrap()).await;
    for (uri, status) in [("http://localhost/health", 200), ("http://evil.test/health", 403)] {
        let request = Request::get(uri).body(Full::default()).unwrap();
        let response = sender.clone().send_request(request).await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{uri}");
        response.into_body().collect().await.unwrap();
    }
}
