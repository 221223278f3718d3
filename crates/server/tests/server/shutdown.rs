//! Graceful shutdown.

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use keyloom_server::{Config, Dispatch, Limits, Server};

use crate::client::{Client, Echo, Gate, config, echo, post};

#[test]
fn an_open_request_is_answered_and_new_ones_are_refused() {
    for dispatch in [Dispatch::memory(), Dispatch::disk()] {
        let (gate, called, open) = Gate::new();
        let server = Server::start(Config { dispatch, ..config() }, gate).unwrap();
        let address = server.addr();
        let mut idle = Client::connect(address);
        idle.ask("GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let mut fresh = Client::connect(address);
        let mut client = Client::connect(address);
        client.send(post("PutItem", "{}"));
        called.recv_timeout(Duration::from_secs(5)).unwrap();
        let ending = thread::spawn(move || server.shutdown());
        assert!(idle.is_closed() && fresh.is_closed(), "idle connections are closed");
        assert!(TcpStream::connect(address).is_err(), "the listener is closed");
        assert!(!ending.is_finished(), "it waits for the request");
        open.send(()).unwrap();
        let response = client.receive();
        assert_eq!((response.status, response.text()), (200, "{\"waited\":true}"));
        assert!(client.is_closed());
        ending.join().unwrap();
    }
}

#[test]
fn a_request_that_never_ends_is_dropped_after_the_grace() {
    let limits = Limits { shutdown_grace: Duration::from_millis(100), ..Limits::default() };
    let server = Server::start(Config { limits, ..config() }, Echo).unwrap();
    let mut client = Client::connect(server.addr());
    client.ask(post("PutItem", "{}"));
    let request = post("PutItem", "{}");
    client.send(&request[..request.len() - 1]);
    thread::sleep(Duration::from_millis(30));
    let started = Instant::now();
    server.shutdown();
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(client.is_closed());
}

#[test]
fn clients_that_do_not_close_do_not_delay_shutdown() {
    let server = echo();
    let mut http2 = Client::connect(server.addr());
    http2.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    let mut half = Client::connect(server.addr());
    half.send("POST / HTTP/1.1\r\nhost:");
    assert_eq!(Client::connect(server.addr()).ask(post("GetItem", "{}")).status, 200);
    let started = Instant::now();
    server.shutdown();
    assert!(started.elapsed() < Duration::from_secs(4));
}

#[test]
fn a_connection_accepted_last_does_not_delay_shutdown() {
    for _ in 0..50 {
        let server = echo();
        let address = server.addr();
        let mut late: Vec<Client> = (0..20).map(|_| Client::connect(address)).collect();
        let started = Instant::now();
        server.shutdown();
        assert!(started.elapsed() < Duration::from_secs(4));
        assert!(late.iter_mut().all(Client::is_closed));
    }
}

#[test]
fn an_idle_server_ends_at_once_and_frees_its_port() {
    let server = echo();
    let address = server.addr();
    let _silent = Client::connect(address);
    let started = Instant::now();
    drop(server);
    assert!(started.elapsed() < Duration::from_secs(2));
    Server::start(Config { address, ..config() }, Echo).unwrap();
}

#[test]
fn requests_racing_with_shutdown_are_answered_or_refused() {
    let server = echo();
    let address = server.addr();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            thread::spawn(move || {
                let mut client = Client::connect(address);
                let mut answered = 0_u32;
                while client.try_ask(&post("PutItem", "{\"a\":1}")) == Some(200) {
                    answered += 1;
                }
                answered
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(100));
    server.shutdown();
    assert!(clients.into_iter().all(|client| client.join().unwrap() > 0));
}

#[test]
fn a_server_runs_on_the_callers_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = Server::bind(config(), Echo).unwrap();
    let address = server.local_addr();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = runtime.spawn(server.run(async { _ = stopped.await }));
    assert_eq!(Client::connect(address).ask(post("GetItem", "{}")).status, 200);
    stop.send(()).unwrap();
    runtime.block_on(running).unwrap().unwrap();
}
