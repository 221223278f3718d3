//! Unread responses, on HTTP/2 with a closed window: counted, bounded, released.
//!
//! The effect on the memory of the process is tested in `crates/cli/tests/hostile`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use keyloom_engine::Reply;
use keyloom_server::{Backend, Config, Limits, RunningServer, Server};
use tokio::net::TcpStream;

use crate::client::{config, counter, hasty};

const ANSWER_BYTES: usize = 1 << 20;

/// Responds with a megabyte, and counts its calls.
#[derive(Default)]
struct Large(AtomicUsize);

impl Backend for Large {
    fn call(&self, _target: &str, _body: &[u8]) -> Reply {
        self.0.fetch_add(1, Relaxed);
        Reply { status: 200, body: vec![b'x'; ANSWER_BYTES] }
    }
}

type Sender = SendRequest<Full<Bytes>>;

/// A client with this initial window.
async fn connect(server: &RunningServer, window: u32) -> Sender {
    let stream = TokioIo::new(TcpStream::connect(server.addr()).await.unwrap());
    let mut builder = Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(window).initial_connection_window_size(window.max(65_535));
    let (sender, connection) = builder.handshake(stream).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn scan() -> Request<Full<Bytes>> {
    Request::post("http://localhost/")
        .header("x-amz-target", "DynamoDB_20120810.Scan")
        .header("content-type", "application/x-amz-json-1.0")
        .body(Full::new("{}".into()))
        .unwrap()
}

fn limited(base: Config) -> (Arc<Large>, RunningServer) {
    let limits = Limits {
        memory_bytes: 64 << 20,
        memory_timeout: Duration::from_millis(500),
        ..base.limits.clone()
    };
    let large = Arc::new(Large::default());
    let server = Server::start(Config { limits, ..base }, Arc::clone(&large)).unwrap();
    (large, server)
}

fn used(server: &RunningServer) -> u64 {
    counter(server, "keyloom_memory_used_bytes ")
}

async fn is_released(server: &RunningServer) -> bool {
    for _ in 0..500 {
        // This request itself is counted, and so are connections.
        if used(server) < 8 << 20 {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_do_not_run_while_their_connection_has_its_share_unsent() {
    for window in [0, 1] {
        let (large, server) = limited(config());
        let sender = connect(&server, window).await;
        let mut answers = Vec::new();
        let asking: Vec<_> = (0..100).map(|_| sender.clone().send_request(scan())).collect();
        for asked in asking {
            answers.push(asked.await.unwrap());
        }
        let ran = large.0.load(Relaxed);
        // A share is 32 MiB here, and a running Scan reserves the maximum size of its response.
        assert!((4..=32).contains(&ran), "{ran} of 100 ran");
        let refused = |answer: &&hyper::Response<_>| answer.status() == 503;
        assert_eq!(answers.iter().filter(refused).count(), 100 - ran);
        assert!(used(&server) >= (ran * ANSWER_BYTES) as u64, "{} of {ran}", used(&server));
        // Another connection has its own share.
        let mut other = connect(&server, 1 << 20).await;
        let answer = other.send_request(scan()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes().len(), ANSWER_BYTES);
        drop((answers, sender, other));
        assert!(is_released(&server).await, "{} bytes are still reserved", used(&server));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_takes_nothing_is_cut_whatever_else_it_does() {
    let (_, server) = limited(hasty());
    let sender = connect(&server, 0).await;
    let answer = sender.clone().send_request(scan()).await.unwrap();
    // It keeps sending requests, which is not progress: only the responses' headers are sent, no
    // body is read.
    let started = Instant::now();
    let mut others = Vec::new();
    while started.elapsed() < Duration::from_secs(5) {
        match sender.clone().send_request(scan()).await {
            Ok(answer) => others.push(answer),
            Err(_) => break,
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(started.elapsed() < Duration::from_secs(5), "still served");
    assert!(answer.into_body().collect().await.is_err());
    assert!(is_released(&server).await, "{} bytes are still reserved", used(&server));
    assert!(counter(&server, "keyloom_connections_timed_out_total ") >= 1);
}

/// A slow client that does read its responses is served for as long as that takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_gets_everything() {
    let mut base = hasty();
    base.limits.write_timeout = Duration::from_secs(1);
    let (_, server) = limited(base);
    let mut sender = connect(&server, 65_535).await;
    let mut body = sender.send_request(scan()).await.unwrap().into_body();
    let (started, mut received) = (Instant::now(), 0);
    while let Some(frame) = body.frame().await {
        received += frame.unwrap().data_ref().map_or(0, Bytes::len);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(received, ANSWER_BYTES);
    assert!(started.elapsed() > Duration::from_secs(1), "slower than the time-out");
}
