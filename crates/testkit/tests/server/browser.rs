//! Web pages in a real browser (Chromium) against the server: those of this machine may ask, strange ones
//! can neither read nor write, whatever kind of request they choose and whatever name they give the
//! server.
//!
//! `scripts/setup-clients` installs the browser; with `KEYLOOM_REQUIRE_CLIENTS=1`, as in CI, a missing one
//! fails the test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use keyloom_engine::Database;
use keyloom_server::{Config, Cors, RunningServer, Server, StartError};
use keyloom_testkit::lockstep::succeed;
use serde_json::{Value, json};

use crate::clients::skip;

/// What a page tries. Each attempt reports what the page could see of it.
const SCRIPT: &str = r"
const report = (name, seen) => fetch(`http://127.0.0.1:${reports}/report`,
    {method: 'POST', mode: 'no-cors', body: JSON.stringify({name, seen})});
const attempt = async (name, asked) => {
    try {
        const response = await asked();
        await report(name, response.type == 'opaque' ? 'opaque'
            : `${response.status} ${await response.text()}`);
    } catch (error) { await report(name, `blocked`); }
};
const put = id => JSON.stringify({TableName: 'tab', Item: {id: {S: id}}});
const amz = (target, body, more) => ({method: 'POST', body, ...more,
    headers: {'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `DynamoDB_20120810.${target}`}});
const all = async server => {
    await attempt('list', () => fetch(server, amz('ListTables', '{}')));
    await attempt('write', () => fetch(server, amz('PutItem', put('fetch'))));
    await attempt('plain', () => fetch(server, {method: 'POST', mode: 'no-cors', body: put('plain')}));
    await attempt('form', () => fetch(server, {method: 'POST', mode: 'no-cors',
        body: new URLSearchParams({Action: 'DescribeInsightRules', Version: '2010-08-01'})}));
    await attempt('beacon', async () => { navigator.sendBeacon(server, put('beacon')); return new Response('sent'); });
    await attempt('stats', () => fetch(server + 'keyloom/stats'));
    await attempt('metrics', () => fetch(server + 'metrics'));
    await attempt('health', () => fetch(server + 'health'));
    await report('end', '');
};
";

/// A server of pages, which also takes what they report.
struct Pages {
    address: SocketAddr,
}

impl Pages {
    /// Serves a page that runs a script; what it reports arrives at `reports`, and `asked` is called when
    /// it asks for that.
    fn serve(
        listener: TcpListener,
        script: String,
        reports: Sender<(String, String)>,
        mut asked: impl FnMut() + Send + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                // Browsers open connections that they may never use.
                stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
                let Ok((path, body)) = request_of(&stream) else { continue };
                match path.as_str() {
                    "/report" => {
                        let report: Value = serde_json::from_str(&body).unwrap();
                        let text = |name: &str| report[name].as_str().unwrap().to_owned();
                        // The test may be over.
                        let _ = reports.send((text("name"), text("seen")));
                    }
                    "/ask" => asked(),
                    "/end" => return,
                    _ => {}
                }
                let page = format!("<!doctype html><script type=module>{script}</script>");
                answer(stream, if path == "/page" { &page } else { "" });
            }
        });
        Self { address }
    }
}

fn request_of(stream: &TcpStream) -> std::io::Result<(String, String)> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    while !line.trim().is_empty() {
        line.clear();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((path, String::from_utf8(body).unwrap()))
}

fn answer(mut stream: TcpStream, page: &str) {
    let length = page.len();
    // The browser may have gone.
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{page}"
    );
}

/// A browser with a profile of its own; it ends with the test.
struct Browser {
    process: Child,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Opens a page; none if there is no browser. Every name under `.test` is this machine.
    fn open(url: &str) -> Option<Self> {
        let profile = tempfile::tempdir().unwrap();
        let process = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--disable-dev-shm-usage", "--no-proxy-server"])
            .args(["--remote-debugging-port=0", "--host-resolver-rules=MAP *.test 127.0.0.1"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(url)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match process {
            Ok(process) => Some(Self { process, _profile: profile }),
            Err(error) => {
                skip(&format!("the browser Chromium cannot be started ({error})"));
                None
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn database() -> Database {
    let database = Database::memory();
    let table = json!({
        "TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    });
    succeed(&database, "CreateTable", &table);
    database
}

fn items(database: &Database) -> Value {
    succeed(database, "Scan", &json!({"TableName": "tab"}))["Items"].clone()
}

fn server(port: u16, cors: Cors, database: &Database) -> RunningServer {
    let config = Config { address: ([127, 0, 0, 1], port).into(), cors, ..Config::default() };
    // A port that was in use a moment ago may take a while to become free.
    let start = Instant::now();
    loop {
        match Server::start(config.clone(), database.clone()) {
            Ok(server) => return server,
            Err(StartError::AddressInUse(_)) if start.elapsed() < Duration::from_secs(20) => {
                sleep(Duration::from_millis(50));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn loopback() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// What a page saw of an attempt.
fn next(reports: &Receiver<(String, String)>) -> (String, String) {
    reports.recv_timeout(Duration::from_mins(1)).expect("the page reports")
}

/// What a page of this host saw of all attempts; none if there is no browser.
fn attempts(host: &str, server: &RunningServer) -> Option<Vec<(String, String)>> {
    let (sender, reports) = channel();
    let listener = loopback();
    let port = listener.local_addr().unwrap().port();
    let url = format!("http://{}/", server.addr());
    let script = format!("const reports = {port}; {SCRIPT} all('{url}');");
    let pages = Pages::serve(listener, script, sender, || ());
    let _browser = Browser::open(&format!("http://{host}:{}/page", pages.address.port()))?;
    let mut seen = Vec::new();
    loop {
        let (name, what) = next(&reports);
        if name == "end" {
            let short = |(name, what): &(String, String)| format!("{name} {:.20}", what.trim());
            println!("a page of {host} saw: {:?}", seen.iter().map(short).collect::<Vec<_>>());
            return Some(seen);
        }
        seen.push((name, what));
    }
}

fn saw<'s>(seen: &'s [(String, String)], name: &str) -> &'s str {
    let found = seen.iter().find(|(other, _)| other == name);
    found.map_or_else(|| panic!("no {name} in {seen:?}"), |(_, what)| what.as_str())
}

fn is_let_in(seen: &[(String, String)], database: &Database) {
    assert_eq!(saw(seen, "list"), "200 {\"TableNames\":[\"tab\"]}");
    assert_eq!(saw(seen, "write"), "200 {}");
    assert_eq!(saw(seen, "health"), "200 ok\n");
    assert!(saw(seen, "metrics").starts_with("200 "));
    assert_eq!(items(database), json!([{"id": {"S": "fetch"}}]));
}

#[test]
fn a_page_of_this_machine_reads_and_writes() {
    let database = database();
    let server = server(0, Cors::default(), &database);
    for host in ["127.0.0.1", "localhost"] {
        let Some(seen) = attempts(host, &server) else { return };
        is_let_in(&seen, &database);
    }
}

#[test]
fn a_page_of_another_origin_neither_reads_nor_writes() {
    let database = database();
    let server = server(0, Cors::default(), &database);
    let Some(seen) = attempts("evil.test", &server) else { return };
    for name in ["list", "write", "stats", "metrics", "health"] {
        assert_eq!(saw(&seen, name), "blocked", "{name}");
    }
    // What a browser sends without asking is not shown, and has done nothing.
    assert_eq!((saw(&seen, "plain"), saw(&seen, "form")), ("opaque", "opaque"));
    assert_eq!(items(&database), json!([]));
}

#[test]
fn a_page_of_an_origin_that_is_allowed_reads_and_writes() {
    let database = database();
    let server = server(0, Cors::of(["*"]).unwrap(), &database);
    let Some(seen) = attempts("app.test", &server) else { return };
    is_let_in(&seen, &database);
}

/// DNS rebinding: the page's own name and port lead to the server, so that to the browser they are of one
/// origin.
#[test]
fn a_page_that_gives_the_server_its_own_name_is_refused() {
    let (database, (sender, reports)) = (database(), channel());
    let (swapped, swap) = channel();
    // Reports go elsewhere, and so does the sign that the page has loaded.
    let elsewhere = Pages::serve(loopback(), String::new(), sender.clone(), move || {
        swapped.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(500));
    });
    let script = format!(
        "const reports = {}; {SCRIPT}
         await fetch(`http://127.0.0.1:${{reports}}/ask`, {{mode: 'no-cors'}});
         for (let tries = 0; tries < 300; tries++) {{
             try {{ await fetch('/health'); break; }}
             catch (error) {{ await new Promise(resolve => setTimeout(resolve, 100)); }}
         }}
         all(location.origin + '/');",
        elsewhere.address.port()
    );
    let pages = Pages::serve(loopback(), script, sender, || ());
    let port = pages.address.port();
    let Some(_browser) = Browser::open(&format!("http://evil.test:{port}/page")) else { return };
    swap.recv_timeout(Duration::from_mins(1)).expect("the page has loaded");
    // The page's server ends, and ours takes its port.
    write!(TcpStream::connect(pages.address).unwrap(), "GET /end HTTP/1.1\r\n\r\n").unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let _server = server(port, Cors::default(), &database);
    loop {
        let (name, seen) = next(&reports);
        println!("a page that gives the server its name saw: {name} {seen:.20}");
        match name.as_str() {
            "end" => break,
            "beacon" => {}
            // The browser shows it everything, so that it sees the refusal.
            _ => assert!(
                seen == "opaque" || seen.starts_with("403") && seen.contains("--advertise"),
                "{name}: {seen}"
            ),
        }
    }
    assert_eq!(items(&database), json!([]));
}
