//! Exports and imports by real clients: to directories, and to a real S3 server.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyloom::remote::{Credentials as Signing, Endpoint, S3Buckets};
use keyloom_engine::buckets::{Buckets, Folder};
use keyloom_engine::{Database, Options};
use keyloom_server::{Config, Credentials, RunningServer, Server};

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

#[test]
fn boto3_exports_to_and_imports_from_s3() {
    let (Some(mut client), Some(s3)) = (boto3("boto3_transfers.py"), S3Server::start()) else {
        return;
    };
    let endpoint = Endpoint::url(&s3.url)
        .region("us-east-1")
        .credentials(Signing::new(ACCESS_KEY, SECRET_KEY));
    let server = serve(Arc::new(S3Buckets::new(endpoint).unwrap()));
    client.env("KEYLOOM_S3", &s3.url);
    run("S3", server.url(), client);
}
