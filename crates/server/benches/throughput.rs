//! Throughput relative to a bare echo server, with everything a DynamoDB endpoint does, and the
//! cost of a hop to the pool.
//!
//! `cargo bench -p keyloom-server`. Client and servers share the machine, so only the ratios are
//! meaningful.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use keyloom_engine::{Database, Reply};
use keyloom_server::{Backend, Config, Dispatch, RunOn, RunningServer, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

const CONNECTIONS: usize = 32;
const ROUND: Duration = Duration::from_millis(700);
const ROUNDS: usize = 5;

/// Echoes the request's body.
struct Echo;

impl Backend for Echo {
    fn call(&self, _target: &str, body: &[u8]) -> Reply {
        Reply { status: 200, body: body.to_vec() }
    }
}

/// The client's request, and the size of the response's body.
#[derive(Clone)]
struct Question {
    bytes: Bytes,
    answer_bytes: usize,
}

impl Question {
    fn new(target: &str, body: &str, answer_bytes: usize) -> Self {
        let request = format!(
            "POST / HTTP/1.1\r\nhost: localhost:8000\r\nx-amz-target: DynamoDB_20120810.{target}\
             \r\ncontent-type: application/x-amz-json-1.0\r\nx-amz-date: 20261101T120000Z\r\n\
             user-agent: aws-sdk-rust/1.0 os/linux lang/rust\r\nx-answer-bytes: {answer_bytes}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        Self { bytes: request.into(), answer_bytes }
    }
}

fn main() {
    let bare_runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let bare = bare_runtime.block_on(bare_server());
    println!("What the protocol costs, with a database that echoes:");
    let pooled = Dispatch { reads: RunOn::Pool, ..Dispatch::disk() };
    let (inline, pool) = (start(Dispatch::memory(), Echo), start(pooled, Echo));
    for size in [100, 1_000, 10_000] {
        let question = Question::new("GetItem", &"x".repeat(size), size);
        compare(
            &format!("{size} bytes"),
            &question,
            &[("bare hyper", bare), ("inline", inline.addr()), ("pool", pool.addr())],
        );
    }
    println!("What the database costs, with an item of 1 KB:");
    let directory = std::env::temp_dir().join(format!("keyloom-bench-{}", std::process::id()));
    let (memory, disk) = (Database::memory(), Database::open(&directory).unwrap());
    let put = prepare(&memory);
    prepare(&disk);
    let get = r#"{"TableName":"bench","Key":{"pk":{"S":"item"}}}"#;
    let got = memory.call("DynamoDB_20120810.GetItem", get.as_bytes()).body.len();
    let memory = start(Dispatch::memory(), memory);
    let disk = start(Dispatch::disk(), disk);
    let servers = [("bare hyper", bare), ("memory", memory.addr()), ("disk", disk.addr())];
    compare("GetItem", &Question::new("GetItem", get, got), &servers);
    compare("PutItem", &Question::new("PutItem", &put, 2), &servers);
    drop((memory, disk));
    std::fs::remove_dir_all(directory).unwrap();
}

/// Creates the table and the item, and returns the request that puts the item.
fn prepare(database: &Database) -> String {
    let table = br#"{"TableName":"bench","BillingMode":"PAY_PER_REQUEST",
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]}"#;
    assert_eq!(database.call("DynamoDB_20120810.CreateTable", table).status, 200);
    let value = "x".repeat(950);
    let item = format!(r#"{{"pk":{{"S":"item"}},"n":{{"N":"42"}},"v":{{"S":"{value}"}}}}"#);
    let put = format!(r#"{{"TableName":"bench","Item":{item}}}"#);
    assert_eq!(database.call("DynamoDB_20120810.PutItem", put.as_bytes()).status, 200);
    put
}

fn start(dispatch: Dispatch, backend: impl Backend) -> RunningServer {
    let address = ([127, 0, 0, 1], 0).into();
    let config = Config { address, dispatch, workers: Some(2), ..Config::default() };
    Server::start(config, backend).unwrap()
}

/// Measures the servers in turn, several times, and prints the best result of each.
fn compare(what: &str, question: &Question, servers: &[(&str, SocketAddr)]) {
    let client = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut best = vec![0.0_f64; servers.len()];
    for _ in 0..ROUNDS {
        for (best, (_, address)) in best.iter_mut().zip(servers) {
            *best = best.max(requests_per_second(&client, *address, question));
        }
    }
    let first = best.first().copied().unwrap_or_default();
    let results = best
        .iter()
        .zip(servers)
        .map(|(rate, (name, _))| format!("{name} {rate:.0}/s ({:.0} %)", 100.0 * rate / first));
    println!("  {what}: {}", results.collect::<Vec<_>>().join(", "));
}

/// The minimum that an HTTP server on hyper does with a body.
async fn bare_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let service = service_fn(|request: Request<Incoming>| async {
                let size = request.headers().get("x-answer-bytes").unwrap().to_str().unwrap();
                let size: usize = size.parse().unwrap();
                request.into_body().collect().await.unwrap();
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(vec![b'x'; size]))))
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

fn requests_per_second(client: &Runtime, server: SocketAddr, question: &Question) -> f64 {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let started = Instant::now();
    client.block_on(async {
        let asking: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                tokio::spawn(ask(server, question.clone(), Arc::clone(&stop), Arc::clone(&count)))
            })
            .collect();
        tokio::time::sleep(ROUND).await;
        stop.store(true, Ordering::Relaxed);
        for task in asking {
            task.await.unwrap();
        }
    });
    count.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64()
}

async fn ask(server: SocketAddr, question: Question, stop: Arc<AtomicBool>, count: Arc<AtomicU64>) {
    let mut stream = TcpStream::connect(server).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut buffer = vec![0; question.answer_bytes + 4096];
    while !stop.load(Ordering::Relaxed) {
        stream.write_all(&question.bytes).await.unwrap();
        read_response(&mut stream, &mut buffer, question.answer_bytes).await;
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads one response, whose body has `size` bytes.
async fn read_response(stream: &mut TcpStream, buffer: &mut [u8], size: usize) {
    let mut filled = 0;
    loop {
        let read = stream.read(buffer.get_mut(filled..).unwrap()).await.unwrap();
        assert!(read > 0, "the server closed the connection");
        filled += read;
        let received = buffer.get(..filled).unwrap();
        assert!(received.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(received));
        let end = received.windows(4).position(|window| window == b"\r\n\r\n");
        if end.is_some_and(|end| filled >= end + 4 + size) {
            return;
        }
    }
}
