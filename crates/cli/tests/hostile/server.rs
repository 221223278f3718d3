//! A server in a process of its own, whose memory is watched.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A server with a table of three items, 1 MB in all; it ends with the test.
pub(crate) struct Attacked {
    process: Child,
    pub(crate) address: String,
    pub(crate) idle_bytes: u64,
}

impl Attacked {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let ours = env!("CARGO_BIN_EXE_keyloom");
        let binary = std::env::var("KEYLOOM_ATTACKED").unwrap_or_else(|_| ours.to_owned());
        let mut process = Command::new(binary)
            .args(["serve", "--memory", "--port", "0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap().split_whitespace().next().unwrap();
        let mut server = Self { address: address.to_owned(), process, idle_bytes: 0 };
        server.fill();
        server.idle_bytes = server.resident_bytes();
        server
    }

    fn fill(&self) {
        let created = self.ask(
            "CreateTable",
            br#"{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",
                "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
                "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}"#,
        );
        assert_eq!(created, Some(200));
        let text = "x".repeat(350_000);
        for id in 0..3 {
            let item = format!(
                r#"{{"TableName":"tab","Item":{{"id":{{"S":"{id}"}},"t":{{"S":"{text}"}}}}}}"#
            );
            assert_eq!(self.ask("PutItem", item.as_bytes()), Some(200));
        }
    }

    /// The status of one request on a connection of its own; none if the server closed it.
    pub(crate) fn ask(&self, operation: &str, body: &[u8]) -> Option<u16> {
        ask(&self.address, operation, body)
    }

    /// Whether a small request is answered, and how soon.
    pub(crate) fn serves_others(&self) -> Duration {
        let start = Instant::now();
        let get = br#"{"TableName":"tab","Key":{"id":{"S":"none"}}}"#;
        assert_eq!(self.ask("GetItem", get), Some(200));
        start.elapsed()
    }

    /// A counter of the page of metrics.
    pub(crate) fn counter(&self, name: &str) -> u64 {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
    }

    pub(crate) fn resident_bytes(&self) -> u64 {
        resident_bytes(self.process.id())
    }

    /// Watches the memory until the result is asked for its peak.
    pub(crate) fn watch(&self) -> Watch {
        let (process, over) = (self.process.id(), Arc::new(AtomicBool::new(false)));
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut peak = 0;
            while !is_over.load(Relaxed) {
                peak = peak.max(resident_bytes(process));
                std::thread::sleep(Duration::from_millis(5));
            }
            peak
        });
        Watch { over, thread }
    }

    /// How long it takes until the memory is within 64 MB of what it was before; none after a minute.
    pub(crate) fn recovers(&self) -> Option<Duration> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_mins(1) {
            if self.resident_bytes() < self.idle_bytes + (64 << 20) {
                return Some(start.elapsed());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        None
    }
}

impl Drop for Attacked {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A peak that is being measured.
pub(crate) struct Watch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Watch {
    pub(crate) fn peak_bytes(self) -> u64 {
        self.over.store(true, Relaxed);
        self.thread.join().unwrap()
    }
}

fn resident_bytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.unwrap_or_else(|| panic!("the server is gone: {status}"));
    kilobytes.trim().strip_suffix("kB").unwrap().trim().parse::<u64>().unwrap() * 1024
}

pub(crate) fn head(operation: &str, length: usize) -> String {
    format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\nx-amz-target: DynamoDB_20120810.{operation}\r\n\
         content-type: application/x-amz-json-1.0\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// The status of one request on a connection of its own; none if the server closed it.
pub(crate) fn ask(address: &str, operation: &str, body: &[u8]) -> Option<u16> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
    stream.write_all(head(operation, body.len()).as_bytes()).ok()?;
    // The server may answer before it has read everything.
    let _ = stream.write_all(body);
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    line.split(' ').nth(1)?.parse().ok()
}
