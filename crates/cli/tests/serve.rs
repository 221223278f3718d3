//! `keyloom serve`, run as people run it.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "shared/process.rs"]
mod process;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
#[cfg(unix)]
use std::path::Path;
use std::process::{Command, Stdio};

use process::ServerProcess;

/// A server that answers calls.
struct Server {
    process: ServerProcess,
    address: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        Self::run(&["--memory"], arguments)
    }

    #[cfg(unix)]
    fn on_disk(directory: &Path, arguments: &[&str]) -> Self {
        Self::run(&["--data", directory.to_str().unwrap()], arguments)
    }

    fn run(place: &[&str], arguments: &[&str]) -> Self {
        let process = ServerProcess::start(&[place, arguments].concat());
        Self { address: process.url.trim_start_matches("http://").to_owned(), process }
    }

    fn exchange(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let request = format!(
            "{head}Host: localhost\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn call(&self, operation: &str, body: &str) -> String {
        let head = format!(
            "POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n\
             Content-Type: application/x-amz-json-1.0\r\n"
        );
        self.exchange(&head, body)
    }

    fn create(&self) {
        let answer = self.call(
            "CreateTable",
            r#"{"TableName":"Orders","BillingMode":"PAY_PER_REQUEST",
                "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
                "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}"#,
        );
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    fn put(&self) -> String {
        self.put_item("a")
    }

    fn put_item(&self, id: &str) -> String {
        let body = format!(r#"{{"TableName":"Orders","Item":{{"id":{{"S":"{id}"}}}}}}"#);
        self.call("PutItem", &body)
    }

    /// How many items the table has, as its description says.
    #[cfg(unix)]
    fn item_count(&self) -> usize {
        let answer = self.call("DescribeTable", r#"{"TableName":"Orders"}"#);
        let count = answer.split("\"ItemCount\":").nth(1).unwrap();
        count.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    }

    /// Sends a signal and waits for the end of the process.
    #[cfg(unix)]
    fn end(mut self, signal: &str) -> std::process::ExitStatus {
        let process = self.process.process.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
        self.process.process.wait().unwrap()
    }
}

#[test]
fn refusals_on_order_come_over_the_wire() {
    let server = Server::start(&["--throttle", "inject=write:every=2"]);
    server.create();
    assert!(server.put().starts_with("HTTP/1.1 200"));
    let refused = server.put();
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
    assert!(refused.contains(r#""reason":"TableWriteKeyRangeThroughputExceeded""#), "{refused}");
}

#[test]
fn partitions_are_watched_unless_told_otherwise() {
    let watched = Server::start(&[]);
    watched.create();
    watched.put();
    let page = watched.exchange("GET /metrics HTTP/1.1\r\n", "");
    let line = r#"keyloom_virtual_partitions{table="Orders",index=""} 4"#;
    assert!(page.contains(line), "{page}");
    let unwatched = Server::start(&["--throttle", "off"]);
    unwatched.create();
    unwatched.put();
    let page = unwatched.exchange("GET /metrics HTTP/1.1\r\n", "");
    assert!(!page.contains("keyloom_virtual_partitions{"), "{page}");
}

#[test]
fn refusals_are_counted_even_where_requests_are_not() {
    let server = Server::start(&["--stats", "off", "--throttle", "enforce:burst=0"]);
    let answer = server.call(
        "CreateTable",
        r#"{"TableName":"Orders",
            "ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1},
            "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
            "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}"#,
    );
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // 98 units: nothing is left for a minute and a half.
    let text = "x".repeat(100_000);
    let item =
        format!(r#"{{"TableName":"Orders","Item":{{"id":{{"S":"a"}},"t":{{"S":"{text}"}}}}}}"#);
    assert!(server.call("PutItem", &item).starts_with("HTTP/1.1 200"));
    assert!(server.put().starts_with("HTTP/1.1 400"));
    let page = server.exchange("GET /metrics HTTP/1.1\r\n", "");
    let reason = "TableWriteProvisionedThroughputExceeded";
    let line = format!(
        r#"keyloom_virtual_throttles_total{{table="Orders",index="",reason="{reason}"}} 1"#
    );
    assert!(page.contains(&line), "{page}");
}

#[test]
fn the_endpoint_is_where_it_listens_or_what_it_is_told() {
    let server = Server::start(&[]);
    assert!(server.call("DescribeEndpoints", "{}").contains(&server.address));
    let server = Server::start(&["--advertise", "db.example.com:443"]);
    assert!(server.call("DescribeEndpoints", "{}").contains("db.example.com:443"));
}

#[test]
fn there_are_as_many_tables_as_it_is_told() {
    let server = Server::start(&["--max-tables", "1"]);
    let create = |name: &str| {
        let body = format!(
            r#"{{"TableName": "{name}", "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{{"AttributeName": "id", "AttributeType": "S"}}],
                "KeySchema": [{{"AttributeName": "id", "KeyType": "HASH"}}]}}"#
        );
        server.call("CreateTable", &body)
    };
    assert!(create("First").contains("\"TableStatus\":\"CREATING\""));
    let refused = create("Second");
    assert!(refused.contains("#LimitExceededException"), "{refused}");
}

#[test]
fn mistakes_in_arguments_are_named() {
    for (arguments, said) in [
        (["--throttle", "often"], "`often` is no way to throttle"),
        (["--throttle", "inject=write"], "does not say how many are refused"),
        (["--throttle", "enforce:burst=400"], "from 0 to 300"),
        (["--advertise", "nowhere"], "a host and a port"),
        (["--cors", "example.com"], "it must be an origin such as https://app.example.com"),
        (["--memory-limit", "63"], "63 is not in 64.."),
        (["--max-connections-per-client", "0"], "0 is not in 1.."),
        (["--max-tables", "10001"], "10001 is not in 1..=10000"),
        (["--metrics-listen", "9000"], "invalid socket address"),
        (
            ["--bucket-root", "/nowhere/buckets"],
            "--bucket-root: /nowhere/buckets is not a directory",
        ),
        (["--bucket-root", "Cargo.toml"], "--bucket-root: Cargo.toml is not a directory"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_keyloom"))
            .args(["serve", "--memory", "--port", "0"])
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(said), "{arguments:?}: {text}");
    }
}

#[cfg(unix)]
#[test]
fn a_data_directory_that_others_can_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("foreign"), "").unwrap();
    for (mode, is_warned) in [(0o755, true), (0o700, false)] {
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(mode)).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_keyloom"))
            .args(["serve", "--port", "0", "--data"])
            .arg(&data)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains("not a keyloom store"), "{text}");
        assert_eq!(text.contains("warning: other users have access to"), is_warned, "{text}");
    }
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 1, "nothing is created in it");
}

/// Whether the database in a directory was closed, and its counts noted.
#[cfg(unix)]
fn has_noted_counts(directory: &Path) -> bool {
    use keyloom_store::{DiskOptions, DiskStore, Store as _};
    // A copy: an opening of the store in between would make the note worthless.
    let copy = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-r").arg(directory).arg(copy.path().join("data")).status();
    assert!(copied.unwrap().success());
    let (store, _) = DiskStore::open(copy.path().join("data"), DiskOptions::default()).unwrap();
    store.get(keyloom_engine::COUNTS_KEY).unwrap().is_some()
}

#[cfg(unix)]
#[test]
fn whoever_asks_it_to_end_finds_the_counts_noted_and_whoever_kills_it_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let mut expected = 0;
    for (round, signal) in
        ["-TERM", "-KILL", "-KILL", "-INT", "-TERM", "-KILL", "-INT"].iter().enumerate()
    {
        let durability: &[&str] = if round % 2 == 0 { &[] } else { &["--relaxed"] };
        let server = Server::on_disk(directory.path(), durability);
        if round == 0 {
            server.create();
        }
        assert_eq!(server.item_count(), expected, "before {signal}");
        // A connection that stays open must not keep the server from ending.
        let _idle = TcpStream::connect(&server.address).unwrap();
        for number in 0..5 {
            assert!(server.put_item(&format!("{round}-{number}")).starts_with("HTTP/1.1 200"));
            expected += 1;
        }
        assert_eq!(server.item_count(), expected);
        let is_asked = *signal != "-KILL";
        assert_eq!(server.end(signal).success(), is_asked, "{signal}");
        assert_eq!(has_noted_counts(directory.path()), is_asked, "{signal}");
    }
}

/// An S3 endpoint that takes requests and never answers; every connection is announced.
#[cfg(unix)]
fn frozen_endpoint() -> (String, std::sync::mpsc::Receiver<()>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (connected, connections) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        while let Ok((connection, _)) = listener.accept() {
            open.push(connection);
            if connected.send(()).is_err() {
                return;
            }
        }
    });
    (url, connections)
}

#[cfg(unix)]
#[test]
fn a_frozen_s3_endpoint_does_not_hold_up_the_end() {
    let import = r#"{"S3BucketSource":{"S3Bucket":"bucket"},"InputFormat":"DYNAMODB_JSON",
        "TableCreationParameters":{"TableName":"Imported","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}}"#;
    let export = r#"{"TableArn":"arn:aws:dynamodb:us-east-1:000000000000:table/Orders","S3Bucket":"bucket"}"#;
    let recovery = r#"{"TableName":"Orders",
        "PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}}"#;
    for (operation, body) in [("ImportTable", import), ("ExportTableToPointInTime", export)] {
        let (url, connections) = frozen_endpoint();
        let directory = tempfile::tempdir().unwrap();
        let server = Server::on_disk(directory.path(), &["--s3-endpoint", &url]);
        server.create();
        server.put();
        server.call("UpdateContinuousBackups", recovery);
        let answer = server.call(operation, body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        connections.recv_timeout(std::time::Duration::from_mins(1)).unwrap();
        let since = std::time::Instant::now();
        assert!(server.end("-TERM").success(), "{operation}");
        // Half a second for the answer; the rest is for a busy machine.
        assert!(since.elapsed() < std::time::Duration::from_secs(10), "{:?}", since.elapsed());
        // What was under way is told of: an import has failed, an export goes on.
        let server = Server::on_disk(directory.path(), &["--s3-endpoint", &url]);
        if operation == "ImportTable" {
            let imports = server.call("ListImports", "{}");
            assert!(imports.contains(r#""ImportStatus":"FAILED""#), "{imports}");
        } else {
            connections.recv_timeout(std::time::Duration::from_mins(1)).unwrap();
            let exports = server.call("ListExports", "{}");
            assert!(exports.contains(r#""ExportStatus":"IN_PROGRESS""#), "{exports}");
        }
    }
}

/// The status of a request with further headers.
fn status_with(server: &Server, headers: &str) -> String {
    let head = format!(
        "POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n{headers}\
         Content-Type: application/x-amz-json-1.0\r\n"
    );
    let answer = server.exchange(&head, "{}");
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn pages_of_other_origins_are_let_in_by_name_only() {
    let closed = Server::start(&[]);
    assert_eq!(status_with(&closed, "Origin: http://localhost:3000\r\n"), "200");
    assert_eq!(status_with(&closed, "Origin: https://a.example\r\n"), "403");
    let open = Server::start(&["--cors", "https://a.example,https://b.example", "null"]);
    for origin in ["https://a.example", "https://b.example", "null"] {
        assert_eq!(status_with(&open, &format!("Origin: {origin}\r\n")), "200", "{origin}");
    }
    assert_eq!(status_with(&open, "Origin: https://c.example\r\n"), "403");
    let any = Server::start(&["--cors", "*"]);
    assert_eq!(status_with(&any, "Origin: https://c.example\r\n"), "200");
}

#[test]
fn a_loopback_server_answers_to_the_names_it_was_given() {
    let to = |server: &Server, host: &str| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let request = format!("GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    let server = Server::start(&["--advertise", "db.test:1", "--advertise", "other.test:2"]);
    for host in ["localhost", "db.test", "db.test:99", "other.test:2"] {
        assert_eq!(to(&server, host), "200", "{host}");
    }
    assert_eq!(to(&server, "evil.test"), "403");
}

#[test]
fn metrics_have_an_address_of_their_own_beside_credentials() {
    let mut process = Command::new(env!("CARGO_BIN_EXE_keyloom"))
        .args(["serve", "--memory", "--port", "0", "--metrics-listen", "127.0.0.1:0"])
        .args(["--access-key", "AKID", "--secret-key", "short"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut address = |before: &str| {
        let line = lines.next().unwrap().unwrap();
        let address = line.split(before).nth(1).unwrap_or_else(|| panic!("{line}"));
        address.split(['/', ' ']).next().unwrap().to_owned()
    };
    let (endpoint, metrics) = (address("listening on http://"), address("metrics on http://"));
    let page = |address: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(page(&endpoint).contains("MissingAuthenticationTokenException"));
    assert!(page(&metrics).contains("keyloom_memory_limit_bytes"));
    process.kill().unwrap();
    let mut said = String::new();
    process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    process.wait().unwrap();
    assert!(said.contains("warning: the secret of the access key \"AKID\""), "{said}");
    assert!(!said.contains("short"), "{said}");
}

/// Every option that bounds something is told by `--help`.
#[test]
fn help_tells_of_bounds_and_pages() {
    let output = Command::new(env!("CARGO_BIN_EXE_keyloom")).args(["serve", "--help"]).output();
    let help = String::from_utf8(output.unwrap().stdout).unwrap();
    for option in [
        "--cors <ORIGIN>",
        "--advertise <HOST:PORT>",
        "--memory-limit <MIB>",
        "--max-connections-per-client <N>",
        "--max-tables <N>",
        "--metrics-listen <ADDRESS:PORT>",
    ] {
        assert!(help.contains(option), "{option} in {help}");
    }
}
