//! Compressed requests and responses.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use keyloom_server::{Limits, Server};

use crate::client::{Client, Echo, ask, config, echo, post};

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn deflate(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn gzipped_post(body: &[u8]) -> Vec<u8> {
    encoded_post("gzip", body)
}

fn encoded_post(encoding: &str, body: &[u8]) -> Vec<u8> {
    let head = post("GetItem", "")
        .replace("content-length: 0", &format!("content-length: {}", body.len()))
        .replace("host:", &format!("content-encoding: {encoding}\r\nhost:"));
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
    assert_eq!(response.status, 500);
    assert_eq!(client.ask(gzipped_post(&gzip(b"{}"))).text(), "{}");
}

/// AWS calls each of these an internal error and does nothing; the echo would repeat a body that it was given.
#[test]
fn what_cannot_be_decompressed_never_reaches_the_engine() {
    let server = echo();
    let mut client = Client::connect(server.addr());
    let whole = deflate(b"{\"TableName\":\"t\"}");
    for (encoding, body) in [
        ("garbage", &b"{}"[..]),
        ("br", b"{}"),
        ("gzip", b""),
        ("deflate", b""),
        ("deflate", b"{}"),
        ("deflate", &whole[..whole.len() - 1]),
        ("gzip", &whole),
    ] {
        let response = client.ask(encoded_post(encoding, body));
        assert_eq!(response.status, 500, "{encoding} {body:?}");
        assert_eq!(response.error(), "com.amazonaws.dynamodb.v20120810#InternalServerError");
    }
    for encoding in ["deflate", "Deflate"] {
        assert_eq!(client.ask(encoded_post(encoding, &whole)).text(), "{\"TableName\":\"t\"}");
    }
    assert_eq!(client.ask(encoded_post("identity", b"{}")).text(), "{}");
}

#[test]
fn heads_have_the_limits_of_dynamodb() {
    let server = echo();
    let with_header = |bytes: usize| {
        post("GetItem", "{}").replace("host:", &format!("padding: {}\r\nhost:", "x".repeat(bytes)))
    };
    let with_path = |bytes: usize| {
        post("GetItem", "{}").replace("POST / ", &format!("POST /{} ", "x".repeat(bytes)))
    };
    assert_eq!(ask(&server, with_header(15_000)).status, 200);
    assert_eq!(ask(&server, with_header(16_384)).status, 400);
    assert_eq!(ask(&server, with_path(1_000)).status, 404);
    assert_eq!(ask(&server, with_path(16_384)).status, 400);
    // Longer than the buffer that a head is read into.
    for bytes in [66_000, 90_000] {
        assert_eq!(ask(&server, with_header(bytes)).status, 400);
        assert_eq!(ask(&server, with_path(bytes)).status, 400);
    }
}

#[test]
fn a_large_response_is_compressed_as_accepted() {
    let server = echo();
    let mut client = Client::connect(server.addr());
    let accepting = |accepted: &str, body: &str| {
        post("Query", body).replace("host:", &format!("accept-encoding: {accepted}\r\nhost:"))
    };
    for (accepted, encoding) in
        [("gzip, deflate", "gzip"), ("*", "gzip"), ("gzip;q=0.5, deflate", "deflate")]
    {
        for size in [5_000, 200_000] {
            let body = "x".repeat(size);
            let response = client.ask(accepting(accepted, &body));
            assert_eq!(response.header("content-encoding"), Some(encoding));
            // SDKs check the bytes as received.
            let crc = crc32fast::hash(&response.body).to_string();
            assert_eq!(response.header("x-amz-crc32"), Some(crc.as_str()));
            let mut plain = String::new();
            let packed = response.body.as_slice();
            match encoding {
                "gzip" => GzDecoder::new(packed).read_to_string(&mut plain).unwrap(),
                _ => ZlibDecoder::new(packed).read_to_string(&mut plain).unwrap(),
            };
            assert!(plain == body);
        }
    }
    let response = client.ask(accepting("gzip", "{}"));
    assert_eq!((response.header("content-encoding"), response.text()), (None, "{}"));
}
