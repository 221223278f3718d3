//! `keyloom deploy` on the corpus: what it writes is taken by our own server and by the tools it is for.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::ServerProcess;
use super::{all_right, corrected, keyloom, text};

/// A server that answers calls.
struct Server(ServerProcess);

impl Server {
    fn start() -> Self {
        Self(ServerProcess::start(&["--memory"]))
    }

    fn call(&self, operation: &str, body: &str) -> String {
        let address = self.0.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST / HTTP/1.1\r\nHost: {}\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n\
             Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            address,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
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
        for body in bodies(&design) {
            let answer = server.call("CreateTable", &body.to_string());
            if !answer.starts_with("HTTP/1.1 200") {
                wrong.push(format!("{design}: {answer}"));
            }
        }
    }
    all_right(wrong);
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Something that `scripts/setup-clients` installs; where it is not, the test says so, or fails if it must run.
fn installed(path: &str) -> Option<PathBuf> {
    let found = root().join(path);
    if found.exists() {
        return Some(found);
    }
    assert!(
        std::env::var_os("KEYLOOM_REQUIRE_CLIENTS").is_none(),
        "{path} is not installed, and KEYLOOM_REQUIRE_CLIENTS demands it; run scripts/setup-clients"
    );
    let mut stderr = std::io::stderr();
    let _ = writeln!(stderr, "SKIPPED: {path} is not installed; run scripts/setup-clients");
    None
}

/// The create-table output as a list of request bodies.
fn bodies(design: &str) -> Vec<serde_json::Value> {
    let text = emitted(design, "create-table");
    let bodies = serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>();
    bodies.map(Result::unwrap).collect()
}

/// A folder with one form of every corrected design, beside its request bodies.
fn emitted_files(forms: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for design in corrected() {
        let name = design.trim_end_matches(".toml");
        let write = |ending: &str, text: String| {
            std::fs::write(folder.path().join(format!("{name}.{ending}")), text).unwrap();
        };
        write("json", serde_json::to_string(&bodies(&design)).unwrap());
        for (form, ending) in forms {
            write(ending, emitted(&design, form));
        }
    }
    folder
}

fn must_succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn cloudformation_templates_pass_cfn_lint() {
    let Some(lint) = installed(".venv/bin/cfn-lint") else { return };
    let folder = emitted_files(&[("cloudformation", "yaml")]);
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let templates = files.filter(|file| file.extension().is_some_and(|ending| ending == "yaml"));
    must_succeed(Command::new(lint).args(templates));
}

#[test]
fn cloudformation_and_terraform_describe_the_tables_of_create_table() {
    let Some(_) = installed(".venv/bin/hcl2tojson") else { return };
    let folder = emitted_files(&[("cloudformation", "yaml"), ("terraform", "tf")]);
    let script = root().join("tests/clients/emitted.py");
    must_succeed(Command::new(root().join(".venv/bin/python")).arg(script).arg(folder.path()));
}

#[test]
fn cdk_synthesises_the_tables_of_create_table() {
    let Some(_) = installed("tests/clients/cdk/node_modules/aws-cdk-lib") else { return };
    let folder = emitted_files(&[("cdk", "ts")]);
    let script = root().join("tests/clients/cdk/synth.cjs");
    must_succeed(Command::new("node").arg(script).arg(folder.path()));
}

/// Creates the tables of every design on the server; designs share table names, so each is deleted again.
const CREATE_WITH_BOTO3: &str = r#"
import json, pathlib, sys, boto3
endpoint, folder = sys.argv[1:]
client = boto3.client("dynamodb", endpoint_url=endpoint, region_name="us-east-1",
                      aws_access_key_id="x", aws_secret_access_key="x")
for file in sorted(pathlib.Path(folder).glob("*.json")):
    bodies = json.loads(file.read_text())
    for body in bodies:
        client.create_table(**body)
    for body in bodies:
        client.get_waiter("table_exists").wait(TableName=body["TableName"], WaiterConfig={"Delay": 1})
        made = client.describe_table(TableName=body["TableName"])["Table"]
        assert made["KeySchema"] == body["KeySchema"], (file, made)
        indexes = lambda table: {i["IndexName"]: i["KeySchema"] for i in table.get("GlobalSecondaryIndexes", [])}
        assert indexes(made) == indexes(body), (file, made)
    for body in bodies:
        client.delete_table(TableName=body["TableName"])
        client.get_waiter("table_not_exists").wait(TableName=body["TableName"], WaiterConfig={"Delay": 1})
"#;

#[test]
fn boto3_creates_every_emitted_table() {
    let Some(_) = installed(".venv/bin/cfn-lint") else { return };
    let folder = emitted_files(&[]);
    let server = Server::start();
    let endpoint = server.0.url.clone();
    let mut python = Command::new(root().join(".venv/bin/python"));
    must_succeed(python.args(["-c", CREATE_WITH_BOTO3, &endpoint]).arg(folder.path()));
}

#[test]
fn deploying_creates_the_tables_and_finds_them_as_designed() {
    let server = Server::start();
    let endpoint = server.0.url.clone();
    let deploy = |more: &[&str]| {
        let output = keyloom(&[&["deploy", "tasks.toml", "--to", &endpoint], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(deploy(&["--dry-run"]).starts_with("would create table `tasks` with `GSI1`"));
    assert!(deploy(&[]).ends_with("done\n"));
    assert_eq!(deploy(&[]), "table `tasks` is as designed\n");
}

#[test]
fn checking_reports_drift_and_changes_nothing() {
    let server = Server::start();
    let endpoint = server.0.url.clone();
    let drift = || {
        let output = keyloom(&["deploy", "tasks.toml", "--to", &endpoint, "--check"]);
        (output.status.code(), text(&output.stdout))
    };
    let (code, said) = drift();
    assert_eq!(code, Some(1));
    assert!(said.starts_with("not deployed: create table `tasks`"), "{said}");
    assert_eq!(drift().0, Some(1), "the check itself creates nothing");
    assert!(keyloom(&["deploy", "tasks.toml", "--to", &endpoint]).status.success());
    assert_eq!(drift(), (Some(0), "table `tasks` is as designed\n".to_owned()));
    let lacking =
        r#"{"TableName":"tasks","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"GSI2"}}]}"#;
    assert!(server.call("UpdateTable", lacking).starts_with("HTTP/1.1 200"));
    let (code, said) = drift();
    assert_eq!(code, Some(1));
    assert!(said.contains("GSI2"), "{said}");
}

#[test]
fn deploying_refuses_a_table_with_another_key_and_names_the_way_out() {
    let server = Server::start();
    let endpoint = server.0.url.clone();
    let table = r#"{"TableName":"tasks","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}"#;
    assert!(server.call("CreateTable", table).starts_with("HTTP/1.1 200"));
    let output = keyloom(&["deploy", "tasks.toml", "--to", &endpoint]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = text(&output.stderr);
    assert!(complaint.contains("nothing was changed"), "{complaint}");
    assert!(complaint.contains("give the table another name"), "{complaint}");
}

#[test]
fn what_was_done_and_what_was_refused_is_said_in_json() {
    let server = Server::start();
    let endpoint = server.0.url.clone();
    let deploy = |more: &[&str]| {
        let arguments = ["deploy", "tasks.toml", "--to", &endpoint, "--format", "json"];
        let output = keyloom(&[&arguments, more].concat());
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), document)
    };
    let (code, planned) = deploy(&["--dry-run"]);
    assert_eq!(code, Some(0));
    assert_eq!(planned["changes"][0]["operation"], "CreateTable");
    assert_eq!(planned["changes"][0]["request"]["TableName"], "tasks");
    assert_eq!(planned["changes"][0]["made"], false);
    assert_eq!(deploy(&[]).1["changes"][0]["made"], true);
    assert_eq!(deploy(&[]).1["as_designed"][0], "tasks");

    assert!(server.call("DeleteTable", r#"{"TableName":"tasks"}"#).starts_with("HTTP/1.1 200"));
    let table = r#"{"TableName":"tasks","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}"#;
    assert!(server.call("CreateTable", table).starts_with("HTTP/1.1 200"));
    let (code, refused) = deploy(&[]);
    assert_eq!(code, Some(1));
    let refusal = refused["refusals"][0].as_str().unwrap();
    assert!(refusal.contains("a table's key never changes"), "{refused}");
    let changes = refused["changes"].as_array().unwrap();
    assert!(changes.iter().all(|change| change["made"] == false), "{refused}");
}

#[test]
fn an_endpoint_that_does_not_answer_is_named() {
    let output = keyloom(&["deploy", "tasks.toml", "--to", "http://127.0.0.1:9"]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = text(&output.stderr);
    assert!(complaint.contains("http://127.0.0.1:9"), "{complaint}");
}
