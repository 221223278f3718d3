//! `keyloom backup` and `keyloom restore`, of a directory and of a running server, as people run them.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
#![expect(clippy::indexing_slicing, reason = "a panic is how a test fails")]

#[path = "shared/process.rs"]
mod process;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread;

use keyloom_engine::{Database, DiskOptions, Options, verify};
use keyloom_store::DiskStore;

use process::ServerProcess;

const TABLE: &str = r#"{
    "TableName": "orders",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]
}"#;

/// A server that answers calls.
struct Server(ServerProcess);

impl Server {
    fn start(arguments: &[&str]) -> Self {
        Self(ServerProcess::start(arguments))
    }

    fn address(&self) -> &str {
        self.0.url.trim_start_matches("http://")
    }

    fn url(&self) -> String {
        self.0.url.clone()
    }

    fn call(&self, operation: &str, body: &str) {
        let head = format!(
            "POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\nHost: localhost\r\n\
             Content-Type: application/x-amz-json-1.0\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    fn put(&self, id: &str, bytes: usize) {
        let text = "x".repeat(bytes);
        let item = format!(r#"{{"id":{{"S":"{id}"}},"t":{{"S":"{text}"}}}}"#);
        self.call("PutItem", &format!(r#"{{"TableName":"orders","Item":{item}}}"#));
    }
}

fn keyloom(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
    command.args(arguments).env_remove("KEYLOOM_ACCESS_KEY").env_remove("KEYLOOM_SECRET_KEY");
    command.output().unwrap()
}

fn done(arguments: &[&str]) -> String {
    let output = keyloom(arguments);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    said
}

fn refused(arguments: &[&str], why: &str) {
    let output = keyloom(arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(why), "{said}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

/// How many items a directory holds, all of which fit together.
fn items(directory: &Path) -> u64 {
    let report = verify::directory(directory, DiskOptions::default()).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    report.totals.items
}

#[test]
fn a_running_server_is_backed_up_and_restored() {
    let home = tempfile::tempdir().unwrap();
    let [data, backup, restored] =
        ["data", "backup", "restored"].map(|name| home.path().join(name));
    let (to, new) = (backup.to_str().unwrap(), restored.to_str().unwrap());
    let server = Server::start(&["--data", data.to_str().unwrap()]);
    server.call("CreateTable", TABLE);
    (0..20).for_each(|number| server.put(&format!("order-{number}"), 1000));
    let said = done(&["backup", &server.url(), "--to", to]);
    assert!(said.contains("backed up"), "{said}");
    assert_eq!(items(&backup), 20);
    server.put("order-20", 10);
    done(&["backup", &server.url(), "--to", to]);
    assert_eq!(items(&backup), 21);
    done(&["restore", to, "--to", new]);
    assert_eq!(items(&restored), 21);
    refused(&["restore", to, "--to", new], "empty or missing");
    drop(server);
    // What was restored is served, and its counts are right.
    let database = Database::open(&restored).unwrap();
    let reply = database.call("DynamoDB_20120810.DescribeTable", br#"{"TableName":"orders"}"#);
    assert!(text(&reply.body).contains(r#""ItemCount":21"#), "{}", text(&reply.body));
    drop(database);
    let server = Server::start(&["--data", new]);
    refused(&["backup", &server.url(), "--to", to], "backup of another store");
    // A closed one, too, and it is not touched.
    let before = contents(&data);
    let other = home.path().join("other");
    done(&["backup", data.to_str().unwrap(), "--to", other.to_str().unwrap()]);
    assert_eq!(contents(&data), before);
    assert_eq!(items(&other), 21);
}

#[test]
fn tables_that_the_backup_has_are_not_sent_again() {
    let home = tempfile::tempdir().unwrap();
    let (data, backup) = (home.path().join("data"), home.path().join("backup"));
    let (from, to) = (data.to_str().unwrap(), backup.to_str().unwrap());
    // Small buffers make tables of the store at once.
    let options = DiskOptions { memtable_bytes: 60_000, ..DiskOptions::default() };
    let (store, _) = DiskStore::open(&data, options).unwrap();
    let database = Database::on(Arc::new(store), Options::default()).unwrap();
    database.call("DynamoDB_20120810.CreateTable", TABLE.as_bytes());
    for number in 0..200 {
        let put = format!(
            r#"{{"TableName":"orders","Item":{{"id":{{"S":"{number}"}},"t":{{"S":"{}"}}}}}}"#,
            "x".repeat(2000)
        );
        assert_eq!(database.call("DynamoDB_20120810.PutItem", put.as_bytes()).status, 200);
    }
    drop(database);
    let server = Server::start(&["--data", from]);
    let numbers = |said: &str| -> Vec<u64> {
        let said = said.split_once("backed up").unwrap().1;
        said.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
    };
    let first = numbers(&done(&["backup", &server.url(), "--to", to]));
    assert!(first[1] > 0 && first[3] == 0, "{first:?}");
    // A compaction may make new tables in between, but not for ever.
    let again = (0..20)
        .map(|_| numbers(&done(&["backup", &server.url(), "--to", to])))
        .find(|again| again[1] == 0)
        .unwrap();
    assert!(again[0] < first[0] / 2 && again[2] > 0 && again[3] > 0, "{first:?} {again:?}");
    drop(server);
    assert_eq!(items(&backup), 200);
}

#[test]
fn only_those_who_may_read_everything_get_a_backup() {
    let home = tempfile::tempdir().unwrap();
    let (data, backup) = (home.path().join("data"), home.path().join("backup"));
    let to = backup.to_str().unwrap();
    let secret = "a secret of some length";
    let right = ["--access-key", "AKID", "--secret-key", secret];
    let server = Server::start(&[&["--data", data.to_str().unwrap()][..], &right].concat());
    refused(&["backup", &server.url(), "--to", to], "--access-key");
    let wrong = ["--access-key", "AKID", "--secret-key", "another"];
    refused(&[&["backup", &server.url(), "--to", to][..], &wrong].concat(), "refuses");
    assert!(!backup.exists());
    done(&[&["backup", &server.url(), "--to", to][..], &right].concat());
    // With something in its body, that is signed as well.
    done(&[&["backup", &server.url(), "--to", to][..], &right].concat());
}

/// Passes connections on, and breaks each off after so many bytes of the answer.
fn break_off_after(address: String, bytes: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        // Whether somebody listens is asked with a connection of its own.
        for client in listener.incoming() {
            let (client, address) = (client.unwrap(), address.clone());
            thread::spawn(move || pass_on(client, &address, bytes));
        }
    });
    here
}

fn pass_on(mut client: TcpStream, address: &str, bytes: usize) {
    let mut server = TcpStream::connect(address).unwrap();
    let (mut up_from, mut up_to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || drop(std::io::copy(&mut up_from, &mut up_to)));
    let mut left = bytes;
    let mut buffer = [0; 4096];
    while left > 0 {
        let read = server.read(&mut buffer[..left.min(4096)]).unwrap_or(0);
        if read == 0 || client.write_all(buffer.get(..read).unwrap()).is_err() {
            break;
        }
        left -= read;
    }
    drop(client.shutdown(std::net::Shutdown::Both));
}

#[test]
fn a_connection_that_breaks_off_leaves_the_backup_before_and_the_server() {
    let home = tempfile::tempdir().unwrap();
    let (data, backup) = (home.path().join("data"), home.path().join("backup"));
    let to = backup.to_str().unwrap();
    let server = Server::start(&["--data", data.to_str().unwrap(), "--relaxed"]);
    server.call("CreateTable", TABLE);
    server.put("order-0", 10);
    done(&["backup", &server.url(), "--to", to]);
    let good = contents(&backup);
    (1..12).for_each(|number| server.put(&format!("order-{number}"), 300_000));
    for bytes in [0, 100, 1_000, 300_000, 1_500_000, 3_000_000] {
        let broken = format!("http://{}", break_off_after(server.address().to_owned(), bytes));
        let output = keyloom(&["backup", &broken, "--to", to]);
        assert_eq!(output.status.code(), Some(1), "{bytes}: {}", text(&output.stdout));
        assert!(!output.stderr.is_empty());
        assert_eq!(contents(&backup), good, "{bytes}");
        assert!(!home.path().join("backup.partial").exists(), "{bytes}");
    }
    // A backup that broke off makes room for the next, which may have to wait for its end.
    let mut tries = 0;
    while keyloom(&["backup", &server.url(), "--to", to]).status.code() != Some(0) {
        tries += 1;
        assert!(tries < 50, "the server is still busy with a backup that nobody reads");
        thread::sleep(std::time::Duration::from_millis(100));
    }
    drop(server);
    assert_eq!(items(&backup), 12);
}

#[test]
fn what_cannot_be_backed_up_or_restored_is_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let (data, backup) = (home.path().join("data"), home.path().join("backup"));
    let [from, to] = [&data, &backup].map(|path| path.to_str().unwrap());
    let server = Server::start(&["--memory"]);
    refused(&["backup", &server.url(), "--to", to], "keeps its data in memory");
    drop(server);
    refused(&["backup", "http://127.0.0.1:9", "--to", to], "does not answer");
    refused(&["backup", from, "--to", to], from);
    let database = Database::open(&data).unwrap();
    refused(&["backup", from, "--to", to], "open in another process");
    drop(database);
    refused(&["backup", from, "--to", from], "directory of the store");
    refused(&["restore", from, "--to", to], "is a store, not a backup of one");
    assert!(!Path::new(to).exists() && !home.path().join("backup.partial").exists());
    // Neither into a directory that a server uses nor anywhere inside it, whatever is backed up.
    let other = home.path().join("other");
    let other = other.to_str().unwrap();
    drop(Database::open(other).unwrap());
    let server = Server::start(&["--data", from]);
    let inside = data.join("backups/today");
    let before = contents(&data);
    for source in [&server.url(), other] {
        refused(&["backup", source, "--to", from], from);
        refused(
            &["backup", source, "--to", inside.to_str().unwrap()],
            "inside the directory of a store",
        );
    }
    assert!(contents(&data).keys().eq(before.keys()));
}
