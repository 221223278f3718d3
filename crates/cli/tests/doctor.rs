//! `keyloom doctor` against a running `keyloom serve`, run as people run them.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "shared/process.rs"]
mod process;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use process::ServerProcess;

struct Server(ServerProcess);

impl Server {
    fn start(arguments: &[&str]) -> Self {
        Self(ServerProcess::start(&[&["--memory"], arguments].concat()))
    }

    fn exchange(&self, request: &str) -> String {
        let mut socket = TcpStream::connect(self.0.url.strip_prefix("http://").unwrap()).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }

    fn call(&self, operation: &str, body: &Value) {
        let body = body.to_string();
        let answer = self.exchange(&format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n\
             Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            body.len()
        ));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    fn page(&self, path: &str) -> String {
        self.exchange(&format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        ))
    }

    /// A table, a few items, and scans that throw everything away.
    fn load(&self) {
        self.call(
            "CreateTable",
            &json!({
                "TableName": "orders",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{ "AttributeName": "PK", "AttributeType": "S" }],
                "KeySchema": [{ "AttributeName": "PK", "KeyType": "HASH" }],
            }),
        );
        for order in 0..20 {
            let key = json!({ "PK": { "S": format!("ORDER#secret-{order}") } });
            self.call("PutItem", &json!({ "TableName": "orders", "Item": key }));
        }
        for _ in 0..8 {
            self.call(
                "Scan",
                &json!({
                    "TableName": "orders",
                    "FilterExpression": "colour = :open",
                    "ExpressionAttributeValues": { ":open": { "S": "open" } },
                }),
            );
        }
    }
}

fn doctor(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyloom")).arg("doctor").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_doctor_asks_a_server_and_records_what_it_says() {
    let server = Server::start(&[]);
    server.load();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.json");
    let file = file.to_str().unwrap();
    let answer = doctor(&["--endpoint", &server.0.url, "--save", file, "--deny", "error"]);
    let said = text(&answer.stdout);
    assert!(answer.status.success(), "{said}{}", text(&answer.stderr));
    for line in [
        "warning[inefficient-scan]: orders: a scan throws 100 % of what it reads away",
        "warning[missing-index]: orders: 8 scans filter on colour, which no index has as its key",
    ] {
        assert!(said.lines().any(|found| found == line), "{line} is not in\n{said}");
    }
    assert!(said.contains("ORDER#secret-"), "{said}");
    let denied = doctor(&["--file", file, "--deny", "warning", "--redact", "prefix"]);
    assert_eq!(denied.status.code(), Some(1));
    assert!(!text(&denied.stdout).contains("secret"), "{}", text(&denied.stdout));
    let twice = doctor(&["--file", file, "--file", file, "--format", "json"]);
    let twice: Value = serde_json::from_slice(&twice.stdout).unwrap();
    assert_eq!(twice.pointer("/report/requests"), Some(&json!(56)));
    let ids = twice.pointer("/findings").unwrap().as_array().unwrap();
    assert!(ids.iter().any(|finding| finding.get("id") == Some(&json!("inefficient-scan"))));
}

#[test]
fn metrics_tell_of_tables_and_statistics_can_be_switched_off() {
    let server = Server::start(&[]);
    server.load();
    let page = server.page("/metrics");
    assert!(page.contains("keyloom_write_units_total{table=\"orders\",index=\"\"} 20"), "{page}");
    assert!(!page.contains("secret"));
    let silent = Server::start(&["--stats", "off"]);
    silent.load();
    let page = silent.page("/metrics");
    assert!(!page.contains("keyloom_write_units_total"), "{page}");
    assert!(!page.contains("keyloom_virtual_partitions"), "watching is counting: {page}");
    let refused = doctor(&["--endpoint", &silent.0.url]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("--stats off"), "{}", text(&refused.stderr));
}

#[test]
fn statistics_are_for_those_who_may_read_the_data() {
    let keys = ["--access-key", "AKIDEXAMPLE", "--secret-key", "secret/with+signs"];
    let server = Server::start(&keys);
    assert!(!server.page("/keyloom/stats").starts_with("HTTP/1.1 200"));
    let refused = doctor(&["--endpoint", &server.0.url]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("--access-key"), "{}", text(&refused.stderr));
    let mut arguments = vec!["--endpoint", server.0.url.as_str()];
    arguments.extend(keys);
    let answer = doctor(&arguments);
    assert!(answer.status.success(), "{}", text(&answer.stderr));
    assert!(text(&answer.stdout).contains("Nothing was asked yet"));
}

#[test]
fn a_design_names_the_patterns_and_bad_input_is_explained() {
    let design = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/designs/tasks.toml");
    let server = Server::start(&["--design", design.to_str().unwrap()]);
    let table = json!({
        "TableName": "tasks",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            { "AttributeName": "PK", "AttributeType": "S" },
            { "AttributeName": "SK", "AttributeType": "S" },
        ],
        "KeySchema": [
            { "AttributeName": "PK", "KeyType": "HASH" },
            { "AttributeName": "SK", "KeyType": "RANGE" },
        ],
    });
    server.call("CreateTable", &table);
    let key = json!({ "PK": { "S": "USER#01HM5KXJ8M0000000000000001" }, "SK": { "S": "PROFILE" } });
    server.call("GetItem", &json!({ "TableName": "tasks", "Key": key }));
    let answer = doctor(&["--endpoint", &server.0.url, "--design", design.to_str().unwrap()]);
    let said = text(&answer.stdout);
    assert!(
        said.contains("design Task management") && said.contains("profile of a user"),
        "{said}"
    );
    for (arguments, why) in [
        (vec!["--file", "/no/such/file.json"], "cannot be read"),
        (vec!["--endpoint", "http://127.0.0.1:1"], "Is `keyloom serve` running there?"),
        (vec!["--redact", "some"], "none, hash or prefix"),
    ] {
        let refused = doctor(&arguments);
        assert!(!refused.status.success());
        assert!(text(&refused.stderr).contains(why), "{}", text(&refused.stderr));
    }
}
