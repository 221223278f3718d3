//! What the heat costs a server: its processor time per request, without that of the client.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keyloom_observe::{Sampling, StatsCollector};
use keyloom_server::{Config, RunningServer, Server};

use super::{heat_options, key, observed, quick};

const TURNS: usize = 301;
const REQUESTS: u32 = 400;

/// One connection to one server.
pub(super) struct Client {
    stream: TcpStream,
    _server: RunningServer,
    answer: Vec<u8>,
}

impl Client {
    pub(super) fn new(server: RunningServer) -> Self {
        let address: SocketAddr = server.addr();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, _server: server, answer: vec![0; 1 << 16] }
    }

    /// A request that is answered in one piece.
    pub(super) fn ask(&mut self, operation: &str, body: &str) {
        let request = format!(
            "POST / HTTP/1.1\r\nhost: localhost\r\nx-amz-target: DynamoDB_20120810.{operation}\r\n\
             content-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes()).unwrap();
        let read = self.stream.read(&mut self.answer).unwrap();
        assert!(self.answer.get(..read).unwrap().starts_with(b"HTTP/1.1 200"));
    }
}

/// Threads of this process, by number.
pub(super) struct Threads(BTreeSet<PathBuf>);

impl Threads {
    pub(super) fn all() -> Self {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        Self(tasks.map(|task| task.unwrap().path()).collect())
    }

    pub(super) fn without(self, others: &Self) -> Self {
        Self(self.0.difference(&others.0).cloned().collect())
    }

    fn this() -> PathBuf {
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        Path::new("/proc/self/task").join(link.file_name().unwrap())
    }

    pub(super) fn with_this(mut self) -> Self {
        self.0.insert(Self::this());
        self
    }

    pub(super) fn processor_time(&self) -> Duration {
        let time = |path: &PathBuf| {
            let text = std::fs::read_to_string(path.join("schedstat")).unwrap_or_default();
            text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0_u64)
        };
        Duration::from_nanos(self.0.iter().map(time).sum())
    }
}

/// Processor time of all threads of this process but this one.
fn processor_time() -> Duration {
    Threads::all().without(&Threads([Threads::this()].into())).processor_time()
}

/// One turn of requests: the time of the server's threads.
fn turn(client: &mut Client, operation: &str, bodies: &[String], start: usize) -> Duration {
    let before = processor_time();
    for body in bodies.iter().cycle().skip(start).take(REQUESTS as usize) {
        client.ask(operation, body);
    }
    processor_time().saturating_sub(before)
}

/// Compares a server with the heat to one without, where every request is looked at.
pub(super) fn heat() {
    let mut clients = heat_options(Sampling::All).map(|options| {
        let database = observed(&Arc::new(StatsCollector::new(options)));
        let address = ([127, 0, 0, 1], 0).into();
        let config = Config { address, workers: Some(1), ..Config::default() };
        Client::new(Server::start(config, database).unwrap())
    });
    let numbers = (0..5000_u32).map(|number| number * 7919 % super::KEYS);
    let with = |name: &str, item: &keyloom_core::Item| {
        let mut text = Vec::new();
        keyloom_core::json::write_item(item, &mut text);
        format!(r#"{{"TableName":"users","{name}":{}}}"#, String::from_utf8_lossy(&text))
    };
    let gets: Vec<String> = numbers.clone().map(|number| with("Key", &key(number))).collect();
    let puts: Vec<String> = numbers.map(|number| with("Item", &super::item(number))).collect();
    for (operation, bodies) in [("GetItem", gets), ("PutItem", puts)] {
        let mut times: [Vec<Duration>; 2] = Default::default();
        for number in 0..TURNS {
            for step in 0..2 {
                let side = (number + step) % 2;
                if let (Some(client), Some(times)) = (clients.get_mut(side), times.get_mut(side)) {
                    times.push(turn(client, operation, &bodies, number * 31));
                }
            }
        }
        let [off, on] = times.map(|mut times| quick(&mut times) * 1e6 / f64::from(REQUESTS));
        println!(
            "{:<27} {off:>6.2} µs without, {on:>6.2} µs with: {:+.2} %",
            format!("heat, server, few {operation}"),
            (on / off - 1.0) * 100.0
        );
    }
}
