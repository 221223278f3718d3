//! Clients that violate the protocol: an error or a closed socket, and the server keeps serving.

use std::io::Write;
use std::net::TcpStream;

use keyloom_engine::Reply;
use keyloom_server::{Backend, Config, Limits, RunningServer, Server};

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_assert};
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

use crate::client::{Client, Echo, ask, config, counter, echo, post};

#[track_caller]
fn still_serves(server: &RunningServer) {
    assert_eq!(ask(server, post("GetItem", "{}")).text(), "{}");
}

#[test]
fn malformed_http_is_answered_400_or_closed() {
    let server = echo();
    let long_name = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "a".repeat(200_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "h: 1\r\n".repeat(500));
    let deep = "[".repeat(1_000_000);
    for request in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(),
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\nhost : y\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nrubbish rubbish rubbish",
        long_name.as_bytes(),
        many.as_bytes(),
        deep.as_bytes(),
    ] {
        let mut client = Client::connect(server.addr());
        // The server may close before it has read everything.
        let _ = client.socket().write_all(request);
        client.socket().shutdown(std::net::Shutdown::Write).ok();
        let status = client.try_receive_raw_status();
        assert!(status.is_none_or(|status| (400..500).contains(&status)), "{status:?}");
    }
    still_serves(&server);
}

#[test]
fn a_broken_chunk_ends_the_connection() {
    let server = echo();
    let mut client = Client::connect(server.addr());
    let head = post("GetItem", "").replace("content-length: 0", "transfer-encoding: chunked");
    client.send(format!("{head}zz\r\nnot hexadecimal\r\n0\r\n\r\n"));
    assert!(client.try_receive(true).is_none_or(|response| response.status == 400));
    assert!(client.is_closed());
    still_serves(&server);
}

#[test]
fn binary_and_unusual_header_values_are_never_fatal() {
    let server = echo();
    let mut request = post("GetItem", "{}").into_bytes();
    let place = request.windows(7).position(|window| window == b"GetItem").unwrap();
    request.splice(place..place + 7, [0xff, 0xfe, b'x']);
    assert_eq!(ask(&server, request).status, 200);
    still_serves(&server);
}

#[test]
fn a_body_over_the_limit_is_refused_before_and_while_it_is_read() {
    let limits = Limits { max_body_bytes: 1_000_000, ..Limits::default() };
    let server = Server::start(Config { limits, ..config() }, Echo).unwrap();
    let code = "com.amazon.coral.service#RequestEntityTooLargeException";
    let body = "x".repeat(1_000_001);
    let response = ask(&server, post("PutItem", &body));
    assert_eq!((response.status, response.error().as_str()), (413, code));
    assert_eq!(ask(&server, post("PutItem", &body[1..])).status, 200);

    let head = post("PutItem", "").replace("content-length: 0", "transfer-encoding: chunked");
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let response = ask(&server, head + &chunks);
    assert_eq!((response.status, response.error().as_str()), (413, code));

    // A declared terabyte costs nothing and is refused at once.
    let head = post("PutItem", "").replace("content-length: 0", "content-length: 1099511627776");
    assert_eq!(ask(&server, head).status, 413);
    still_serves(&server);
}

/// Large bodies together are bounded, and small requests are served beside them.
#[test]
fn bodies_together_are_bounded() {
    let limits = Limits { memory_bytes: 64 << 20, ..Limits::default() };
    let server = Server::start(Config { limits, ..config() }, Echo).unwrap();
    let head = post("PutItem", "").replace("content-length: 0", "content-length: 16000000");
    // Three quarters of the memory are for requests, and three quarters of that for large bodies,
    // whose buffers have room for up to twice what has been received.
    let holders: Vec<Client> = (0..2)
        .map(|_| {
            let mut holder = Client::connect(server.addr());
            holder.send(&head);
            holder.send(vec![b'x'; 11_000_000]);
            holder
        })
        .collect();
    while counter(&server, "keyloom_received_bytes_total ") < 22_000_000 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(counter(&server, "keyloom_memory_used_bytes ") > 22_000_000);
    let refused = ask(&server, post("PutItem", &"x".repeat(16_000_000)));
    assert_eq!(refused.status, 503);
    assert!(refused.error().ends_with("ServiceUnavailableException"));
    assert!(counter(&server, "keyloom_memory_refusals_total ") > 0);
    still_serves(&server);
    // A body without a declared size, in pieces, is small as well.
    let mut pieces = Client::connect(server.addr());
    let head = post("GetItem", "").replace("content-length: 0", "transfer-encoding: chunked");
    pieces.send(format!("{head}1\r\n{{\r\n"));
    pieces.send("1\r\n}\r\n0\r\n\r\n");
    assert_eq!(pieces.receive().text(), "{}");
    drop(holders);
    let freed = (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        counter(&server, "keyloom_memory_used_bytes ") < 1_000_000
    });
    assert!(freed, "reserved memory is released");
    assert_eq!(ask(&server, post("PutItem", &"x".repeat(10_000_000))).status, 200);
}

#[test]
fn half_open_sockets_are_cleaned_up() {
    let server = echo();
    for _ in 0..50 {
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        stream.write_all(&post("GetItem", "{\"a\":1}").as_bytes()[..60]).unwrap();
    }
    let mut open = TcpStream::connect(server.addr()).unwrap();
    open.write_all(b"POST / HT").unwrap();
    still_serves(&server);
}

#[test]
fn corrupted_requests_never_cause_a_server_error() {
    let server = echo();
    let valid = post("GetItem", "{\"a\":1}").replace("host:", "accept-encoding: gzip\r\nhost:");
    let mut runner = TestRunner::new(ProptestConfig::with_cases(200));
    let damage = vec((any::<Index>(), any::<u8>(), 0..3_usize), 1..8);
    let checked = runner.run(&damage, |damage| {
        let mut request = valid.clone().into_bytes();
        for (place, byte, kind) in damage {
            let place = place.index(request.len());
            match kind {
                0 => request[place] = byte,
                1 => request.insert(place, byte),
                _ => _ = request.remove(place),
            }
        }
        let mut client = Client::connect(server.addr());
        // The server may close before the end.
        let _ = client.socket().write_all(&request);
        let _ = client.socket().shutdown(std::net::Shutdown::Write);
        let status = client.try_receive_raw_status();
        prop_assert!(status.is_none_or(|status| status < 500), "{:?}", status);
        Ok(())
    });
    checked.unwrap();
    still_serves(&server);
}

/// Panics, as the engine never should.
struct Broken;

impl Backend for Broken {
    fn call(&self, target: &str, body: &[u8]) -> Reply {
        assert!(!body.starts_with(b"panic"), "{target} broke, as the test asked");
        Reply { status: 200, body: body.to_vec() }
    }
}

#[test]
fn a_panic_fails_one_request_only() {
    let server = Server::start(config(), Broken).unwrap();
    let mut client = Client::connect(server.addr());
    for target in ["GetItem", "Scan"] {
        let response = client.ask(post(target, "panic"));
        assert_eq!(response.status, 500);
        assert_eq!(response.error(), "com.amazonaws.dynamodb.v20120810#InternalServerError");
        assert_eq!(client.ask(post(target, "{}")).text(), "{}");
    }
}
