//! A refusal as a client of the server gets it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use keyloom_server::{Config, Server};

use super::*;

#[test]
fn a_refusal_is_status_400_with_the_exception_and_its_reasons() {
    let load = Throttled::with_orders("inject=write:every=2");
    let config = Config { address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
    let server = Server::start(config, load.database.clone()).unwrap();
    let post = |body: &str| {
        let mut socket = TcpStream::connect(server.addr()).unwrap();
        let request = format!(
            "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-amz-target: {}\r\n\
             content-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n{body}",
            target("PutItem"),
            body.len()
        );
        socket.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        socket.read_to_string(&mut response).unwrap();
        response
    };
    let body = r#"{"TableName":"Orders","Item":{"id":{"S":"a"}}}"#;
    assert!(post(body).starts_with("HTTP/1.1 200 OK"));
    let refused = post(body);
    assert!(refused.starts_with("HTTP/1.1 400 Bad Request"), "{refused}");
    let (_, json) = refused.split_once("\r\n\r\n").unwrap();
    let reply: Value = serde_json::from_str(json).unwrap();
    assert_eq!(reply["__type"], "com.amazonaws.dynamodb.v20120810#ThrottlingException");
    let expected = json!([{"reason": "TableWriteKeyRangeThroughputExceeded",
        "resource": "arn:aws:dynamodb:us-east-1:000000000000:table/Orders"}]);
    assert_eq!(reply["throttlingReasons"], expected);
    assert!(post(body).starts_with("HTTP/1.1 200 OK"));
}
