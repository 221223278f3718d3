//! Slow clients, and too many of them.

use std::io::Read;
use std::time::{Duration, Instant};

use keyloom_engine::Reply;
use keyloom_server::{Backend, Config, Dispatch, Limits, RunOn, RunningServer, Server};

use crate::client::{Client, Echo, Gate, ask, config, counter, hasty, post};

#[test]
fn a_slow_header_times_out_despite_progress() {
    let server = Server::start(hasty(), Echo).unwrap();
    let mut client = Client::connect(server.addr());
    let (started, mut sent) = (Instant::now(), 0);
    client.socket().set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    client.send("POST / HTTP/1.1\r\n");
    while !client.is_closed() {
        assert!(started.elapsed() < Duration::from_secs(5), "never disconnected");
        // The server may have closed the connection by now.
        let _ = std::io::Write::write_all(&mut client.socket(), b"a");
        sent += 1;
    }
    assert!(sent > 2, "disconnected at once");
}

#[test]
fn a_slow_body_is_answered_408() {
    let server = Server::start(hasty(), Echo).unwrap();
    let mut client = Client::connect(server.addr());
    let request = post("PutItem", "{\"a\":1}");
    client.send(&request[..request.len() - 1]);
    assert_eq!(client.receive().status, 408);
    assert!(client.is_closed());
}

#[test]
fn an_idle_connection_is_closed_and_a_used_one_is_not() {
    let server = Server::start(hasty(), Echo).unwrap();
    let mut silent = Client::connect(server.addr());
    let mut asked = Client::connect(server.addr());
    let mut busy = Client::connect(server.addr());
    asked.ask(post("GetItem", "{}"));
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(800) {
        assert_eq!(busy.ask(post("GetItem", "{}")).status, 200);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(silent.is_closed());
    assert!(asked.is_closed());
}

/// Responds with many bytes.
struct Flood;

impl Backend for Flood {
    fn call(&self, _target: &str, body: &[u8]) -> Reply {
        let size = if body == b"much" { 64 << 20 } else { 10 };
        Reply { status: 200, body: vec![b'x'; size] }
    }
}

#[test]
fn a_client_that_does_not_read_is_disconnected_without_slowing_others() {
    let server = Server::start(Config { workers: Some(1), ..hasty() }, Flood).unwrap();
    let mut slow = Client::connect(server.addr());
    slow.send(post("GetItem", "much"));
    let mut other = Client::connect(server.addr());
    for _ in 0..50 {
        assert_eq!(other.ask(post("GetItem", "{}")).body.len(), 10);
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut received = Vec::new();
    let _ = std::io::Read::read_to_end(&mut slow.socket().take(100 << 20), &mut received);
    assert!(received.len() < 64 << 20, "it got everything after half a second of not reading");
}

#[test]
fn a_blocked_pool_call_does_not_block_others() {
    let (gate, called, open) = Gate::new();
    let dispatch = Dispatch { reads: RunOn::Pool, ..Dispatch::disk() };
    let config = Config { dispatch, workers: Some(1), ..config() };
    let server = Server::start(config, gate).unwrap();
    let mut waiting = Client::connect(server.addr());
    waiting.send(post("GetItem", "{}"));
    called.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(ask(&server, "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").status, 200);
    open.send(()).unwrap();
    assert_eq!(waiting.receive().status, 200);
}

#[test]
fn calls_over_the_limit_queue() {
    let (gate, called, open) = Gate::new();
    let limits = Limits { max_in_flight: 1, ..Limits::default() };
    let dispatch = Dispatch { reads: RunOn::Pool, ..Dispatch::memory() };
    let server = Server::start(Config { limits, dispatch, ..config() }, gate).unwrap();
    let mut clients: Vec<Client> = (0..3).map(|_| Client::connect(server.addr())).collect();
    for client in &mut clients {
        client.send(post("GetItem", "{}"));
    }
    for _ in 0..3 {
        called.recv_timeout(Duration::from_secs(5)).unwrap();
        assert!(called.recv_timeout(Duration::from_millis(30)).is_err(), "two at once");
        open.send(()).unwrap();
    }
    for client in &mut clients {
        assert_eq!(client.receive().status, 200);
    }
}

#[test]
fn a_connection_over_the_limit_gets_503() {
    let limits = Limits { max_connections: 2, ..Limits::default() };
    let server = Server::start(Config { limits, ..config() }, Echo).unwrap();
    let mut busy: Vec<Client> = (0..2).map(|_| begin_request(&server)).collect();
    let mut third = Client::connect(server.addr());
    // A request that is sent before the refusal is read does not make the client lose it.
    third.send(post("GetItem", "{}"));
    let refusal = third.receive();
    assert_eq!(refusal.status, 503);
    assert!(refusal.text().contains("too many open connections"), "{}", refusal.text());
    assert!(third.is_closed());
    busy.pop();
    let again = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        Client::connect(server.addr()).try_ask(&post("GetItem", "{}")) == Some(200)
    });
    assert!(again, "a released slot can be reused");
}

#[test]
fn one_client_cannot_take_every_connection() {
    let limits = Limits { max_connections_per_client: 2, ..Limits::default() };
    let server = Server::start(Config { limits, ..config() }, Echo).unwrap();
    let mut held: Vec<Client> = (0..2).map(|_| Client::connect(server.addr())).collect();
    for client in &mut held {
        assert_eq!(client.ask(post("GetItem", "{}")).status, 200);
    }
    let mut third = Client::connect(server.addr());
    assert_eq!(third.receive().status, 503);
    assert!(third.is_closed());
    // Another address of this machine is another client.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&std::net::SocketAddr::from(([127, 0, 0, 2], 0)).into()).unwrap();
    socket.connect(&server.addr().into()).unwrap();
    let mut other = Client::over(socket.into());
    assert_eq!(other.ask(post("GetItem", "{}")).status, 200);
}

/// A connection with a request that the server waits for.
fn begin_request(server: &RunningServer) -> Client {
    let mut client = Client::connect(server.addr());
    let request = post("GetItem", "{}").replace("host:", "expect: 100-continue\r\nhost:");
    client.send(&request[..request.len() - 1]);
    // The server asks for the body, so it has begun the request.
    let mut begun = [0; 25];
    client.socket().read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
    client
}

#[test]
fn the_longest_idle_connection_makes_room_and_busy_ones_stay() {
    let limits = Limits { max_connections: 3, ..Limits::default() };
    let server = Server::start(Config { limits, ..config() }, Echo).unwrap();
    let mut busy = begin_request(&server);
    let mut late = Client::connect(server.addr());
    let mut early = Client::connect(server.addr());
    for client in [&mut late, &mut early] {
        assert_eq!(client.ask(post("GetItem", "{}")).status, 200);
    }
    assert_eq!(late.ask(post("GetItem", "{}")).status, 200);
    let mut fresh = Client::connect(server.addr());
    assert_eq!(fresh.ask(post("GetItem", "{}")).status, 200);
    assert!(early.is_closed());
    assert_eq!(late.ask(post("GetItem", "{}")).status, 200);
    busy.send("}");
    assert_eq!(busy.receive().status, 200);
    assert_eq!(counter(&server, "keyloom_connections_evicted_total "), 2, "and one for this page");
}

/// A client with idle or half-open connections up to its share of the memory closes its own ones.
#[test]
fn connections_over_the_memory_budget_replace_idle_ones() {
    let limits = Limits { memory_bytes: 64 << 20, ..Limits::default() };
    for sent in ["", "POST / HTTP/1.1\r\nhost: loc"] {
        let config = Config { limits: limits.clone(), ..config() };
        let server = Server::start(config, Echo).unwrap();
        // Three quarters of a quarter of the memory, at 24 KiB per connection, are 512 connections.
        let held: Vec<Client> = (0..600)
            .map(|_| {
                let mut client = Client::connect(server.addr());
                client.send(sent);
                client
            })
            .collect();
        for _ in 0..10 {
            assert_eq!(ask(&server, post("GetItem", "{}")).status, 200);
        }
        assert!(counter(&server, "keyloom_connections_evicted_total ") >= 600 - 512);
        assert_eq!(counter(&server, "keyloom_connections_refused_total "), 0);
        drop(held);
    }
}
