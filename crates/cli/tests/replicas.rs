//! Global tables between servers in processes of their own: random writes, stopped and killed servers, and in the end
//! the same items everywhere.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]
#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const REGIONS: [&str; 3] = ["us-east-1", "eu-west-1", "ap-south-1"];

/// Servers that know each other.
struct Cluster {
    directory: tempfile::TempDir,
    ports: Vec<u16>,
    processes: Vec<Option<Child>>,
    arguments: Vec<String>,
}

impl Cluster {
    fn new(count: usize, arguments: &[&str]) -> Self {
        // All are bound at once, so that they differ.
        let free: Vec<TcpListener> =
            (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports = free.iter().map(|one| one.local_addr().unwrap().port()).collect();
        drop(free);
        let mut cluster = Self {
            directory: tempfile::tempdir().unwrap(),
            ports,
            processes: (0..count).map(|_| None).collect(),
            arguments: arguments.iter().map(|&one| one.to_owned()).collect(),
        };
        for server in 0..count {
            cluster.start(server);
        }
        cluster
    }

    fn start(&mut self, server: usize) {
        let data = self.data(server);
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyloom"));
        command.args(["serve", "--stats", "off", "--region", REGIONS[server]]);
        command.args(["--port", &self.ports[server].to_string()]);
        command.args(["--data", data.to_str().unwrap()]).args(&self.arguments);
        for other in (0..self.ports.len()).filter(|other| *other != server) {
            command.arg("--replica");
            command.arg(format!("{}=http://127.0.0.1:{}", REGIONS[other], self.ports[other]));
        }
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("listening"), "{line}");
        self.processes[server] = Some(process);
    }

    fn data(&self, server: usize) -> std::path::PathBuf {
        Path::new(self.directory.path()).join(REGIONS[server])
    }

    fn kill(&mut self, server: usize) {
        if let Some(mut process) = self.processes[server].take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    fn is_up(&self, server: usize) -> bool {
        self.processes[server].is_some()
    }

    fn call(&self, server: usize, operation: &str, body: &Value) -> (bool, Value) {
        self.call_with(server, operation, body, "")
    }

    fn call_with(&self, server: usize, operation: &str, body: &Value, head: &str) -> (bool, Value) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports[server])).unwrap();
        let body = body.to_string();
        let request = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n{head}\
             Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.starts_with("HTTP/1.1 200"), serde_json::from_str(body).unwrap())
    }

    fn ok(&self, server: usize, operation: &str, body: Value) -> Value {
        let (is_ok, answer) = self.call(server, operation, &body);
        assert!(is_ok, "{operation} {body}: {answer}");
        answer
    }

    fn create(&self, server: usize) {
        let body = json!({
            "TableName": "music", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        });
        self.ok(server, "CreateTable", body);
    }

    fn replicate(&self, server: usize, action: &str, other: usize) {
        let updates = json!([{action: {"RegionName": REGIONS[other]}}]);
        self.ok(server, "UpdateTable", json!({"TableName": "music", "ReplicaUpdates": updates}));
    }

    fn put(&self, server: usize, key: &str, value: &str) {
        let item = json!({"pk": {"S": key}, "v": {"S": value}});
        self.ok(server, "PutItem", json!({"TableName": "music", "Item": item}));
    }

    /// All items; none if there is no table, or it cannot be used yet.
    fn items(&self, server: usize) -> Option<BTreeMap<String, String>> {
        let (is_ok, page) = self.call(server, "Scan", &json!({"TableName": "music"}));
        let text = |value: &Value| value["S"].as_str().unwrap().to_owned();
        let items = page["Items"].as_array().filter(|_| is_ok)?;
        Some(items.iter().map(|item| (text(&item["pk"]), text(&item["v"]))).collect())
    }

    fn wait_for(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let until = Instant::now() + Duration::from_secs(30);
        while !is_so() {
            let states: Vec<_> = (0..self.ports.len())
                .filter(|server| self.is_up(*server))
                .map(|server| self.call(server, "DescribeTable", &json!({"TableName": "music"})).1)
                .collect();
            assert!(Instant::now() < until, "{what}: {states:#?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn replica_is_active(&self, server: usize, other: usize) -> bool {
        let table = self.ok(server, "DescribeTable", json!({"TableName": "music"}));
        let replicas = table["Table"]["Replicas"].as_array().cloned().unwrap_or_default();
        replicas
            .iter()
            .any(|it| it["RegionName"] == REGIONS[other] && it["ReplicaStatus"] == "ACTIVE")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for server in 0..self.processes.len() {
            if let Some(mut process) = self.processes[server].take() {
                let _ = process.kill();
                let _ = process.wait();
            }
        }
    }
}

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

fn converges_after_kills(count: usize, events: usize, seed: u64) {
    let mut cluster = Cluster::new(count, &[]);
    cluster.create(0);
    cluster.put(0, "first", "before");
    let mut expected = BTreeMap::from([("first".to_owned(), "before".to_owned())]);
    for other in 1..count {
        cluster.replicate(0, "Create", other);
    }
    for other in 1..count {
        cluster.wait_for("active", || {
            cluster.replica_is_active(0, other) && cluster.items(other).is_some()
        });
    }
    let mut random = Random(seed);
    for number in 0..events {
        let server = random.below(count);
        if !cluster.is_up(server) {
            if random.below(4) == 0 {
                cluster.start(server);
            }
            continue;
        }
        if random.below(25) == 0 {
            cluster.kill(server);
            continue;
        }
        // Writes of one millisecond have no order between servers.
        std::thread::sleep(Duration::from_millis(2));
        let (key, value) = (format!("k{}", random.below(8)), format!("v{number}"));
        if random.below(4) == 0 {
            let body =
                json!({"TableName": "music", "Key": {"pk": {"S": key}}, "ReturnValues": "ALL_OLD"});
            // Removing what is not there writes nothing.
            if cluster.ok(server, "DeleteItem", body).get("Attributes").is_some() {
                expected.remove(&key);
            }
        } else {
            cluster.put(server, &key, &value);
            expected.insert(key, value);
        }
    }
    for server in 0..count {
        if !cluster.is_up(server) {
            cluster.start(server);
        }
    }
    cluster.wait_for(&format!("all have {expected:?}"), || {
        (0..count).all(|server| cluster.items(server).as_ref() == Some(&expected))
    });
    for server in 0..count {
        cluster.kill(server);
        let verified = Command::new(env!("CARGO_BIN_EXE_keyloom"))
            .arg("verify")
            .arg(cluster.data(server))
            .output()
            .unwrap();
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    }
}

/// How many random events a test has; more in long runs.
fn events() -> usize {
    std::env::var("KEYLOOM_REPLICA_EVENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

#[test]
fn two_servers_converge_after_kills() {
    converges_after_kills(2, events(), 7);
}

#[test]
fn three_servers_converge_after_kills() {
    converges_after_kills(3, events(), 11);
}

#[test]
fn a_deleted_replica_is_removed_from_its_server() {
    let cluster = Cluster::new(
        2,
        &["--access-key", "AKIDEXAMPLE", "--secret-key", "a-secret-that-is-long-enough"],
    );
    // Without a signature nobody gets in, not even with a message between servers.
    let (is_ok, answer) = cluster.call(0, "ListTables", &json!({}));
    assert!(!is_ok && answer.to_string().contains("MissingAuthenticationToken"), "{answer}");
    let remote = |server: usize| {
        let endpoint =
            keyloom::remote::Endpoint::url(format!("http://127.0.0.1:{}", cluster.ports[server]))
                .region(REGIONS[server])
                .credentials(keyloom::remote::Credentials::new(
                    "AKIDEXAMPLE",
                    "a-secret-that-is-long-enough",
                ));
        keyloom::remote::Remote::new(endpoint).unwrap()
    };
    let call = |server: usize, operation: &'static str, body: Value| -> Result<Value, String> {
        let answer = remote(server).call(operation, body.to_string().as_bytes());
        answer
            .map(|answer| serde_json::from_slice(&answer).unwrap())
            .map_err(|error| error.to_string())
    };
    let table = json!({
        "TableName": "music", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    });
    call(0, "CreateTable", table).unwrap();
    let update = |action: &str| json!({"TableName": "music", "ReplicaUpdates": [{action: {"RegionName": REGIONS[1]}}]});
    call(0, "UpdateTable", update("Create")).unwrap();
    let until = |what: &str, is_so: &dyn Fn() -> bool| {
        let end = Instant::now() + Duration::from_secs(30);
        while !is_so() {
            let state = call(0, "DescribeTable", json!({"TableName": "music"}));
            assert!(Instant::now() < end, "{what}: {state:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    until("created", &|| call(1, "Scan", json!({"TableName": "music"})).is_ok());
    call(0, "UpdateTable", update("Delete")).unwrap();
    until("removed", &|| {
        let here = call(0, "DescribeTable", json!({"TableName": "music"})).unwrap();
        let there = call(1, "DescribeTable", json!({"TableName": "music"}));
        here["Table"].get("Replicas").is_none() && there.is_err()
    });
}

#[test]
fn a_request_for_another_region_is_refused() {
    let cluster = Cluster::new(2, &[]);
    let signed = |region: &str| {
        format!(
            "X-Amz-Date: 20261118T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 \
             Credential=AKID/20261118/{region}/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=0\r\n"
        )
    };
    let (is_ok, answer) = cluster.call_with(0, "ListTables", &json!({}), &signed("us-east-1"));
    assert!(is_ok, "{answer}");
    let (is_ok, answer) = cluster.call_with(0, "ListTables", &json!({}), &signed("eu-west-1"));
    assert!(!is_ok);
    let text = answer.to_string();
    assert!(text.contains("not 'eu-west-1'") && text.contains("serves us-east-1"), "{text}");
}

/// Waits until something is so; in vain for no longer than this.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn signal(process: &Child, name: &str) {
    let status = Command::new("kill").args([name, &process.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_server_that_is_started_empty_gets_its_tables_again_although_nobody_writes() {
    let mut cluster = Cluster::new(2, &[]);
    cluster.create(0);
    cluster.put(0, "a", "1");
    cluster.replicate(0, "Create", 1);
    let has_item = |cluster: &Cluster| {
        let (is_ok, page) = cluster.call(1, "Scan", &json!({"TableName": "music"}));
        is_ok && page["Count"] == 1
    };
    until("created", || has_item(&cluster));
    cluster.kill(1);
    std::fs::remove_dir_all(cluster.data(1)).unwrap();
    cluster.start(1);
    until("filled again", || has_item(&cluster));
    until("active", || {
        let shown = cluster.ok(0, "DescribeTable", json!({"TableName": "music"}));
        shown["Table"]["Replicas"][0]["ReplicaStatus"] == "ACTIVE"
    });
}

#[test]
fn a_server_stops_soon_although_another_one_is_frozen() {
    let mut cluster = Cluster::new(2, &[]);
    cluster.create(0);
    cluster.replicate(0, "Create", 1);
    until("created", || cluster.call(1, "Scan", &json!({"TableName": "music"})).0);
    let frozen = cluster.processes[1].take().unwrap();
    signal(&frozen, "-STOP");
    cluster.put(0, "a", "1");
    // It is waiting for an answer that does not come.
    std::thread::sleep(Duration::from_millis(1500));
    let mut server = cluster.processes[0].take().unwrap();
    let start = Instant::now();
    signal(&server, "-TERM");
    server.wait().unwrap();
    let took = start.elapsed();
    signal(&frozen, "-CONT");
    cluster.processes[1] = Some(frozen);
    assert!(took < Duration::from_secs(2), "{took:?}");
}
