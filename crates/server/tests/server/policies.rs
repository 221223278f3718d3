//! Identities whose policies decide: operations, compressed bodies, and the server's own pages.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use hmac::{Hmac, KeyInit as _, Mac as _};
use keyloom_core::hex::Hex;
use keyloom_engine::policy::{Policy, Principal};
use keyloom_engine::{Clock as _, Database, SystemClock};
use keyloom_server::{Config, Credentials, Identity, RunningServer, Server, StartError};
use sha2::{Digest as _, Sha256};

use crate::client::{Client, Echo, Response, config};

const SECRET: &str = "a secret that is long enough";

fn identity(key: &str, policy: &str) -> Identity {
    let arn = format!("arn:aws:iam::000000000000:user/{}", key.to_lowercase());
    let principal = Principal { arn, user_id: key.into(), tags: Vec::new() };
    let policy = format!(r#"{{"Version":"2012-10-17","Statement":[{policy}]}}"#);
    Identity::new(
        Credentials::new(key, SECRET),
        principal,
        vec![Policy::identity(&policy).unwrap()],
    )
}

const READER: &str = r#"{"Effect":"Allow","Action":"dynamodb:ListTables","Resource":"*",
    "Condition":{"IpAddress":{"aws:SourceIp":"127.0.0.0/8"},"Bool":{"aws:SecureTransport":"false"}}}"#;
const ADMIN: &str = r#"{"Effect":"Allow","Action":"*","Resource":"*"}"#;
const REMOTE: &str = r#"{"Effect":"Allow","Action":"*","Resource":"*",
    "Condition":{"NotIpAddress":{"aws:SourceIp":"127.0.0.0/8"}}}"#;

fn signed_config() -> Config {
    let identities =
        vec![identity("READER", READER), identity("ADMIN", ADMIN), identity("REMOTE", REMOTE)];
    Config { identities, credentials: vec![Credentials::new("ROOT", SECRET)], ..config() }
}

fn server() -> RunningServer {
    Server::start(signed_config(), Database::memory()).unwrap()
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// The time as signatures write it, from the headers that the server's own signing makes.
fn now() -> String {
    let [(_, date), _] =
        Credentials::new("x", SECRET).sign_get("r", "localhost", "/", SystemClock.now_ms());
    date
}

/// Asks with a signature over all headers.
fn ask(
    server: &RunningServer,
    (key, service): (&str, &str),
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &[u8],
) -> Response {
    let now = now();
    let mut headers: Vec<(&str, &str)> = headers.to_vec();
    headers.extend([("host", "localhost"), ("x-amz-date", now.as_str())]);
    headers.sort_unstable();
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let lines: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let lines = lines.concat();
    let canonical = format!("{method}\n{path}\n\n{lines}\n{names}\n{}", Hex(&Sha256::digest(body)));
    let scope = format!("{}/us-east-1/{service}/aws4_request", &now[..8]);
    let text = format!("AWS4-HMAC-SHA256\n{now}\n{scope}\n{}", Hex(&Sha256::digest(canonical)));
    let parts = scope.split('/');
    let secret = parts.fold(format!("AWS4{SECRET}").into_bytes(), |key, part| hmac(&key, part));
    let signature = Hex(&hmac(&secret, &text)).to_string();
    let mut request = format!("{method} {path} HTTP/1.1\r\n");
    for (name, value) in headers {
        write!(request, "{name}: {value}\r\n").unwrap();
    }
    write!(
        request,
        "authorization: AWS4-HMAC-SHA256 Credential={key}/{scope}, SignedHeaders={names}, \
         Signature={signature}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .unwrap();
    Client::connect(server.addr()).ask([request.as_bytes(), body].concat())
}

fn operation(server: &RunningServer, key: &str, name: &str, body: &[u8]) -> Response {
    let target = format!("DynamoDB_20120810.{name}");
    let headers =
        [("content-type", "application/x-amz-json-1.0"), ("x-amz-target", target.as_str())];
    ask(server, (key, "dynamodb"), ("POST", "/"), &headers, body)
}

#[track_caller]
fn is_denied(response: &Response) {
    assert_eq!(response.status, 400, "{}", response.text());
    assert_eq!(response.error(), "com.amazon.coral.service#AccessDeniedException");
}

#[test]
fn policies_decide_for_identities_and_not_for_the_root_user() {
    let server = server();
    let describe = br#"{"TableName":"app"}"#;
    assert_eq!(operation(&server, "READER", "ListTables", b"{}").status, 200);
    is_denied(&operation(&server, "READER", "DescribeTable", describe));
    is_denied(&operation(&server, "REMOTE", "ListTables", b"{}"));
    for key in ["ADMIN", "ROOT"] {
        let response = operation(&server, key, "DescribeTable", describe);
        assert!(response.error().ends_with("ResourceNotFoundException"), "{key}");
    }
    let unknown = operation(&server, "READER", "NoSuchOperation", b"{}");
    assert_eq!(unknown.status, 400);
    let stranger = operation(&server, "STRANGER", "ListTables", b"{}");
    assert!(stranger.error().ends_with("UnrecognizedClientException"));
}

#[test]
fn a_compressed_request_is_judged_like_a_plain_one() {
    let server = server();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(br#"{"TableName":"app"}"#).unwrap();
    let body = encoder.finish().unwrap();
    let ask = |key: &str| {
        let headers = [
            ("content-encoding", "gzip"),
            ("content-type", "application/x-amz-json-1.0"),
            ("x-amz-target", "DynamoDB_20120810.DescribeTable"),
        ];
        ask(&server, (key, "dynamodb"), ("POST", "/"), &headers, &body)
    };
    is_denied(&ask("READER"));
    assert!(ask("ADMIN").error().ends_with("ResourceNotFoundException"));
}

#[test]
fn the_pages_of_the_server_need_a_permission() {
    let server = server();
    for (method, path) in [
        ("GET", "/metrics"),
        ("GET", "/keyloom/stats"),
        ("POST", "/keyloom/verify"),
        ("POST", "/keyloom/backup"),
    ] {
        let ask = |key: &str| ask(&server, (key, "dynamodb"), (method, path), &[], b"");
        is_denied(&ask("READER"));
        for key in ["ADMIN", "ROOT"] {
            let response = ask(key);
            // There are no statistics and no files to back up, and nobody was refused for that.
            assert!(!response.text().contains("AccessDenied"), "{path}: {}", response.text());
        }
    }
}

#[test]
fn reports_of_insights_need_a_permission() {
    let server = server();
    let ask = |key: &str| {
        let headers = [
            ("content-type", "application/x-amz-json-1.0"),
            ("x-amz-target", "GraniteServiceVersion20100801.DescribeInsightRules"),
        ];
        ask(&server, (key, "monitoring"), ("POST", "/"), &headers, b"{}")
    };
    let denied = ask("READER");
    assert!(denied.text().contains("cloudwatch:DescribeInsightRules"), "{}", denied.text());
    assert_eq!(ask("ADMIN").text(), "{\"InsightRules\":[]}");
}

#[test]
fn behind_a_stand_in_only_those_who_may_do_everything_are_served() {
    let server = Server::start(signed_config(), Echo).unwrap();
    is_denied(&operation(&server, "READER", "ListTables", b"{}"));
    assert_eq!(operation(&server, "ADMIN", "ListTables", b"{}").status, 200);
}

#[test]
fn identities_are_credentials_and_each_has_its_own_key() {
    let open =
        Config { address: ([0, 0, 0, 0], 0).into(), credentials: Vec::new(), ..signed_config() };
    assert!(open.check().is_ok());
    let twice = Config { credentials: vec![Credentials::new("READER", SECRET)], ..signed_config() };
    assert!(matches!(twice.check(), Err(StartError::RepeatedAccessKey(key)) if key == "READER"));
}
