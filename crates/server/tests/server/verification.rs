//! `POST /keyloom/verify`.

use keyloom_engine::Database;
use keyloom_server::{Config, Credentials, Server};

use crate::client::{ask, config, echo};

const REQUEST: &str =
    "POST /keyloom/verify HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";

#[test]
fn a_database_reports_its_findings() {
    let server = Server::start(config(), Database::memory()).unwrap();
    let response = ask(&server, REQUEST);
    assert_eq!(response.status, 200);
    assert!(response.text().starts_with("{\"findings\":[],\"found\":{},\"totals\":{"));
    assert_eq!(ask(&server, REQUEST.replace("POST", "GET")).status, 404);
}

#[test]
fn a_backend_that_cannot_verify_has_no_such_page() {
    assert_eq!(ask(&echo(), REQUEST).status, 404);
}

#[test]
fn verification_needs_a_signature() {
    let credentials = vec![Credentials::new("key", "a secret that is long enough")];
    let config = Config { credentials, ..config() };
    let server = Server::start(config, Database::memory()).unwrap();
    assert_eq!(ask(&server, REQUEST).status, 400);
}
