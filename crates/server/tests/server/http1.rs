//! HTTP/1.1 as clients send it.

use std::net::Shutdown;

use crate::client::{Client, echo, post};

#[test]
fn a_connection_serves_one_request_after_another() {
    let server = echo();
    let mut client = Client::connect(server.addr());
    let mut ids = Vec::new();
    for number in 0..20 {
        let body = format!("{{\"n\":{number}}}");
        let response = client.ask(post("GetItem", &body));
        assert_eq!((response.status, response.text()), (200, body.as_str()));
        ids.push(response.header("x-amzn-requestid").unwrap().to_owned());
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 20, "request ids do not repeat");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = echo();
    let mut client = Client::connect(server.addr());
    let requests: Vec<String> =
        (0..10).map(|number| post(["GetItem", "Scan"][number % 2], &format!("{number}"))).collect();
    client.send(requests.concat());
    for number in 0..10 {
        assert_eq!(client.receive().text(), number.to_string());
    }
}

#[test]
fn a_request_may_come_in_pieces_and_in_chunks() {
    let server = echo();
    let mut client = Client::connect(server.addr());
    for byte in post("GetItem", "{\"a\":1}").as_bytes() {
        client.send([*byte]);
    }
    assert_eq!(client.receive().text(), "{\"a\":1}");
    let chunked = post("GetItem", "").replace("content-length: 0", "transfer-encoding: chunked");
    client.send(&chunked);
    for chunk in ["3\r\n{\"a\r\n", "4;x=y\r\n\":1}\r\n", "0\r\n", "trailer: 1\r\n\r\n"] {
        client.send(chunk);
    }
    assert_eq!(client.receive().text(), "{\"a\":1}");
    assert_eq!(client.ask(post("GetItem", "{}")).text(), "{}");
}

#[test]
fn a_large_body_arrives_whole() {
    let body = "0123456789abcdef".repeat(1 << 20);
    let response = crate::client::ask(&echo(), post("BatchWriteItem", &body));
    assert_eq!(response.status, 200);
    assert!(response.body == body.as_bytes());
}

#[test]
fn expect_continue_gets_100_continue() {
    let server = echo();
    let mut client = Client::connect(server.addr());
    let request = post("GetItem", "{\"a\":1}").replace("host:", "expect: 100-continue\r\nhost:");
    let (head, body) = request.split_at(request.len() - 7);
    assert_eq!(client.ask(head).status, 100);
    assert_eq!(client.ask(body).text(), "{\"a\":1}");
}

#[test]
fn a_client_may_ask_to_close() {
    let server = echo();
    let mut client = Client::connect(server.addr());
    let request = post("GetItem", "{}").replace("host:", "connection: close\r\nhost:");
    assert_eq!(client.ask(request).status, 200);
    assert!(client.is_closed());
    let mut client = Client::connect(server.addr());
    assert_eq!(client.ask("GET /health HTTP/1.0\r\n\r\n").status, 200);
    assert!(client.is_closed());
}

#[test]
fn a_half_closed_client_still_gets_its_response() {
    let server = echo();
    let mut client = Client::connect(server.addr());
    client.send(post("GetItem", "{}"));
    client.socket().shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.receive().text(), "{}");
    assert!(client.is_closed());
}
