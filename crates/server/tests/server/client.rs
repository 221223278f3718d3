//! A raw-bytes HTTP client, and test doubles of the backend.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom_engine::Reply;
use keyloom_server::{Backend, Config, Limits, RunningServer, Server};

/// Responds 200 with the request's body.
pub(crate) struct Echo;

impl Backend for Echo {
    fn call(&self, _target: &str, body: &[u8]) -> Reply {
        Reply { status: 200, body: body.to_vec() }
    }
}

/// Blocks each call until released; signals when it was called.
pub(crate) struct Gate {
    called: Mutex<Sender<()>>,
    go: Mutex<Receiver<()>>,
}

impl Gate {
    /// The gate, a signal per call, and the release.
    pub(crate) fn new() -> (Arc<Self>, Receiver<()>, Sender<()>) {
        let ((called, sees_call), (opens, go)) = (channel(), channel());
        let gate = Self { called: Mutex::new(called), go: Mutex::new(go) };
        (Arc::new(gate), sees_call, opens)
    }
}

impl Backend for Gate {
    fn call(&self, _target: &str, _body: &[u8]) -> Reply {
        self.called.lock().unwrap().send(()).unwrap();
        self.go.lock().unwrap().recv_timeout(Duration::from_secs(10)).unwrap();
        Reply { status: 200, body: b"{\"waited\":true}".to_vec() }
    }
}

/// A configuration on any free port.
pub(crate) fn config() -> Config {
    Config { address: ([127, 0, 0, 1], 0).into(), workers: Some(2), ..Config::default() }
}

/// A configuration with short timeouts.
pub(crate) fn hasty() -> Config {
    let limits = Limits {
        header_timeout: Duration::from_millis(100),
        body_timeout: Duration::from_millis(100),
        write_timeout: Duration::from_millis(100),
        idle_timeout: Duration::from_millis(300),
        handshake_timeout: Duration::from_millis(100),
        ..Limits::default()
    };
    Config { limits, ..config() }
}

/// A server that echoes.
pub(crate) fn echo() -> RunningServer {
    Server::start(config(), Echo).unwrap()
}

/// A POST with a target and the length of its body.
pub(crate) fn post(target: &str, body: &str) -> String {
    format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\nx-amz-target: DynamoDB_20120810.{target}\r\n\
         content-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A response as received.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The error type; panics unless the body is a JSON error.
    pub(crate) fn error(&self) -> String {
        let text = self.text();
        let kind = text.strip_prefix("{\"__type\":\"").and_then(|rest| rest.split('"').next());
        kind.unwrap_or_else(|| panic!("not an error: {text}")).to_owned()
    }
}

/// One connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).unwrap())
    }

    pub(crate) fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    pub(crate) fn ask(&mut self, request: impl AsRef<[u8]>) -> Response {
        self.send(request);
        self.receive()
    }

    pub(crate) fn receive(&mut self) -> Response {
        self.try_receive(true).expect("a response")
    }

    /// The response to a HEAD, whose length is that of a body that is not sent.
    pub(crate) fn receive_head(&mut self) -> Response {
        self.try_receive(false).expect("a response")
    }

    /// Reads one response; `None` if the server closed the connection.
    pub(crate) fn try_receive(&mut self, with_body: bool) -> Option<Response> {
        let line = self.line()?;
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        while let Some(line) = self.line().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap();
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut response = Response { status, headers, body: Vec::new() };
        let length = response.header("content-length").map_or(0, |text| text.parse().unwrap());
        if with_body {
            response.body.resize(length, 0);
            self.stream.read_exact(&mut response.body).unwrap();
        }
        Some(response)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        // A reset counts as a close.
        let read = self.stream.read_line(&mut line).unwrap_or(0);
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// Whether the server closed the connection without another byte.
    pub(crate) fn is_closed(&mut self) -> bool {
        match self.stream.read(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

/// One request on a new connection.
pub(crate) fn ask(server: &RunningServer, request: impl AsRef<[u8]>) -> Response {
    Client::connect(server.addr()).ask(request)
}

impl Client {
    /// The status of the response; `None` if nothing that looks like HTTP arrives.
    pub(crate) fn try_receive_raw_status(&mut self) -> Option<u16> {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        line.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()
    }
}

impl Client {
    /// The status of the response, if the server accepted the request.
    pub(crate) fn try_ask(&mut self, request: &str) -> Option<u16> {
        self.stream.get_mut().write_all(request.as_bytes()).ok()?;
        self.try_receive(true).map(|response| response.status)
    }
}

/// A value on the metrics page.
pub(crate) fn counter(server: &RunningServer, name: &str) -> u64 {
    let page = ask(server, "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let value = page.text().lines().find_map(|line| line.strip_prefix(name));
    value.unwrap_or_else(|| panic!("no {name}")).trim().parse().unwrap()
}
