//! Exports and imports by real clients: to directories, and to a real S3 server.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyloom::remote::{Credentials as Signing, Endpoint, S3Buckets};
use keyloom_engine::buckets::{Buckets, Folder};
use keyloom_engine::{Database, Options};
use keyloom_server::{Config, Credentials, RunningServer, Server};
use serde_json::{Value, json};

use crate::clients::{aws_cli, boto3, root, run, skip};
use crate::{ACCESS_KEY, SECRET_KEY};

fn serve(buckets: Arc<dyn Buckets>) -> RunningServer {
    let options = Options { buckets: Some(buckets), ..Options::default() };
    let config = Config {
        address: ([127, 0, 0, 1], 0).into(),
        credentials: vec![Credentials::new(ACCESS_KEY, SECRET_KEY)],
        ..Config::default()
    };
    Server::start(config, Database::memory_with(options)).unwrap()
}

#[test]
fn clients_export_to_and_import_from_directories() {
    for client in [boto3("boto3_transfers.py"), aws_cli("awscli_transfers.sh")] {
        let Some(mut client) = client else { continue };
        let root = tempfile::tempdir().unwrap();
        let server = serve(Arc::new(Folder::new(root.path())));
        client.env("KEYLOOM_BUCKETS", root.path());
        run("directories", server.url(), client);
    }
}

/// A server of S3 that is not ours.
struct S3Server {
    process: Child,
    url: String,
}

impl S3Server {
    /// Starts one; none if it is not installed.
    fn start() -> Option<Self> {
        let command = root().join(".venv/bin/moto_server");
        if !command.exists() {
            skip("the S3 server (moto) is not installed");
            return None;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let process = Command::new(command)
            .args(["-H", "127.0.0.1", "-p", &address.port().to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { process, url: format!("http://{address}") };
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(start.elapsed() < Duration::from_mins(1), "the S3 server does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A proxy in front of an S3 server that verifies signatures, which the server itself does not, with botocore.
struct Verifier {
    process: Child,
    url: String,
}

impl Verifier {
    fn start(behind: &S3Server) -> Self {
        let mut process = Command::new(root().join(".venv/bin/python"))
            .arg(root().join("tests/clients/s3_verifier.py"))
            .args([&behind.url, ACCESS_KEY, SECRET_KEY])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().to_owned();
        assert!(url.starts_with("http://"), "{line}");
        Self { process, url }
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn buckets(url: &str, secret: &str) -> Arc<dyn Buckets> {
    let credentials = Signing::new(ACCESS_KEY, secret);
    Arc::new(
        S3Buckets::new(Endpoint::url(url).region("us-east-1").credentials(credentials)).unwrap(),
    )
}

#[test]
fn boto3_exports_to_and_imports_from_s3() {
    let (Some(mut client), Some(s3)) = (boto3("boto3_transfers.py"), S3Server::start()) else {
        return;
    };
    // Everything that is sent to S3 goes through the verifier; the client looks at the buckets themselves.
    let verifier = Verifier::start(&s3);
    let server = serve(buckets(&verifier.url, SECRET_KEY));
    client.env("KEYLOOM_S3", &s3.url);
    run("S3", server.url(), client);
}

#[test]
fn a_wrong_signature_ends_an_import_with_the_reason() {
    let (Some(_), Some(s3)) = (boto3("boto3_transfers.py"), S3Server::start()) else { return };
    let verifier = Verifier::start(&s3);
    let options =
        Options { buckets: Some(buckets(&verifier.url, "not the secret")), ..Options::default() };
    let database = Database::memory_with(options);
    let call = |operation: &str, body: Value| -> Value {
        let reply =
            database.call(&format!("DynamoDB_20120810.{operation}"), body.to_string().as_bytes());
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
        serde_json::from_slice(&reply.body).unwrap()
    };
    let table = json!({
        "TableName": "music", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    });
    let import = json!({
        "S3BucketSource": {"S3Bucket": "transfers"}, "InputFormat": "DYNAMODB_JSON", "TableCreationParameters": table,
    });
    let begun = call("ImportTable", import);
    let arn = &begun["ImportTableDescription"]["ImportArn"];
    let start = Instant::now();
    loop {
        let shown = call("DescribeImport", json!({"ImportArn": arn}));
        let import = &shown["ImportTableDescription"];
        if import["ImportStatus"] != "IN_PROGRESS" {
            assert_eq!(import["FailureCode"], "S3AccessDenied", "{import}");
            assert!(
                import["FailureMessage"].to_string().contains("the signature differs"),
                "{import}"
            );
            return;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "{import}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
