//! Compressed requests and responses.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use keyloom_server::{Limits, Server};

use crate::client::{Client, Echo, ask, config, echo, post};

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn gzipped_post(body: &[u8]) -> Vec<u8> {
    let head = post("GetItem", "")
        .replace("content-length: 0", &format!("content-length: {}", body.len()))
        .replace("host:", "content-encoding: gzip\r\nhost:");
    [head.as_bytes(), body].concat()
}

#[test]
fn a_gzipped_request_is_decompressed() {
    let plain = b"{\"a\":\"aaaaaaaaaaaaaaaaaaaa\"}".repeat(10_000);
    let response = ask(&echo(), gzipped_post(&gzip(&plain)));
    assert_eq!(response.status, 200);
    assert!(response.body == plain);
    assert_eq!(response.header("content-encoding"), None, "nobody asked for that");
}

#[test]
fn gzip_bombs_and_garbage_are_refused_on_a_live_connection() {
    let limits = Limits { max_body_bytes: 100_000, ..Limits::default() };
    let server = Server::start(keyloom_server::Config { limits, ..config() }, Echo).unwrap();
    let mut client = Client::connect(server.addr());
    let bomb = gzip(&vec![b' '; 50_000_000]);
    assert!(bomb.len() < 100_000);
    let response = client.ask(gzipped_post(&bomb));
    assert_eq!(response.status, 413);
    assert_eq!(response.error(), "com.amazon.coral.service#RequestEntityTooLargeException");
    let response = client.ask(gzipped_post(b"{}"));
    assert_eq!(response.status, 400);
    assert_eq!(response.error(), "com.amazon.coral.service#SerializationException");
    assert_eq!(client.ask(gzipped_post(&gzip(b"{}"))).text(), "{}");
}

#[test]
fn a_large_response_is_compressed_if_accepted() {
    let server = echo();
    let mut client = Client::connect(server.addr());
    let accepting = |body: &str| {
        post("Query", body).replace("host:", "accept-encoding: deflate, gzip\r\nhost:")
    };
    for size in [5_000, 200_000] {
        let body = "x".repeat(size);
        let response = client.ask(accepting(&body));
        assert_eq!(response.header("content-encoding"), Some("gzip"));
        // SDKs check the bytes as received.
        let crc = crc32fast::hash(&response.body).to_string();
        assert_eq!(response.header("x-amz-crc32"), Some(crc.as_str()));
        let mut plain = String::new();
        GzDecoder::new(response.body.as_slice()).read_to_string(&mut plain).unwrap();
        assert!(plain == body);
    }
    let response = client.ask(accepting("{}"));
    assert_eq!((response.header("content-encoding"), response.text()), (None, "{}"));
}
