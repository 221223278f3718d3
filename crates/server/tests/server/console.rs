//! The console's pages and the routes of its API.

use std::io::{ErrorKind, Read as _, Write};
use std::net::TcpStream;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use keyloom_engine::{ManualClock, Reply};
use keyloom_server::{
    Backend, Config, Console, ConsoleBody, ConsoleOptions, ConsoleQuestion, ConsoleReply,
    ConsoleRequest, Credentials, RunningServer, Server,
};

use crate::client::{Gate, Response, ask, config, echo, post};

const NOW_MS: u64 = 1_793_534_400_000;

/// Answers with what it was asked.
struct Pages;

impl Backend for Pages {
    fn call(&self, _target: &str, body: &[u8]) -> Reply {
        Reply { status: 200, body: body.to_vec() }
    }

    fn console(&self) -> Option<&dyn Console> {
        Some(self)
    }
}

impl Console for Pages {
    fn info(&self) -> serde_json::Value {
        serde_json::json!({ "designs": ["shop"] })
    }

    fn answer(&self, request: &ConsoleRequest<'_>) -> ConsoleReply {
        if request.parameter("table").as_deref() == Some("ill") {
            let write = |out: &mut dyn Write| {
                out.write_all(&vec![b'x'; 300_000])?;
                Err(std::io::Error::other("the table is ill"))
            };
            let body = ConsoleBody::Streamed(Box::new(write));
            return ConsoleReply { status: 200, content_type: "text/csv", body };
        }
        if request.question == ConsoleQuestion::Dump {
            return ConsoleReply {
                status: 200,
                content_type: "text/csv",
                body: ConsoleBody::Whole(vec![b'x'; 10_000]),
            };
        }
        ConsoleReply::json(&serde_json::json!({
            "question": format!("{:?}", request.question),
            "name": request.name,
            "table": request.parameter("table"),
            "body": String::from_utf8_lossy(request.body),
        }))
    }
}

/// Says of itself only what it waits for.
struct Waiting(Arc<Gate>);

impl Backend for Waiting {
    fn call(&self, _target: &str, body: &[u8]) -> Reply {
        Reply { status: 200, body: body.to_vec() }
    }

    fn console(&self) -> Option<&dyn Console> {
        Some(self)
    }
}

impl Console for Waiting {
    fn info(&self) -> serde_json::Value {
        serde_json::from_slice(&self.0.call("", b"").body).unwrap()
    }

    fn answer(&self, _request: &ConsoleRequest<'_>) -> ConsoleReply {
        ConsoleReply::error(404, "NotFound", "")
    }
}

/// Reads for ever before it has anything to write; says when it stops.
struct Endless(mpsc::Sender<ErrorKind>);

impl Backend for Endless {
    fn call(&self, _target: &str, body: &[u8]) -> Reply {
        Reply { status: 200, body: body.to_vec() }
    }

    fn console(&self) -> Option<&dyn Console> {
        Some(self)
    }
}

impl Console for Endless {
    fn info(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn answer(&self, _request: &ConsoleRequest<'_>) -> ConsoleReply {
        let ends = self.0.clone();
        let write = move |out: &mut dyn Write| loop {
            if let Err(error) = out.flush() {
                ends.send(error.kind()).unwrap();
                return Err(error);
            }
            thread::sleep(Duration::from_millis(5));
        };
        let body = ConsoleBody::Streamed(Box::new(write));
        ConsoleReply { status: 200, content_type: "text/csv", body }
    }
}

fn serve(options: ConsoleOptions) -> RunningServer {
    Server::start(Config { console: options, ..config() }, Pages).unwrap()
}

fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn get(server: &RunningServer, path: &str) -> Response {
    ask(server, request("GET", path, "", ""))
}

#[test]
fn the_page_is_served_with_a_strict_policy_and_needs_no_backend() {
    let server = echo();
    let page = get(&server, "/keyloom/");
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
    assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"));
    let moved = get(&server, "/keyloom");
    assert_eq!((moved.status, moved.header("location")), (308, Some("/keyloom/")));
    assert_eq!(get(&server, "/keyloom/api/info").status, 200);
    assert_eq!(get(&server, "/keyloom/api/heat").status, 404);
    for path in ["/keyloom/nothing", "/keyloom/assets/none.js", "/keyloom/../etc/passwd"] {
        assert_eq!(get(&server, path).status, 404, "{path}");
    }
    assert_eq!(ask(&server, request("DELETE", "/keyloom/", "", "")).status, 404);
}

/// Every file that the page names is there, fixed for ever, and the same packed and plain.
#[test]
fn the_files_of_the_page_are_there() {
    let server = echo();
    let page = get(&server, "/keyloom/");
    let names: Vec<&str> =
        page.text().split('"').filter(|part| part.starts_with("assets/")).collect();
    for name in &names {
        let path = format!("/keyloom/{name}");
        let plain = get(&server, &path);
        let packed = ask(&server, request("GET", &path, "accept-encoding: gzip\r\n", ""));
        assert_eq!((plain.status, packed.status), (200, 200), "{name}");
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{name}");
        assert!(plain.header("cache-control").unwrap().contains("immutable"), "{name}");
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&*packed.body).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == plain.body, "{name}");
    }
}

#[test]
fn questions_reach_the_console_with_their_names_and_parameters() {
    let server = serve(ConsoleOptions::default());
    let asked = get(&server, "/keyloom/api/designs/a%20b");
    assert_eq!(asked.text(), r#"{"body":"","name":"a b","question":"Design","table":null}"#);
    assert_eq!(asked.header("cache-control"), Some("no-store"));
    let asked = get(&server, "/keyloom/api/heat?table=x%26y&what=reads");
    assert!(asked.text().contains(r#""table":"x&y""#), "{}", asked.text());
    let asked = ask(&server, request("POST", "/keyloom/api/designs/s/run", "", "{}"));
    assert!(asked.text().contains(r#""body":"{}""#) && asked.text().contains("Run"));
    let packed = request("GET", "/keyloom/api/dump", "accept-encoding: gzip\r\n", "");
    let packed = ask(&server, packed);
    assert_eq!(packed.header("content-type"), Some("text/csv"));
    assert!(packed.body.len() < 1000 && packed.header("content-encoding") == Some("gzip"));
    let unknown = get(&server, "/keyloom/api/everything");
    assert_eq!(unknown.status, 404);
    assert!(unknown.text().starts_with(r#"{"error":"NotFound","message":"#));
    assert!(get(&server, "/keyloom/api/info").text().contains(r#""designs":["shop"]"#));
}

/// What a page asks first may wait for a store or a server that hangs; nothing else waits with it.
#[test]
fn a_page_that_opens_while_the_store_hangs_stops_nothing_else() {
    let (gate, called, open) = Gate::new();
    let one_thread = Config { workers: Some(1), ..config() };
    let server = Server::start(one_thread, Waiting(gate)).unwrap();
    thread::scope(|scope| {
        let info = scope.spawn(|| get(&server, "/keyloom/api/info"));
        called.recv().unwrap();
        // Without a thread for it, this has no answer until the gate gives up.
        assert_eq!(get(&server, "/health").status, 200);
        open.send(()).unwrap();
        assert!(info.join().unwrap().text().contains(r#""waited":true"#));
    });
}

#[test]
fn a_console_that_is_off_is_not_found() {
    let server = serve(ConsoleOptions { is_off: true, ..ConsoleOptions::default() });
    for path in ["/keyloom/", "/keyloom", "/keyloom/api/info", "/keyloom/api/heat"] {
        assert_eq!(get(&server, path).status, 404, "{path}");
    }
}

/// Other pages on this machine have an origin that is allowed; without the token they get nowhere.
#[test]
fn with_a_token_nothing_is_answered_without_it() {
    let token = Some("0123456789abcdef".to_owned());
    let server = serve(ConsoleOptions { token, ..ConsoleOptions::default() });
    assert_eq!(get(&server, "/keyloom/").status, 200, "the files hold no data");
    let info = get(&server, "/keyloom/api/info");
    assert!(!info.text().contains("shop") && info.text().contains(r#""signing":"proxy""#));
    let operation =
        |header: &str| post("GetItem", "{}").replacen("\r\n", &format!("\r\n{header}"), 1);
    for header in ["", "x-keyloom-console: 0123456789abcdee\r\n", "x-keyloom-console: \r\n"] {
        for path in ["/keyloom/api/heat", "/keyloom/stats", "/metrics"] {
            assert!(
                ask(&server, request("GET", path, header, "")).status >= 400,
                "{path} {header}"
            );
        }
        assert_eq!(
            ask(&server, operation(header)).error().rsplit('#').next(),
            Some("UnrecognizedClientException")
        );
    }
    let right = "x-keyloom-console: 0123456789abcdef\r\n";
    assert_eq!(ask(&server, request("GET", "/keyloom/api/heat", right, "")).status, 200);
    assert_eq!(ask(&server, operation(right)).text(), "{}");
    assert!(ask(&server, request("GET", "/keyloom/api/info", right, "")).text().contains("shop"));
}

#[test]
fn a_read_only_console_may_not_write_and_programs_may() {
    let server = serve(ConsoleOptions { is_read_only: true, ..ConsoleOptions::default() });
    let operation = |name: &str, body: &str, header: &str| {
        ask(&server, post(name, body).replacen("\r\n", &format!("\r\n{header}"), 1))
    };
    let page = "x-keyloom-console: page\r\n";
    assert_eq!(operation("GetItem", "{}", page).status, 200);
    assert_eq!(operation("PutItem", "{}", "").status, 200);
    let select = r#"{"Statement":"SELECT * FROM t"}"#;
    let delete = r#"{"Statement":"DELETE FROM t WHERE a=1"}"#;
    assert_eq!(operation("ExecuteStatement", select, page).status, 200);
    for (name, body) in [("PutItem", "{}"), ("DeleteTable", "{}"), ("ExecuteStatement", delete)] {
        let refused = operation(name, body, page);
        assert!(refused.text().contains("read-only"), "{name}: {}", refused.text());
    }
    for (method, path) in [("PUT", "/keyloom/api/designs/s"), ("POST", "/keyloom/api/load")] {
        let refused = ask(&server, request(method, path, page, "{}"));
        assert_eq!(refused.status, 403, "{path}");
        assert!(refused.text().contains("read-only"));
    }
    assert!(get(&server, "/keyloom/api/info").text().contains(r#""readOnly":true"#));
}

/// A page of another origin on this machine may use the database, and must not write files.
#[test]
fn only_own_pages_write_design_files() {
    let server = serve(ConsoleOptions::default());
    let save = |origin: &str| {
        let headers = format!("origin: {origin}\r\n");
        ask(&server, request("PUT", "/keyloom/api/designs/s", &headers, "{}")).status
    };
    assert_eq!(save("http://localhost"), 200);
    assert_eq!(ask(&server, request("PUT", "/keyloom/api/designs/s", "", "{}")).status, 200);
    for origin in ["http://localhost:3000", "http://127.0.0.1", "null", "http://evil.test"] {
        assert_eq!(save(origin), 403, "{origin}");
    }
    let read = request("GET", "/keyloom/api/designs/s", "origin: http://localhost:3000\r\n", "");
    assert_eq!(ask(&server, read).status, 200);
}

#[test]
fn with_credentials_the_api_needs_a_signature_and_the_files_do_not() {
    let credentials = Credentials::new("AKID", "a secret of some length");
    let signed = Config {
        credentials: vec![credentials.clone()],
        clock: Arc::new(ManualClock::at_ms(NOW_MS)),
        ..config()
    };
    let server = Server::start(signed, Pages).unwrap();
    assert_eq!(get(&server, "/keyloom/").status, 200);
    let info = get(&server, "/keyloom/api/info");
    assert!(info.text().contains(r#""signing":"required""#) && !info.text().contains("shop"));
    let refused = get(&server, "/keyloom/api/heat");
    assert!(refused.status == 400 || refused.status == 403, "{}", refused.status);
    assert!(
        refused.text().starts_with(r#"{"error":"MissingAuthenticationToken"#),
        "{}",
        refused.text()
    );
    let signed = |method: &str, path: &str, body: &str, secret: &Credentials| {
        let headers =
            secret.sign((method, path), "us-east-1", "localhost", body.as_bytes(), NOW_MS);
        let headers = headers.map(|(name, value)| format!("{name}: {value}\r\n")).concat();
        ask(&server, request(method, path, &headers, body))
    };
    assert_eq!(signed("GET", "/keyloom/api/heat", "", &credentials).status, 200);
    assert!(signed("GET", "/keyloom/api/info", "", &credentials).text().contains("shop"));
    assert_eq!(signed("POST", "/keyloom/api/simulate", "{}", &credentials).status, 200);
    let wrong = Credentials::new("AKID", "another secret of length");
    assert!(signed("POST", "/keyloom/api/simulate", "{}", &wrong).status >= 400);
    assert!(!signed("GET", "/keyloom/api/info", "", &wrong).text().contains("shop"));
}

/// What a body makes the server hold is reserved, and too much of it is refused.
#[test]
fn a_body_over_the_limit_is_refused_by_its_length() {
    let server = serve(ConsoleOptions::default());
    let head = "POST /keyloom/api/load HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999\r\n\
                expect: 100-continue\r\n\r\n";
    let refused = ask(&server, head);
    assert_eq!(refused.status, 413, "{}", refused.text());
}

/// Nobody may take the beginning of an export for the whole.
#[test]
fn an_export_that_fails_on_the_way_has_no_end() {
    let server = serve(ConsoleOptions::default());
    let mut socket = TcpStream::connect(server.addr()).unwrap();
    let asked = request("GET", "/keyloom/api/dump?table=ill", "", "");
    socket.write_all(asked.as_bytes()).unwrap();
    let mut answer = Vec::new();
    drop(socket.read_to_end(&mut answer));
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("transfer-encoding: chunked"));
    assert!(answer.len() > 250_000 && !answer.ends_with("0\r\n\r\n"));
    assert_eq!(get(&server, "/keyloom/api/dump").status, 200);
}

/// The columns of CSV are those of all items: a whole table is read before the first byte. Over HTTP/1.1 a client that has gone
/// cannot be told from one that has only sent all it has to say.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_export_that_is_cancelled_before_its_first_byte_stops() {
    let (ends, end) = mpsc::channel();
    let server = Server::start(config(), Endless(ends)).unwrap();
    let stream = tokio::net::TcpStream::connect(server.addr()).await.unwrap();
    let asked = hyper::Request::get("http://localhost/keyloom/api/dump");
    let asked = asked.body(http_body_util::Full::default()).unwrap();
    let response = crate::http2::over(stream).await.send_request(asked).await.unwrap();
    assert_eq!(response.status(), 200);
    drop(response);
    let stopped = tokio::task::spawn_blocking(move || end.recv_timeout(Duration::from_secs(10)));
    assert_eq!(stopped.await.unwrap(), Ok(ErrorKind::BrokenPipe));
}
