//! Routes, and the responses to everything else.

use keyloom_engine::Database;
use keyloom_server::Server;

use crate::client::{Client, ask, config, echo, post};

#[test]
fn an_operation_reaches_the_backend_and_returns_its_response() {
    let response = ask(&echo(), post("GetItem", "{\"a\":1}"));
    assert_eq!((response.status, response.text()), (200, "{\"a\":1}"));
    assert_eq!(response.header("content-type"), Some("application/x-amz-json-1.0"));
    let crc = crc32fast::hash(b"{\"a\":1}").to_string();
    assert_eq!(response.header("x-amz-crc32"), Some(crc.as_str()));
    let id = response.header("x-amzn-requestid").unwrap();
    assert!(id.len() == 52 && id.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()));
    assert!(response.header("date").unwrap().ends_with(" GMT"));
    assert!(response.header("server").unwrap().starts_with("keyloom/"));
    assert_eq!(response.header("content-length"), Some("7"));
}

#[test]
fn the_real_database_is_called_with_its_target() {
    let server = Server::start(config(), Database::memory()).unwrap();
    let response = ask(&server, post("NoSuchOperation", "{}"));
    assert_eq!(response.status, 400);
    assert_eq!(response.error(), "com.amazon.coral.service#UnknownOperationException");
}

#[test]
fn a_missing_target_is_an_unknown_operation() {
    let server = Server::start(config(), Database::memory()).unwrap();
    let response = ask(&server, "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(response.status, 400);
    assert_eq!(response.error(), "com.amazon.coral.service#UnknownOperationException");
    assert_eq!(response.header("content-type"), Some("application/json"));
}

#[test]
fn the_health_check_matches_dynamodb() {
    let server = echo();
    let response = ask(&server, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(response.status, 200);
    assert_eq!(response.text(), "healthy: dynamodb.us-east-1.amazonaws.com ");
    // The checksum of that text as DynamoDB sends it.
    assert_eq!(response.header("x-amz-crc32"), Some("3128867991"));
    let response = ask(&server, "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!((response.status, response.text()), (200, "ok\n"));
}

#[test]
fn head_has_the_length_and_no_body() {
    let server = echo();
    let mut client = Client::connect(server.addr());
    client.send("HEAD / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!(client.receive_head().header("content-length"), Some("42"));
}

#[test]
fn unknown_requests_are_not_found() {
    let server = echo();
    let typed = |kind: &str| {
        format!(
            "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: 2\r\n\r\nhi"
        )
    };
    for request in [
        "PUT / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n".to_owned(),
        "DELETE / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(),
        "OPTIONS / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(),
        "BREW / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(),
        "GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(),
        "POST /nowhere HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n".to_owned(),
        "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\nhi".to_owned(),
        typed("whatever"),
        typed("application/x-amz-json-1.1"),
        typed("application/jsonasdf"),
    ] {
        let response = ask(&server, &request);
        assert_eq!(response.status, 404, "{request}");
        assert_eq!(response.text(), "<UnknownOperationException/>\n", "{request}");
        assert_eq!(response.header("x-amz-crc32"), Some("3552371480"));
        assert!(response.header("x-amzn-requestid").is_some());
    }
}

#[test]
fn the_response_has_the_media_type_of_the_request() {
    let server = echo();
    for (asked, answered) in [
        ("application/json", "application/json"),
        ("  application/json  ;   charset=x", "application/json"),
        ("application/x-amz-json-1.0;blah", "application/x-amz-json-1.0"),
    ] {
        let request = post("GetItem", "{}").replace("application/x-amz-json-1.0", asked);
        let response = ask(&server, request);
        assert_eq!((response.status, response.header("content-type")), (200, Some(answered)));
    }
}
