//! `keyloom deploy` on the corpus: what it writes is taken by our own server and by the tools it is for.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{all_right, corrected, keyloom, text};

/// A server in a process of its own; it ends with the test.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_keyloom"))
            .args(["serve", "--memory", "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap().split_whitespace().next().unwrap();
        Self { address: address.trim_end_matches('/').to_owned(), process }
    }

    fn call(&self, operation: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "POST / HTTP/1.1\r\nHost: {}\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n\
             Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn emitted(design: &str, form: &str) -> String {
    let output = keyloom(&["deploy", design, "--emit", form]);
    assert!(output.status.success(), "{design}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_server_creates_every_emitted_table() {
    let mut wrong = Vec::new();
    for design in corrected() {
        // Designs share table names, so each gets a server of its own.
        let server = Server::start();
        let text = emitted(&design, "create-table");
        for body in serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>() {
            let answer = server.call("CreateTable", &body.unwrap().to_string());
            if !answer.starts_with("HTTP/1.1 200") {
                wrong.push(format!("{design}: {answer}"));
            }
        }
    }
    all_right(wrong);
}

/// A program in the virtual environment that `scripts/setup-clients` makes.
fn client(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin").join(name);
    if !path.exists() {
        let mut stderr = std::io::stderr();
        let _ = writeln!(stderr, "SKIPPED: {name} is not installed; run scripts/setup-clients");
        return None;
    }
    Some(path)
}

#[test]
fn cloudformation_templates_pass_cfn_lint() {
    let Some(lint) = client("cfn-lint") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for design in corrected() {
        let file = folder.path().join(design.replace(".toml", ".yaml"));
        std::fs::write(&file, emitted(&design, "cloudformation")).unwrap();
        files.push(file);
    }
    let output = Command::new(lint).args(&files).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

const CREATE_WITH_BOTO3: &str = r#"
import json, sys, boto3
endpoint, path = sys.argv[1:]
client = boto3.client("dynamodb", endpoint_url=endpoint, region_name="us-east-1",
                      aws_access_key_id="x", aws_secret_access_key="x")
text, at, decoder = open(path).read(), 0, json.JSONDecoder()
while text[at:].strip():
    at += len(text[at:]) - len(text[at:].lstrip())
    body, at = decoder.raw_decode(text, at)
    client.create_table(**body)
    client.get_waiter("table_exists").wait(TableName=body["TableName"])
"#;

#[test]
fn boto3_creates_every_emitted_table() {
    let Some(python) = client("python") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    // One of each kind of index is enough here: boto3 takes half a second to start.
    for design in ["tasks.toml", "document-versions.toml", "tournament.toml", "user-orders.toml"] {
        let server = Server::start();
        let file = folder.path().join(design);
        std::fs::write(&file, emitted(design, "create-table")).unwrap();
        let output = Command::new(&python)
            .args(["-c", CREATE_WITH_BOTO3, &format!("http://{}", server.address)])
            .arg(&file)
            .output()
            .unwrap();
        if !output.status.success() {
            wrong.push(format!("{design}: {}", text(&output.stderr)));
        }
    }
    all_right(wrong);
}

#[test]
fn terraform_and_cdk_name_every_index() {
    for design in corrected() {
        let (terraform, cdk) = (emitted(&design, "terraform"), emitted(&design, "cdk"));
        let open = |text: &str| text.matches('{').count() == text.matches('}').count();
        assert!(open(&terraform) && open(&cdk), "{design}: braces do not match");
        let tables = emitted(&design, "create-table");
        for body in serde_json::Deserializer::from_str(&tables).into_iter::<serde_json::Value>() {
            let body = body.unwrap();
            let indexes = ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"]
                .into_iter()
                .flat_map(|kind| body[kind].as_array().cloned().unwrap_or_default());
            for index in indexes {
                let name = index["IndexName"].as_str().unwrap();
                assert!(terraform.contains(&format!("name = \"{name}\"")), "{design}: {name}");
                assert!(cdk.contains(&format!("indexName: '{name}'")), "{design}: {name}");
            }
        }
    }
}
