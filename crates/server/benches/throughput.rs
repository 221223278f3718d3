//! How much of a bare echo server's throughput is left once everything a DynamoDB endpoint does is
//! added, and what a hop to the pool costs.
//!
//! `cargo bench -p keyloom-server`. Client and servers share the machine, so only the ratios mean
//! something.

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
use keyloom_engine::Reply;
use keyloom_server::{Backend, Config, Dispatch, Place, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

const CONNECTIONS: usize = 32;
const ROUND: Duration = Duration::from_millis(700);
const ROUNDS: usize = 5;

/// Answers with what it was asked.
struct Echo;

impl Backend for Echo {
    fn call(&self, _target: &str, body: &[u8]) -> Reply {
        Reply { status: 200, body: body.to_vec() }
    }
}

fn main() {
    let bare = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let bare_address = bare.block_on(bare_server());
    let started = |dispatch| {
        let address = ([127, 0, 0, 1], 0).into();
        let config = Config { address, dispatch, workers: Some(2), ..Config::default() };
        Server::start(config, Echo).unwrap()
    };
    let pooled = Dispatch { reads: Place::Pool, ..Dispatch::disk() };
    let (inline, pool) = (started(Dispatch::memory()), started(pooled));
    let client = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for size in [100, 1_000, 10_000] {
        let targets = [bare_address, inline.addr(), pool.addr()];
        let mut best = [0.0_f64; 3];
        for _ in 0..ROUNDS {
            for (best, address) in best.iter_mut().zip(targets) {
                *best = best.max(requests_per_second(&client, address, size));
            }
        }
        let [bare, inline, pool] = best;
        println!(
            "{size:>6} bytes: bare hyper {bare:>7.0}/s, inline {inline:>7.0}/s ({:.0} %), pool \
             {pool:>7.0}/s ({:.0} %)",
            100.0 * inline / bare,
            100.0 * pool / bare
        );
    }
}

/// The least that an HTTP server on hyper can do with a body.
async fn bare_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let service = service_fn(|request: Request<Incoming>| async {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::copy_from_slice(&body))))
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

fn requests_per_second(client: &Runtime, server: SocketAddr, size: usize) -> f64 {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let started = Instant::now();
    client.block_on(async {
        let asking: Vec<_> = (0..CONNECTIONS)
            .map(|_| tokio::spawn(ask(server, size, Arc::clone(&stop), Arc::clone(&count))))
            .collect();
        tokio::time::sleep(ROUND).await;
        stop.store(true, Ordering::Relaxed);
        for task in asking {
            task.await.unwrap();
        }
    });
    count.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64()
}

async fn ask(server: SocketAddr, size: usize, stop: Arc<AtomicBool>, count: Arc<AtomicU64>) {
    let mut stream = TcpStream::connect(server).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let request = format!(
        "POST / HTTP/1.1\r\nhost: localhost:8000\r\nx-amz-target: DynamoDB_20120810.GetItem\r\n\
         content-type: application/x-amz-json-1.0\r\nx-amz-date: 20261101T120000Z\r\n\
         user-agent: aws-sdk-rust/1.0 os/linux lang/rust\r\ncontent-length: {size}\r\n\r\n{}",
        "x".repeat(size)
    );
    let mut buffer = vec![0; size + 4096];
    while !stop.load(Ordering::Relaxed) {
        stream.write_all(request.as_bytes()).await.unwrap();
        read_response(&mut stream, &mut buffer, size).await;
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads one response, whose body has `size` bytes.
async fn read_response(stream: &mut TcpStream, buffer: &mut [u8], size: usize) {
    let mut filled = 0;
    loop {
        filled += stream.read(buffer.get_mut(filled..).unwrap()).await.unwrap();
        let received = buffer.get(..filled).unwrap();
        let end = received.windows(4).position(|window| window == b"\r\n\r\n");
        if end.is_some_and(|end| filled >= end + 4 + size) {
            return;
        }
    }
}
